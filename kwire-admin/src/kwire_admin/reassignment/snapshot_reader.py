"""Snapshots of a cluster: brokers, partitions, latencies, and on Kafka sizes and disks."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.values import TopicDescription
from kwire_admin.reassignment.snapshot import BrokerSnapshot, ClusterSnapshot, PartitionSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire.client.admin.admin_client import AdminClient
    from kwire.client.admin.log_dirs import LogDir

__all__ = ["read_snapshot"]


async def read_snapshot(admin: AdminClient, *, sizes: bool = True) -> ClusterSnapshot:
    """Return a snapshot of a cluster.

    Brokers that have replicas and are not running are part of it.

    Args:
        sizes: ask every broker for the sizes of its replicas. Clusters of the KIP-4 drafts have none.

    Raises:
        AdminError: a broker refused a request.
        ConnectionFault: a live broker did not respond in time.
    """
    cluster = await admin.describe_cluster()
    topics = [topic for topic in (await admin.describe_topics()).values() if isinstance(topic, TopicDescription)]
    log_dirs = await admin.describe_log_dirs() if sizes and admin.dialect == "kafka" else []
    partition_sizes = replica_sizes(log_dirs)
    disks = _disks(log_dirs)
    live = {broker.id: broker for broker in cluster.brokers}
    used = {broker for topic in topics for partition in topic.partitions for broker in partition.replicas}
    brokers = tuple(
        BrokerSnapshot(
            broker,
            live[broker].rack if broker in live else None,
            broker in live,
            *disks.get(broker, (None, None)),
        )
        for broker in sorted(live.keys() | used)
    )
    partitions = tuple(
        PartitionSnapshot(
            topic.name,
            partition.partition,
            partition.replicas,
            partition_sizes.get(TopicPartition(topic.name, partition.partition)),
            partition.leader,
            partition.isr,
        )
        for topic in sorted(topics)
        for partition in topic.partitions
    )
    return ClusterSnapshot(brokers, partitions, cluster.cluster_id)


def replica_sizes(log_dirs: Iterable[LogDir]) -> dict[TopicPartition, int]:
    """Return the size of each partition in bytes, taken from its largest replica."""
    sizes: dict[TopicPartition, int] = {}
    for log_dir in log_dirs:
        for replica in log_dir.replicas:
            key = TopicPartition(replica.topic, replica.partition)
            sizes[key] = max(sizes.get(key, 0), replica.size)
    return sizes


def _disks(log_dirs: Iterable[LogDir]) -> dict[int, tuple[int, int]]:
    """Return total and free bytes by broker. Directories with equal numbers are on one volume."""
    volumes: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for log_dir in log_dirs:
        if log_dir.total is not None and log_dir.usable is not None:
            volumes[log_dir.broker].add((log_dir.total, log_dir.usable))
    return {
        broker: (sum(total for total, _ in dirs), sum(usable for _, usable in dirs)) for broker, dirs in volumes.items()
    }
