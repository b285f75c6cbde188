"""The values of one topic: its last metadata, offsets, and sizes, as lists by partition index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.exporter.offset_history import UNKNOWN, OffsetHistory
from kwire.messages.kafka.metadata import MetadataResponsePartition

if TYPE_CHECKING:
    from kwire.messages.kafka.metadata import MetadataResponseTopic

__all__ = ["MonitoredTopic", "PartitionCounts"]

GAP = MetadataResponsePartition(
    error_code=0, partition_index=-1, leader_id=-1, replica_nodes=(), isr_nodes=(), offline_replicas=()
)
"""Stands for an index without a partition, which only ZooKeeper permits. Its values are UNKNOWN."""


class PartitionCounts(NamedTuple):
    """Numbers of partitions of a topic by condition."""

    all: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    offline: int = 0
    leader_not_preferred: int = 0


class MonitoredTopic:
    """The values of a topic. Lists have a value for each partition index, UNKNOWN for some.

    Attributes:
        metadata: its last description.
        newest: the ends of its logs.
        oldest: the first offsets of its logs.
        min_isr: `min.insync.replicas`; UNKNOWN before it was read.
        cleanup_policy: `cleanup.policy`; empty before it was read.
        history: the ends of its logs over time, while groups read it.
        sizes: bytes of its replicas by broker.
        counts: numbers of partitions by condition.
    """

    __slots__ = (
        "_partitions", "cleanup_policy", "counts", "history", "metadata", "min_isr", "newest", "oldest", "sizes",
    )  # fmt: skip

    def __init__(self, metadata: MetadataResponseTopic) -> None:
        self.newest: list[int] = []
        self.oldest: list[int] = []
        self.min_isr, self.cleanup_policy = UNKNOWN, ""
        self.history = OffsetHistory()
        self.sizes: dict[int, int] = {}
        self.update(metadata)

    def update(self, metadata: MetadataResponseTopic) -> None:
        """Take a new description. A topic that was created again has no offsets yet."""
        partitions = metadata.partitions
        count = max((partition.partition_index for partition in partitions), default=-1) + 1
        ordered = [GAP] * count
        for partition in partitions:
            ordered[partition.partition_index] = partition
        self.metadata, self._partitions = metadata, ordered
        for offsets in (self.newest, self.oldest):
            offsets.extend([UNKNOWN] * (count - len(offsets)))
            del offsets[count:]
        self.count_partitions()

    def count_partitions(self) -> None:
        """Count the partitions by condition, after new metadata or a new `min.insync.replicas`."""
        self.counts = PartitionCounts(
            len(self.metadata.partitions),
            sum(self.under_replicated),
            sum(self.under_min_isr),
            sum(self.at_min_isr),
            sum(self.offline),
            sum(self.leader_is_not_preferred),
        )

    def set_ends(self, partitions: Any) -> None:
        """Take ends of logs from a ListOffsets response."""
        newest = self.newest
        for partition in partitions:
            if partition.error_code == 0 and partition.partition_index < len(newest):
                if partition.offset < newest[partition.partition_index]:
                    self.history.clear()
                newest[partition.partition_index] = partition.offset

    def set_starts(self, partitions: Any) -> None:
        """Take first offsets of logs from a ListOffsets response."""
        for partition in partitions:
            if partition.error_code == 0 and partition.partition_index < len(self.oldest):
                self.oldest[partition.partition_index] = partition.offset

    # Values by partition

    @property
    def leaders(self) -> list[int]:
        return [partition.leader_id for partition in self._partitions]

    @property
    def leader_is_preferred(self) -> list[int]:
        return [int(partition.leader_id in partition.replica_nodes[:1]) for partition in self._partitions]

    @property
    def leader_is_not_preferred(self) -> list[int]:
        return [1 - preferred for preferred in self.leader_is_preferred]

    @property
    def replicas(self) -> list[int]:
        return [len(partition.replica_nodes) or UNKNOWN for partition in self._partitions]

    @property
    def in_sync_replicas(self) -> list[int]:
        return [len(partition.isr_nodes) if partition.replica_nodes else UNKNOWN for partition in self._partitions]

    @property
    def under_replicated(self) -> list[int]:
        return [int(len(partition.isr_nodes) < len(partition.replica_nodes)) for partition in self._partitions]

    @property
    def under_min_isr(self) -> list[int]:
        return [
            int(len(partition.isr_nodes) < min(self.min_isr, len(partition.replica_nodes)))
            for partition in self._partitions
        ]

    @property
    def at_min_isr(self) -> list[int]:
        # As in Kafka, a partition cannot have more in sync than replicas (`Partition.isAtMinIsr`).
        minimum = self.min_isr
        return [
            int(0 < len(partition.isr_nodes) == min(minimum, len(partition.replica_nodes)))
            for partition in self._partitions
        ]

    @property
    def offline(self) -> list[int]:
        return [int(partition.leader_id < 0 and partition is not GAP) for partition in self._partitions]

    # Values of the topic

    @property
    def partition_count(self) -> int:
        return self.counts.all

    @property
    def replication_factor(self) -> int:
        return max(self.replicas, default=UNKNOWN)

    @property
    def newest_sum(self) -> int:
        return sum(self.newest) if self.newest and UNKNOWN not in self.newest else UNKNOWN

    @property
    def oldest_sum(self) -> int:
        return sum(self.oldest) if self.oldest and UNKNOWN not in self.oldest else UNKNOWN

    @property
    def size(self) -> int:
        return sum(self.sizes.values()) if self.sizes else UNKNOWN

    @property
    def description(self) -> tuple[tuple[object, ...], int]:
        """The labels of KMinion's topic_info, and 1."""
        return (self.partition_count, self.replication_factor, self.cleanup_policy), 1
