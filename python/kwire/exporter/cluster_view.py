"""The known state of one cluster: responses in, series out.

Responses share unchanged parts with the responses before (`kwire.Decoder`), so a part that is the same object as last
time is skipped. What differs marks a topic, a group, or a group's topic. `render` renders the marked ones again, in
these steps:

    topics with new ends      a sample for their history; the groups that read them are marked
    groups' topics that lag   marked, since their lag in seconds grows with time alone
    marked parts              rendered
    the cluster               rendered; a few dozen series
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kwire.client.admin.group_values import GroupType
from kwire.exporter.cluster_values import METADATA, cluster_values
from kwire.exporter.exposition import Family
from kwire.exporter.group_record import GroupTopic, MonitoredGroup
from kwire.exporter.metric_table import Scope, Source
from kwire.exporter.offset_history import UNKNOWN
from kwire.exporter.topic_record import MonitoredTopic, PartitionCounts
from kwire.metadata import events
from kwire.protocol import NoCommonVersion
from kwire.releases import guess_release

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kwire.client.admin.group_values import GroupDescription
    from kwire.client.poll import Poll
    from kwire.exporter.metric_table import NameSet
    from kwire.exporter.selection import Selection

__all__ = ["ClusterView"]

HANGING_AFTER_MS = 900_000
"""The default of `transaction.max.timeout.ms`: no transaction that is alive is older."""
STALE_AFTER_S = 300.0
"""Age in seconds from which the answers of a broker are not shown any more, as Prometheus does with samples."""
EVENTS = tuple(name for name in events.__all__ if name != "MetadataEvent")


class ClusterView:
    """The known state of one cluster.

    Args:
        name: its name in the label `cluster`.
        names: the metrics.
        selection: the topics, the groups, and the level.
        names_cluster: True if the label `cluster` is needed to tell clusters apart.
        clock: returns seconds since 1970.
    """

    def __init__(
        self,
        name: str,
        names: NameSet,
        selection: Selection,
        *,
        names_cluster: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.selection = selection
        self.records: dict[str, MonitoredTopic] = {}
        self.groups: dict[str, MonitoredGroup] = {}
        self._clock = clock
        constant = {"cluster": name} if names.names_cluster or names_cluster else {}
        self.families = [Family(metric, constant) for metric in names.metrics if metric.scope.level <= selection.level]
        self._of_scope: dict[Scope, list[Family]] = defaultdict(list)
        for family in self.families:
            self._of_scope[family.metric.scope].append(family)
        self._of_reads = [*self._of_scope[Scope.GROUP_TOPIC], *self._of_scope[Scope.GROUP_PARTITION]]
        # Lag in seconds grows with time alone, so the groups' topics that lag are rendered each time, if it is shown.
        self._aging = [family for family in self._of_reads if family.metric.value.startswith("lag_seconds")]
        # What changed since the last rendering.
        self._changed: dict[Source, set[str]] = {source: set() for source in Source}
        self._changed_groups: set[str] = set()
        self._changed_reads: set[tuple[str, str]] = set()
        self._behind: set[tuple[str, str]] = set()
        self._readers: dict[str, set[str]] = defaultdict(set)
        # The last responses, by broker.
        self.metadata: Any = None
        self._seen: dict[tuple[int | str, str], Any] = {}
        self._listed: dict[int, Any] = {}
        self.log_dirs: dict[int, list[tuple[Any, int]]] = {}
        self.transactions: dict[int, Any] = {}
        self.hanging: dict[int, dict[tuple[str, int], int]] = {}
        self.quorum: Any = None
        self.features: Any = None
        self.release = ""
        self.tokens: Sequence[Any] = ()
        self.answered: dict[tuple[int, int], float] = {}
        self.latency: dict[tuple[int, int], tuple[int, float]] = {}
        self.failed: Counter[tuple[int, int, str]] = Counter()
        self.events: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self.down: set[int] = set()
        self.controller = UNKNOWN
        self._has_fewer_topics = False
        self.counts = PartitionCounts()
        self.leaders: Counter[int] = Counter()
        self.certificate_ends: Mapping[int, float] = {}
        self.incidents: Mapping[str, int] = {}
        self.render_seconds = 0.0

    # Responses

    def add_poll(self, poll: Poll[Any]) -> None:
        """Count a poll of any API: its latency or error, and its events."""
        key = poll.broker_id, poll.api_key
        if poll.error is None:
            count, seconds = self.latency.get(key, (0, 0.0))
            self.latency[key] = count + 1, seconds + poll.duration_us / 1e6
            self.answered[key] = self._clock()
            self.down.discard(poll.broker_id)
        elif not isinstance(poll.error, NoCommonVersion):  # the release lacks the API; that does not count as a failure
            self.failed[(*key, type(poll.error).__name__)] += 1
            if poll.api_key == METADATA:
                self.down.add(poll.broker_id)
        if poll.controller_id is not None:
            self.controller = poll.controller_id
        self.events.update(type(event).__name__ for event in poll.events)

    def set_metadata(self, metadata: Any) -> None:
        """Take the metadata of all topics."""
        if metadata is None or metadata is self.metadata:
            return
        self.metadata = metadata
        current: set[str] = set()
        for topic in metadata.topics:
            if topic.name is None or not self.selection.has_topic(topic.name):
                continue
            current.add(topic.name)
            record = self.records.get(topic.name)
            if record is not None and record.metadata is topic:
                continue
            if record is None or record.metadata.topic_id != topic.topic_id:
                self._remove_topic(topic.name)  # another topic of the same name has other offsets
                self.records[topic.name] = MonitoredTopic(topic)
                self._mark(topic.name, *Source)
            else:
                record.update(topic)
                self._mark(topic.name, Source.METADATA)
        for name in self.records.keys() - current:
            self._remove_topic(name)

    def forget_brokers(self, polled: Collection[int]) -> None:
        """Drop the answers of brokers that are not polled any more."""
        for broker in {broker for broker, _ in self.answered} | self.down:
            if broker not in polled:
                self._drop(broker)
                self.down.discard(broker)

    def set_ends(self, broker: int, response: Any) -> None:
        """Take the ends of the logs that a broker leads."""
        for topic in self._changed_topics(broker, "ends", response.topics):
            self.records[topic.name].set_ends(topic.partitions)
            self._mark(topic.name, Source.NEWEST)

    def set_starts(self, broker: int, response: Any) -> None:
        """Take the first offsets of the logs that a broker leads."""
        for topic in self._changed_topics(broker, "starts", response.topics):
            self.records[topic.name].set_starts(topic.partitions)
            self._mark(topic.name, Source.OLDEST)

    def set_log_dirs(self, broker: int, response: Any) -> None:
        """Take the log directories of a broker."""
        if response.error_code:
            return
        sizes: Counter[str] = Counter()
        self.log_dirs[broker] = []
        for log_dir in response.results:
            before = sizes.total()
            for topic in log_dir.topics:
                sizes[topic.name] += sum([partition.partition_size for partition in topic.partitions])
            self.log_dirs[broker].append((log_dir, sizes.total() - before))
        for name, record in self.records.items():
            if record.sizes.get(broker) != sizes.get(name):
                record.sizes.pop(broker, None)
                if name in sizes:
                    record.sizes[broker] = sizes[name]
                self._mark(name, Source.SIZES)

    def set_configs(self, response: Any) -> None:
        """Take `min.insync.replicas` and `cleanup.policy` of topics."""
        for result in response.results:
            record = self.records.get(result.resource_name)
            if record is not None and not result.error_code:
                values = {config.name: config.value for config in result.configs}
                limits = int(values.get("min.insync.replicas") or UNKNOWN), values.get("cleanup.policy") or ""
                if limits != (record.min_isr, record.cleanup_policy):
                    record.min_isr, record.cleanup_policy = limits
                    record.count_partitions()
                    self._mark(result.resource_name, Source.METADATA)

    def set_groups(self, broker: int, response: Any) -> None:
        """Take the groups that a broker coordinates."""
        if response.error_code or self._listed.get(broker) is response.groups:
            return
        self._listed[broker] = response.groups
        current: set[str] = set()
        for listed in response.groups:
            if not self.selection.has_group(listed.group_id):
                continue
            current.add(listed.group_id)
            group = self.groups.setdefault(listed.group_id, MonitoredGroup(listed.group_id))
            if group.source is not listed or group.coordinator != broker:
                group.source, group.coordinator = listed, broker
                group.kind, group.state = GroupType.of(listed.group_type), listed.group_state
                group.protocol_type = listed.protocol_type
                self._changed_groups.add(listed.group_id)
        for group_id in [group.group_id for group in self.groups.values() if group.coordinator == broker]:
            if group_id not in current:
                self._remove_group(group_id)

    def set_group_offsets(self, response: Any) -> None:
        """Take committed offsets, of share groups as well."""
        for reported in response.groups:
            group = self.groups.get(reported.group_id)
            if group is None or reported.error_code:
                continue
            if self._seen.get(("offsets", reported.group_id)) is reported:
                continue
            self._seen["offsets", reported.group_id] = reported
            current: set[str] = set()
            for topic in reported.topics:
                name = getattr(topic, "topic_name", None) or topic.name
                if not self.selection.has_topic(name):
                    continue
                current.add(name)
                read = group.topics.get(name)
                if read is None:
                    read = group.topics[name] = GroupTopic(group)
                    self._readers[name].add(group.group_id)
                if read.update(topic):
                    self._changed_reads.add((group.group_id, name))
            for name in group.topics.keys() - current:
                self._remove_read(group, name)
                self._changed_groups.add(group.group_id)

    def set_group_description(self, group_id: str, described: Any, description: Callable[[], GroupDescription]) -> None:
        """Take the members of a group; `description` is called if `described` is another object than before."""
        group = self.groups.get(group_id)
        if group is not None and self._seen.get(("members", group_id)) is not described:
            self._seen["members", group_id] = described
            group.description = description()
            self._changed_groups.add(group_id)
            self._changed_reads.update((group_id, topic) for topic in group.topics)

    def set_transactions(self, broker: int, response: Any) -> None:
        """Take the transactional ids that a broker coordinates."""
        if not response.error_code:
            self.transactions[broker] = response.transaction_states

    def partitions_with_open_transactions(self, response: Any) -> dict[str, list[int]]:
        """Return the partitions whose last stable offset is before the end of the log, by topic.

        Args:
            response: the last stable offsets of the partitions that a broker leads.
        """
        partitions_of_topics: dict[str, list[int]] = defaultdict(list)
        for topic in response.topics:
            newest = self.records[topic.name].newest if topic.name in self.records else []
            for partition in topic.partitions:
                if (
                    partition.error_code == 0
                    and partition.partition_index < len(newest)
                    and partition.offset < newest[partition.partition_index]
                ):
                    partitions_of_topics[topic.name].append(partition.partition_index)
        return partitions_of_topics

    def set_producers(self, broker: int, topics: Iterable[Any]) -> None:
        """Take the producers of partitions with open transactions: a transaction that no coordinator knows hangs."""
        newest = int(self._clock() * 1000) - HANGING_AFTER_MS
        known = {
            transaction.producer_id
            for listed in self.transactions.values()
            for transaction in listed
            if transaction.transaction_state != "Empty"
        }
        hanging = {}
        for topic in topics:
            for partition in topic.partitions:
                producers = [
                    active_producer
                    for active_producer in partition.active_producers
                    if active_producer.current_txn_start_offset >= 0
                ]
                count = sum(
                    producer.last_timestamp < newest and producer.producer_id not in known for producer in producers
                )
                if count:
                    hanging[topic.name, partition.partition_index] = count
        self.hanging[broker] = hanging

    def set_quorum(self, response: Any) -> None:
        """Take the state of the KRaft quorum."""
        if not response.error_code and not response.topics[0].partitions[0].error_code:
            self.quorum = response.topics[0].partitions[0]

    def set_features(self, response: Any) -> None:
        """Take an ApiVersions response."""
        if response is not self.features:
            self.features, self.release = response, str(guess_release(response))

    def set_tokens(self, response: Any) -> None:
        """Take the delegation tokens that the client may see."""
        self.tokens = () if response.error_code else response.tokens

    def _changed_topics(self, broker: int, kind: str, topics: Sequence[Any]) -> list[Any]:
        """Return the topics of a response that differ from those of the broker's response before."""
        before = self._seen.get((broker, kind), ())
        self._seen[broker, kind] = topics
        if len(before) != len(topics):
            known = set(map(id, before))
            return [topic for topic in topics if id(topic) not in known and topic.name in self.records]
        pairs = zip(before, topics, strict=True)  # the order of the request
        return [topic for old, topic in pairs if old is not topic and topic.name in self.records]

    def _mark(self, topic: str, *sources: Source) -> None:
        for source in sources:
            self._changed[source].add(topic)

    def _remove_topic(self, name: str) -> None:
        if self.records.pop(name, None) is None:
            return
        for scope in (Scope.TOPIC, Scope.PARTITION):
            for family in self._of_scope[scope]:
                family.set(name, "")
        for changed in self._changed.values():
            changed.discard(name)
        self._has_fewer_topics = True
        self._seen.clear()  # if the topic comes back, equal offsets are new to it
        self._changed_reads.update((group, name) for group in self._readers.get(name, ()))

    def _remove_read(self, group: MonitoredGroup, topic: str) -> None:
        key = group.group_id, topic
        group.topics.pop(topic)
        self._readers[topic].discard(group.group_id)
        if not self._readers[topic]:
            del self._readers[topic]
            if topic in self.records:
                self.records[topic].history.clear()
        for scope in (Scope.GROUP_TOPIC, Scope.GROUP_PARTITION):
            for family in self._of_scope[scope]:
                family.set(key, "")
        self._changed_reads.discard(key)
        self._behind.discard(key)

    def _remove_group(self, group_id: str) -> None:
        group = self.groups.pop(group_id)
        for topic in list(group.topics):
            self._remove_read(group, topic)
        for family in self._of_scope[Scope.GROUP]:
            family.set(group_id, "")
        self._seen.pop(("offsets", group_id), None)
        self._seen.pop(("members", group_id), None)
        self._changed_groups.discard(group_id)

    # Series

    def render(self) -> None:
        """Render what changed since the last call."""
        started = time.thread_time()
        now = self._clock()
        self._drop_stale(now)
        for name in self._changed[Source.NEWEST]:
            if name in self._readers:
                self.records[name].history.add(now, self.records[name].newest)
                self._changed_reads.update((group, name) for group in self._readers[name])
        for group_id, topic in self._behind - self._changed_reads:
            self._render_ages(self.groups[group_id], topic, now)
        for group_id, topic in self._changed_reads:
            group = self.groups.get(group_id)
            if group is not None and topic in group.topics:
                self._render_read(group, topic, now)
        for group_id in self._changed_groups:
            for family in self._of_scope[Scope.GROUP]:
                family.set(group_id, family.line((group_id,), self.groups[group_id]))
        self._render_topics()
        if self._changed[Source.METADATA] or self._has_fewer_topics:
            self._count_partitions()
            self._has_fewer_topics = False
        self._changed_reads.clear()
        self._changed_groups.clear()
        for changed in self._changed.values():
            changed.clear()
        # The number of series is a series itself, so a second pass counts the lines that the first one added.
        for _ in range(2):
            self._include()
            values = cluster_values(self)
            for family in self._of_scope[Scope.CLUSTER]:
                family.set("", family.lines(values.get(family.metric.value)))
        self._include()
        self.render_seconds += time.thread_time() - started

    def _include(self) -> None:
        """Show at most `max_series`, in the order of the metrics."""
        left = self.selection.max_series
        for family in self.families:
            left -= family.include(left)

    def _count_partitions(self) -> None:
        """Count all partitions by condition and by leader."""
        records = self.records.values()
        self.counts = PartitionCounts(*map(sum, zip(*(record.counts for record in records), strict=True)))
        self.leaders = Counter[int]()
        for record in records:
            self.leaders.update(record.leaders)

    def _render_topics(self) -> None:
        for family in (*self._of_scope[Scope.TOPIC], *self._of_scope[Scope.PARTITION]):
            value = attrgetter(family.metric.value)
            for name in self._changed[family.metric.source]:
                record = self.records[name]
                if family.metric.scope is Scope.TOPIC:
                    family.set(name, family.line((name,), record))
                else:
                    values: list[int] = value(record)
                    family.set(name, family.partition_lines((name,), range(len(values)), values))

    def _render_read(self, group: MonitoredGroup, topic: str, now: float) -> None:
        """Render a group's topic after new offsets or ends."""
        read, record, key = group.topics[topic], self.records.get(topic), (group.group_id, topic)
        if record is not None and record.history.is_empty:
            record.history.add(now, record.newest)
        read.evaluate(record, with_ages=bool(self._aging))
        if self._aging:
            read.age(now)
            (self._behind.add if read.is_behind else self._behind.discard)(key)
        self._render_families(self._of_reads, key, read)
        self._changed_groups.add(group.group_id)

    def _render_ages(self, group: MonitoredGroup, topic: str, now: float) -> None:
        """Render the lag in seconds of a group's topic that is behind, and for which nothing else changed."""
        group.topics[topic].age(now)
        self._render_families(self._aging, (group.group_id, topic), group.topics[topic])
        for family in self._of_scope[Scope.GROUP]:
            if family.metric.value == "lag_seconds":
                family.set(group.group_id, family.line((group.group_id,), group))

    def _render_families(self, families: Sequence[Family], key: tuple[str, str], read: GroupTopic) -> None:
        for family in families:
            if family.metric.scope is Scope.GROUP_TOPIC:
                family.set(key, family.line(key, read))
            else:
                family.set(key, family.partition_lines(key, read.indexes, getattr(read, family.metric.value)))
        read.release()

    def _drop_stale(self, now: float) -> None:
        """Remove the answers of brokers that have been silent for STALE_AFTER_S: they may be wrong by now."""
        last: dict[int, float] = {}
        for (broker, _), answered in self.answered.items():
            last[broker] = max(last.get(broker, 0.0), answered)
        for broker, answered in last.items():
            if now - answered > STALE_AFTER_S:
                self._drop(broker)
        if last and all(now - answered > STALE_AFTER_S for answered in last.values()):
            for name in list(self.records):
                self._remove_topic(name)
            self.metadata = None

    def _drop(self, broker: int) -> None:
        """Remove the groups, offsets, and sizes that a broker reported."""
        for group_id in [group.group_id for group in self.groups.values() if group.coordinator == broker]:
            self._remove_group(group_id)
        for kind, attribute, source in (("ends", "newest", Source.NEWEST), ("starts", "oldest", Source.OLDEST)):
            for topic in self._seen.pop((broker, kind), ()):
                offsets: list[int] = getattr(self.records.get(topic.name), attribute, [])
                for partition in topic.partitions:  # one with another leader has another offset, or will have it soon
                    if offsets[partition.partition_index : partition.partition_index + 1] == [partition.offset]:
                        offsets[partition.partition_index] = UNKNOWN
                        self._mark(topic.name, source)
        for known in (self._listed, self.log_dirs, self.transactions, self.hanging):
            known.pop(broker, None)
        for by_api in (self.answered, self.latency):
            for key in [key for key in by_api if key[0] == broker]:
                del by_api[key]
