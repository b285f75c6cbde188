"""Names of a cluster for completion in the shell, fetched by a thread in the background.

A key press reads the files that completion of command lines has (`completion.name_cache`). A broker that does not
answer delays the thread, and never a key press.
"""

from __future__ import annotations

from contextlib import suppress

import click

from kwire._util.light_typing import TYPE_CHECKING, Any
from kwire.client.loop_thread import LoopThread, LoopThreadClosed
from kwire.errors import KwireError
from kwire_admin.cli.completion.name_cache import NameFile, choice_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.terminal.cluster import ClusterChoice

__all__ = ["LiveNames"]

FIRST = ("topics", "brokers")
"""The kinds that are fetched before they are used."""


class LiveNames:
    """The names of a cluster by kind. See `kwire_admin.operations.names`.

    Args:
        cluster: the cluster.
        chosen: the options that choose it.

    Attributes:
        failure: the reason why the last attempt has failed; None if it was successful, or there was none.
        on_change: called in the thread after every attempt.
    """

    def __init__(self, cluster: ClusterChoice, chosen: dict[str, Any]) -> None:
        self.failure: str | None = None
        self.on_change: Callable[[], None] = _ignore
        self._cluster, self._chosen = cluster, chosen
        self._thread: LoopThread | None = None

    def start(self) -> None:
        """Start to fetch names."""
        if self._thread is None:
            self._thread = LoopThread("kwire-names")
            for kind in FIRST:
                self._current(kind)

    def close(self) -> None:
        """Stop fetching names, without waiting for a request in flight."""
        if self._thread is not None:
            self._thread.close(wait=False)

    def matches(self, kind: str, prefix: str) -> list[str]:
        """Return names of a kind that start with a prefix, and have them fetched again if they are old."""
        return self._current(kind).matches(prefix)

    def count(self, kind: str) -> int | None:
        """Return the number of names of a kind; None if they have not been fetched."""
        return self._file(kind).count()

    def _file(self, kind: str) -> NameFile:
        return NameFile(choice_of(kind, self._chosen) or "", kind)

    def _current(self, kind: str) -> NameFile:
        """Return the file of a kind, which is fetched again if it is old."""
        file = self._file(kind)
        if self._thread is not None and file.must_be_fetched():
            try:
                file.mark()
                self._thread.start(self._fetch(file))
            except OSError as error:
                self.failure = f"they cannot be kept: {error}"
            except LoopThreadClosed:
                pass  # the shell is ending
        return file

    async def _fetch(self, file: NameFile) -> None:
        from kwire_admin.cli.completion.refresh import names_of  # takes longer to import than the first prompt has

        try:
            file.write(await names_of(file.kind, lambda: self._cluster))
            self.failure = None
        except (KwireError, OSError, ValueError, click.UsageError) as error:
            self.failure = str(error)
            with suppress(OSError):
                file.mark(self.failure or type(error).__name__)
        self.on_change()


def _ignore() -> None:
    """Do nothing after an attempt."""
