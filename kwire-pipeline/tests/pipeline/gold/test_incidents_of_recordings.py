"""The incidents of the recorded clusters are exactly the events in their logs.

The log has each event with the time just before it was caused. That time must be between `began_at` and `first_sign_at`
of the incident, except for delays in Kafka: a process takes seconds to start, and a broker responds to a request before
all brokers know about the change.
"""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire.capture.rows import to_batch
from kwire_pipeline.pipeline import Pipeline
from tests.pipeline import recorded
from tests.pipeline.test_pipeline import expected, silver

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.nightly

EXPECTED = {
    "create_topics": "topic_created",
    "delete_topics": "topic_deleted",
    "recreate_topic": "topic_recreated",
    "add_partitions": "partitions_added",
    "kill_9": "broker_killed",
    "sigstop": "broker_paused",
    "sigcont": "broker_resumed",
    "controlled_shutdown": "controlled_shutdown",
    "broker_start": "broker_restarted",
    "reassign_start": "reassignment",
    "preferred_election": "preferred_election",
    "alter_topic_configs": "config_changed",
    "alter_cluster_default_config": "config_changed",
    "throttle_topic": "config_changed",
    "unthrottle_topic": "config_changed",
}
"""The kind of incident for each kind of event. Throttles of brokers are not polled."""

PROPAGATION = timedelta(seconds=1.5)
"""Maximum delay of a broker's report of a change: twice the measured 700 ms, for a busy machine."""

STARTING = timedelta(seconds=12)
"""Maximum time until a broker has started: 4 s, or 11 s if its old session has to time out first."""


@pytest.fixture(scope="module")
def incidents(spark: SparkSession, recorded_gold: str) -> dict[str, list[dict[str, Any]]]:
    """Return the incidents of each cluster by time."""
    rows = recorded.tables(spark, recorded_gold).table("incidents").orderBy("first_sign_at").collect()
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["cluster_id"], []).append(row.asDict())
    return found


def caused_events(name: str) -> list[recorded.Event]:
    """Return the events, with consecutive CreateTopics requests as one."""
    events: list[recorded.Event] = []
    for event in recorded.events(name):
        if event.kind not in EXPECTED:
            continue
        if event.kind == "create_topics" and events and events[-1].kind == "create_topics":
            events[-1].detail["topics"] = [*events[-1].detail["topics"], *event.detail["topics"]]
            continue
        events.append(recorded.Event(event.at, event.kind, dict(event.detail)))
    return events


def matches(event: recorded.Event, incident: dict[str, Any]) -> bool:
    if incident["kind"] != EXPECTED[event.kind]:
        return False
    if "broker" in event.detail and incident["broker_id"] != event.detail["broker"]:
        return False
    if event.kind == "alter_cluster_default_config" and incident["attributes"].get("scope") != "cluster":
        return False
    if event.kind == "alter_topic_configs" and {change["name"] for change in event.detail["changes"]} != set(
        incident["topics"]
    ):
        return False
    began, first_sign = (incident[name].astimezone(event.at.tzinfo) for name in ("began_at", "first_sign_at"))
    in_time = STARTING if event.kind == "broker_start" else PROPAGATION
    return bool(began <= event.at + in_time and event.at <= first_sign)


@pytest.mark.parametrize("name", recorded.NAMES)
def test_each_event_is_one_incident_and_nothing_else(name: str, incidents: dict[str, list[dict[str, Any]]]) -> None:
    left = [incident for incident in incidents[name] if incident["kind"] != "controller_moved"]
    for event in caused_events(name):
        found = [incident for incident in left if matches(event, incident)]
        assert found, event
        left.remove(found[0])
    assert left == []


def test_controller_moved_once_because_its_broker_was_killed(incidents: dict[str, list[dict[str, Any]]]) -> None:
    (moved,) = [incident for incident in incidents["zk39-public"] if incident["kind"] == "controller_moved"]
    (killed,) = [i for i in incidents["zk39-public"] if i["kind"] == "broker_killed" and i["broker_id"] == 1]
    assert moved["caused_by"] == killed["incident_id"]
    assert moved["attributes"] == {"from": "1", "to": "3"}
    assert (killed["electing"], killed["offline"], killed["leaders_moved"]) == (80, 4, 76)
    assert killed["seen_at"]["electing"] < killed["seen_at"]["leaders_moved"]


@pytest.mark.parametrize("name", recorded.NAMES)
def test_topics_and_partitions_equal_those_of_events(name: str, incidents: dict[str, list[dict[str, Any]]]) -> None:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for incident in incidents[name]:
        by_kind.setdefault(incident["kind"], []).append(incident)
    for event in caused_events(name):
        if event.kind in {"create_topics", "delete_topics"}:
            (incident,) = by_kind[EXPECTED[event.kind]]
            assert incident["topics"] == sorted(event.detail["topics"])
        elif event.kind == "reassign_start":
            (incident,) = by_kind["reassignment"]
            assert incident["topics"] == sorted(event.detail["target"])
        elif event.kind == "preferred_election":
            incident = by_kind["preferred_election"].pop(0)
            assert incident["partition_count"] == event.detail["elected"]


