"""Names of a cluster for completion, fetched by a thread in the background.

A key press reads memory only. A broker that does not answer delays the thread, and never a key press.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from contextlib import suppress

import click

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.client.loop_thread import LoopThread, LoopThreadClosed
from kwire.errors import KwireError
from kwire.terminal.cluster import cluster_names
from kwire_admin.cli.completion.name_cache import FRESH, RETRY, SHOWN, shown_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kwire.client.admin import AdminClient
    from kwire.terminal.cluster import ClusterChoice

__all__ = ["LiveNames"]

TIMEOUT = 10.0
"""Timeout of a request in seconds."""
FIRST = ("topics", "brokers")
"""The kinds that are fetched before they are used."""


class FetchedNames(NamedTuple):
    """The names of one kind.

    Attributes:
        names: the names in order.
        expires: time of the next fetch, by the monotonic clock.
    """

    names: list[str]
    expires: float


class LiveNames:
    """The names of a cluster by kind. See `kwire_admin.operations.names`.

    Args:
        cluster: the cluster.

    Attributes:
        failure: the reason why the last attempt has failed; None if it was successful, or there was none.
        on_change: called in the thread after every attempt.
    """

    def __init__(self, cluster: ClusterChoice) -> None:
        self.failure: str | None = None
        self.on_change: Callable[[], None] = _ignore
        self._cluster = cluster
        self._fetched: dict[str, FetchedNames] = {}
        self._wanted: dict[str, None] = dict.fromkeys(FIRST)
        self._thread: LoopThread | None = None
        self._wake = asyncio.Event()
        self._closed = False

    def start(self) -> None:
        """Start to fetch names."""
        if self._thread is None and not self._closed:
            self._thread = LoopThread("kwire-names")
            self._thread.start(self._serve())

    def close(self) -> None:
        """Stop fetching names, without waiting for a request in flight."""
        self._closed = True
        if self._thread is not None:
            self._thread.close(wait=False)

    def matches(self, kind: str, prefix: str) -> list[str]:
        """Return names of a kind that start with a prefix, at most SHOWN."""
        fetched = self._fetched.get(kind)
        if fetched is None or fetched.expires < time.monotonic():
            self._call(self._want, kind)
        if fetched is None:
            return []
        names = fetched.names
        first = bisect_left(names, prefix)
        candidates = names[first : first + SHOWN]
        return [name for name in candidates if name.startswith(prefix)]

    def count(self, kind: str) -> int | None:
        """Return the number of names of a kind; None if they have not been fetched."""
        fetched = self._fetched.get(kind)
        return None if fetched is None else len(fetched.names)

    def expire(self) -> None:
        """Fetch the names again before their time, because the cluster has changed."""
        self._call(self._want, *self._fetched)

    def _call(self, function: Callable[..., None], *arguments: str) -> None:
        """Call a function in the thread."""
        if self._thread is not None:
            with suppress(LoopThreadClosed):  # the shell is ending
                self._thread.call(function, *arguments)

    def _want(self, *kinds: str) -> None:
        self._wanted |= dict.fromkeys(kinds)
        self._wake.set()

    async def _serve(self) -> None:
        """Fetch the kinds that are wanted until the shell ends, which cancels this."""
        admin: AdminClient | None = None
        try:
            while True:
                self._wake.clear()
                while self._wanted:
                    kind = next(iter(self._wanted))
                    del self._wanted[kind]
                    try:
                        admin = await self._fetch(kind, admin)
                        self.failure = None
                    except (KwireError, OSError, ValueError, click.UsageError) as error:
                        self.failure = str(error)
                        before = self._fetched.get(kind)
                        self._store(kind, before.names if before else [], RETRY)
                    self.on_change()
                await self._wake.wait()
        finally:
            if admin is not None:
                await admin.close()

    async def _fetch(self, kind: str, admin: AdminClient | None) -> AdminClient | None:
        """Fetch the names of a kind with a client, which is opened if necessary, and return the client."""
        from kwire_admin.operations.names import NAMES  # takes longer to import than the first prompt has

        if kind == "clusters":
            self._store(kind, cluster_names(), FRESH)
            return admin
        admin = admin or await self._open()
        self._store(kind, await NAMES[kind](admin), FRESH)
        return admin

    async def _open(self) -> AdminClient:
        from kwire.client.admin import AdminClient

        cluster = self._cluster
        return await AdminClient.open(
            cluster.bootstrap, client_id=cluster.client_id, timeout=TIMEOUT, config=cluster.config
        )

    def _store(self, kind: str, names: Iterable[str], seconds: float) -> None:
        self._fetched[kind] = FetchedNames(shown_names(names), time.monotonic() + seconds)


def _ignore() -> None:
    """Do nothing after an attempt."""
