"""The values of one topic: its last metadata, offsets, and sizes, as arrays in the order of its partitions."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_admin.exporter.offset_history import UNKNOWN, OffsetHistory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.messages.kafka.metadata import MetadataResponseTopic

__all__ = ["MonitoredTopic", "PartitionCounts", "SavedHistory", "TopicConfigs"]


OFFSETS = ("newest", "oldest", "max_timestamps")
"""The values of partitions that their leaders report."""


class PartitionCounts(NamedTuple):
    """Numbers of partitions of a topic by condition."""

    all: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    offline: int = 0
    leader_not_preferred: int = 0


class TopicConfigs(NamedTuple):
    """Configs of a topic.

    Attributes:
        min_isr: `min.insync.replicas`; UNKNOWN before it was read, and if it is not a number.
        cleanup_policy: `cleanup.policy`; empty before it was read.
        retention_ms: `retention.ms`, which can be -1 for no limit; None before it was read.
    """

    min_isr: int = UNKNOWN
    cleanup_policy: str = ""
    retention_ms: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, str | None]) -> TopicConfigs:
        """Return the configs for the values that a broker reports."""
        minimum = _integer(values.get("min.insync.replicas"))
        return cls(
            UNKNOWN if minimum is None or minimum < 0 else minimum,
            values.get("cleanup.policy") or "",
            _integer(values.get("retention.ms")),
        )


def _integer(text: str | None) -> int | None:
    try:
        return None if text is None or len(text) > 20 else int(text)
    except ValueError:
        return None


class SavedHistory(NamedTuple):
    """The samples of a topic, as a file keeps them.

    Attributes:
        topic_id: the id of the topic; zeros for a cluster without ids.
        indexes: the indexes of its partitions.
        samples: since when and until when a sample was merged, in seconds since 1970, and the ends of the logs.
    """

    topic_id: str
    indexes: list[int]
    samples: list[tuple[float, float, list[int]]]

    def fits(self, topic: MonitoredTopic, now: float) -> bool:
        """Return whether the samples are of this topic: it has the same partitions, and its logs did not shrink."""
        if self.topic_id != str(topic.metadata.topic_id) or self.indexes != list(topic.indexes):
            return False
        last = self.samples[-1]
        return last[1] <= now and all(old <= end or end < 0 for old, end in zip(last[2], topic.newest, strict=True))


class MonitoredTopic:
    """The values of a topic. Arrays have a value for each of `indexes`, UNKNOWN for some.

    An index is a name and no size: the partitions of a response can have any numbers, so nothing is as long as the
    largest of them.

    Attributes:
        metadata: its last description.
        indexes: the indexes of its partitions, ascending.
        newest: the ends of its logs.
        oldest: the first offsets of its logs.
        max_timestamps: the largest timestamps of its records in milliseconds since 1970.
        configs: its configs.
        history: the ends of its logs over time, while groups read it.
        sizes: bytes of its replicas by broker.
        counts: numbers of partitions by condition.
    """

    __slots__ = (
        "_partitions",
        "_positions",
        "_reporters",
        "configs",
        "counts",
        "history",
        "indexes",
        "max_timestamps",
        "metadata",
        "newest",
        "oldest",
        "sizes",
    )

    def __init__(self, metadata: MetadataResponseTopic) -> None:
        self.indexes: Sequence[int] = ()
        self.newest = self.oldest = self.max_timestamps = array("q")
        self._reporters = dict.fromkeys(OFFSETS, array("i"))
        self.configs = TopicConfigs()
        self.history = OffsetHistory()
        self.sizes: dict[int, int] = {}
        self._positions: Mapping[int, int] | None = None
        self.update(metadata)

    def update(self, metadata: MetadataResponseTopic) -> bool:
        """Take a new description, and return whether the topic has other partitions than before."""
        by_index = {part.partition_index: part for part in metadata.partitions if part.partition_index >= 0}
        count = len(by_index)
        is_dense = max(by_index, default=-1) == count - 1
        indexes: Sequence[int] = range(count) if is_dense else sorted(by_index)
        has_others = indexes != self.indexes
        if has_others:
            for name in OFFSETS:
                before = dict(zip(self.indexes, getattr(self, name), strict=True))
                setattr(self, name, array("q", [before.get(index, UNKNOWN) for index in indexes]))
                reporters = dict(zip(self.indexes, self._reporters[name], strict=True))
                self._reporters[name] = array("i", [reporters.get(index, UNKNOWN) for index in indexes])
            if self.indexes != indexes[: len(self.indexes)]:
                self.history.clear()  # its samples are in the order of the partitions
            self.indexes = indexes
            self._positions = None if is_dense else {index: position for position, index in enumerate(indexes)}
        self.metadata, self._partitions = metadata, [by_index[index] for index in indexes]
        self.count_partitions()
        return has_others

    def position(self, index: int) -> int | None:
        """Return the position of a partition in all arrays; None if the topic does not have it."""
        if self._positions is not None:
            return self._positions.get(index)
        return index if 0 <= index < len(self.indexes) else None

    def positions(self, indexes: Sequence[int]) -> Sequence[int]:
        """Return the positions of partitions; UNKNOWN for partitions that the topic does not have."""
        if self._positions is None and indexes and 0 <= min(indexes) <= max(indexes) < len(self.indexes):
            return indexes
        positions = map(self.position, indexes)
        return [UNKNOWN if position is None else position for position in positions]

    def end(self, index: int) -> int:
        """Return the end of the log of a partition; UNKNOWN without it."""
        position = self.position(index)
        return UNKNOWN if position is None else self.newest[position]

    def ends(self, indexes: Sequence[int]) -> list[int]:
        """Return the ends of the logs of partitions; UNKNOWN without them."""
        newest, count = self.newest, len(self.newest)
        if self._positions is None:
            return [newest[index] if 0 <= index < count else UNKNOWN for index in indexes]
        return [self.end(index) for index in indexes]

    def leader(self, index: int) -> int:
        """Return the id of the leader of a partition; UNKNOWN without one."""
        position = self.position(index)
        return UNKNOWN if position is None else self._partitions[position].leader_id

    def set_configs(self, configs: TopicConfigs) -> bool:
        """Take configs, and return whether they changed."""
        if configs == self.configs:
            return False
        self.configs = configs
        self.count_partitions()
        return True

    def count_partitions(self) -> None:
        """Count the partitions by condition, after new metadata or a new `min.insync.replicas`."""
        self.counts = PartitionCounts(
            len(self.indexes),
            sum(self.under_replicated),
            sum(self.under_min_isr),
            sum(self.at_min_isr),
            sum(self.offline),
            sum(self.leader_is_not_preferred),
        )

    def set_offsets(self, name: str, broker: int, partitions: Iterable[Any], value: str = "offset") -> bool:
        """Take values of partitions from a ListOffsets response, and return whether any of them changed.

        Args:
            name: the attribute with the values: `newest`, `oldest`, or `max_timestamps`.
            broker: the broker that has sent the response.
            partitions: the partitions of the response.
            value: the field of the response with the value.
        """
        values: array[int] = getattr(self, name)
        reporters, has_changed = self._reporters[name], False
        for partition in partitions:
            position = self.position(partition.partition_index)
            if position is None or partition.error_code in LEADER_MOVES:
                continue
            offset, before = UNKNOWN, values[position]
            if partition.error_code == 0:
                offset = max(getattr(partition, value), UNKNOWN)
                reporters[position] = broker
                if name == "newest" and offset < before:
                    self.history.clear()
            if offset != before:
                values[position] = offset
                has_changed = True
        return has_changed

    def add_sample(self, time: float) -> None:
        """Add the ends of all logs to the history, if it has begun."""
        if not self.history.is_empty:
            self.history.add(time, self.newest)

    def forget(self, name: str, broker: int) -> bool:
        """Drop the values that a broker was the last to report, and return whether there were any."""
        values: array[int] = getattr(self, name)
        reporters = self._reporters[name]
        positions = [position for position, reporter in enumerate(reporters) if reporter == broker]
        for position in positions:
            values[position] = reporters[position] = UNKNOWN
        return bool(positions)

    def drop_offline(self) -> bool:
        """Drop the offsets of partitions without a leader, and return whether there were any."""
        offline = [position for position, is_offline in enumerate(self.offline) if is_offline]
        has_any = False
        for values in (self.newest, self.oldest, self.max_timestamps):
            for position in offline:
                has_any = has_any or values[position] != UNKNOWN
                values[position] = UNKNOWN
        return has_any

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
        minimum = self.min_isr
        return [
            int(len(partition.isr_nodes) < min(minimum, len(partition.replica_nodes))) for partition in self._partitions
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
        return [int(partition.leader_id < 0) for partition in self._partitions]

    # Values of the topic

    @property
    def min_isr(self) -> int:
        return self.configs.min_isr

    @property
    def retention_ms(self) -> int | None:
        """`retention.ms`, where -1 is a value; None before it was read."""
        return self.configs.retention_ms

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
    def max_timestamp(self) -> int:
        return max(self.max_timestamps, default=UNKNOWN)

    @property
    def size(self) -> int:
        return sum(self.sizes.values()) if self.sizes else UNKNOWN

    @property
    def complete_size(self) -> int:
        """Bytes of all replicas on live brokers; UNKNOWN while one of these brokers does not report them."""
        live = {id for part in self._partitions for id in {*part.replica_nodes}.difference(part.offline_replicas)}
        return self.size if live <= self.sizes.keys() else UNKNOWN

    @property
    def description(self) -> tuple[tuple[object, ...], int]:
        """The labels of KMinion's topic_info, and 1."""
        return (self.partition_count, self.replication_factor, self.configs.cleanup_policy or "N/A"), 1


LEADER_MOVES = frozenset({5, 6, 74, 75, 78})
"""Errors of a partition whose leader moves: LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH,
UNKNOWN_LEADER_EPOCH, OFFSET_NOT_AVAILABLE. Its log continues, so the value stays until the new leader answers."""
