"""The topics of a cluster: responses in, marks of what changed out.

Responses share unchanged parts with the responses before (`kwire.Decoder`), so a part that is the same object as last
time is skipped.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kwire_admin.exporter.answers import Source
from kwire_admin.exporter.topic_record import MonitoredTopic, PartitionCounts, TopicConfigs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["OFFSETS", "TopicTable"]

OFFSETS = {Source.NEWEST: "newest", Source.OLDEST: "oldest", Source.MAX_TIMESTAMPS: "max_timestamps"}
"""The attribute of a topic that has the values of a ListOffsets response, by the kind of the answer."""


class TopicTable:
    """The topics that have series.

    Args:
        has_topic: returns whether a topic has series.
        clock: returns seconds since 1970.

    Attributes:
        records: the topics by name.
        metadata: the last metadata; None before it is known, and while it is stale.
        changed: the topics that changed since the marks were taken, by kind of answer.
        removed: the topics that were removed since.
        newest_at: the time of the last response with ends of logs.
        counts: numbers of partitions by condition; `counted` computes them.
        leaders: numbers of partitions by leader.
    """

    def __init__(self, has_topic: Callable[[str], bool], clock: Callable[[], float]) -> None:
        self._has_topic = has_topic
        self._clock = clock
        self._last: dict[int, Sequence[Any]] = {}  # topics of the last response with ends of logs, by broker
        self._is_counted = False
        self.records: dict[str, MonitoredTopic] = {}
        self.metadata: Any = None
        self.changed: dict[Source, set[str]] = {source: set() for source in Source}
        self.removed: set[str] = set()
        self.newest_at = 0.0
        self.counts = PartitionCounts()
        self.leaders: Counter[int] = Counter()

    def set_metadata(self, metadata: Any) -> None:
        """Take the metadata of all topics."""
        if metadata is self.metadata:
            return
        self.metadata = metadata
        current: set[str] = set()
        recreated: set[str] = set()
        new: list[Any] = []
        for topic in metadata.topics:
            if topic.name is None or not self._has_topic(topic.name):
                continue
            current.add(topic.name)
            record = self.records.get(topic.name)
            if record is not None and record.metadata is topic:
                continue
            if record is None or record.metadata.topic_id != topic.topic_id:
                if record is not None:
                    recreated.add(topic.name)  # another topic of the same name has other offsets
                new.append(topic)
            else:
                # Whether the sizes are complete depends on the live replicas.
                self._mark(topic.name, *(Source if record.update(topic) else (Source.METADATA, Source.SIZES)))
        self._remove(recreated | (self.records.keys() - current))
        for topic in new:
            self.records[topic.name] = MonitoredTopic(topic)
            self._mark(topic.name, *Source)

    def set_offsets(self, source: Source, broker: int, topics: Sequence[Any]) -> None:
        """Take offsets, or timestamps, of the logs that a broker leads."""
        value = "timestamp" if source is Source.MAX_TIMESTAMPS else "offset"
        if source is Source.NEWEST:
            self.newest_at = self._clock()
            topics = self._changed_topics(broker, topics)
        for topic in topics:
            record = self.records.get(topic.name)
            if record is not None and record.set_offsets(OFFSETS[source], broker, topic.partitions, value):
                self._mark(topic.name, source)

    def set_sizes(self, broker: int, sizes: Mapping[str, int]) -> None:
        """Take the bytes of the replicas of topics on a broker."""
        for name, record in self.records.items():
            if record.sizes.get(broker) != sizes.get(name):
                record.sizes.pop(broker, None)
                if name in sizes:
                    record.sizes[broker] = sizes[name]
                self._mark(name, Source.SIZES)

    def set_configs(self, results: Sequence[Any]) -> None:
        """Take the configs of topics. The configs of a topic with an error are unknown."""
        for result in results:
            record = self.records.get(result.resource_name)
            if record is not None:
                values = {} if result.error_code else {config.name: config.value for config in result.configs}
                if record.set_configs(TopicConfigs.of(values)):
                    self._mark(result.resource_name, Source.METADATA, Source.CONFIGS)

    def drop(self, broker: int, source: Source) -> None:
        """Drop the values of a broker that are stale, or the metadata or configs of all topics."""
        if source in OFFSETS:
            self._drop_offsets(broker, source)
        elif source is Source.SIZES:
            self.set_sizes(broker, {})

    def drop_metadata(self) -> None:
        """Drop all topics: no broker reports them any more."""
        self._remove(set(self.records))
        self.metadata = None

    def drop_offline(self) -> None:
        """Drop the offsets of partitions without a leader: no broker confirms them."""
        changed = {name for name, record in self.records.items() if record.counts.offline and record.drop_offline()}
        for name in changed:
            self._mark(name, *OFFSETS)
        self._forget_answers(changed)

    def drop_configs(self) -> None:
        """Drop the configs of all topics."""
        for name, record in self.records.items():
            if record.set_configs(TopicConfigs()):
                self._mark(name, Source.METADATA, Source.CONFIGS)

    def mark_all(self) -> None:
        """Mark all topics as changed."""
        for name in self.records:
            self._mark(name, *Source)

    @property
    def has_changed(self) -> bool:
        """True if any topic was changed or removed since the marks were taken."""
        return bool(self.removed) or any(self.changed.values())

    def take_changes(self) -> tuple[dict[Source, set[str]], set[str]]:
        """Return the changed topics, by kind of answer, and the removed topics, since the last call."""
        taken = self.changed, self.removed
        self.changed, self.removed = {source: set() for source in Source}, set()
        return taken

    def count(self) -> None:
        """Count all partitions by condition and by leader, if any topic changed since the last call."""
        if self._is_counted:
            return
        self._is_counted = True
        records = self.records.values()
        self.counts = PartitionCounts(*map(sum, zip(*(record.counts for record in records), strict=True)))
        self.leaders = Counter[int]()
        for record in records:
            self.leaders.update(record.leaders)

    def _changed_topics(self, broker: int, topics: Sequence[Any]) -> list[Any]:
        """Return the topics of a response with ends of logs that differ from those of the broker's response before."""
        before = self._last.get(broker, ())
        if len(before) != len(topics):
            same = set(map(id, before))
            changed = [topic for topic in topics if id(topic) not in same]
        else:  # the order of the request
            changed = [topic for old, topic in zip(before, topics, strict=True) if old is not topic]
        # What comes before the metadata of its topic is new when the topic is known. What did not change is known.
        is_known = all(topic.name in self.records for topic in changed)
        self._last[broker] = topics if is_known else [each for each in topics if each.name in self.records]
        return changed

    def _drop_offsets(self, broker: int, source: Source) -> None:
        """Drop the offsets that a broker reported and that no other broker has reported since."""
        if source is Source.NEWEST:
            self._last.pop(broker, None)
        for name, record in self.records.items():
            if record.forget(OFFSETS[source], broker):
                self._mark(name, source)

    def _mark(self, topic: str, *sources: Source) -> None:
        for source in sources:
            self.changed[source].add(topic)
        if Source.METADATA in sources:
            self._is_counted = False

    def _remove(self, names: set[str]) -> None:
        if not names:
            return
        for name in names:
            del self.records[name]
        for changed in self.changed.values():
            changed.difference_update(names)
        self.removed |= names
        self._is_counted = False
        self._forget_answers(names)

    def _forget_answers(self, names: set[str]) -> None:
        """Forget the last answers about topics whose values were dropped: if values come back, equal ones are new."""
        if names:
            for broker, topics in self._last.items():
                self._last[broker] = [topic for topic in topics if topic.name not in names]
