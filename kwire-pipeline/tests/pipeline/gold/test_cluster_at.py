"""The metadata at a point in time, as brokers reported it and as they agreed, against frames and another client."""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire.messages.kafka.metadata import MetadataResponse
from tests.pipeline import recorded

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kwire.capture.rows import Row

pytestmark = pytest.mark.nightly

State = tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...], int]
View = dict[tuple[str, int], State]


def decoded(row: Row) -> View:
    """Return the whole metadata of one response."""
    assert row.frame is not None
    message = kwire.decode(MetadataResponse, row.frame[5:], version=row.api_version)
    return {
        (topic.name or "", p.partition_index): (
            p.leader_id, p.leader_epoch, p.replica_nodes, p.isr_nodes, p.offline_replicas, p.error_code
        )
        for topic in message.topics
        for p in topic.partitions
    }  # fmt: skip


def shown(rows: DataFrame) -> View:
    view: View = {}
    for row in rows.collect():
        lists = (tuple(row[name]) for name in ("replicas", "isr", "offline"))
        state = (row["leader"], row["leader_epoch"], *lists, row["error_code"])
        assert (row["topic"], row["partition"]) not in view
        view[row["topic"], row["partition"]] = state
    return view


def responses(name: str) -> list[Row]:
    return [row for row in recorded.bronze(name) if row.api_key == 3 and row.frame is not None]


def changed_responses(name: str) -> list[Row]:
    """Return the responses that differ from the same broker's response before."""
    last: dict[int, View] = {}
    changed = []
    for row in responses(name):
        view = decoded(row)
        if last.get(row.broker_id) != view:
            changed.append(row)
        last[row.broker_id] = view
    return changed


@pytest.mark.parametrize("name", recorded.NAMES)
def test_reported_metadata_is_last_response_of_broker(name: str, spark: SparkSession, recorded_gold: str) -> None:
    # Some of the changed responses, at their time and shortly after; the next test but one compares all with silver.
    for late, row in enumerate(changed_responses(name)[::25]):
        at = row.polled_at + timedelta(milliseconds=100 * (late % 2))
        found = recorded.tables(spark, recorded_gold).cluster_at(at, row.broker_id, cluster_id=name)
        assert shown(found) == decoded(row)


def test_empty_first_response_is_reported_but_not_agreed(spark: SparkSession, recorded_gold: str) -> None:
    (empty,) = [row for row in changed_responses("zk39-public") if row.broker_id == 1 and not decoded(row)][1:]
    at = empty.polled_at
    assert recorded.tables(spark, recorded_gold).cluster_at(at, 1, cluster_id="zk39-public").count() == 0
    assert recorded.tables(spark, recorded_gold).cluster_at(at, cluster_id="zk39-public").count() == 251


@pytest.mark.parametrize("name", recorded.NAMES)
def test_silver_contains_every_response(name: str, spark: SparkSession, recorded_gold: str) -> None:
    """For every frame, the last rows of silver at its time are the metadata in the frame."""
    rows = recorded.tables(spark, recorded_gold).table("partitions").where(f"cluster_id = '{name}'").orderBy("at")
    reported: dict[int, list[Any]] = {}
    for row in rows.collect():
        reported.setdefault(row["broker_id"], []).append(row)
    views: dict[int, View] = {}
    for response in responses(name):
        view = views.setdefault(response.broker_id, {})
        queue = reported[response.broker_id]
        while queue and queue[0]["at"].astimezone(UTC) <= response.polled_at:
            row = queue.pop(0)
            key = row["topic"], row["partition"]
            if row["change"] == "gone":
                del view[key]
            else:
                lists = (tuple(row[column]) for column in ("replicas", "isr", "offline"))
                view[key] = (row["leader"], row["leader_epoch"], *lists, row["error_code"])
        expected = decoded(response)
        assert view == expected or (expected == {} and view), response.polled_at


@pytest.mark.parametrize("name", recorded.NAMES)
def test_agreed_metadata_equals_what_independent_client_saw(name: str, spark: SparkSession, recorded_gold: str) -> None:
    changes = sorted(row.polled_at for row in changed_responses(name))
    intervals = recorded.tables(spark, recorded_gold).table("intervals").where(f"cluster_id = '{name}'").collect()
    compared = 0
    for snapshot in recorded.snapshots(name):
        if _near(snapshot.at, changes):
            continue
        agreed = {
            (row["topic"], row["partition"]): (row["leader"], tuple(row["replicas"]), frozenset(row["isr"]))
            for row in intervals
            if row["valid_from"].astimezone(UTC) <= snapshot.at
            and (row["valid_to"] is None or snapshot.at < row["valid_to"].astimezone(UTC))
        }
        assert agreed == snapshot.partitions, snapshot.at
        compared += 1
    assert compared > 25


@pytest.mark.parametrize("name", recorded.NAMES)
def test_cluster_at_equals_intervals(name: str, spark: SparkSession, recorded_gold: str) -> None:
    at = max(snapshot.at for snapshot in recorded.snapshots(name))
    view = shown(recorded.tables(spark, recorded_gold).cluster_at(at.replace(tzinfo=None), cluster_id=name))
    last = {row.broker_id: decoded(row) for row in responses(name)}
    sets = {key: (*state[:3], frozenset(state[3]), *state[4:]) for key, state in view.items()}
    assert sets == {key: (*state[:3], frozenset(state[3]), *state[4:]) for key, state in last[1].items()}


def test_cluster_at_is_empty_before_first_poll(spark: SparkSession, recorded_gold: str) -> None:
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    assert recorded.tables(spark, recorded_gold).cluster_at(long_ago).count() == 0
    assert recorded.tables(spark, recorded_gold).cluster_at(long_ago, broker_id=1).count() == 0


def _near(at: datetime, changes: list[datetime]) -> bool:
    """Return whether a response changed within a second of the time."""
    position = bisect_right(changes, at)
    around = changes[max(position - 1, 0) : position + 1]
    return any(abs(change - at) < timedelta(seconds=1) for change in around)
