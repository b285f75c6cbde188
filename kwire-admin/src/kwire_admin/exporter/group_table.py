"""The groups of a cluster: responses in, marks of what changed out."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kwire.client.admin.group_values import GroupType
from kwire_admin.exporter.answers import Source
from kwire_admin.exporter.group_record import GroupTopic, MonitoredGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.client.admin.group_values import GroupDescription
    from kwire_admin.exporter.group_record import UnreadRecord

__all__ = ["GroupChanges", "GroupTable"]


class GroupChanges:
    """Marks of what changed.

    Attributes:
        groups: the ids of groups.
        reads: groups and their topics.
        removed_groups: the ids of groups that were removed.
        removed_reads: groups and their topics that were removed.
    """

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.reads: set[tuple[str, str]] = set()
        self.removed_groups: set[str] = set()
        self.removed_reads: set[tuple[str, str]] = set()

    @property
    def has_any(self) -> bool:
        """True if anything is marked."""
        return bool(self.groups or self.reads or self.removed_groups or self.removed_reads)


class GroupTable:
    """The groups that have series.

    A group belongs to the broker that listed it last. While two brokers list it, as one that lost it a moment ago does,
    it is one group.

    Args:
        has_group: returns whether a group has series.
        has_topic: returns whether a topic has series.
        clock: returns seconds since 1970.

    Attributes:
        records: the groups by id.
        readers: the ids of the groups that read a topic, by topic.
        behind: the groups and their topics that have a lag, as the last rendering found it.
        unbounded: the groups and their topics with first unread records to fetch.
        endless: the groups and their topics with a committed offset of a log whose end is not known.
        changes: marks of the parts that changed since `take_changes`.
    """

    def __init__(
        self, has_group: Callable[[str], bool], has_topic: Callable[[str], bool], clock: Callable[[], float]
    ) -> None:
        self._has_group, self._has_topic, self._clock = has_group, has_topic, clock
        self._listed: dict[int, Any] = {}
        self.records: dict[str, MonitoredGroup] = {}
        self.readers: dict[str, set[str]] = defaultdict(set)
        self.behind: set[tuple[str, str]] = set()
        self.unbounded: set[tuple[str, str]] = set()
        self.endless: set[tuple[str, str]] = set()
        self.changes = GroupChanges()

    def set_listing(self, broker: int, groups: Sequence[Any]) -> None:
        """Take the groups that a broker coordinates."""
        if self._listed.get(broker) is groups:
            return
        self._listed[broker] = groups
        current: set[str] = set()
        for listed in groups:
            if not self._has_group(listed.group_id):
                continue
            current.add(listed.group_id)
            group = self.records.setdefault(listed.group_id, MonitoredGroup(listed.group_id))
            if group.source is not listed or group.coordinator != broker:
                group.source, group.coordinator = listed, broker
                group.kind, group.state = GroupType.of(listed.group_type), listed.group_state
                group.protocol_type = listed.protocol_type
                self.changes.groups.add(listed.group_id)
        for group_id in self.coordinated_by(broker):
            if group_id not in current:
                self._remove(group_id)

    def coordinated_by(self, broker: int) -> list[str]:
        """Return the ids of the groups that a broker listed last."""
        return [group.group_id for group in self.records.values() if group.coordinator == broker]

    def set_offsets(self, groups: Iterable[Any]) -> None:
        """Take committed offsets, of share groups as well."""
        for reported in groups:
            group = self.records.get(reported.group_id)
            if group is None:
                continue
            if reported.error_code:
                group.refused_since = group.refused_since or self._clock()
                continue
            group.refused_since = None
            if group.reported is reported:
                continue
            group.reported = reported
            current: set[str] = set()
            for topic in reported.topics:
                name = topic.topic_name if hasattr(topic, "topic_name") else topic.name
                if not self._has_topic(name):
                    continue
                current.add(name)
                if self._read(group, name).update(topic):
                    self.changes.reads.add((group.group_id, name))
            for name in group.topics.keys() - current:
                group.topics[name].clear()
                self.changes.reads.add((group.group_id, name))
            self._remove_unused(group)

    def set_description(self, group_id: str, described: Any, description: Callable[[], GroupDescription]) -> None:
        """Take the members of a group; `description` is called if `described` is another object than before."""
        group = self.records.get(group_id)
        if group is None or group.described is described:
            return
        group.described = described
        group.describe(description())
        if group.kind is not GroupType.STREAMS:  # its members have tasks of subtopologies, and not partitions of topics
            for name in group.assignments:
                if self._has_topic(name):
                    self._read(group, name)
        self.changes.groups.add(group_id)
        self.changes.reads.update((group_id, name) for name in group.topics)
        self._remove_unused(group)

    def forget_members(self, group_id: str) -> None:
        """Drop the members of a group."""
        group = self.records.get(group_id)
        if group is None or group.description is None:
            return
        group.describe(None)
        group.described = None
        self.changes.groups.add(group_id)
        self.changes.reads.update((group_id, name) for name in group.topics)
        self._remove_unused(group)

    def set_unread(self, group_id: str, topic: str, partition: int, record: UnreadRecord) -> None:
        """Take the first record of a partition that a group has not read."""
        group = self.records.get(group_id)
        if group is not None and topic in group.topics:
            group.topics[topic].unread[partition] = record
            self.changes.reads.add((group_id, topic))

    def read(self, group_id: str, topic: str) -> GroupTopic | None:
        """Return what is known about a group and a topic; None if the group does not read it."""
        group = self.records.get(group_id)
        return None if group is None else group.topics.get(topic)

    def mark_readers(self, topic: str) -> None:
        """Mark the groups that read a topic, after its ends changed."""
        self.changes.reads.update((group_id, topic) for group_id in self.readers.get(topic, ()))

    def drop(self, broker: int, source: Source) -> None:
        """Drop the stale values of a broker: its groups, or their offsets or members."""
        if source is Source.GROUPS:
            self._listed.pop(broker, None)
        for group_id in self.coordinated_by(broker):
            group = self.records[group_id]
            if source is Source.GROUPS:
                self._remove(group_id)
            elif source is Source.OFFSETS:
                self._drop_offsets(group)
            elif source is Source.MEMBERS:
                self.forget_members(group_id)

    def drop_refused(self, max_age: float) -> None:
        """Drop the offsets of groups whose offsets a broker has refused for a time."""
        oldest = self._clock() - max_age
        for group in self.records.values():
            if group.refused_since is not None and group.refused_since < oldest:
                group.refused_since = None
                self._drop_offsets(group)

    def mark_all(self) -> None:
        """Mark all groups as changed."""
        self.changes.groups.update(self.records)
        self.changes.reads.update((group.group_id, name) for group in self.records.values() for name in group.topics)

    def take_changes(self) -> GroupChanges:
        """Return what changed since the last call."""
        taken, self.changes = self.changes, GroupChanges()
        return taken

    def _read(self, group: MonitoredGroup, topic: str) -> GroupTopic:
        read = group.topics.get(topic)
        if read is None:
            read = group.topics[topic] = GroupTopic(group, topic)
            self.readers[topic].add(group.group_id)
        return read

    def _drop_offsets(self, group: MonitoredGroup) -> None:
        group.reported = None
        for name, read in group.topics.items():
            read.clear()
            self.changes.reads.add((group.group_id, name))
        self._remove_unused(group)

    def _remove_unused(self, group: MonitoredGroup) -> None:
        """Remove the topics that the group has neither offsets of nor partitions."""
        for name in [name for name, read in group.topics.items() if not read.indexes and not read.has_members]:
            self._remove_read(group, name)
            self.changes.groups.add(group.group_id)

    def _remove_read(self, group: MonitoredGroup, topic: str) -> None:
        del group.topics[topic]
        self.readers[topic].discard(group.group_id)
        if not self.readers[topic]:
            del self.readers[topic]
        key = group.group_id, topic
        for keys in (self.behind, self.unbounded, self.endless):
            keys.discard(key)
        self.changes.reads.discard(key)
        self.changes.removed_reads.add(key)

    def _remove(self, group_id: str) -> None:
        group = self.records.pop(group_id)
        for name in list(group.topics):
            self._remove_read(group, name)
        self.changes.groups.discard(group_id)
        self.changes.removed_groups.add(group_id)
