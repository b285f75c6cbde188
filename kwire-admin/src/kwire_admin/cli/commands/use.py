"""`kafka use`: a shell in which a topic, a group, or a cluster is in use from the start."""

from __future__ import annotations

import click

from kwire._util.light_typing import Any
from kwire.terminal.cluster_options import cluster_options


@click.command(params=[*cluster_options()])
@click.argument("kind", type=click.Choice(["topic", "group", "cluster"]))
@click.argument("name")
@click.pass_context
def use(context: click.Context, /, kind: str, name: str, **values: Any) -> int:
    """Start a shell about a topic, a group, or a cluster.

    KIND is topic, group, or cluster. The statements come from the prompt, or from stdin if it is not a terminal:
    `kafka help shell`.

    \b
    Examples:
      kafka use topic orders -b localhost:9092
      echo 'describe; stats --count 1;' | kafka use topic orders -b localhost:9092
      kafka use cluster prod
    """
    from kwire_admin.cli.commands.shell import run_shell

    if kind == "cluster":
        return run_shell(context, values | {"cluster": name})
    return run_shell(context, values, first=["use", kind, name])
