"""Offsets of consumers in ZooKeeper, as Kafka 0.8 stores them: reading, writing, and their form as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kwire._util.readable import counted
from kwire_admin.operations.declaration import ToolFailed
from kwire_cluster.zookeeper.consumers import ConsumerOffset, ConsumerOwner
from kwire_cluster.zookeeper.errors import NoNode, NotAuthorized, StoreError, ZnodeError
from kwire_cluster.zookeeper.operations import Znode
from kwire_cluster.zookeeper.store import make_path
from kwire_zookeeper_tools.children import data_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin import AdminClient, TopicPartition
    from kwire_cluster.zookeeper import Store
    from kwire_cluster.zookeeper.store import ReadResult

__all__ = [
    "ROOT",
    "StoredOffset",
    "child_names",
    "log_ends",
    "owners_of",
    "parse_line",
    "stored_offsets",
    "write_offset",
]

ROOT = "/consumers"
"""The znode of all groups."""


class StoredOffset(NamedTuple):
    """An offset of a consumer group."""

    group: str
    topic: str
    partition: int
    offset: int

    @property
    def path(self) -> str:
        """The path of its znode."""
        return ConsumerOffset.path(self.group, self.topic, self.partition)

    def __str__(self) -> str:
        """Return the line of ExportZkOffsets, such as `/consumers/app/offsets/orders/0:42`."""
        return f"{self.path}:{self.offset}"


def parse_line(line: str, number: int) -> StoredOffset:
    """Return the offset of a line.

    Raises:
        ToolFailed: the line has another form.
    """
    path, colon, offset = line.strip().rpartition(":")
    parts = path.split("/")
    if colon and len(parts) == 6 and (parts[0], parts[1], parts[3]) == ("", "consumers", "offsets"):
        _, _, group, _, topic, partition = parts
        if group and topic and partition.isdecimal() and offset.isdecimal():
            return StoredOffset(group, topic, int(partition), int(offset))
    raise ToolFailed(f"line {number}: expected /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET, found {line[:100]!r}")


async def child_names(store: Store, path: str) -> list[str]:
    """Return the sorted names of the children of a znode; none if it does not exist."""
    try:
        return await store.children(path)
    except NoNode:
        return []


async def stored_offsets(
    store: Store, groups: Sequence[str] = (), topics: Sequence[str] = (), *, skip_malformed: bool = False
) -> list[StoredOffset]:
    """Return the offsets of groups in alphabetical order.

    Args:
        groups: the groups; all groups if there are none.
        topics: the topics; all topics if there are none.
        skip_malformed: true to leave out znodes that cannot be read, or whose data are not an offset.

    Raises:
        ToolFailed: the data of a znode are not an offset.
    """
    stored: list[StoredOffset] = []
    for group in groups or await child_names(store, ROOT):
        offsets = f"{ROOT}/{group}/offsets"
        for topic in topics or await child_names(store, offsets):
            numbers = sorted(int(name) for name in await child_names(store, f"{offsets}/{topic}") if name.isdecimal())
            znodes = await store.get_many([ConsumerOffset.path(group, topic, number) for number in numbers])
            for number, znode in zip(numbers, znodes, strict=True):
                try:
                    stored += _decoded(group, topic, number, znode)
                except (NotAuthorized, ToolFailed):
                    if not skip_malformed:
                        raise
    return stored


def _decoded(group: str, topic: str, number: int, znode: ReadResult) -> list[StoredOffset]:
    """Return the offset of a znode; none if it was deleted meanwhile."""
    path = ConsumerOffset.path(group, topic, number)
    try:
        return (
            []
            if znode is None
            else [StoredOffset(group, topic, number, ConsumerOffset.decode(data_of(znode), path).offset)]
        )
    except ZnodeError as error:
        raise ToolFailed(str(error)) from None


async def write_offset(store: Store, offset: StoredOffset, *, written: int) -> None:
    """Set the data of the znode of an offset, and create it if necessary.

    Args:
        written: the number of offsets that were written before, for the error.

    Raises:
        ToolFailed: ZooKeeper refuses it.
    """
    data = ConsumerOffset(offset.offset).encode()
    try:
        try:
            await store.set(offset.path, data)
        except NoNode:
            await make_path(store, offset.path)
            await store.set(offset.path, data)
    except (StoreError, ValueError) as error:
        raise ToolFailed(f"{error}; {counted(written, 'offset')} written before") from None


async def owners_of(store: Store, group: str, partitions: Sequence[TopicPartition]) -> list[str | None]:
    """Return the consumer and thread that owns each partition, such as `app_host-1-0`; None without an owner."""
    znodes = await store.get_many([ConsumerOwner.path(group, *partition) for partition in partitions])
    return [ConsumerOwner.decode(znode.data).consumer if isinstance(znode, Znode) else None for znode in znodes]


async def log_ends(admin: AdminClient, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the ends of logs. A partition without one is left out, and so are all of them on kwire's nodes."""
    from kwire.client.admin import LATEST, AdminError

    if admin.dialect == "kip4" or not partitions:
        return {}
    ends = await admin.list_offsets(dict.fromkeys(partitions, LATEST))
    return {
        partition: end.offset
        for partition, end in ends.items()
        if not isinstance(end, AdminError) and end.offset is not None
    }
