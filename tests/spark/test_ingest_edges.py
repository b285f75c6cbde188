"""Frames as they really come: late by days, without a cluster or a broker, twice at one instant, with holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kwire.spark import ingest_task
from kwire.spark.bronze import NoTime
from kwire.spark.ingest_task import _named
from kwire.spark.pipeline import Pipeline
from tests.spark.telling import START, answer, silence, table, topic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.capture import Row

DAY = 86_400


class Ingested:
    """A pipeline that is given rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.pipeline = Pipeline(spark, str(folder / "out"))

    def take(self, *rows: Row) -> int:
        """How many rows of bronze were new."""
        report = self.pipeline.ingest(table(self.spark, self.folder / "tables", *rows))
        return report.rows.get("bronze", 0)

    def rows(self, name: str, *columns: str) -> list[tuple[object, ...]]:
        """Of a table, in order."""
        return sorted(tuple(row) for row in self.pipeline.table(name).select(*columns).collect())

    def polled(self) -> list[tuple[object, ...]]:
        """Of each poll cluster, endpoint and second."""
        polls = self.pipeline.table("polls").select("cluster_id", "endpoint", "polled_at").collect()
        return sorted((row[0], row[1], (row[2] - START.replace(tzinfo=None)).total_seconds()) for row in polls)


@pytest.fixture
def ingested(spark: SparkSession, tmp_path: Path) -> Ingested:
    return Ingested(spark, tmp_path)


def test_a_late_frame_leaves_other_endpoints_of_unknown_brokers_as_they_were(ingested: Ingested) -> None:
    def at(endpoint: str, second: float, leader: int) -> Row:
        return answer(second, topic("x", leader, epoch=leader), broker=-1, endpoint=endpoint)

    ingested.take(at("a:1", 0, 1), at("a:1", 10, 2), at("b:1", 1, 1), at("b:1", 11, 2), at("b:1", 12, 2))

    assert ingested.take(at("a:1", 5, 1), at("b:1", 6, 1)) == 2
    assert ingested.take(at("a:1", 5, 1)) == 0
    assert ingested.polled() == [("c", "a:1", t) for t in (0, 5, 10)] + [("c", "b:1", t) for t in (1, 6, 11, 12)]
    assert ingested.rows("partitions", "leader") == [(1,), (1,), (2,), (2,)]


def test_a_frame_late_by_many_days_is_put_in_its_place(ingested: Ingested) -> None:
    def on(day: int, second: float = 0) -> Row:
        topics = [topic("keep"), *([topic("old")] if day < 2 else [])]
        return answer(day * DAY + second, *topics)

    ingested.take(*(on(day, second) for day in range(12) for second in (0, 60)))
    told = ingested.rows("topics", "at", "topic", "change")

    assert ingested.take(on(2, 30)) == 1
    assert ingested.rows("topics", "at", "topic", "change") == told
    assert [row[1:] for row in told] == [("keep", "set"), ("old", "set"), ("old", "gone")]
    assert ingested.pipeline.table("polls").count() == 25


def test_of_two_answers_at_one_instant_each_is_kept_once(ingested: Ingested) -> None:
    one, other = answer(0, topic("x")), answer(0, topic("x"), endpoint="other:1")

    assert ingested.take(one, other, one, other) == 2
    assert ingested.take(one, other) == 0
    assert ingested.polled() == [("c", "k1:9092", 0), ("c", "other:1", 0)]


def test_a_broker_that_is_down_first_belongs_to_the_cluster_that_it_tells_later(ingested: Ingested) -> None:
    silent = [silence(second) for second in range(80)]
    tape = [*silent, *(answer(80 + second, topic("x")) for second in range(3))]

    assert (ingested.take(*tape), ingested.take(*tape)) == (83, 0)
    assert {cluster for cluster, _, _ in ingested.polled()} == {"c"}


def test_silence_that_was_taken_without_a_cluster_is_known_when_one_is_told(ingested: Ingested) -> None:
    silent = [silence(second) for second in range(3)]
    tape = [*silent, *(answer(3 + second, topic("x")) for second in range(3))]

    assert (ingested.take(*silent), ingested.take(*tape), ingested.take(*tape)) == (3, 3, 0)
    assert [cluster for cluster, _, _ in ingested.polled()] == ["", "", "", "c", "c", "c"]


def test_more_silence_than_can_be_held_goes_on_without_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_task, "SILENCES_AHEAD", 4)
    tape = [*(silence(second) for second in range(6)), answer(6), silence(7)]

    assert _clusters(tape) == ["", "", "", "", "c", "c", "c", "c"]
    assert _clusters([answer(second, cluster=None) for second in range(99)]) == [""] * 99


def _clusters(rows: Sequence[Row]) -> list[str]:
    return [cluster for _, cluster in _named(iter(rows), "")]


def test_a_frame_without_its_version_is_a_bad_frame(ingested: Ingested) -> None:
    frames = table(ingested.spark, ingested.folder / "tables", answer(0, topic("x")))

    report = ingested.pipeline.ingest(frames.drop("api_version"))
    ingested.pipeline.ingest(frames.drop("api_key").withColumn("broker_id", frames.broker_id + 1))

    assert report.rows["bad_frames"] == 1
    assert ingested.rows("bad_frames", "api_key", "api_version", "kind") == [
        (-1, 12, "unknown_api"),
        (3, -1, "unknown_version"),
    ]


def test_frames_without_a_time_are_refused_and_nothing_is_taken(ingested: Ingested) -> None:
    frames = table(ingested.spark, ingested.folder / "tables", answer(0, topic("x")), answer(1, topic("x")))

    with pytest.raises(NoTime, match="no column polled_at"):
        ingested.pipeline.ingest(frames.drop("polled_at"))
    with pytest.raises(NoTime, match="polled_at is null in 1 rows") as refused:
        ingested.pipeline.ingest(
            frames.selectExpr("* except (polled_at)", "nullif(polled_at, timestamp_seconds(1795269600)) polled_at")
        )

    assert refused.value.rows == 1
    assert ingested.polled() == []
    assert list((ingested.folder / "out" / "_staging").iterdir()) == []
