"""The values of one group, and of one group for one topic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_admin.exporter.offset_history import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from kwire.client.admin.group_values import GroupDescription, GroupType
    from kwire_admin.exporter.topic_record import MonitoredTopic

__all__ = ["GroupTopic", "MonitoredGroup", "UnreadRecord", "age_at"]

CAUGHT_UP = math.inf
"""Time of the record at the end of a log, which is not written yet: its age is 0."""


class UnreadRecord(NamedTuple):
    """The first record of a partition that a group has not read.

    Attributes:
        offset: the offset from which it was looked for.
        timestamp: its timestamp in seconds since 1970; None if the broker did not return it.
        first: its own offset, which is greater where compaction removed records, or where there are only control
            records: then, their end.
    """

    offset: int
    timestamp: float | None
    first: int


def age_at(written: float, now: float) -> float:
    """Return the age of a record in seconds, with a decimal point, which 0 for the end of a log does not have."""
    return max(round(now - written, 1), 0.0) + 0.0  # and not -0.0


class GroupTopic:
    """The committed offsets of a group for one topic, and its lag there.

    Attributes:
        name: the name of the topic.
        indexes: the indexes of the partitions with a committed offset, to which the lists belong.
        committed: the committed offsets.
        lag: records between the committed offset and the end of the log; UNKNOWN without either.
        is_behind: True if any partition has a lag, which ages.
        uncommitted: 1 for each partition that a member has and the group has not committed.
        unknown_lags: number of partitions that the group reads and whose lag is not known.
        unread: the first unread records that were fetched, by partition.
        unbounded: the first unread records to fetch, by partition: no sample shows their time, or they might not exist.
        written_times: the times of the first unread records, oldest first, each time once.
        aged_at: the time at which lags in seconds are shown.
    """

    __slots__ = (
        "_missing", "_reported_lags", "_source", "_unstarted", "_written", "aged_at", "committed", "committed_sum",
        "group", "indexes", "is_behind", "lag", "lag_seconds_max", "lag_sum", "name", "unbounded",
        "uncommitted", "unknown_lags", "unread", "written_times",
    )  # fmt: skip

    def __init__(self, group: MonitoredGroup, name: str) -> None:
        self.group = group
        self.name = name
        self._source: Any = None
        self.committed_sum = self.lag_sum = UNKNOWN
        self.lag_seconds_max: float = UNKNOWN
        self.is_behind = False
        self.unknown_lags = 0
        self.indexes: Sequence[int] = ()
        self.committed: Sequence[int] = ()
        self._reported_lags: Sequence[int] = ()
        self._unstarted: AbstractSet[int] = frozenset()  # partitions that a share group has not begun to read
        self._written: Sequence[float] = ()
        self.lag: Sequence[int] = ()
        self.uncommitted: Mapping[int, int] = {}
        self._missing: Sequence[int] = ()
        self.unread: dict[int, UnreadRecord] = {}
        self.unbounded: dict[int, int] = {}
        self.written_times: Sequence[float] = ()
        self.aged_at = 0.0

    def update(self, topic: Any) -> bool:
        """Take the offsets of a response, and return whether they changed."""
        if topic is self._source:
            return False
        is_first = self._source is None
        self._source = topic
        is_share = hasattr(topic, "topic_name")  # its coordinator computes the lag
        field = "start_offset" if is_share else "committed_offset"
        by_index = {
            partition.partition_index: partition
            for partition in topic.partitions
            if partition.error_code == 0 and getattr(partition, field) >= 0 and partition.partition_index >= 0
        }
        before = dict(zip(self.indexes, self.committed, strict=True))
        self.indexes = list(by_index)
        self.committed = [getattr(partition, field) for partition in by_index.values()]
        self._reported_lags = [partition.lag for partition in by_index.values()] if is_share else ()
        self._unstarted = {
            partition.partition_index
            for partition in topic.partitions
            if is_share and partition.error_code == 0 and partition.start_offset < 0 <= partition.partition_index
        }
        if not is_first:
            self.group.commits += sum(
                before.get(index) != offset for index, offset in zip(self.indexes, self.committed, strict=True)
            )
        return True

    def clear(self) -> None:
        """Drop the offsets: the group has none, or they are not known any more."""
        self._source = None
        self.indexes = self.committed = self._reported_lags = ()
        self._unstarted = frozenset()
        self.unread.clear()

    def evaluate(self, topic: MonitoredTopic | None, *, with_ages: bool) -> None:
        """Compute lags after new offsets or ends.

        Args:
            topic: the topic; None if it does not exist (any more) or is hidden.
            with_ages: True if `age` will be called.
        """
        ends = [UNKNOWN] * len(self.indexes) if topic is None else topic.ends(self.indexes)
        offsets = list(zip(self.committed, ends, strict=True))
        # A commit can be newer than the end that is known.
        lags = [UNKNOWN if end < 0 else end - offset if end > offset else 0 for offset, end in offsets]
        if self._reported_lags:
            lags = [lag if reported < 0 else reported for lag, reported in zip(lags, self._reported_lags, strict=True)]
        self.lag = lags
        known = lags if UNKNOWN not in lags else [lag for lag in lags if lag >= 0]
        self.committed_sum = sum(self.committed) if self.committed else UNKNOWN
        self._find_uncommitted(topic)
        self.unknown_lags = len(self.uncommitted)
        if topic is not None and UNKNOWN in lags:
            unknown = [index for index, lag in zip(self.indexes, lags, strict=True) if lag < 0]
            self.unknown_lags += sum(topic.position(index) is not None for index in unknown)
        self.lag_sum = known_sum(known, unknown=self.unknown_lags)
        self.is_behind = self.lag_sum > 0
        self._find_times(topic if with_ages else None, lags)

    def _find_times(self, topic: MonitoredTopic | None, lags: Sequence[int]) -> None:
        """Find the times of the first unread records of all partitions, and which of them are not known."""
        self.unbounded, self.written_times = {}, ()
        written: list[float] = [CAUGHT_UP if lag == 0 and topic is not None else UNKNOWN for lag in lags]
        self._written = written
        if topic is not None and self.is_behind:
            self._find_unread_times(topic, [place for place, lag in enumerate(lags) if lag > 0], written)
            self.written_times = sorted(set(written) - {UNKNOWN, CAUGHT_UP})

    def _find_unread_times(self, topic: MonitoredTopic, places: Sequence[int], written: list[float]) -> None:
        """Set the times at some places of `written`: a record's own timestamp if it was fetched, else a sample's."""
        positions = topic.positions([self.indexes[place] for place in places])
        if UNKNOWN in positions:  # the coordinator of a share group reports lags of partitions that its topic lacks
            places = [place for place, position in zip(places, positions, strict=True) if position != UNKNOWN]
            positions = [position for position in positions if position != UNKNOWN]
        # Records before the start of the log cannot be read any more.
        offsets = [
            max(self.committed[place], topic.oldest[position])
            for place, position in zip(places, positions, strict=True)
        ]
        records = self._fetched(places, offsets) if self.unread else {}
        firsts = [records[at].first if at in records else offset for at, offset in enumerate(offsets)]
        for place, seen in zip(places, topic.history.written_at(positions, firsts), strict=True):
            written[place] = seen
        for at, record in records.items():
            if record.first >= topic.newest[positions[at]]:  # control records: a group can stand before them for ever
                written[places[at]] = CAUGHT_UP
            else:
                known = [time for time in (written[places[at]], record.timestamp) if time is not None]
                written[places[at]] = min((time for time in known if time != UNKNOWN), default=UNKNOWN)
        # The last record of a log can be the end of a transaction, and compaction removes others.
        is_compacted, newest = "compact" in topic.configs.cleanup_policy, topic.newest
        may_lack = [at for at, offset in enumerate(offsets) if is_compacted or newest[positions[at]] == offset + 1]
        for at in dict.fromkeys([*topic.history.unbounded(positions, offsets), *may_lack]):
            if at not in records and topic.newest[positions[at]] > offsets[at]:
                self.unbounded[self.indexes[places[at]]] = offsets[at]

    def _fetched(self, places: Sequence[int], offsets: Sequence[int]) -> dict[int, UnreadRecord]:
        """Return the fetched records for places with offsets, by position in these lists."""
        records: dict[int, UnreadRecord] = {}
        for at, (place, offset) in enumerate(zip(places, offsets, strict=True)):
            record = self.unread.get(self.indexes[place])
            if record is not None and record.offset == offset:
                records[at] = record
        return records

    def _find_uncommitted(self, topic: MonitoredTopic | None) -> None:
        """Find the partitions without a committed offset: of members, and of a topic that the group has committed."""
        assigned = {index for indexes in self._assignments for index in indexes} | self._unstarted
        if assigned:
            assigned.difference_update(self.indexes)
        self.uncommitted = dict.fromkeys(sorted(assigned), 1)
        self._missing = topic.indexes if topic is not None and self.indexes else ()

    def age(self, now: float) -> None:
        """Set the time at which lags in seconds are shown, after `evaluate`."""
        self.aged_at = now
        if self.written_times:
            self.lag_seconds_max = age_at(self.written_times[0], now)
        else:
            self.lag_seconds_max = 0 if CAUGHT_UP in self._written else UNKNOWN

    @property
    def lag_seconds(self) -> list[float]:
        """Ages of the first records that the group has not read; 0 at the end of the log, UNKNOWN without a history."""
        ages = {time: age_at(time, self.aged_at) for time in self.written_times} | {UNKNOWN: UNKNOWN, CAUGHT_UP: 0}
        return [ages[written] for written in self._written]

    @property
    def oldest_written(self) -> float:
        """The time of the oldest record that the group has not read: older samples of the topic are not needed."""
        return min((written for written in self._written if written != UNKNOWN), default=CAUGHT_UP)

    def release(self) -> None:
        """Drop the lists that have been rendered and are not needed for ages."""
        self.lag = ()
        if not self.is_behind:
            self._written = ()

    @property
    def all_committed(self) -> dict[int, int]:
        """Committed offsets by partition, NO_COMMIT for the other partitions of the topic."""
        return {**self._uncommitted_marks, **dict(zip(self.indexes, self.committed, strict=True))}

    @property
    def all_lags(self) -> dict[int, int]:
        """Lags by partition, NO_COMMIT for the partitions without a committed offset. An unknown lag has no item."""
        lags = zip(self.indexes, self.lag, strict=True)
        return {**self._uncommitted_marks, **{index: lag for index, lag in lags if lag >= 0}}

    @property
    def _uncommitted_marks(self) -> dict[int, int]:
        committed = set(self.indexes)
        marks = dict.fromkeys((*self._missing, *self.uncommitted), NO_COMMIT)
        return {index: mark for index, mark in marks.items() if index not in committed}

    @property
    def members(self) -> int:
        """Members with partitions of the topic; UNKNOWN without any, as in KMinion."""
        return len(self._assignments) or UNKNOWN

    @property
    def assigned_partitions(self) -> int:
        """Partitions of the topic that are assigned to members; UNKNOWN without any."""
        return sum(map(len, self._assignments)) or UNKNOWN

    @property
    def has_members(self) -> bool:
        """True while members have partitions of the topic."""
        return bool(self._assignments)

    @property
    def _assignments(self) -> Sequence[Sequence[int]]:
        return self.group.assignments.get(self.name, ())


class MonitoredGroup:
    """A group.

    Attributes:
        source: its part of the last response of its coordinator to ListGroups.
        reported: its offsets, as a response has them.
        described: its members, as a response has them.
        refused_since: the time since when its offsets are refused; None if they are not.
        coordinator: the broker that lists it.
        description: its members; None before they are known.
        assignments: the partitions that members have, by topic.
        commits: number of committed offsets that polls found changed.
        topics: its offsets by topic.
    """

    __slots__ = (
        "assignments", "commits", "coordinator", "described", "description", "group_id", "kind", "protocol_type",
        "refused_since", "reported", "source", "state", "topics",
    )  # fmt: skip

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.source: Any = None
        self.reported: Any = None
        self.described: Any = None
        self.refused_since: float | None = None
        self.commits = 0
        self.coordinator = UNKNOWN
        self.kind: GroupType | None = None
        self.state = self.protocol_type = ""
        self.description: GroupDescription | None = None
        self.assignments: dict[str, list[tuple[int, ...]]] = {}
        self.topics: dict[str, GroupTopic] = {}

    def describe(self, description: GroupDescription | None) -> None:
        """Take the members of the group."""
        self.description = description
        self.assignments = {}
        for member in () if description is None else description.members:
            for topic, indexes in (member.assignment or {}).items():
                if indexes:
                    self.assignments.setdefault(topic, []).append(tuple(indexes))

    @property
    def members(self) -> int:
        return UNKNOWN if self.description is None else len(self.description.members)

    @property
    def empty_members(self) -> int:
        """Members without partitions."""
        return (
            UNKNOWN if self.description is None else sum(not member.assignment for member in self.description.members)
        )

    @property
    def lag(self) -> int:
        lags = [topic.lag_sum for topic in self.topics.values() if topic.lag_sum >= 0]
        return known_sum(lags, unknown=sum(topic.unknown_lags for topic in self.topics.values()))

    @property
    def unknown_lags(self) -> int:
        """Partitions whose lag is not known, while there are any."""
        return sum(topic.unknown_lags for topic in self.topics.values()) or UNKNOWN

    @property
    def lag_seconds(self) -> float:
        return max((topic.lag_seconds_max for topic in self.topics.values()), default=UNKNOWN)

    @property
    def info(self) -> tuple[tuple[object, ...], int]:
        """The labels of kafka_group_info, and 1."""
        return (self.kind or "", self.state, self.protocol_type, self.coordinator), 1

    @property
    def peer_info(self) -> tuple[tuple[object, ...], int]:
        """The labels of KMinion's consumer_group_info, and 1 if the group is stable."""
        assignor = "" if self.description is None else self.description.assignor
        return (assignor, self.protocol_type, self.state, self.coordinator), int(self.state == "Stable")


def known_sum(lags: Collection[int], *, unknown: int) -> int:
    """Return the sum of lags, a lower bound if others are unknown. A bound of 0 says nothing, so it is UNKNOWN."""
    return total if lags and ((total := sum(lags)) or not unknown) else UNKNOWN


NO_COMMIT = -1
"""The offset and lag that kafka_exporter shows for a partition of a topic that a group has not committed. A value of a
series, in contrast to UNKNOWN."""