def test_incidents_count_each_partition_once(incidents: dict[str, list[dict[str, Any]]]) -> None:
    for name in recorded.NAMES:
        partitions = max(len(snapshot.partitions) for snapshot in recorded.snapshots(name))
        for incident in incidents[name]:
            assert incident["partition_count"] <= partitions, incident
            assert incident["under_replicated"] <= partitions, incident


@pytest.mark.parametrize("name", recorded.NAMES)
def test_reassignment_ends_when_cluster_reports_its_end(name: str, incidents: dict[str, list[dict[str, Any]]]) -> None:
    (over,) = [event.at for event in recorded.events(name) if event.kind == "reassign_done"]
    (move,) = [incident for incident in incidents[name] if incident["kind"] == "reassignment"]
    assert abs(move["ended_at"].astimezone(over.tzinfo) - over) < timedelta(seconds=1)


@pytest.mark.parametrize("name", recorded.NAMES)
def test_throttles_are_caused_by_reassignment(name: str, incidents: dict[str, list[dict[str, Any]]]) -> None:
    (move,) = [incident for incident in incidents[name] if incident["kind"] == "reassignment"]
    throttles = [i for i in incidents[name] if any("throttled" in key for key in i["attributes"])]
    assert [throttle["caused_by"] for throttle in throttles] == [move["incident_id"]] * 2


def kinds(incidents: list[dict[str, Any]]) -> list[tuple[str, int | None]]:
    return sorted((i["kind"], i["broker_id"] or 0) for i in incidents if i["kind"] != "config_changed")


@pytest.mark.parametrize("name", recorded.NAMES)
@pytest.mark.parametrize("poller", ["every 2 s", "2 late", "lossy", "mixed", "skewed", "cut", "watched"])
def test_worse_poller_gives_same_incidents(name: str, poller: str, incidents: dict[str, list[dict[str, Any]]]) -> None:
    assert kinds(incidents[f"{name} {poller}"]) == kinds(incidents[name])


def test_shuffled_doubled_split_and_merged_recordings_give_same_silver_and_incidents(
    spark: SparkSession, incidents: dict[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    """Frames of two clusters in one table without cluster ids, polled at the same time, in three ingests."""
    first, second = (recorded.bronze(name) for name in recorded.NAMES)
    shift = first[0].polled_at - second[0].polled_at
    second = tuple(row._replace(polled_at=row.polled_at + shift) for row in second)
    frames = [row._replace(cluster_id=None) for row in (*first, *second)]
    Random(14).shuffle(frames)
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    for number in (0, 1, 2):
        part = [*frames[number::3], *frames[number::6]]
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.Table.from_batches([to_batch(part)]), path)
        pipeline.ingest(spark.read.parquet(str(path)))
    pipeline.gold()

    clusters = {rows[0].endpoint: rows for rows in (first, second)}
    polls = pipeline.table("polls").select("endpoint", "cluster_id").distinct().collect()
    ids = {endpoint: cluster for endpoint, cluster in polls if endpoint in clusters}
    assert len(set(ids.values())) == 2
    rows = [row._replace(cluster_id=ids[endpoint]) for endpoint, polled in clusters.items() for row in polled]
    assert silver(tmp_path / "out") == expected(rows)
    found = [row.asDict() for row in pipeline.table("incidents").collect()]
    for name, polled in zip(recorded.NAMES, (first, second), strict=True):
        cluster = ids[polled[0].endpoint]
        assert kinds([each for each in found if each["cluster_id"] == cluster]) == kinds(incidents[name])


@pytest.mark.parametrize("name", recorded.NAMES)
def test_outages_of_unpolled_broker_follow_from_other_brokers(
    name: str, incidents: dict[str, list[dict[str, Any]]]
) -> None:
    def seen(kind: str, broker: int | None) -> str:
        return (
            ("available" if kind in {"broker_restarted", "broker_resumed", "broker_returned"} else "unavailable")
            if broker == 2
            else kind
        )

    without = incidents[f"{name} without 2"]
    expected = sorted(seen(kind, broker) for kind, broker in kinds(incidents[name]))
    assert sorted(seen(kind, broker) for kind, broker in kinds(without)) == expected
    assert {i["kind"] for i in without if i["broker_id"] == 2} <= {
        "broker_lost",
        "broker_returned",
        "controlled_shutdown",
        "broker_restarted",
    }
