"""``format("kwire")``: captures as a data source, found by Spark itself, rows by number."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kwire.capture import Capture, CaptureInUse
from kwire.spark.datasource import CaptureStreamReader, planned, rows_in_capture, rows_of_file
from kwire.testing import FakeCluster
from tests.spark.recorded import bronze

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = bronze("kraft44-public")[:300]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    with Capture(tmp_path / "capture", roll_bytes=100_000, roll_seconds=1e9) as writer:
        for row in ROWS:
            writer.append(row)
    return tmp_path / "capture"


def test_spark_finds_the_format_and_reads_every_row_once(spark: SparkSession, capture: Path) -> None:
    read = spark.read.format("kwire").load(str(capture))

    rows = read.select("polled_at", "broker_id", "api_key", "kind").orderBy("polled_at").collect()

    assert [(row.broker_id, row.api_key) for row in rows] == [(row.broker_id, row.api_key) for row in ROWS]
    assert {row.kind for row in rows} == {"full", "same", "error"}
    assert read.rdd.getNumPartitions() > 1


def test_rows_are_read_by_their_number(spark: SparkSession, capture: Path) -> None:
    read = spark.read.format("kwire").option("fromRow", 17).option("toRow", 250).load(str(capture))

    times = sorted(row.polled_at.timestamp() for row in read.select("polled_at").collect())

    assert times == [row.polled_at.timestamp() for row in ROWS[17:250]]


@pytest.mark.parametrize("cut", [0, 1, 40, 299, 300])
def test_offsets_cut_a_capture_anywhere(capture: Path, cut: int) -> None:
    reader = CaptureStreamReader(str(capture), 0, None)
    assert reader.initialOffset() == {"row": 0}
    assert reader.latestOffset() == {"row": 300}

    counts = [
        sum(batch.num_rows for part in planned(str(capture), *span) for batch in rows_of_file(part))
        for span in ((0, cut), (cut, 300))
    ]

    assert counts == [cut, 300 - cut]


def test_an_open_tail_is_read_too(tmp_path: Path) -> None:
    with Capture(tmp_path) as writer:
        writer.append_many(ROWS[:5])
        assert rows_in_capture(str(tmp_path)) == 5
        [part] = planned(str(tmp_path), 0, 5)
    assert sum(batch.num_rows for batch in rows_of_file(part)) == 5  # closed since it was planned


def test_a_cluster_is_captured_first(spark: SparkSession, tmp_path: Path) -> None:
    with FakeCluster(brokers=2) as cluster:
        read = spark.read.format("kwire").option("bootstrap", cluster.bootstrap).option("interval", 0.1)
        frames = read.option("seconds", 1).load(str(tmp_path / "capture"))
        kinds = {row.kind for row in frames.select("kind").collect()}

    assert "full" in kinds
    assert rows_in_capture(str(tmp_path / "capture")) > 4


def test_a_stream_polls_the_cluster_that_it_is_given(spark: SparkSession, tmp_path: Path) -> None:
    kinds: list[str] = []
    folder = str(tmp_path / "capture")
    with FakeCluster(brokers=2, topics=3) as cluster:
        stream = spark.readStream.format("kwire").option("bootstrap", cluster.bootstrap).option("interval", 0.1)
        query = (
            stream.load(folder)
            .writeStream.foreachBatch(lambda rows, _: kinds.extend(row.kind for row in rows.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(processingTime="0.2 seconds")
            .start()
        )
        try:
            until = time.monotonic() + 60
            while kinds.count("same") < 10:
                assert time.monotonic() < until, kinds
                assert not query.awaitTermination(1)
        finally:
            query.stop()
        read = len(kinds)
        capture_is_free(folder)

    assert kinds.count("full") >= 2
    assert [row.kind for row in read_rows(spark, folder)][:read] == kinds


def read_rows(spark: SparkSession, folder: str) -> list[Any]:
    return spark.read.format("kwire").load(folder).select("kind").collect()


def capture_is_free(folder: str) -> None:
    """The source's own process ended with the query, and polls no more."""
    until = time.monotonic() + 30
    while True:
        try:
            Capture(folder).close()
            return
        except CaptureInUse:
            assert time.monotonic() < until, "somebody polls on"
            time.sleep(0.1)


def test_a_folder_is_needed(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="needs the folder of a capture"):
        spark.read.format("kwire").load().collect()
