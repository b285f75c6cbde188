"""The chosen cluster of verbs, connections to it, and the output of errors."""

from __future__ import annotations

import gc
import sys
from contextlib import asynccontextmanager, suppress
from functools import partial

from kwire._util.light_dataclasses import fields
from kwire._util.light_typing import TYPE_CHECKING, Any, TypeVar
from kwire._util.readable import printable
from kwire.terminal.cluster import choose_cluster, with_environment
from kwire_admin.cli.completion.name_cache import NameFile, choice_of
from kwire_admin.operations.declaration import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Sequence

    import click

    from kwire.client.admin import AdminClient
    from kwire.terminal.cluster import ClusterChoice
    from kwire_admin.operations.declaration import Operation

__all__ = ["VerbSession", "current_session"]

KEY = "kwire.verb_session"
COLLECTED_AT = 50_000
"""New objects after which the garbage collector runs. A result of thousands of rows has few cycles, or none."""
T = TypeVar("T")


class VerbSession:
    """The parts that verbs of a process share: the choice of the cluster, the event loop, and the output of errors.

    A command has a session for its one verb, without state: each method opens what it needs. A shell has one
    `ShellSession` for all statements, which keeps the client of the cluster open between them. A `VerbRun` uses a
    session in this order: `options`, `cluster`, `run` with `admin` within it, and `report` for errors or `finish`.
    """

    def options(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """Return the options that choose the cluster, from the options of a command."""
        return with_environment(chosen)

    def cluster(self, chosen: dict[str, Any], *, is_required: bool = True) -> ClusterChoice:
        """Return the cluster that options choose.

        Args:
            chosen: the result of `options`.
            is_required: true if a missing cluster is an error; otherwise, its `bootstrap` is empty.

        Raises:
            click.UsageError: see `choose_cluster`.
        """
        return choose_cluster(**chosen, is_required=is_required)

    def run(self, main: Coroutine[Any, Any, T], *, needs_asyncio: bool = True) -> T:
        """Run a coroutine until it is complete.

        Args:
            needs_asyncio: False if the coroutine runs in a light loop, whose import takes no time.
        """
        if not needs_asyncio:
            from kwire._util.light_loop import LightLoop

            return LightLoop().run(main)
        import asyncio

        return asyncio.run(main)

    @asynccontextmanager
    async def admin(self, cluster: ClusterChoice) -> AsyncIterator[AdminClient]:
        """Return a client of a cluster.

        Raises:
            ConnectionFault: no broker responds.
            ValueError: an address is invalid.
        """
        async with await open_admin(cluster) as admin:
            yield admin

    def report(self, sentence: str, item: str | None = None) -> None:
        """Print an error.

        Args:
            item: the refused item, such as a topic; None if the error concerns the whole command.
        """
        del item
        print(f"Error: {printable(sentence)}", file=sys.stderr)

    def finish(self, verb: Operation, rows: Sequence[Any], chosen: dict[str, Any], *, all: bool, changed: bool) -> None:
        """Keep the names that a verb has listed for completion, or expire all names of the cluster after a change.

        If the cache cannot be written, completion asks the cluster.

        Args:
            chosen: see `cluster`.
            all: true if the verb has listed everything.
            changed: true if the verb has changed something.
        """
        choice = choice_of("", chosen)
        if choice is None:
            return
        with suppress(OSError):
            if changed:
                from kwire_admin.operations.names import NAMES  # its modules are not loaded yet

                for kind in NAMES:
                    NameFile(choice, kind).expire()
            elif verb.lists is not None and all:
                first = fields(verb.result)[0].name
                names = [str(getattr(row, first)) for row in rows if not isinstance(row, Failure)]
                NameFile(choice, verb.lists).write(names)


async def open_admin(cluster: ClusterChoice) -> AdminClient:
    """Connect to a cluster. On a terminal, each wait of more than a second is reported. See `AdminClient.open`."""
    from kwire.client.admin import AdminClient

    gc.freeze()
    gc.set_threshold(COLLECTED_AT)
    gc.enable()
    return await AdminClient.open(
        cluster.bootstrap,
        client_id=cluster.client_id,
        timeout=cluster.timeout,
        config=cluster.config,
        on_wait=partial(_say_slow, cluster.timeout) if sys.stderr.isatty() else None,
    )


def current_session(context: click.Context) -> VerbSession:
    """Return the session of a command: the session of the shell that runs it as a statement, or a new one."""
    session: VerbSession = context.meta.setdefault(KEY, VerbSession())
    return session


def _say_slow(timeout: float, waiting_for: str) -> None:
    """Say on a terminal what the command waits for."""
    sentence = waiting_for[0].upper() + waiting_for[1:]
    print(f"{printable(sentence)}; waiting up to {timeout:g} s.", file=sys.stderr, flush=True)
