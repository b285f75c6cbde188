"""Options of click that choose the cluster of a command."""

from __future__ import annotations

from pathlib import Path

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.terminal.cluster import CLIENT_ID, choose_cluster, with_environment
from kwire.terminal.environment import OUTPUTS
from kwire.terminal.parameter_types import FiniteRange, Named

if TYPE_CHECKING:
    from kwire.terminal.cluster import ClusterChoice

__all__ = ["admin_option", "choose_checked", "choosing_options", "cluster_options", "merge"]


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


admin_option = click.option(
    "-a",
    "--admin",
    is_flag=True,
    help="No effect; accepted because the KIP-4 drafts write `kafka -b BROKERS -a COMMAND`.",
)
"""Option of the drafts, before the commands that administer a cluster. All nouns do."""


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


def choose_checked(options: dict[str, Any], client_id: str, cluster: str | None = None) -> ClusterChoice:
    """Return the cluster of a server, and remove the options that choose it from `options`.

    Args:
        options: the options of the command.
        client_id: the client id of the server, unless the cluster's properties name one.
        cluster: a cluster of the configuration file, in place of the option.

    Raises:
        click.UsageError: see `choose_cluster`.
    """
    chosen = with_environment(merge(click.get_current_context().obj or {}, options))
    if cluster is not None:
        chosen |= {"cluster": cluster, "bootstrap": None}
    choice = choose_cluster(**{name: chosen[name] for name in chosen if name not in ("debug", "output")})
    return choice._replace(client_id=client_id) if choice.client_id == CLIENT_ID else choice
