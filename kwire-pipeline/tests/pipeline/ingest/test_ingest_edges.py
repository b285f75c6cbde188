"""Ingesting unusual frames: late by days, without a cluster or broker, repeated, or incomplete."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire_pipeline import pipeline
from kwire_pipeline.ingest import attribution
from kwire_pipeline.ingest.attribution import with_cluster
from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.source.bronze import InvalidColumn, MissingPollTime
from tests.pipeline.bronze_rows import START, failed_poll, response, table, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kwire.capture import Row

pytestmark = pytest.mark.nightly

DAY = 86_400


class Ingest:
    """A pipeline that ingests rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.pipeline = Pipeline(spark, str(folder / "out"))

    def ingest(self, *rows: Row) -> int:
        """Ingest rows and return how many of them are new."""
        report = self.pipeline.ingest(table(self.spark, self.folder / "tables", *rows))
        return report.rows.get("bronze", 0)

    def rows(self, name: str, *columns: str) -> list[tuple[object, ...]]:
        """Return the sorted rows of a table."""
        return sorted(tuple(row) for row in self.pipeline.table(name).select(*columns).collect())

    def polled(self) -> list[tuple[object, ...]]:
        """Return cluster, endpoint, and second of each poll."""
        polls = self.pipeline.table("polls").select("cluster_id", "endpoint", "polled_at").collect()
        return sorted((row[0], row[1], (row[2] - START.replace(tzinfo=None)).total_seconds()) for row in polls)


@pytest.fixture
def ingest(spark: SparkSession, tmp_path: Path) -> Ingest:
    return Ingest(spark, tmp_path)


@pytest.mark.parametrize(
    ("column", "type", "expected"),
    [
        ("polled_at", "date", "timestamp, as"),
        ("polled_at", "bigint", "timestamp, as timestamp_seconds"),
        ("frame", "string", "binary, as unhex"),
        ("broker_id", "array<int>", "int"),
        ("broker_id", "boolean", "int"),
        ("cluster_id", "date", "string"),
    ],
)
def test_column_of_another_type_is_refused(ingest: Ingest, column: str, type: str, expected: str) -> None:
    columns = {"polled_at": "timestamp", "broker_id": "int", "frame": "binary", column: type}
    frames = ingest.spark.createDataFrame([], ", ".join(f"{name} {type}" for name, type in columns.items()))

    with pytest.raises(InvalidColumn, match=f"the column {column} is {type}: expected {expected}"):
        ingest.pipeline.ingest(frames)


def test_late_frame_keeps_other_endpoints_of_unknown_brokers(ingest: Ingest) -> None:
    def at(endpoint: str, second: float, leader: int) -> Row:
        return response(second, topic("x", leader, epoch=leader), broker=-1, endpoint=endpoint)

    ingest.ingest(at("a:1", 0, 1), at("a:1", 10, 2), at("b:1", 1, 1), at("b:1", 11, 2), at("b:1", 12, 2))

    assert ingest.ingest(at("a:1", 5, 1), at("b:1", 6, 1)) == 2
    assert ingest.ingest(at("a:1", 5, 1)) == 0
    assert ingest.polled() == [("c", "a:1", t) for t in (0, 5, 10)] + [("c", "b:1", t) for t in (1, 6, 11, 12)]
    assert ingest.rows("partitions", "leader") == [(1,), (1,), (2,), (2,)]


def test_frame_late_by_many_days_is_inserted(ingest: Ingest) -> None:
    def on(day: int, second: float = 0) -> Row:
        topics = [topic("keep"), *([topic("old")] if day < 2 else [])]
        return response((day - 12) * DAY + second, *topics)  # before now: the future would be a wrong clock

    ingest.ingest(*(on(day, second) for day in range(12) for second in (0, 60)))
    before = ingest.rows("topics", "at", "topic", "change")

    assert ingest.ingest(on(2, 30)) == 1
    assert ingest.rows("topics", "at", "topic", "change") == before
    assert [row[1:] for row in before] == [("keep", "set"), ("old", "set"), ("old", "gone")]
    assert ingest.pipeline.table("polls").count() == 25


