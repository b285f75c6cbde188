"""The values of one group, and of one group for one topic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kwire.exporter.offset_history import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.client.admin.group_values import GroupDescription, GroupType
    from kwire.exporter.topic_record import MonitoredTopic

__all__ = ["GroupTopic", "MonitoredGroup"]

CAUGHT_UP = math.inf
"""Time of the record at the end of a log, which is not written yet: its age is 0."""


class GroupTopic:
    """The committed offsets of a group for one topic, and its lag there.

    Attributes:
        indexes: the indexes of the partitions, to which the lists belong.
        committed: the committed offsets.
        lag: records between the committed offset and the end of the log; UNKNOWN without either.
        lag_seconds: the age of the record at the committed offset; 0 at the end of the log, UNKNOWN without a history.
        is_behind: True if any partition has a lag, which ages.
    """

    __slots__ = (
        "_reported_lags", "_source", "_written", "committed", "committed_sum", "group", "indexes", "is_behind", "lag",
        "lag_seconds", "lag_seconds_max", "lag_sum",
    )  # fmt: skip

    def __init__(self, group: MonitoredGroup) -> None:
        self.group = group
        self._source: Any = None
        self.committed_sum = self.lag_sum = UNKNOWN
        self.lag_seconds_max: float = UNKNOWN
        self.is_behind = False
        self.indexes: Sequence[int] = ()
        self.committed: Sequence[int] = ()
        self._reported_lags: Sequence[int] = ()
        self._written: Sequence[float] = ()
        self.lag: Sequence[int] = ()
        self.lag_seconds: Sequence[float] = ()

    def update(self, topic: Any) -> bool:
        """Take the offsets of a response, and return whether they changed."""
        if topic is self._source:
            return False
        self._source = topic
        if hasattr(topic, "topic_name"):  # a share group, whose coordinator computes the lag
            partitions = [
                partition for partition in topic.partitions if partition.error_code == 0 and partition.start_offset >= 0
            ]
            self.committed = [partition.start_offset for partition in partitions]
            self._reported_lags = [partition.lag for partition in partitions]
        else:
            partitions = [
                partition
                for partition in topic.partitions
                if partition.error_code == 0 and partition.committed_offset >= 0
            ]
            self.committed = [partition.committed_offset for partition in partitions]
        self.indexes = [partition.partition_index for partition in partitions]
        return True

    def evaluate(self, topic: MonitoredTopic | None, *, with_ages: bool) -> None:
        """Compute lags after new offsets or ends.

        Args:
            topic: the topic; None if it does not exist (any more) or is hidden.
            with_ages: True if `age` will be called.
        """
        newest = topic.newest if topic is not None else ()
        count = len(newest)
        ends = [newest[index] if index < count else UNKNOWN for index in self.indexes]
        offsets = list(zip(self.committed, ends, strict=True))
        # A commit can be newer than the end that is known.
        lags = [UNKNOWN if end < 0 else end - offset if end > offset else 0 for offset, end in offsets]
        if self._reported_lags:
            lags = [lag if reported < 0 else reported for lag, reported in zip(lags, self._reported_lags, strict=True)]
        self.lag = lags
        known = lags if UNKNOWN not in lags else [lag for lag in lags if lag >= 0]
        self.committed_sum = sum(self.committed) if self.committed else UNKNOWN
        self.lag_sum = sum(known) if known else UNKNOWN
        self.is_behind = self.lag_sum > 0
        if not with_ages or topic is None:
            self._written = [UNKNOWN] * len(lags)
        elif not self.is_behind:
            self._written = [CAUGHT_UP if lag == 0 else UNKNOWN for lag in lags]
        else:
            written_at = topic.history.written_at
            self._written = [
                written_at(index, offset) if lag > 0 else CAUGHT_UP if lag == 0 else UNKNOWN
                for index, offset, lag in zip(self.indexes, self.committed, lags, strict=True)
            ]

    def age(self, now: float) -> None:
        """Compute lags in seconds at a time of the topic's history, after `evaluate`."""
        self.lag_seconds = [
            written if written == UNKNOWN else max(round(now - written, 1), 0) for written in self._written
        ]
        self.lag_seconds_max = max(self.lag_seconds, default=UNKNOWN)

    def release(self) -> None:
        """Drop the lists that have been rendered and are not needed to compute ages."""
        self.lag = self.lag_seconds = ()
        if not self.is_behind:
            self._written = ()

    @property
    def members(self) -> int:
        """Members with partitions of the topic."""
        return len(self._assignments)

    @property
    def assigned_partitions(self) -> int:
        """Partitions of the topic that are assigned to members."""
        return sum(map(len, self._assignments))

    @property
    def _assignments(self) -> list[tuple[int, ...]]:
        name, description = self.topic, self.group.description
        members = () if description is None else description.members
        return [member.assignment[name] for member in members if member.assignment and member.assignment.get(name)]

    @property
    def topic(self) -> str:
        name: str = getattr(self._source, "topic_name", None) or self._source.name
        return name


class MonitoredGroup:
    """A group.

    Attributes:
        coordinator: the broker that lists it.
        description: its members; None before they are known.
        topics: its offsets by topic.
    """

    __slots__ = ("coordinator", "description", "group_id", "kind", "protocol_type", "source", "state", "topics")

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.source: Any = None
        self.coordinator = UNKNOWN
        self.kind: GroupType | None = None
        self.state = self.protocol_type = ""
        self.description: GroupDescription | None = None
        self.topics: dict[str, GroupTopic] = {}

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
        return sum(lags) if lags else UNKNOWN

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
