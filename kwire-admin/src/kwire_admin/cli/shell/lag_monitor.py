"""Reads the lag of groups again and again, and draws it."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.products import part
from kwire.errors import KwireError
from kwire_admin.cli.shell.lag_history import LagHistory
from kwire_admin.cli.shell.lag_picture import BARS, PLAIN_BARS, lag_lines
from kwire_admin.cli.shell.offset_sources import NO_LOG, committed_in_brokers, with_log_ends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient
    from kwire_admin.cli.shell.lag_history import CommittedPartition, Offsets
    from kwire_admin.cli.shell.offset_sources import OffsetSource
    from kwire_admin.cli.shell.screen import Screen
    from kwire_admin.cli.shell.session import ShellSession

__all__ = ["LagMonitor"]

SILENT = 5.0
"""Seconds without an answer after which the picture says so."""


class LagMonitor:
    """Reads offsets again and again.

    Args:
        session: the shell.
        topics: only these topics; empty for all.
        groups: only these groups; empty for all.
        zookeeper: the ZooKeeper with offsets; None if there is none, or if the nodes report it.

    Attributes:
        history: the polled values.
    """

    def __init__(
        self, session: ShellSession, topics: Sequence[str], groups: Sequence[str], zookeeper: str | None
    ) -> None:
        self.history = LagHistory()
        self._session = session
        self._topics = topics
        self._groups = groups
        self._zookeeper = zookeeper
        self._source: OffsetSource | None = None
        self._has_log = True
        self._failure: str | None = None
        self._answered: float | None = None

    async def sample(self, interval: float, count: int) -> None:
        """Read offsets a number of times.

        Raises:
            KwireError: the cluster or ZooKeeper does not answer.
        """
        async with AsyncExitStack() as stack:
            for number in range(count):
                if number:
                    await asyncio.sleep(interval)
                await self._read(stack)

    async def draw(self, screen: Screen, interval: float, count: int | None) -> None:
        """Draw what is known, while another task reads. A failure is a line of the picture, and is tried again."""
        async with AsyncExitStack() as stack:
            reading = asyncio.create_task(self._read_on(stack, interval, count))
            try:
                while not reading.done():
                    await asyncio.wait([reading], timeout=0.1 if self._answered is None else interval)
                    screen.draw(self._print)
                await reading
            finally:
                reading.cancel()

    def notes(self) -> list[str]:
        """Return sentences about what is missing."""
        notes = []
        if self._answered is not None and not self.history.trends():
            notes.append(f"No group has committed offsets of {', '.join(self._topics) or 'any topic'}.")
        if not self._has_log:
            notes.append(f"Note: {NO_LOG}.")
        silent = self._answered is not None and time.time() - self._answered > SILENT
        if self._failure is not None or silent:
            since = "" if self._answered is None else time.strftime(" since %H:%M:%S", time.localtime(self._answered))
            reason = "" if self._failure is None else f": {self._failure}"
            notes.append(f"No answer{since}, trying again{reason}")
        return notes

    def _print(self) -> None:
        encoding = self._session.terminal.encoding.lower().replace("-", "")
        trends = self.history.trends()
        if trends:
            print("\n".join(lag_lines(trends, BARS if encoding == "utf8" else PLAIN_BARS)))
        elif self._answered is None and self._failure is None:
            print(f"Waiting for {self._session.choice.bootstrap} ...")
        for note in self.notes():
            print(f"\n{note}")

    async def _read_on(self, stack: AsyncExitStack, interval: float, count: int | None) -> None:
        left = count
        while left is None or left > 0:
            started = time.monotonic()
            try:
                await self._read(stack)
                self._failure = None
                left = None if left is None else left - 1
            except KwireError as error:
                self._failure = str(error)
            if left != 0:
                await asyncio.sleep(max(started + interval - time.monotonic(), 0.0))

    async def _read(self, stack: AsyncExitStack) -> None:
        """Add a sample.

        Raises:
            KwireError: the cluster or ZooKeeper does not answer.
        """
        async with self._session.admin(self._session.choice) as admin:
            self._has_log = admin.dialect == "kafka"
            offsets = await self._committed(admin, stack)
        self.history.add(time.monotonic(), offsets)
        self._answered = time.time()

    async def _committed(self, admin: AdminClient, stack: AsyncExitStack) -> dict[CommittedPartition, Offsets]:
        offsets: dict[CommittedPartition, Offsets] = {}
        if admin.dialect == "kafka":
            offsets |= await committed_in_brokers(admin, self._topics, self._groups)
        if admin.dialect != "kafka" or self._zookeeper is not None:
            if self._source is None:
                new_source = part("zookeeper-offsets", "reading offsets of ZooKeeper")
                source: OffsetSource = new_source(self._zookeeper)
                stack.push_async_callback(source.close)
                self._source = source
            committed = await self._source.committed(admin, self._topics, self._groups)
            offsets |= await with_log_ends(admin, committed)
        return offsets
