"""Fetch names for completion, in a process of its own without a terminal.

    kafka __fetch KIND [-b BOOTSTRAP] [-c CLUSTER] [--command-config FILE] [-X KEY=VALUE]...

The reason of a failure is kept beside the names. A cluster with a `password_command` is not contacted, because the
command might ask for something; its names are the output of earlier commands.
"""

from __future__ import annotations

import asyncio
import signal

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.errors import KwireError
from kwire.terminal.cluster import choose_cluster, cluster_names
from kwire.terminal.cluster_options import cluster_options
from kwire_admin.cli.completion.name_cache import NameFile, choice_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST_FETCH = 20
"""Seconds after which the process ends. A process with a request in flight may hold a connection for that long."""


def fetch(arguments: Sequence[str]) -> int:
    """Fetch the names of a kind and store them."""
    signal.alarm(LONGEST_FETCH)
    kind, *words = arguments
    options: list[click.Parameter] = [*cluster_options()]
    chosen = click.Command("__fetch", params=options).make_context("__fetch", list(words)).params
    choice = choice_of(kind, chosen)
    assert choice is not None, "the completer has found a choice"
    file = NameFile(choice, kind)
    try:
        file.write(_names(kind, chosen))
    except (KwireError, OSError, ValueError, click.ClickException) as error:
        file.mark(str(error) or type(error).__name__)
        return 1
    return 0


def _names(kind: str, chosen: dict[str, Any]) -> Iterable[str]:
    if kind == "messages":
        from kwire.messages import every

        return (cls.__name__ for cls in every())
    if kind == "clusters":
        return cluster_names()
    return asyncio.run(_names_of_cluster(kind, chosen))


async def _names_of_cluster(kind: str, chosen: dict[str, Any]) -> Iterable[str]:
    from kwire.client.admin import AdminClient
    from kwire_admin.operations.names import NAMES

    cluster = choose_cluster(
        bootstrap=chosen["bootstrap"],
        cluster=chosen["cluster"],
        command_config=chosen["command_config"],
        overrides=chosen["overrides"],
        timeout=chosen["timeout"],
        run_password_command=False,
    )
    opening = AdminClient.open(cluster.bootstrap, client_id=cluster.client_id, timeout=10.0, config=cluster.config)
    async with await opening as admin:
        return await NAMES[kind](admin)
