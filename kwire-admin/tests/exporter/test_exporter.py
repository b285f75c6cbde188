"""The exporter on a fake cluster: values, bad input, and memory."""

from __future__ import annotations

import gzip
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from prometheus_client import CollectorRegistry

from kwire.client.polled_offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kwire.messages.kafka.describe_delegation_token import DescribeDelegationTokenResponse
from kwire.messages.kafka.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kwire.messages.kafka.describe_quorum import DescribeQuorumResponse
from kwire.messages.kafka.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kwire.messages.kafka.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kwire.testing import FakeCluster
from kwire_admin.exporter.answers import AnswerLog
from kwire_admin.exporter.application import page
from kwire_admin.exporter.cluster_requests import CoordinatedGroups, DependentRequests
from kwire_admin.exporter.metric_table import metric_table
from kwire_admin.exporter.monitoring_files import MONITORING_FILES
from kwire_admin.http.incidents import PastIncidents
from scripts import exporter_files
from tests.cli.running import kwire
from tests.eventually import eventually
from tests.exporter.scraping import feed, monitored, respond, scrape, text, view
from tests.http.test_conventions import write_gold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kwire_admin.exporter.cluster_view import ClusterView


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
    """Its groups go away, and so do the ends of its logs; what the other brokers have answered since then stays."""
    now = [1000.0]
    ours = view(clock=lambda: now[0])
    feed(ours, cluster)
    coordinator = ours.state.groups.records["shop"].coordinator
    now[0] += 250
    feed(ours, cluster, without={coordinator})
    assert scrape(ours).one("kafka_group_members", "shop") == 2
    now[0] += 100
    feed(ours, cluster, without={coordinator})
    assert not scrape(ours).of("kafka_group_info")
    assert 0 < len(scrape(ours).of("kafka_partition_newest_offset")) < 6
    assert scrape(ours).one("kafka_partitions") == 6
    feed(ours, cluster)
    assert scrape(ours).one("kafka_group_lag", "shop") == 6
    assert len(scrape(ours).of("kafka_partition_newest_offset")) == 6


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
        sequence = groups.requests(ours.state, None, 1)
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
    assert ours.state.groups.records["shop"].state == "Empty"


def test_selection_and_limit(cluster: FakeCluster) -> None:
    by_topic, few, limited = view(level=1), view(topics="o.*", excluded_groups="s.*"), view(max_series=80)
    for each in (by_topic, few, limited):
        feed(each, cluster)
    assert not [labels for (name, labels) in scrape(by_topic) if name.startswith("kafka_partition_")]
    assert scrape(by_topic).one("kafka_group_topic_lag", "shop", "orders") == 6
    assert set(scrape(few).of("kafka_topic_partitions")) == {("orders",)}
    assert not scrape(few).of("kafka_group_info")
    limited.render()
    series = scrape(limited)
    assert len(series) == 80
    assert sum(series.of("kwire_exporter_omitted_series").values()) > 0


def test_compressed_pages_are_one_member(cluster: FakeCluster) -> None:
    ours = view()
    for number in range(3):
        cluster.set_ends("orders", {0: 10 + number})
        feed(ours, cluster)
        content = page([ours], CollectorRegistry(), openmetrics=False)
        assert not any(part.compressed for part in content.parts)
        for is_again in (False, True):  # the second time, families that did not change are compressed already
            compressed = page([ours], CollectorRegistry(), openmetrics=False, is_gzip=True)
            assert gzip.decompress(compressed.gzip()) == content.text()
            assert not is_again or any(part.compressed for part in compressed.parts)


def test_generated_files_are_current() -> None:
    """Run `python -m scripts.exporter_files` if this fails."""
    for path, content in (
        (exporter_files.DASHBOARD, MONITORING_FILES["dashboard"]()),
        (exporter_files.ALERTS, MONITORING_FILES["rules"]()),
        (exporter_files.PAGE, exporter_files.page()),
    ):
        assert path.read_text() == content


