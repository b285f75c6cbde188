"""Groups, their committed offsets, and the ends of logs: ListGroups, OffsetFetch, and ListOffsets.

`kwire.client.polled_inputs` polls them. A group is reported by its coordinator, and the end of a log by its leader.
When the coordinator or leader moves, the broker before keeps its last report, or reports 'gone' after the new one
reports 'set': the newest 'set' of any broker counts, until the same broker reports 'gone'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.metadata.diff import keyed_changes
from kwire_pipeline.silver.inputs.silver_input import SilverInput
from kwire_pipeline.tables import CHANGE, PARTITION, REPORTED, TOPIC, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kwire_pipeline.silver.inputs.silver_input import AddRow

LIST_OFFSETS, OFFSET_FETCH, LIST_GROUPS = 2, 9, 16

_GROUP = Column("group", "string", "the group's id")

GROUPS = Table(
    "groups",
    "The groups that a broker coordinates.",
    (
        *REPORTED,
        _GROUP,
        CHANGE,
        Column("state", "string", "its state, such as 'Stable' or 'Empty'; '' before Kafka 2.6"),
        Column("type", "string", "'classic', 'consumer', ...; '' before Kafka 3.8"),
        Column("protocol_type", "string", "the kind of its members, such as 'consumer'; '' if it only commits offsets"),
    ),
)

GROUP_OFFSETS = Table(
    "group_offsets",
    "The committed offsets of groups.",
    (
        *REPORTED,
        _GROUP,
        TOPIC,
        PARTITION,
        CHANGE,
        Column("committed_offset", "bigint", "the offset of the next record that the group reads"),
    ),
)

LOG_ENDS = Table(
    "log_ends",
    "The ends of the logs of partitions.",
    (
        *REPORTED,
        TOPIC,
        PARTITION,
        CHANGE,
        Column("log_end", "bigint", "the high watermark: the offset after the last record that consumers can read"),
    ),
)


class _Group(NamedTuple):
    state: str
    type: str
    protocol_type: str


class GroupOffsetsState:
    """The groups, committed offsets, and log ends that one broker has reported."""

    def __init__(self, add: AddRow) -> None:
        self._add = add
        self._groups: dict[str, _Group] = {}
        self._offsets: dict[str, dict[tuple[str, int], int]] = {}
        self._log_ends: dict[str, dict[int, int]] = {}

    def apply(self, at: int, message: Any) -> None:
        if message.api_key == LIST_OFFSETS:
            self._apply_log_ends(at, message.topics)
        elif message.api_key == LIST_GROUPS:
            if message.error_code == 0:
                self._apply_groups(at, message.groups)
        else:
            for group in message.groups:
                if group.error_code == 0:
                    self._apply_offsets(at, group.group_id, group.topics)

    def remove_topic(self, at: int, topic: str) -> None:
        for partition, end in self._log_ends.pop(topic, {}).items():
            self._add(LOG_ENDS.name, at, topic, partition, "gone", end)

    def _apply_groups(self, at: int, listed: Iterable[Any]) -> None:
        reported = {
            group.group_id: _Group(group.group_state, group.group_type, group.protocol_type) for group in listed
        }
        for group, old, new in keyed_changes(self._groups, reported):
            if new is not None:
                self._add(GROUPS.name, at, group, "set", *new)
            elif old is not None:
                self._add(GROUPS.name, at, group, "gone", *old)
        self._groups = reported
        for group in self._offsets.keys() - reported.keys():
            self._replace_offsets(at, group, {})

    def _apply_offsets(self, at: int, group: str, topics: Iterable[Any]) -> None:
        previous = self._offsets.get(group, {})
        offsets = {}
        for topic in topics:
            for partition in topic.partitions:
                key = topic.name, partition.partition_index
                # Without a commit the offset is -1; tools have committed other negative numbers.
                if partition.error_code == 0 and partition.committed_offset >= 0:
                    offsets[key] = partition.committed_offset
                elif partition.error_code != 0 and key in previous:
                    offsets[key] = previous[key]
        self._replace_offsets(at, group, offsets)

    def _replace_offsets(self, at: int, group: str, offsets: dict[tuple[str, int], int]) -> None:
        for key, old, new in keyed_changes(self._offsets.get(group, {}), offsets):
            if new is not None:
                self._add(GROUP_OFFSETS.name, at, group, *key, "set", new)
            else:
                self._add(GROUP_OFFSETS.name, at, group, *key, "gone", old)
        self._offsets[group] = offsets
        if not offsets:
            del self._offsets[group]

    def _apply_log_ends(self, at: int, topics: Iterable[Any]) -> None:
        for topic in topics:
            previous = self._log_ends.setdefault(topic.name, {})
            for partition in topic.partitions:
                end = partition.offset
                if partition.error_code == 0 and end >= 0 and previous.get(partition.partition_index) != end:
                    previous[partition.partition_index] = end
                    self._add(LOG_ENDS.name, at, topic.name, partition.partition_index, "set", end)


INPUT = SilverInput(
    api_keys=frozenset({LIST_OFFSETS, OFFSET_FETCH, LIST_GROUPS}),
    tables=(GROUPS, GROUP_OFFSETS, LOG_ENDS),
    state=GroupOffsetsState,
    resumed=frozenset({GROUP_OFFSETS.name, LOG_ENDS.name}),
)
