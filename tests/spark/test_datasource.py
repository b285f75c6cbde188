"""``format("kwire")``: captures as a data source, found by Spark itself, rows by number."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from kwire.capture import Capture, CaptureInUse, UnreadableCapture
from kwire.capture.folder import segments
from kwire.capture.rows import to_rows
from kwire.spark.datasource import (
    BadOption,
    CaptureStreamReader,
    KwireSource,
    planned,
    rows_in_capture,
    rows_of_file,
)
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

    rows = read.select("polled_at", "kind").collect()

    times = sorted(row.polled_at.timestamp() for row in rows if row.kind != "carried")
    assert times == [row.polled_at.timestamp() for row in ROWS[17:250]]


@pytest.mark.parametrize("start", [0, 1, 17, 120, 299])
def test_what_was_in_force_where_a_read_begins_comes_first(capture: Path, start: int) -> None:
    read = [
        row
        for part in planned(str(capture), start, 300, begins=True)
        for batch in rows_of_file(part)
        for row in to_rows(batch)
    ]

    known = set()
    for row in read:
        if row.kind == "same":
            assert row.request_key in known
        known.add(row.request_key)
    carried = [row for row in read if row.kind == "carried"]
    assert read[: len(carried)] == carried
    assert len({row.request_key for row in carried}) == len(carried)
    assert len(read) - len(carried) == 300 - start


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("fromRow", "abc", "the number of a row"),
        ("toRow", "-1", "the number of a row"),
        ("interval", "x", "a number of seconds"),
        ("seconds", "-1", "a number of seconds"),
    ],
)
def test_an_option_that_makes_no_sense_is_named(option: str, value: str, reason: str, tmp_path: Path) -> None:
    options = {"path": str(tmp_path), "bootstrap": "127.0.0.1:1", "interval": "1", option: value}
    with pytest.raises(BadOption, match=reason) as refused:
        KwireSource(options).reader(StructType())
    assert (refused.value.option, refused.value.value) == (option, value)


def test_a_damaged_file_is_named(capture: Path) -> None:
    path = segments(capture)[0].path
    path.write_bytes(path.read_bytes()[:1000])
    [part, *_] = planned(str(capture), 0, 300, begins=True)

    with pytest.raises(UnreadableCapture) as found:
        list(rows_of_file(part))

    assert found.value.path == path


@pytest.mark.parametrize("cut", [0, 1, 40, 299, 300])
def test_offsets_cut_a_capture_anywhere(capture: Path, cut: int) -> None:
    reader = CaptureStreamReader(str(capture), 0, None)
    assert reader.initialOffset()["row"] == 0
    assert reader.latestOffset()["row"] == 300

    counts = [
        sum(batch.num_rows for part in planned(str(capture), *span, begins=False) for batch in rows_of_file(part))
        for span in ((0, cut), (cut, 300))
    ]

    assert counts == [cut, 300 - cut]


def test_an_open_tail_is_read_too(tmp_path: Path) -> None:
    with Capture(tmp_path) as writer:
        writer.append_many(ROWS[:5])
        assert rows_in_capture(str(tmp_path)) == 5
        [part] = planned(str(tmp_path), 0, 5, begins=True)
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
