"""Fetch names for completion, in a process of its own without a terminal.

    kafka __fetch KIND [-b BOOTSTRAP] [-c CLUSTER] [--command-config FILE] [-X KEY=VALUE]...

The reason of a failure is kept beside the names. A cluster with a `password_command` is not contacted, because the
command might ask for something; its names are the output of earlier commands.
"""

from __future__ import annotations

import asyncio
import signal
from functools import partial

import click

from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError
from kwire.terminal.cluster import choose_cluster, cluster_names, with_environment
from kwire.terminal.cluster_options import cluster_options
from kwire_admin.cli.completion.name_cache import NameFile, choice_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.terminal.cluster import ClusterChoice

LONGEST_FETCH = 20
"""Seconds after which the process ends. A process with a request in flight may hold a connection for that long."""


TIMEOUT_S = 10.0
"""Timeout of a request in seconds."""


def fetch(arguments: Sequence[str]) -> int:
    """Fetch the names of a kind and store them."""
    signal.alarm(LONGEST_FETCH)
    kind, *words = arguments
    options: list[click.Parameter] = [*cluster_options()]
    chosen = with_environment(click.Command("__fetch", params=options).make_context("__fetch", list(words)).params)
    choice = choice_of(kind, chosen)
    assert choice is not None, "the completer has found a choice"
    file = NameFile(choice, kind)
    of_cluster = {name: value for name, value in chosen.items() if name not in ("debug", "output")}
    try:
        file.write(asyncio.run(names_of(kind, partial(choose_cluster, **of_cluster, run_password_command=False))))
    except (KwireError, OSError, ValueError, click.ClickException) as error:
        file.mark(str(error) or type(error).__name__)
        return 1
    return 0


async def names_of(kind: str, choose: Callable[[], ClusterChoice]) -> Iterable[str]:
    """Return the names of a kind.

    Args:
        kind: the kind.
        choose: returns the cluster, if it has them.
    """
    if kind == "messages":
        from kwire.messages import every

        return (cls.__name__ for cls in every())
    if kind == "clusters":
        return cluster_names()
    from kwire.client.admin import AdminClient
    from kwire_admin.operations.names import NAMES

    cluster = choose()
    opening = AdminClient.open(cluster.bootstrap, client_id=cluster.client_id, timeout=TIMEOUT_S, config=cluster.config)
    async with await opening as admin:
        return await NAMES[kind](admin)