def test_names_of_metrics_follow_the_conventions() -> None:
    known = [metric.name for metric in metric_table().names["kwire"].metrics]
    assert len(known) == len(set(known))
    assert [name for name in known if not re.fullmatch(r"(kafka|kwire_exporter)_[a-z_]+", name)] == []
    for query in (
        *(panel.query for panel in metric_table().panels),
        *(alert.condition for alert in metric_table().alerts),
    ):
        assert set(re.findall(r"\b(?:kafka|kwire_exporter)_\w+", query)) <= set(known), query


async def test_polling_that_ends_begins_again_without_old_values(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values that are not renewed are not shown, and the restart is counted."""
    ours = view()
    async with monitored(cluster.bootstrap, ours):
        await eventually(lambda: _has(ours, ("kafka_group_lag", ("shop",), 6)), "the group is shown")
        renders = ours._render_cluster
        before: list[Any] = []

        def fail() -> None:
            monkeypatch.undo()  # once
            before.append(scrape(ours).one("kafka_group_lag", "shop"))
            raise IndexError("a bug")

        monkeypatch.setattr(ours, "_render_cluster", fail)
        await eventually(lambda: ours.state.restarts == 1, "polling begins again")
        await eventually(lambda: _has(ours, ("kafka_group_lag", ("shop",), 6)), "the group is shown again")
    assert before == [6]
    assert renders == ours._render_cluster
    assert scrape(ours).one("kwire_exporter_restarts_total") == 1
    assert "polling of test ended because of a bug" in caplog.text


def test_an_answer_that_cannot_be_used_is_counted_and_ends_only_its_sequence(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = view()

    def fail(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(ours.state.topics, "set_sizes", fail)
    for _ in range(2):
        feed(ours, cluster)
    series = scrape(ours)
    assert series.one("kafka_group_lag", "shop") == 6
    assert series.of("kafka_log_dir_size_bytes") == {}
    failures = series.of("kwire_exporter_failed_requests_total")
    assert failures == {(str(broker), "DescribeLogDirs", "KeyError"): 2 for broker in (1, 2, 3)}
    assert len(caplog.records) == 1, "logged once"


def test_refused_answers_are_counted_and_renew_nothing() -> None:
    """A cluster without delegation tokens has answered; one that refuses to describe its quorum has not."""
    ours = view()
    for code in (61, 64):
        respond(ours, "tokens", DescribeDelegationTokenResponse(error_code=code, tokens=(), throttle_time_ms=0))
    for code in (31, 31_000, 0):
        respond(ours, "quorum", DescribeQuorumResponse(error_code=code, topics=()))
    ours.render()
    series = scrape(ours)
    assert set(series.of("kwire_exporter_oldest_answer_timestamp_seconds")) == {("tokens",)}
    assert series.of("kwire_exporter_failed_requests_total") == {
        ("1", "DescribeQuorum", error): 1
        for error in ("CLUSTER_AUTHORIZATION_FAILED", "UNKNOWN", "UNKNOWN_SERVER_ERROR")
    }


async def test_nothing_of_a_dead_cluster_looks_healthy() -> None:
    """`cluster_up` is 0 at once. Stale values go away, and come back with the brokers. No counter falls."""
    later = [0.0]
    with FakeCluster(2, topics=["orders"], partitions=2) as cluster:
        cluster.set_ends("orders", {0: 10, 1: 10})
        cluster.set_group("shop", {"orders": {0: 4, 1: 4}}, members=1)
        views = {names: view(names, clock=lambda: time.time() + later[0]) for names in metric_table().names}
        ours = views["kwire"]
        async with monitored(cluster.bootstrap, *views.values()):
            await eventually(lambda: all(each.is_ready for each in views.values()), "all values are complete")
            healthy = scrape(ours)
            assert healthy.one("kafka_group_lag", "shop") == 12
            assert healthy.one("kafka_offline_partitions") == 0
            assert healthy.one("kwire_exporter_cluster_ready") == 1
            for broker in (1, 2):
                cluster.stop_broker(broker, fence=False)
            await eventually(lambda: _has(ours, ("kwire_exporter_cluster_up", (), 0)), "the cluster is down")
            await eventually(lambda: _has(views["kafka_exporter"], ("kafka_brokers", (), 0)), "no broker is left")
            await eventually(
                lambda: list(scrape(views["kminion"]).of("kminion_exporter_up").values()) == [0], "up is 0"
            )
            assert set(scrape(ours).of("kafka_broker_up").values()) == {0}
            later[0] = 1_000.0  # longer than any answer is shown
            await eventually(lambda: scrape(ours).one("kafka_offline_partitions") is None, "the metadata is stale")
            await eventually(lambda: scrape(ours).one("kafka_group_lag", "shop") is None, "the group is stale")
            for broker in (1, 2):
                cluster.start_broker(broker)
            await eventually(lambda: _has(ours, ("kafka_group_lag", ("shop",), 12)), "everything is back")
            restored = scrape(ours)
            counters = [key for key in healthy if key[0].endswith("_total")]
            assert [key for key in counters if restored[key] < healthy[key]] == []


def test_the_label_of_the_cluster_is_its_name_or_its_id(cluster: FakeCluster) -> None:
    named, unnamed = view(), view(name="")
    assert 'kwire_exporter_cluster_up{cluster=""} 0' in _page(unnamed)
    for each in (named, unnamed):
        feed(each, cluster)
    assert 'kafka_group_lag{cluster="test",group="shop"} 6' in _page(named)
    assert 'kafka_group_lag{cluster="x",group="shop"} 6' in _page(unnamed)
    assert unnamed.name == "x"
    assert 'cluster=""' not in _page(unnamed)


def _page(of: ClusterView) -> str:
    of.render()
    return text(of)


def test_members_without_commits_are_shown(cluster: FakeCluster) -> None:
    """Their lag is not known, which is marked; kafka_exporter has -1 for them."""
    cluster.set_group("shop", {"orders": {0: 4, 1: -1}, "audit": {0: -1}}, members=1)
    ours, of_exporter, of_kminion = views = [view(names) for names in metric_table().names]
    for each in views:
        feed(each, cluster)
    series = scrape(ours)
    assert series.one("kafka_group_lag", "shop") == 6
    assert series.one("kafka_group_unknown_lag_partitions", "shop") == 2
    assert series.of("kafka_group_partition_uncommitted") == {("shop", "orders", "1"): 1, ("shop", "audit", "0"): 1}
    assert series.one("kafka_group_partition_lag", "shop", "orders", 1) is None
    lags = scrape(of_exporter).of("kafka_consumergroup_lag")
    assert lags == {
        ("shop", "orders", "0"): 6,
        ("shop", "orders", "1"): -1,
        ("shop", "orders", "2"): -1,
        ("shop", "audit", "0"): -1,
    }  # fmt: skip
    assert scrape(of_exporter).one("kafka_consumergroup_current_offset", "shop", "orders", 1) == -1
    assert scrape(of_exporter).one("kafka_consumergroup_lag_sum", "shop", "orders") == 6
    cluster.set_group("shop", {"orders": {0: 4}})
    for each in views:
        feed(each, cluster)
    assert scrape(ours).one("kafka_group_unknown_lag_partitions", "shop") is None
    assert not scrape(of_kminion).of("kminion_kafka_consumer_group_topic_members"), "absent, as in KMinion"


def test_a_cut_page_ends_at_a_line(cluster: FakeCluster) -> None:
    cluster.set_group("a\rb\u2028c\x85d", {"orders": {0: 4, 1: 20, 2: 1}})
    ours = view()
    feed(ours, cluster)
    limited = view(max_series=1)
    feed(limited, cluster)
    for limit in range(1, sum(family.series for family in ours.families)):
        limited.state.selection.max_series = limit
        limited.render()
        assert len(scrape(limited)) == limit


def test_files_for_other_programs_are_printed() -> None:
    """A wheel needs no other file."""
    for kind, content in MONITORING_FILES.items():
        printed = kwire("exporter", "--print", kind)
        assert (printed.code, printed.out, printed.err) == (0, content(), "")
    assert "--all-clusters" in MONITORING_FILES["unit"]()
    [job] = yaml.safe_load(MONITORING_FILES["scrape"]())["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:9308"]}]


async def test_configs_of_many_topics_are_known() -> None:
    """They are asked in several requests."""
    with FakeCluster(1, topics=250, partitions=1) as cluster:
        ours = view("kminion")
        async with monitored(cluster.bootstrap, ours):
            await eventually(lambda: ours.is_ready, "all values are complete")
        series = scrape(ours)
        assert set(series.of("kminion_kafka_topic_info_retention_ms").values()) == {604_800_000}
        assert len(series.of("kminion_kafka_topic_info_min_insync_replicas")) == 250


async def test_one_request_without_a_response_does_not_mean_a_dead_broker() -> None:
    """A slow API says nothing about the broker; a dead broker answers the request that is sent at once neither."""
    with FakeCluster(2, topics=["orders"], partitions=2) as cluster:
        ours = view()
        async with monitored(cluster.bootstrap, ours, interval=1.0, long_interval=1.0):
            await eventually(lambda: ours.is_ready, "all values are complete")
            answers = ours.state.answers
            asked = sum(request.api_key == 3 for request in cluster.requests())
            answers.miss(2, time.time(), 0.5)
            await eventually(lambda: 2 not in answers._silent_since, "it responds to another request")
            assert scrape(ours).one("kafka_broker_up", 2) == 1
            cluster.stop_broker(2, fence=False)
            await eventually(lambda: _has(ours, ("kafka_broker_up", (2,), 0)), "it does not respond")
            assert sum(request.api_key == 3 for request in cluster.requests()) >= asked


def test_requests_that_time_out_together_are_one_doubt() -> None:
    """Only a request that was sent after the first failure is a second one."""
    now = [100.0]
    answers = AnswerLog(lambda: now[0])
    answers.succeed(1, 3, 0.1)
    for api_key in (35, 66, 16):
        answers.fail(1, api_key, "Timeout")
        answers.miss(1, now[0], 10.0)
        now[0] += 0.01
        assert answers.down == set()
    now[0] += 1.0
    answers.miss(1, now[0], 0.5)
    assert answers.down == {1}
    answers.succeed(1, 3, 0.1)
    answers.miss(1, now[0], 0.0)
    assert answers.down == set(), "a response ends the doubt"


async def test_a_ready_page_has_what_needs_other_answers(cluster: FakeCluster) -> None:
    """The version of a broker decides whether it is asked for the largest timestamps."""
    ours = view("kminion")
    async with monitored(cluster.bootstrap, ours, interval=0.5, long_interval=500.0):
        await eventually(lambda: ours.is_ready, "all values are complete")
        asked: list[Any] = [request.message for request in cluster.requests() if request.api_key == 2]
    timestamps = {
        partition.timestamp for request in asked for topic in request.topics for partition in topic.partitions
    }
    assert timestamps >= {LATEST, EARLIEST, MAX_TIMESTAMP}


def test_requests_that_need_other_answers_wait_for_them() -> None:
    state = view().state
    request = ListGroupsRequest()
    of_broker = DependentRequests(lambda *_: request, state, "newest", True, 3)
    of_any = DependentRequests(lambda *_: request, state, "features", False, 3)
    assert (of_broker.requests(None, 1), of_any.requests(None, 1)) == (None, None)
    state.finish_round(2, "newest")
    state.finish_round(2, "features")
    assert of_broker.requests(None, 1) is None, "another broker has answered"
    assert of_any.requests(None, 1) is request
    state.finish_round(1, "newest")
    sent = [of_broker.requests(None, 1) is request for _ in range(7)]
    assert sent == [True, False, False, True, False, False, True]
