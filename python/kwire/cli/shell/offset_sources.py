"""Committed offsets and ends of logs: from brokers, and from ZooKeeper, where consumers of Kafka 0.8 keep offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cli.shell.lag_history import CommittedPartition, Offsets
from kwire.client.admin import LATEST, AdminError, PartitionOffset, TopicPartition
from kwire.cluster.zookeeper.consumers import ConsumerOffset
from kwire.cluster.zookeeper.errors import NoNode, ZnodeError
from kwire.cluster.zookeeper.operations import Znode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.client.admin import AdminClient
    from kwire.cluster.zookeeper.store import Store

__all__ = ["NO_LOG", "committed_in_brokers", "committed_in_zookeeper", "with_log_ends"]

NO_LOG = "the nodes of this cluster hold no log, so the log end is -"


async def committed_in_brokers(
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


async def committed_in_zookeeper(
    store: Store, topics: Sequence[str], groups: Sequence[str]
) -> dict[CommittedPartition, Offsets]:
    """Return the offsets that consumers of Kafka 0.8 have committed: `/consumers/<group>/offsets/<topic>/<partition>`.

    Offsets that are not numbers are left out.

    Raises:
        StoreError: ZooKeeper does not answer.
    """
    keys: dict[str, CommittedPartition] = {}
    # All paths first, then one pipelined read: consumers of Kafka 0.8 have a znode for each partition.
    for group in groups or await _children(store, "/consumers"):
        for topic in topics or await _children(store, f"/consumers/{group}/offsets"):
            for partition in await _children(store, f"/consumers/{group}/offsets/{topic}"):
                if partition.isdecimal():
                    key = CommittedPartition(group, topic, int(partition), "zookeeper")
                    keys[ConsumerOffset.path(*key[:3])] = key
    offsets = {}
    for path, znode in zip(keys, await store.get_many(keys), strict=True):
        offset = _decoded(znode, path)
        if offset is not None:
            offsets[keys[path]] = Offsets(offset, None)
    return offsets


async def with_log_ends(
    admin: AdminClient, found: dict[CommittedPartition, Offsets]
) -> dict[CommittedPartition, Offsets]:
    """Return offsets of ZooKeeper with the ends of the logs, as far as the brokers have logs.

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


async def _children(store: Store, path: str) -> Iterable[str]:
    try:
        return await store.children(path)
    except NoNode:
        return ()


def _decoded(znode: object, path: str) -> int | None:
    if not isinstance(znode, Znode):
        return None
    try:
        return ConsumerOffset.decode(znode.data, path).offset
    except ZnodeError:
        return None
