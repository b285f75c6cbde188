"""Snapshots of a cluster or of a capture: brokers, partitions, and sizes and disks where they are known."""

from __future__ import annotations

from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.client.admin.group_values import TopicPartition
from kwire.client.admin.values import TopicDescription
from kwire.frame import decode_response
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsResponse
from kwire.messages.kafka.metadata import MetadataResponse
from kwire_admin.reassignment.errors import InvalidSnapshot
from kwire_admin.reassignment.snapshot import BrokerSnapshot, ClusterSnapshot, PartitionSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from kwire.capture import Row
    from kwire.client.admin.admin_client import AdminClient
    from kwire.client.admin.log_dirs import LogDir


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
    live = {broker.id: broker.rack for broker in cluster.brokers}
    return ClusterSnapshot(_brokers(live, partitions, disks), partitions, cluster.cluster_id)


def _brokers(
    live: Mapping[int, str | None],
    partitions: Iterable[PartitionSnapshot],
    disks: Mapping[int, tuple[int, int]] = MappingProxyType({}),
) -> tuple[BrokerSnapshot, ...]:
    """Return the live brokers, and brokers that are down and have replicas.

    Args:
        live: the racks of live brokers.
        disks: total and free bytes by broker.
    """
    used = {broker for partition in partitions for broker in partition.replicas}
    return tuple(
        BrokerSnapshot(broker, live.get(broker), broker in live, *disks.get(broker, (None, None)))
        for broker in sorted(live.keys() | used)
    )


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


def snapshot_of_capture(folder: Path) -> ClusterSnapshot:
    """Return the cluster as the newest plausible Metadata response of a capture reports it.

    Sizes come from the newest DescribeLogDirs response of each broker; without any, they are unknown.

    Raises:
        CaptureError: the folder is not a capture, or cannot be read.
        InvalidSnapshot: it has no Metadata response of Kafka with brokers and topics.
        DecodeError: a response is malformed.
    """
    from kwire.capture import replay  # needs pyarrow

    metadata: MetadataResponse | None = None
    newest: Row | None = None
    log_dirs: dict[int | None, Row] = {}
    for row in replay(folder, carried=True):
        if row.frame is None or row.dialect != "kafka":
            continue
        if row.api_key == DescribeLogDirsResponse.api_key:
            log_dirs[row.broker_id] = row
        elif row.api_key == MetadataResponse.api_key and (newest is None or row.frame is not newest.frame):
            response = _decoded(row)
            if response.brokers and response.topics:  # a broker that has just started reports none for a moment
                metadata, newest = response, row
    if metadata is None:
        raise InvalidSnapshot(f"{folder} has no Metadata response of Kafka with brokers and topics")
    return _snapshot(metadata, _sizes(log_dirs.values()))


def _decoded(row: Row) -> MetadataResponse:
    return decode_response(row.frame or b"", MetadataResponse, version=row.api_version or 0).message


def _sizes(rows: Iterable[Row]) -> dict[TopicPartition, int]:
    """Return the size of each partition in bytes, taken from its largest replica."""
    sizes: dict[TopicPartition, int] = {}
    for row in rows:
        response = decode_response(row.frame or b"", DescribeLogDirsResponse, version=row.api_version or 0).message
        # The largest replica: others may still copy.
        for result in response.results:
            for topic in result.topics:
                for partition in topic.partitions:
                    key = TopicPartition(topic.name, partition.partition_index)
                    sizes[key] = max(sizes.get(key, 0), partition.partition_size)
    return sizes


def _snapshot(metadata: MetadataResponse, sizes: dict[TopicPartition, int]) -> ClusterSnapshot:
    partitions = tuple(
        PartitionSnapshot(
            topic.name,
            partition.partition_index,
            partition.replica_nodes,
            sizes.get(TopicPartition(topic.name, partition.partition_index)),
            None if partition.leader_id < 0 else partition.leader_id,
            partition.isr_nodes,
        )
        for topic in sorted(metadata.topics, key=lambda topic: topic.name or "")
        if topic.name is not None
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    )
    live = {broker.node_id: broker.rack for broker in metadata.brokers}
    return ClusterSnapshot(_brokers(live, partitions), partitions, metadata.cluster_id)
