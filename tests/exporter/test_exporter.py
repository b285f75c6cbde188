"""The exporter on a fake cluster: values, bad input, and memory."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client import CollectorRegistry

from kwire.exporter.application import page
from kwire.exporter.cluster_requests import CoordinatedGroups
from kwire.exporter.metric_table import metric_table
from kwire.exporter.offset_history import UNKNOWN, OffsetHistory
from kwire.http.incidents import PastIncidents
from kwire.messages.kafka.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kwire.testing import FakeCluster
from scripts import exporter_files
from tests.eventually import eventually
from tests.exporter.scraping import feed, monitored, scrape, view
from tests.http.test_conventions import write_gold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire.exporter.cluster_view import ClusterView


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=["audit", "orders"], partitions=3) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 20, 2: 30}, {0: 1, 1: 2, 2: 3})
        cluster.set_group("shop", {"orders": {0: 4, 1: 20}}, members=2)
        yield cluster


def test_values_in_the_names_of_each_exporter(cluster: FakeCluster) -> None:
    ours, of_exporter, of_kminion = views = [view(names) for names in metric_table().names]
    for each in views:
        feed(each, cluster)
    series = scrape(ours)
    for name, labels, value in (
        ("kafka_brokers", (), 3),
        ("kafka_partitions", (), 6),
        ("kafka_under_replicated_partitions", (), 0),
        ("kafka_groups", ("classic", "Stable"), 1),
        ("kafka_group_members", ("shop",), 2),
        ("kafka_group_lag", ("shop",), 6),
        ("kafka_group_topic_lag", ("shop", "orders"), 6),
        ("kafka_group_partition_lag", ("shop", "orders", 0), 6),
        ("kafka_group_partition_lag", ("shop", "orders", 1), 0),
        ("kafka_group_partition_lag_seconds", ("shop", "orders", 1), 0),
        ("kafka_group_partition_committed_offset", ("shop", "orders", 0), 4),
        ("kafka_group_partition_lag", ("shop", "orders", 2), None),
        ("kafka_partition_newest_offset", ("orders", 2), 30),
        ("kafka_partition_oldest_offset", ("orders", 2), 3),
        ("kafka_topic_newest_offsets", ("orders",), 60),
        ("kafka_topic_size_bytes", ("orders",), 180),
        ("kafka_partition_offline", ("orders", 0), None),
    ):
        assert series.one(name, *labels) == value, (name, labels)
    assert scrape(ours, openmetrics=True) == series
    assert scrape(of_exporter).one("kafka_consumergroup_lag_sum", "shop", "orders") == 6
    assert scrape(of_exporter).one("kafka_topic_partition_leader_is_preferred", "orders", 0) == 1
    assert scrape(of_kminion).one("kminion_kafka_consumer_group_topic_assigned_partitions", "shop", "orders") == 2
    assert scrape(of_kminion).one("kminion_kafka_topic_low_water_mark_sum", "orders") == 6


def test_dashboard_of_kafka_exporter_has_its_series(cluster: FakeCluster) -> None:
    """Every metric and label of the queries in kafka_exporter_overview.json, of kafka_exporter 1.9."""
    of_exporter = view("kafka_exporter")
    feed(of_exporter, cluster)
    labels = {metric.name: set(metric.labels) for metric in metric_table().names["kafka_exporter"].metrics}
    for query in (
        'sum(rate(kafka_topic_partition_current_offset{instance="x", topic=~"y"}[1m])) by (topic)',
        'sum(kafka_consumergroup_lag{instance="x",topic=~"y"}) by (consumergroup, topic)',
        'sum(delta(kafka_topic_partition_current_offset{instance=~"x", topic=~"y"}[5m])/5) by (topic)',
        'sum(delta(kafka_consumergroup_current_offset{instance=~"x",topic=~"y"}[5m])/5) by (consumergroup, topic)',
        'sum by(topic) (kafka_topic_partitions{instance="x",topic=~"y"})',
    ):
        [name] = re.findall(r"kafka_\w+", query)
        by = re.search(r"by ?\((.*?)\)", query)
        assert by is not None
        assert {"topic", *by[1].replace(" ", "").split(",")} <= labels[name], query
        assert scrape(of_exporter).of(name), query


async def test_incidents_that_last_are_those_of_gold(cluster: FakeCluster, tmp_path: Path) -> None:
    with_gold, without = view(name="with"), view(name="without")
    incidents = PastIncidents(str(write_gold(tmp_path)))
    async with (
        monitored(cluster.bootstrap, with_gold, incidents=incidents),
        monitored(cluster.bootstrap, without, incidents=PastIncidents(str(tmp_path / "nothing"))),
    ):
        await eventually(lambda: _has(with_gold, ("kafka_ongoing_incidents", ("broker_killed",), 1)), "incidents")
        await eventually(lambda: _has(without, ("kwire_exporter_cluster_up", (), 1)), "without gold, the rest is shown")
        assert scrape(without).of("kafka_ongoing_incidents") == {}


async def test_a_broker_that_stops_and_a_cluster_that_is_down_at_the_start() -> None:
    with FakeCluster(2, topics=["orders"], partitions=2) as cluster:
        cluster.set_api_versions(35, 0, 0)  # an API that the exporter cannot use
        cluster.set_group("shop", {"orders": {0: 0}})
        for broker in (1, 2):
            cluster.stop_broker(broker, fence=False)
        ours = view(topics="orders")
        async with monitored(cluster.bootstrap, ours):
            await eventually(lambda: scrape(ours).of("kwire_exporter_failed_requests_total"), "the cluster is down")
            assert scrape(ours).one("kwire_exporter_cluster_up") == 0
            assert scrape(ours).one("kafka_brokers") is None
            for broker in (1, 2):
                cluster.start_broker(broker)
            await eventually(
                lambda: _has(ours, ("kafka_group_lag", ("shop",), 0), ("kwire_exporter_cluster_up", (), 1)),
                "the cluster is up",
            )
            cluster.stop_broker(2)
            await eventually(
                lambda: _has(ours, ("kafka_broker_up", (2,), 0), ("kwire_exporter_cluster_up", (), 1)),
                "one broker is down",
            )
            await eventually(
                lambda: (
                    _has(ours, ("kafka_under_replicated_partitions", (), 2))
                    and scrape(ours).one("kafka_metadata_events_total", "IsrShrank")
                ),
                "replicas are missing",
            )


def _has(of: ClusterView, *expected: tuple[str, tuple[object, ...], float]) -> bool:
    series = scrape(of)
    return all(series.one(name, *labels) == value for name, labels, value in expected)


def test_recreated_topics_and_deleted_groups_leave_nothing(cluster: FakeCluster) -> None:
    ours = view()
    feed(ours, cluster)
    cluster.shrink_isr("orders", 0, 2)
    feed(ours, cluster)
    assert scrape(ours).one("kafka_partition_under_replicated", "orders", 0) == 1
    cluster.set_ends("orders", {0: 5}, {0: 0})
    cluster.recreate_topic("orders", 1)
    feed(ours, cluster)
    assert scrape(ours).of("kafka_partition_newest_offset")["orders", "0"] == 5
    assert scrape(ours).one("kafka_partition_newest_offset", "orders", 1) is None
    assert scrape(ours).one("kafka_group_partition_lag", "shop", "orders", 1) is None
    assert scrape(ours).one("kafka_group_lag", "shop") == 1
    cluster.delete_groups("shop")
    cluster.delete_topics("orders")
    feed(ours, cluster)
    assert not [labels for _, labels in scrape(ours) if "shop" in labels or "orders" in labels]


def test_answers_of_a_silent_broker_are_dropped(cluster: FakeCluster) -> None:
    now = [1000.0]
    ours = view(clock=lambda: now[0])
    feed(ours, cluster)
    coordinator = ours.groups["shop"].coordinator
    ours.answered = {(broker, 3): 1000.0 for broker in (1, 2, 3)}
    now[0] += 250
    ours.answered |= {(broker, 3): now[0] for broker in (1, 2, 3) if broker != coordinator}
    now[0] += 100
    ours.render()
    assert not scrape(ours).of("kafka_group_info")
    assert 0 < len(scrape(ours).of("kafka_partition_newest_offset")) < 6
    assert scrape(ours).one("kafka_partitions") == 6


def test_members_are_requested_if_the_list_of_groups_changed_and_otherwise_rarely() -> None:
    ours, groups = view(), CoordinatedGroups(rounds=3)

    def listing(state: str) -> ListGroupsResponse:
        group = ListedGroup(group_id="shop", protocol_type="consumer", group_state=state, group_type="classic")
        return ListGroupsResponse(error_code=0, groups=(group,))

    def apis(listed: ListGroupsResponse) -> list[int]:
        """Return the API keys of the requests of one round."""
        responses: dict[int, Any] = {
            ListGroupsRequest.api_key: listed,
            OffsetFetchRequest.api_key: OffsetFetchResponse(groups=()),
            DescribeGroupsRequest.api_key: DescribeGroupsResponse(groups=()),
        }
        keys = []
        sequence = groups.requests(ours, None, 1)
        request = next(sequence, None)
        while request is not None:
            keys.append(request.api_key)
            try:
                request = sequence.send(responses[request.api_key])
            except StopIteration:
                request = None
        return keys

    stable, empty = listing("Stable"), listing("Empty")
    with_members, without = [16, 9, 15], [16, 9]
    rounds = [apis(listed) for listed in (stable, stable, stable, stable, empty, empty)]
    assert rounds == [with_members, without, without, with_members, with_members, without]
    assert ours.groups["shop"].state == "Empty"


def test_selection_and_limit(cluster: FakeCluster) -> None:
    by_topic, few, limited = view(level=1), view(topics="o.*", excluded_groups="s.*"), view(max_series=90)
    for each in (by_topic, few, limited):
        feed(each, cluster)
    assert not [labels for (name, labels) in scrape(by_topic) if name.startswith("kafka_partition_")]
    assert scrape(by_topic).one("kafka_group_topic_lag", "shop", "orders") == 6
    assert set(scrape(few).of("kafka_topic_partitions")) == {("orders",)}
    assert not scrape(few).of("kafka_group_info")
    limited.render()
    series = scrape(limited)
    assert len(series) == 90
    assert sum(series.of("kwire_exporter_omitted_series").values()) > 0


def test_lag_in_seconds_follows_from_the_history() -> None:
    history = OffsetHistory()
    assert history.written_at(0, 5) == UNKNOWN
    for number in range(10):
        history.add(1000.0 + 15 * number, [100 * number, 7])
    for offset, written in ((900, 1135.0), (850, 1127.5), (0, 1000.0), (100, 1015.0), (50, 1007.5)):
        assert history.written_at(0, offset) == written
    assert history.written_at(1, 3) == 1000.0  # nothing was produced: at least as old as the history
    for number in range(10, 200):
        history.add(1000.0 + 15 * number, [100 * number, 7])
    assert history.written_at(0, 19_850) == 1000.0 + 15 * 198.5
    assert history.written_at(0, 50) == pytest.approx(1007.5)
    assert history.written_at(0, -100) == pytest.approx(985.0)  # before the first sample: its rate, continued


def test_compressed_pages_are_one_member(cluster: FakeCluster) -> None:
    ours = view()
    for number in range(3):
        cluster.set_ends("orders", {0: 10 + number})
        feed(ours, cluster)
        content = page([ours], CollectorRegistry(), openmetrics=False)
        assert gzip.decompress(content.gzip()) == b"".join(content.parts)


def test_generated_files_are_current() -> None:
    """Run `python -m scripts.exporter_files` if this fails."""
    for path, text in (
        (exporter_files.DASHBOARD, exporter_files.dashboard()),
        (exporter_files.ALERTS, exporter_files.alerts()),
        (exporter_files.PAGE, exporter_files.page()),
    ):
        assert path.read_text() == text


def test_names_of_metrics_follow_the_conventions() -> None:
    known = [metric.name for metric in metric_table().names["kwire"].metrics]
    assert len(known) == len(set(known))
    assert [name for name in known if not re.fullmatch(r"(kafka|kwire_exporter)_[a-z_]+", name)] == []
    for query in (
        *(panel.query for panel in metric_table().panels),
        *(alert.condition for alert in metric_table().alerts),
    ):
        assert set(re.findall(r"\b(?:kafka|kwire_exporter)_\w+", query)) <= set(known), query
