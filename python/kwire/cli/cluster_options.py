"""The options that name a cluster and an output. They may be given before the noun or after the verb."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kwire.cli.cluster_environment import variables_for
from kwire.cli.parameter_types import FiniteRange, Named

__all__ = ["OUTPUTS", "choosing_options", "cluster_options", "merge", "with_environment"]

OUTPUTS = ("table", "json", "jsonl", "csv", "yaml")
"""The formats of rows. `help` beside them describes the rows."""


def choosing_options() -> list[click.Option]:
    """Return new options that choose a cluster and how to connect to it."""
    return [
        click.Option(
            ["-b", "--bootstrap"],
            metavar="HOST:PORT,...",
            help="Some brokers of the cluster [environment: KWIRE_BOOTSTRAP].",
        ),
        click.Option(
            ["-c", "--cluster"],
            type=Named("clusters"),
            metavar="NAME",
            help="A cluster of the configuration file [environment: KWIRE_CLUSTER].",
        ),
        click.Option(
            ["--command-config"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Connect with the settings of this client.properties [environment: KWIRE_COMMAND_CONFIG].",
        ),
        click.Option(
            ["-X", "--override", "overrides"],
            multiple=True,
            metavar="KEY=VALUE",
            help="Override a key of client.properties. Can be given several times.",
        ),
    ]


def cluster_options() -> list[click.Option]:
    """Return new options that verbs have. `merge` combines the values of both places."""
    return [
        *choosing_options(),
        click.Option(
            ["--timeout"],
            type=FiniteRange(min=0, min_open=True),
            metavar="SECONDS",
            help="Time for each request [default: 30].",
        ),
        click.Option(
            ["-o", "--output"],
            type=click.Choice([*OUTPUTS, "help"]),
            help="Output format; help describes the rows [default: table].",
        ),
        click.Option(["--debug"], is_flag=True, help="Print the traceback of an error."),
    ]


def merge(before: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of these options from the values of a command, and return them combined.

    Args:
        before: the values from before the noun.
        values: the values of a command; its own come first.
    """
    chosen: dict[str, Any] = {}
    for option in cluster_options():
        assert option.name is not None
        given, general = values.pop(option.name, None), before.get(option.name)
        if option.multiple:
            chosen[option.name] = (*(general or ()), *(given or ()))
        else:
            chosen[option.name] = general if given is None or given is False else given
    return chosen


def with_environment(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return the values of these options, completed by variables of the environment."""
    found: dict[str, Any] = dict(variables_for(chosen))
    if "command_config" in found:
        found["command_config"] = Path(found["command_config"])
    return {**chosen, **found}
