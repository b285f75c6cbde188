"""The names of other exporters: every metric and label of their dashboards and rules, with the values these expect.

The queries are those of kafka_exporter's dashboard 7589 and mixin, of Strimzi's rules and dashboard for it, and of
KMinion's documentation, its end-to-end test, and public repositories.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kwire.testing import FakeCluster
from tests.eventually import eventually
from tests.exporter.scraping import feed, monitored, scrape, view
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.exporter.scraping import Series

KAFKA_EXPORTER = """
kafka_brokers
kafka_broker_info{id="1",address=~".+"}
count(kafka_topic_partitions{topic=~"orders"})
sum(kafka_topic_partitions{topic=~"orders"})
sum(kafka_topic_partition_replicas{topic=~"orders"})
sum(kafka_topic_partition_in_sync_replica{topic=~"orders"})
sum(kafka_topic_partition_under_replicated_partition{topic=~"orders"})
count(kafka_topic_partition_leader_is_preferred{topic=~"orders"} < 1)
count(kafka_topic_partition_leader{topic=~"orders",partition="0"} < 0)
sum(rate(kafka_topic_partition_current_offset{topic=~"orders"}[1m])) by (topic)
sum(delta(kafka_topic_partition_current_offset{topic=~"orders"}[5m])/5) by (topic)
sum(delta(kafka_consumergroup_current_offset{topic=~"orders"}[5m])/5) by (consumergroup, topic)
sum(kafka_consumergroup_lag{topic=~"orders"}) by (consumergroup, topic)
sum by (consumergroup) (kafka_consumergroup_lag_sum{topic=~"orders"})
sum by (topic) (kafka_topic_partition_current_offset) - sum by (topic) (kafka_topic_partition_oldest_offset)
kafka_consumergroup_current_offset{consumergroup="billing",topic="orders",partition="0"}
rate(kafka_consumergroup_current_offset_sum{consumergroup="billing",topic="orders"}[5m])
kafka_consumergroup_members{consumergroup="billing"}
changes(kafka_topic_partition_current_offset{topic!="__consumer_offsets"}[10m]) == 0
kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="0"} > 1000
kafka_exporter_build_info{version=~".+"}
"""
KMINION = """
kminion_exporter_up{version=~".+"}
kminion_kafka_cluster_info{broker_count="3",cluster_id=~".+",cluster_version=~".+",controller_id=~".+"}
count(kminion_kafka_broker_info{address=~".+",broker_id="1",port=~".+",rack_id="",is_controller=~"true|false"})
sum by (broker_id) (kminion_kafka_broker_log_dir_size_total_bytes{address=~".+",port=~".+",rack_id=""})
topk(10, kminion_kafka_topic_log_dir_size_total_bytes{topic_name="orders"})
kminion_kafka_topic_info{topic_name="orders",partition_count="3",replication_factor="3",cleanup_policy="delete"}
kminion_kafka_topic_info_partitions_count{topic_name="orders"}
kminion_kafka_topic_info_replication_factor{topic_name="orders"}
kminion_kafka_topic_info_min_insync_replicas{topic_name="orders"}
kminion_kafka_topic_info_retention_ms{topic_name="orders"}
sum by (topic_name) (rate(kminion_kafka_topic_high_water_mark_sum[5m]))
kminion_kafka_topic_high_water_mark_sum - on (topic_name) kminion_kafka_topic_low_water_mark_sum
kminion_kafka_topic_partition_high_water_mark{topic_name="orders",partition_id="0"}
kminion_kafka_topic_partition_low_water_mark{topic_name="orders",partition_id="0"}
time() - kminion_kafka_topic_max_timestamp{topic_name="orders"} / 1000
kminion_kafka_topic_partition_max_timestamp{topic_name="orders",partition_id="0"}
kminion_kafka_consumer_group_info{group_id="billing",coordinator_id=~".+",protocol=~".*",protocol_type="consumer",state="Stable"}
kminion_kafka_consumer_group_info_count
kminion_kafka_consumer_group_info_empty_groups
kminion_kafka_consumer_group_members{group_id="billing"}
kminion_kafka_consumer_group_empty_members{group_id="billing"}
kminion_kafka_consumer_group_topic_members{group_id="billing",topic_name="orders"}
kminion_kafka_consumer_group_topic_assigned_partitions{group_id="billing",topic_name="orders"}
rate(kminion_kafka_consumer_group_topic_offset_sum{group_id="billing",topic_name="orders"}[5m])
sum by (group_id, topic_name) (kminion_kafka_consumer_group_topic_lag)
max by (group_id) (kminion_kafka_consumer_group_topic_partition_lag{topic_name="orders",partition_id="0"})
rate(kminion_kafka_consumer_group_offset_commits_total{group_id="billing"}[5m])
rate(kminion_kafka_requests_sent_total[5m])
rate(kminion_kafka_requests_received_total[5m])
"""
SELECTOR = re.compile(r"\b((?:kafka|kminion)_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=3, topics=["orders"], partitions=3, kraft=True) as cluster:
        cluster.set_ends("orders", dict.fromkeys(range(3), 100), dict.fromkeys(range(3), 5))
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}}, members=1)  # nothing for partition 2
        yield cluster


async def test_every_selector_of_their_queries_has_series(cluster: FakeCluster) -> None:
    views = {"kafka_exporter": view("kafka_exporter"), "kminion": view("kminion")}
    async with monitored(cluster.bootstrap, *views.values()):
        await eventually(lambda: all(each.is_ready for each in views.values()), "all values are complete")
    for names, queries in (("kafka_exporter", KAFKA_EXPORTER), ("kminion", KMINION)):
        labels = {family.metric.name: family.metric.labels for family in views[names].families}
        series = scrape(views[names])
        for query in queries.strip().splitlines():
            for name, matchers in SELECTOR.findall(query):
                assert any(_matches(labels[name], values, matchers) for values in series.of(name)), query
            for by in re.findall(r"(?:by|on) ?\(([^)]*)\)", query):
                assert {label.strip() for label in by.split(",")} <= set(labels[name]), query


def _matches(labels: tuple[str, ...], values: tuple[str, ...], matchers: str) -> bool:
    """Return whether the labels of a series match a selector, as Prometheus does."""
    own = dict(zip(labels, values, strict=True))
    for label, operator, text in MATCHER.findall(matchers):
        assert label in own, f"there is no label {label}"
        matches = bool(re.fullmatch(text, own[label])) if operator == "=~" else own[label] == text
        if matches == (operator == "!="):
            return False
    return True


@for_rows(
    "name, labels, value",
    [
        ("kafka_consumergroup_lag", ("billing", "orders", 2), -1),  # "so that one can alert on it"
        ("kafka_consumergroup_current_offset", ("billing", "orders", 2), -1),
        ("kafka_consumergroup_lag", ("billing", "orders", 0), 60),
        ("kafka_consumergroup_lag_sum", ("billing", "orders"), 100),
        ("kafka_consumergroup_current_offset_sum", ("billing", "orders"), 100),
        ("kafka_topic_partition_under_replicated_partition", ("orders", 1), 0),
        ("kafka_topic_partition_leader_is_preferred", ("orders", 1), 1),
        ("kafka_brokers", (), 3),
    ],
)
def test_values_that_their_rules_compare(name: str, labels: tuple[object, ...], value: float) -> None:
    assert healthy_page().one(name, *labels) == value


def healthy_page() -> Series:
    with FakeCluster(brokers=3, topics=["orders"], partitions=3) as cluster:
        cluster.set_ends("orders", dict.fromkeys(range(3), 100), dict.fromkeys(range(3), 5))
        cluster.set_group("billing", {"orders": {0: 40, 1: 60}}, members=1)
        ours = view("kafka_exporter")
        feed(ours, cluster)
        return scrape(ours)


async def test_commits_that_polls_find_are_counted(cluster: FakeCluster) -> None:
    ours = view("kminion")
    for committed in (40, 40, 45, 50):
        cluster.set_group("billing", {"orders": {0: committed, 1: committed}}, members=1)
        feed(ours, cluster)
    assert scrape(ours).one("kminion_kafka_consumer_group_offset_commits_total", "billing") == 4


async def test_sizes_and_up_of_kminion_while_a_broker_does_not_answer(cluster: FakeCluster) -> None:
    ours = view("kminion")

    def total(name: str) -> float | None:
        return scrape(ours).one(f"kminion_kafka_{name}")

    def is_up() -> list[float]:
        return list(scrape(ours).of("kminion_exporter_up").values())

    def sizes() -> dict[tuple[str, ...], float]:
        return scrape(ours).of("kminion_kafka_topic_log_dir_size_total_bytes")

    async with monitored(cluster.bootstrap, ours, timeout=3.0):
        await eventually(lambda: is_up() == [1] and sizes() == {("orders",): 900})
        await eventually(lambda: (total("received_bytes") or 0) > 1_000)
        sent, requests = total("sent_bytes"), total("requests_sent_total")
        assert sent is not None
        assert requests is not None
        assert sent > 10 * requests
        cluster.stop_broker(3, fence=False)
        await eventually(lambda: is_up() == [0] and sizes() == {}, "it is listed, and does not answer")
        cluster.fence_broker(3)
        await eventually(lambda: is_up() == [1] and sizes() == {("orders",): 600}, "it is not listed any more")
        counted = total("requests_sent_total")
        assert counted is not None
        assert counted > requests


def test_offsets_of_a_partition_without_a_leader_go_away_and_come_back(cluster: FakeCluster) -> None:
    """Equal offsets are new after that, although the broker's answer is equal to its answer before."""
    ours = view()

    def ends() -> set[str]:
        feed(ours, cluster)
        return {partition for _, partition in scrape(ours).of("kafka_partition_newest_offset")}

    assert ends() == {"0", "1", "2"}
    leader = cluster.state.topics["orders"].partitions[1].leader_id
    for _ in range(2):
        cluster.remove_leader("orders", 1)
        assert ends() == {"0", "2"}
        assert scrape(ours).one("kafka_group_unknown_lag_partitions", "billing") == 1
        cluster.move_leader("orders", 1, leader)
        assert ends() == {"0", "1", "2"}
        assert scrape(ours).one("kafka_group_lag", "billing") == 100