def test_two_responses_at_one_time_are_kept_once_each(ingest: Ingest) -> None:
    one, other = response(0, topic("x")), response(0, topic("x"), endpoint="other:1")

    assert ingest.ingest(one, other, one, other) == 2
    assert ingest.ingest(one, other) == 0
    assert ingest.polled() == [("c", "k1:9092", 0), ("c", "other:1", 0)]


def test_failed_polls_belong_to_cluster_that_broker_reports_later(ingest: Ingest) -> None:
    failed = [failed_poll(second) for second in range(80)]
    rows = [*failed, *(response(80 + second, topic("x")) for second in range(3))]

    assert (ingest.ingest(*rows), ingest.ingest(*rows)) == (83, 0)
    assert {cluster for cluster, _, _ in ingest.polled()} == {"c"}


def test_failed_polls_without_cluster_are_repeated_once_cluster_is_known(ingest: Ingest) -> None:
    failed = [failed_poll(second) for second in range(3)]
    rows = [*failed, *(response(3 + second, topic("x")) for second in range(3))]

    assert (ingest.ingest(*failed), ingest.ingest(*rows), ingest.ingest(*rows)) == (3, 3, 0)
    assert [cluster for cluster, _, _ in ingest.polled()] == ["", "", "", "c", "c", "c"]


def test_too_many_failed_polls_are_ingested_without_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "FAILED_POLLS_AHEAD", 4)
    rows = [*(failed_poll(second) for second in range(6)), response(6), failed_poll(7)]

    assert _clusters(rows) == ["", "", "", "", "c", "c", "c", "c"]
    assert _clusters([response(second, cluster=None) for second in range(99)]) == [""] * 99


def _clusters(rows: Sequence[Row]) -> list[str]:
    return [cluster for _, cluster in with_cluster(iter(rows), "")]


def test_frame_without_version_is_bad_frame(ingest: Ingest) -> None:
    frames = table(ingest.spark, ingest.folder / "tables", response(0, topic("x")))

    report = ingest.pipeline.ingest(frames.drop("api_version"))
    ingest.pipeline.ingest(frames.drop("api_key").withColumn("broker_id", frames.broker_id + 1))

    assert report.rows["bad_frames"] == 1
    assert ingest.rows("bad_frames", "api_key", "api_version", "kind") == [
        (-1, 12, "unknown_api"),
        (3, -1, "unknown_version"),
    ]


def test_frames_without_poll_time_are_rejected_and_nothing_is_ingested(ingest: Ingest) -> None:
    frames = table(ingest.spark, ingest.folder / "tables", response(0, topic("x")), response(1, topic("x")))

    with pytest.raises(MissingPollTime, match="no column polled_at"):
        ingest.pipeline.ingest(frames.drop("polled_at"))
    with pytest.raises(MissingPollTime, match=r"polled_at is null, .* in 1 row") as refused:
        ingest.pipeline.ingest(
            frames.selectExpr("* except (polled_at)", "nullif(polled_at, timestamp_seconds(1795269600)) polled_at")
        )

    assert refused.value.rows == 1
    assert ingest.polled() == []
    assert ingest.pipeline.snapshot().number == 0


def test_files_of_stream_are_merged_and_deleted(ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "BATCHES_MERGED", 3)
    monkeypatch.setattr(pipeline, "BATCHES_VACUUMED", 3)
    ingest.pipeline.keep_replaced = timedelta(0)
    on_disk = []
    for number in range(4):
        frames = table(ingest.spark, ingest.folder / "tables", response(number, topic("x")))
        ingest.pipeline.ingest(frames, batch=("query", number))
        on_disk.append(len(list(Path(ingest.pipeline.out, "silver/polls").rglob("*.parquet"))))

    assert on_disk == [1, 2, 1, 2]
    assert [len(ingest.pipeline.snapshot().paths(name)) for name in ("polls", "bronze", "topics")] == [2, 2, 1]
    assert len(ingest.polled()) == 4
