"""The series of one cluster, rendered from its state when it changes.

`rendering` renders the marked parts in these steps, and pauses after some milliseconds, so that a scrape need not wait
until all topics of a large cluster are rendered:

    stale values              dropped
    removed parts             their series are removed
    topics with new ends      the groups that read them are marked; also with new configs
    groups' topics that lag   marked, since their lag in seconds grows with time alone
    marked parts              rendered
    the cluster               rendered; a few dozen series
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from kwire_admin.exporter.answers import Source
from kwire_admin.exporter.cluster_values import cluster_values
from kwire_admin.exporter.exposition import Family
from kwire_admin.exporter.group_record import age_at
from kwire_admin.exporter.metric_table import Scope
from kwire_admin.exporter.observed_cluster import ObservedCluster
from kwire_admin.exporter.offset_history import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kwire_admin.exporter.group_record import GroupTopic
    from kwire_admin.exporter.group_table import GroupChanges
    from kwire_admin.exporter.metric_table import NameSet
    from kwire_admin.exporter.observed_cluster import Selection

__all__ = ["ClusterView"]

SLICE_S = 0.02
"""Seconds of rendering between two pauses. Chosen: a scrape that waits for one slice does not notice it."""
OWN_VALUES = frozenset({"series", "omitted_series"})
"""The values that count the series."""
PARTS = 20
"""Number of parts that are rendered between two looks at the clock."""


class ClusterView:
    """The series of one cluster.

    Args:
        name: its name in the label `cluster`; empty for the id of the cluster.
        names: the metrics.
        selection: the topics, the groups, and the level.
        names_cluster: True if the label `cluster` is needed to tell clusters apart.
        clock: returns seconds since 1970.

    Attributes:
        state: the known values of the cluster.
        families: the series by metric.
        is_ready: True once each broker that responds was asked for everything, and the answers are rendered.
        age_interval: seconds after which lags in seconds that only time changes are rendered again.
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
        self.state = ObservedCluster(selection, clock)
        self.is_ready = False
        self.age_interval = 0.0
        self._rendered_at = self._aged_at = -math.inf
        self._configured_name = name
        self._label = name
        self._names_cluster = names.names_cluster or names_cluster
        self._render_seconds = 0.0
        self.families = [Family(metric) for metric in names.metrics if metric.level <= selection.level]
        self._of_scope: dict[Scope, list[Family]] = defaultdict(list)
        for family in self.families:
            self._of_scope[family.metric.scope].append(family)
        self._of_reads = [*self._of_scope[Scope.GROUP_TOPIC], *self._of_scope[Scope.GROUP_PARTITION]]
        # Lag in seconds grows with time alone, so the groups' topics that lag are rendered each time, if it is shown.
        self._aging, self._aging_groups = (
            [family for family in families if family.metric.value.startswith("lag_seconds")]
            for families in (self._of_reads, self._of_scope[Scope.GROUP])
        )
        self._set_label()

    @property
    def name(self) -> str:
        """The value of the label `cluster`: the configured name, else the id of the cluster once it is known."""
        return self._label

    @property
    def needs(self) -> set[Source]:
        """The kinds of answers that the series come from."""
        needed = {family.metric.source for family in self.families if family.metric.source is not None}
        return needed | {Source.UNREAD} if self._aging else needed

    def reset(self) -> None:
        """Forget all values after an error. The series of topics and groups go away until brokers report them."""
        self.state.reset()
        self.is_ready = False
        for family in self.families:
            family.clear()

    def is_due(self, interval: float) -> bool:
        """Return whether anything changed since the last rendering, or it began an interval ago."""
        return self.state.has_changed or not 0 <= self.state.clock() - self._rendered_at < interval

    def render(self) -> None:
        """Render what changed since the last call."""
        for _ in self.rendering():
            pass

    def rendering(self, *, is_complete: bool = False) -> Iterator[None]:
        """Render what changed since the last call, with pauses. A caller exhausts the iterator before the next call.

        Args:
            is_complete: True if all values were known when it began, so that the series are complete once it ends.
        """
        started = time.thread_time()
        paused_at = time.monotonic()
        for _ in self._steps():
            if time.monotonic() - paused_at > SLICE_S:
                self._render_seconds += time.thread_time() - started
                yield
                started, paused_at = time.thread_time(), time.monotonic()
        self.is_ready = self.is_ready or is_complete
        self._render_cluster()
        self._render_seconds += time.thread_time() - started

    def _steps(self) -> Iterator[None]:
        """Render the marked topics and groups, and yield after some parts.

        Answers can arrive during a pause, so a part that was marked may be gone. What they mark is rendered next time.
        """
        state, now = self.state, self.state.clock()
        self._rendered_at = now
        state.drop_stale()
        self._follow_cluster_id()
        state.begin_rendering()
        changed, removed = state.topics.take_changes()
        for name in removed:
            state.groups.mark_readers(name)
        for name in changed[Source.NEWEST]:
            # Once for the responses of all brokers: each leads a few partitions of the topic.
            state.topics.records[name].add_sample(state.topics.newest_at)
        for name in changed[Source.NEWEST] | changed[Source.OLDEST] | changed[Source.CONFIGS]:
            state.groups.mark_readers(name)
        groups = state.groups.take_changes()
        self._remove(removed, groups)
        yield from self._render_reads(groups, now)
        yield from self._render_groups(groups)
        yield from self._render_topics(changed)

    def _remove(self, topics: set[str], groups: GroupChanges) -> None:
        """Remove the series of topics, groups, and groups' topics. A part that came back was marked as changed."""
        for scope, keys in (
            (Scope.TOPIC, topics), (Scope.PARTITION, topics), (Scope.GROUP, groups.removed_groups),
            (Scope.GROUP_TOPIC, groups.removed_reads), (Scope.GROUP_PARTITION, groups.removed_reads),
        ):  # fmt: skip
            for family in self._of_scope[scope]:
                for key in keys:
                    family.set(key, "")

    def _render_reads(self, groups: GroupChanges, now: float) -> Iterator[None]:
        state = self.state
        for number, key in enumerate(groups.reads):
            read = state.groups.read(*key)
            if read is not None:
                self._render_read(key, read, now)
                groups.groups.add(key[0])
            if number % PARTS == 0:
                yield
        yield from self._render_ages(groups, now)

    def _render_ages(self, groups: GroupChanges, now: float) -> Iterator[None]:
        """Render what only the time changed: the lag in seconds of the groups' topics that lag.

        Most have the times of a few samples, so a value is formatted once for all of them.
        """
        state = self.state
        if 0 <= now - self._aged_at < self.age_interval:
            return
        self._aged_at = now
        ages: dict[tuple[float, float], tuple[bytes, bytes]] = {}
        aged: set[str] = set()
        for number, key in enumerate(state.groups.behind - groups.reads if self._aging else ()):
            read = state.groups.read(*key)
            if read is not None and read.written_times:
                before = read.aged_at
                values = []
                for time in read.written_times:
                    if (time, before) not in ages:
                        ages[time, before] = str(age_at(time, before)).encode(), str(age_at(time, now)).encode()
                    values.append(ages[time, before])
                read.age(now)
                if now < before or len(dict(values)) < len(values):  # different times have equal values
                    self._render_families(self._aging, key, read)
                else:  # the oldest first: no new value is a value that is still to be replaced
                    for family in self._aging:
                        family.replace_values(key, values)
                    read.release()
                aged.add(key[0])
            if number % PARTS == 0:
                yield
        for group_id in aged - groups.groups:
            self._render_group(self._aging_groups, group_id)

    def _render_read(self, key: tuple[str, str], read: GroupTopic, now: float) -> None:
        """Render a group's topic after new offsets or ends."""
        record = self.state.topics.records.get(key[1])
        if self._aging and record is not None and record.history.is_empty:
            self.state.start_history(record, key[1])
        read.evaluate(record, with_ages=bool(self._aging))
        table = self.state.groups
        for keys, is_in in (
            (table.behind, read.is_behind),
            (table.unbounded, bool(read.unbounded)),
            (table.endless, UNKNOWN in read.lag),
        ):
            (keys.add if is_in else keys.discard)(key)
        if self._aging:
            read.age(now)
        self._render_families(self._of_reads, key, read)

    def _render_families(self, families: Sequence[Family], key: tuple[str, str], read: GroupTopic) -> None:
        for family in families:
            if family.metric.scope is Scope.GROUP_TOPIC:
                family.set(key, family.line(key, read))
                continue
            values: Sequence[float] | Mapping[int, float] = getattr(read, family.metric.value)
            if isinstance(values, Mapping):
                family.set(key, family.partition_lines(key, tuple(values), tuple(values.values())))
            else:
                family.set(key, family.partition_lines(key, read.indexes, values))
        read.release()

    def _render_groups(self, groups: GroupChanges) -> Iterator[None]:
        for number, group_id in enumerate(groups.groups):
            self._render_group(self._of_scope[Scope.GROUP], group_id)
            if number % PARTS == 0:
                yield

    def _render_group(self, families: Sequence[Family], group_id: str) -> None:
        group = self.state.groups.records.get(group_id)
        for family in families if group is not None else ():
            family.set(group_id, family.line((group_id,), group))

    def _render_topics(self, changed: Mapping[Source, set[str]]) -> Iterator[None]:
        records = self.state.topics.records
        for family in (*self._of_scope[Scope.TOPIC], *self._of_scope[Scope.PARTITION]):
            value = attrgetter(family.metric.value)
            for number, name in enumerate(changed[family.metric.source or Source.METADATA]):
                record = records.get(name)
                if record is not None and not (family.metric.skips_internal and record.metadata.is_internal):
                    if family.metric.scope is Scope.TOPIC:
                        family.set(name, family.line((name,), record))
                    else:
                        family.set(name, family.partition_lines((name,), record.indexes, value(record)))
                if number % PARTS == 0:
                    yield
        if self._aging:
            for name in changed[Source.NEWEST]:
                self._thin_old_samples(name)

    def _thin_old_samples(self, topic: str) -> None:
        """Merge more of the samples of a topic that are older than the oldest record that any group has not read."""
        record, state = self.state.topics.records.get(topic), self.state
        if record is None or record.history.is_empty:
            return
        readers = state.groups.readers.get(topic)
        if not readers:
            record.history.clear()
            return
        reads = (state.groups.records[group].topics[topic] for group in readers)
        record.history.thin_before(min(read.oldest_written for read in reads))

    def _render_cluster(self) -> None:
        """Render the series of the cluster, and decide which series are shown."""
        self.state.answers.has_changed = False
        self.state.topics.count()
        values: dict[str, object] = {**cluster_values(self.state)}
        families = self._of_scope[Scope.CLUSTER]
        # The number of series is a series itself, so a second pass counts the lines that the first one added.
        for _ in range(2):
            self._include()
            values |= self._own_values()
            for family in families:
                family.set("", family.lines(values.get(family.metric.value)))
            families = [family for family in families if family.metric.value in OWN_VALUES]
        self._include()

    def _own_values(self) -> dict[str, object]:
        """Return the values about the series themselves."""
        omitted = [((family.metric.name,), family.series - family.included) for family in self.families]
        return {
            "ready": int(self.is_ready),
            "series": sum(family.series for family in self.families),
            "omitted_series": [(name, count) for name, count in omitted if count],
            "render_seconds": round(self._render_seconds, 6),
        }

    def _include(self) -> None:
        """Show at most `max_series`, in the order of the metrics."""
        left = self.state.selection.max_series
        for family in self.families:
            left -= family.include(left)

    def _follow_cluster_id(self) -> None:
        """Use the id of the cluster as its label, if it has no configured name. Without an id, the label is empty."""
        metadata = self.state.metadata
        if not self._configured_name and metadata is not None and metadata.cluster_id not in (None, "", self._label):
            self._label = metadata.cluster_id
            self._set_label()
            self.state.topics.mark_all()
            self.state.groups.mark_all()

    def _set_label(self) -> None:
        label = {"cluster": self._label} if self._names_cluster else {}
        for family in self.families:
            family.set_constant(label)
