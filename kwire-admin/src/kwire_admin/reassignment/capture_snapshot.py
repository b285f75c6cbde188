"""A snapshot of the cluster that a capture recorded: its newest Metadata, and sizes if they were polled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.client.admin.group_values import TopicPartition
from kwire.frame import decode_response
from kwire.messages.kafka.describe_log_dirs import DescribeLogDirsResponse
from kwire.messages.kafka.metadata import MetadataResponse
from kwire_admin.reassignment.errors import InvalidSnapshot
from kwire_admin.reassignment.snapshot import BrokerSnapshot, ClusterSnapshot, PartitionSnapshot

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kwire.capture import Row

__all__ = ["snapshot_of_capture"]


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
    used = {broker for partition in partitions for broker in partition.replicas}
    brokers = tuple(
        BrokerSnapshot(broker_id, live.get(broker_id), broker_id in live) for broker_id in sorted(live.keys() | used)
    )
    return ClusterSnapshot(brokers, partitions, metadata.cluster_id)
