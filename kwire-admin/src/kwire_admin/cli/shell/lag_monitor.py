"""Reads the lag of groups again and again, and draws it."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from kwire._util.light_typing import TYPE_CHECKING, Protocol
from kwire._util.products import part
from kwire.client.admin import LATEST, AdminError, PartitionOffset, TopicPartition
from kwire.errors import KwireError
from kwire_admin.cli.shell.lag_history import CommittedPartition, LagHistory, Offsets
from kwire_admin.cli.shell.lag_picture import BARS, PLAIN_BARS, lag_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient
    from kwire_admin.cli.shell.screen import Screen
    from kwire_admin.cli.shell.session import ShellSession

__all__ = ["LagMonitor", "OffsetSource"]

NO_LOG = "the nodes of this cluster hold no log, so the log end is -"
SILENT = 5.0
"""Seconds without an answer after which the picture says so."""


class OffsetSource(Protocol):
    """A place besides the brokers where consumers keep offsets: the part `zookeeper-offsets`.

    The part is called with the address of the place, or None to ask a broker for it.
    """

    async def committed(
        self, admin: AdminClient, topics: Sequence[str], groups: Sequence[str]
    ) -> dict[CommittedPartition, Offsets]:
        """Return committed offsets, without the ends of logs; empty if there is no such place.

        Raises:
            KwireError: the place or the cluster does not answer.
        """

    async def close(self) -> None:
        """Close the connection to the place."""


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
            offsets |= await _committed_in_brokers(admin, self._topics, self._groups)
        if admin.dialect != "kafka" or self._zookeeper is not None:
            if self._source is None:
                new_source = part("zookeeper-offsets", "reading offsets of ZooKeeper")
                source: OffsetSource = new_source(self._zookeeper)
                stack.push_async_callback(source.close)
                self._source = source
            committed = await self._source.committed(admin, self._topics, self._groups)
            offsets |= await _with_log_ends(admin, committed)
        return offsets


async def _committed_in_brokers(
    admin: AdminClient, topics: Sequence[str], groups: Sequence[str]
) -> dict[CommittedPartition, Offsets]:
    """Return the offsets that groups have committed to brokers, with the ends of the logs.

    Args:
        topics: only these topics; empty for all.
        groups: only these groups; empty for all.

    Raises:
        KwireError: a broker does not answer.
    """
    # A group whose coordinator does not answer is left out: the next picture shows it again.
    offsets = {}
    for group, lag in (await admin.group_lags(groups or None)).items():
        if not isinstance(lag, AdminError):
            for partition in lag.partitions:
                if partition.committed is not None and (not topics or partition.topic in topics):
                    key = CommittedPartition(group, partition.topic, partition.partition, "brokers")
                    offsets[key] = Offsets(partition.committed, partition.end)
    return offsets


async def _with_log_ends(
    admin: AdminClient, found: dict[CommittedPartition, Offsets]
) -> dict[CommittedPartition, Offsets]:
    """Return offsets of another place with the ends of the logs, as far as the brokers have logs.

    Raises:
        KwireError: a broker does not answer.
    """
    if admin.dialect != "kafka" or not found:
        return found
    partitions = {TopicPartition(key.topic, key.partition) for key in found}
    ends = await admin.list_offsets(dict.fromkeys(sorted(partitions), LATEST))
    completed = {}
    for key, offsets in found.items():
        end = ends[TopicPartition(key.topic, key.partition)]
        completed[key] = Offsets(offsets.committed, end.offset if isinstance(end, PartitionOffset) else None)
    return completed
