"""The exporter over long times, with very many groups, and with offsets that expire."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kwire_admin.exporter
from kwire.testing import FakeCluster
from kwire_admin.exporter.offset_history import MAX_SAMPLES
from tests.exporter.scraping import Series, feed, scrape, view

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire_admin.exporter.cluster_view import ClusterView

GROUPS = 100_000


def allocated() -> int:
    """Return the bytes that the package of the exporter has allocated and that are in use."""
    gc.collect()
    package = tracemalloc.Filter(inclusive=True, filename_pattern=f"{Path(kwire_admin.exporter.__file__).parent}/*")
    statistics = tracemalloc.take_snapshot().filter_traces([package]).statistics("filename")
    return sum(statistic.size for statistic in statistics)


def test_a_day_of_churn_does_not_grow() -> None:
    """24 simulated hours: topics, groups, and leaders come and go; memory stays as it was after two hours."""
    now = [0.0]
    sizes, memory = [], {}
    with FakeCluster(3, topics=["base"], partitions=2) as cluster:
        ours = view(clock=lambda: now[0])
        tracemalloc.start()
        try:
            for minute in range(0, 24 * 60, 2):
                now[0] += 120
                name = f"topic-{minute}"
                cluster.create_topics([name], 2)
                cluster.set_ends(name, {0: minute, 1: 5})
                cluster.set_ends("base", {0: 10 * minute, 1: 5})
                cluster.move_random_leaders(1.0)
                # One group is always there and behind, the other one is new.
                cluster.set_groups(
                    {f"group-{minute}": {name: {0: 0}, "base": {0: 0}}, "constant": {"base": {0: minute}}}
                )
                feed(ours, cluster)
                cluster.delete_topics(name)
                held: tuple[Collection[Any], ...] = (
                    ours.state.topics.records,
                    ours.state.topics.removed,
                    ours.state.groups.records,
                    ours.state.groups.readers,
                    ours.state.groups.behind,
                    ours.state.answers.answered,
                    ours.state.answers.failures,
                )
                sizes.append(sum(len(values) for values in held) + sum(family.series for family in ours.families))
                if minute in (120, 24 * 60 - 2):
                    memory[minute] = allocated()
        finally:
            tracemalloc.stop()
    assert set(ours.state.topics.records) == {"base", f"topic-{24 * 60 - 2}"}
    assert set(ours.state.groups.records) == {"constant", f"group-{24 * 60 - 2}"}
    assert max(sizes[-50:]) <= max(sizes[25:75])
    after_two_hours, at_the_end = memory.values()
    # The history of the topic that a group reads from its start grows to its limit. What 660 rounds left would be more.
    assert at_the_end <= after_two_hours + 160 * MAX_SAMPLES, memory


def test_a_hundred_thousand_groups() -> None:
    """All are exact, series above --max-series are counted, and deleted groups leave nothing."""
    offsets = {number: {"orders": {number % 10: number}} for number in range(GROUPS)}
    with FakeCluster(3, topics=["orders"], partitions=10) as cluster:
        cluster.set_ends("orders", dict.fromkeys(range(10), GROUPS))
        cluster.set_groups({f"group-{number}": offsets[number] for number in offsets})
        ours = view(max_series=500_000)
        feed(ours, cluster)
        assert parsed(ours, "kafka_group_lag") == {(f"group-{number}",): GROUPS - number for number in offsets}
        assert parsed(ours, "kafka_groups") == {("classic", "Empty"): GROUPS}
        shown = sum(family.included for family in ours.families)
        total = sum(family.series for family in ours.families)
        assert shown == 500_000
        assert parsed(ours, "kwire_exporter_series") == {(): total}
        assert sum(parsed(ours, "kwire_exporter_omitted_series").values()) == total - shown
        cluster.set_groups({"group-7": offsets[7]})
        feed(ours, cluster)
    series = scrape(ours)
    assert {labels[0] for (name, labels) in series if name.startswith("kafka_group_")} == {"group-7"}
    assert series.one("kafka_group_partition_lag", "group-7", "orders", 7) == GROUPS - 7
    assert ours.state.groups.readers == {"orders": {"group-7"}}


def parsed(of: ClusterView, name: str) -> dict[tuple[str, ...], float]:
    """Return the series of one metric; a whole page would take long to parse."""
    [family] = [family for family in of.families if family.metric.name == name]
    return Series.parse(b"".join(family.blocks()).decode()).of(name)


def test_expired_offsets_leave_no_series() -> None:
    """A coordinator drops offsets after `offsets.retention.minutes`, by partition; the group may remain."""
    with FakeCluster(1, topics=["audit", "orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 20})
        cluster.set_ends("audit", {0: 5})
        cluster.set_group("shop", {"orders": {0: 4, 1: 20}, "audit": {0: 1}})
        ours = view()
        feed(ours, cluster)
        assert scrape(ours).one("kafka_group_lag", "shop") == 10

        cluster.set_group("shop", {"orders": {1: 20}, "audit": {0: 1}})
        feed(ours, cluster)
        series = scrape(ours)
        assert series.one("kafka_group_lag", "shop") == 4
        assert set(series.of("kafka_group_partition_committed_offset")) == {
            ("shop", "audit", "0"),
            ("shop", "orders", "1"),
        }

        cluster.set_group("shop", {"orders": {0: -1, 1: 20}})  # -1: no offset
        feed(ours, cluster)
        series = scrape(ours)
        assert series.of("kafka_group_topic_lag") == {("shop", "orders"): 0}
        assert series.of("kafka_group_partition_lag") == {("shop", "orders", "1"): 0}

        cluster.set_group("shop", {})
        feed(ours, cluster)
        series = scrape(ours)
        assert series.one("kafka_group_info", "shop", "classic", "Empty", "consumer", 1) == 1
        assert series.one("kafka_group_members", "shop") == 0
        assert series.one("kafka_group_lag", "shop") is None
        assert series.one("kafka_group_lag_seconds", "shop") is None
        assert not [
            labels for name, labels in series if name.startswith(("kafka_group_topic_", "kafka_group_partition_"))
        ]
