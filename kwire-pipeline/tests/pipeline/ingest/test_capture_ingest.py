"""Captures under another path, replaced, streamed before, or damaged: each row is ingested once."""

from __future__ import annotations

import re
import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture
from kwire.capture.errors import NotACapture
from kwire.capture.folder import segments
from kwire_pipeline.ingest.clock_faults import FEW
from kwire_pipeline.pipeline import Pipeline
from tests.pipeline import bronze_rows
from tests.pipeline.gold.test_late_frames import no_spark
from tests.pipeline.recorded import bronze
from tests.pipeline.test_pipeline import RECORDING, TABLES, expected, silver

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire_pipeline.ingest.ingest_report import IngestReport

ROWS = bronze(RECORDING)[:600]
STATE = [name for name in TABLES if name != "polls"]  # a capture has 'same' rows where a recording repeats frames


def captured(folder: Path, first: int, stop: int) -> str:
    """Append those rows of the recording to a capture as one segment, and return the folder."""
    with Capture(folder) as capture:
        capture.append_many(ROWS[first:stop])
    return str(folder)


def streamed(pipeline: Pipeline, folder: str) -> list[IngestReport]:
    reports: list[IngestReport] = []
    frames = pipeline.spark.readStream.format("kwire").load(folder)
    assert pipeline.stream(frames, on_report=reports.append, availableNow=True).awaitTermination(300)
    return reports


def assert_history(out: Path, rows: int) -> None:
    """Check that silver equals the silver of the first rows of the recording."""
    made, wanted = silver(out), expected(ROWS[:rows])
    assert sum(made["polls"].values()) == rows
    assert {name: made[name] for name in STATE} == {name: wanted[name] for name in STATE}


def test_capture_under_another_path_is_recognized(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(folder)

    by_name = pipeline.ingest_capture(f"{folder}/", "capture", f"file://{folder}")
    by_link = pipeline.ingest_capture(str(tmp_path / "link"))

    assert (by_name.repeated, by_link.repeated) == (0, 300)
    assert_history(tmp_path / "out", 300)


def test_capture_whose_segments_are_deleted_has_nothing_new(tmp_path: Path) -> None:
    pipeline = Pipeline(no_spark, str(tmp_path / "out"))
    folder = tmp_path / "capture"
    (tmp_path / "empty/date=2026-11-21").mkdir(parents=True)
    assert not pipeline.ingest_capture(str(tmp_path / "empty")).rows
    pipeline.ingest_capture(captured(folder, 0, 300))
    for segment in folder.rglob("*.parquet"):
        segment.unlink()

    report = pipeline.ingest_capture(str(folder))
    later = pipeline.ingest_capture(captured(folder, 300, 400))

    assert (report.rows, report.missing, later.missing, later.rows["polls"]) == ({}, [], [], 100)
    assert_history(tmp_path / "out", 400)


def test_captures_of_same_brokers_are_combined(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    shutil.copytree(folder, tmp_path / "copy")
    copy = captured(tmp_path / "copy", 300, 400)

    report = Pipeline(spark, str(tmp_path / "out")).ingest_capture(folder, copy)

    assert report.repeated == 300
    assert_history(tmp_path / "out", 400)


def test_streamed_rows_are_not_ingested_again_from_capture(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    streamed(pipeline, folder)
    pipeline.ingest_capture(folder)
    captured(tmp_path / "capture", 300, 500)
    streamed(pipeline, folder)
    captured(tmp_path / "capture", 500, 600)

    report = pipeline.ingest_capture(folder)

    assert report.repeated == 200
    assert_history(tmp_path / "out", 600)


def test_replaced_capture_is_ingested_from_its_beginning(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 200)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(folder)
    shutil.rmtree(folder)
    captured(tmp_path / "capture", 200, 500)

    report = pipeline.ingest_capture(folder)

    assert report.rows["polls"] == 300
    assert_history(tmp_path / "out", 500)


def test_stream_starts_again_with_replaced_capture(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    streamed(pipeline, folder)
    shutil.rmtree(folder)
    captured(tmp_path / "capture", 300, 500)

    streamed(pipeline, folder)

    assert_history(tmp_path / "out", 500)


def test_stream_without_checkpoint_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "capture")
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    for first in (0, 100, 200):
        captured(tmp_path / "capture", first, first + 100)
        streamed(pipeline, folder)
    shutil.rmtree(tmp_path / "out" / "_checkpoints")
    captured(tmp_path / "capture", 300, 500)

    [report] = streamed(pipeline, folder)

    assert report.repeated == 300
    assert_history(tmp_path / "out", 500)


def test_damaged_segment_is_reported_and_others_are_ingested(spark: SparkSession, tmp_path: Path) -> None:
    for first in (0, 200, 400):
        captured(tmp_path / "capture", first, first + 200)
    damaged = segments(tmp_path / "capture")[1].path
    damaged.write_bytes(damaged.read_bytes()[:5000])
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    report = pipeline.ingest_capture(str(tmp_path / "capture"))
    again = pipeline.ingest_capture(str(tmp_path / "capture"))

    assert len(report.damaged) == 1
    assert f"damaged: {damaged}" in str(report)
    assert not any(again.rows.values())
    assert (
        400 <= pipeline.table("polls").count() < 420
    )  # with the rows that the third segment carries over from the second
    held = {(row.topic, row.partition) for row in pipeline.table("partitions").select("topic", "partition").collect()}
    whole = Pipeline(spark, str(tmp_path / "whole"))
    whole.ingest_capture(captured(tmp_path / "healthy", 0, 600))
    wanted = whole.table("partitions").where("at > '2000-01-01'").select("topic", "partition").collect()
    assert held == {(row.topic, row.partition) for row in wanted}


def test_repaired_segment_adds_only_lost_polls(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 200)
    for first in (200, 400):
        captured(tmp_path / "capture", first, first + 200)
    segment = segments(folder)[1].path
    whole = segment.read_bytes()
    segment.write_bytes(whole[:5000])
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(folder)
    segment.write_bytes(whole)

    pipeline.ingest(spark.read.format("kwire").option("fromRow", 200).option("toRow", 400).load(folder))

    assert_history(tmp_path / "out", 600)


@pytest.mark.parametrize("ingested_before", [False, True])
def test_missing_segment_is_reported_and_its_time_is_a_row(
    spark: SparkSession, tmp_path: Path, ingested_before: bool
) -> None:
    folder = tmp_path / "capture"
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    def polls(first: int, stop: int, *topics: str) -> None:
        with Capture(folder) as capture:
            capture.append_many(
                [bronze_rows.response(at, *map(bronze_rows.topic, topics), cluster="c") for at in range(first, stop)]
            )

    polls(0, 10, "a")
    if ingested_before:
        pipeline.ingest_capture(str(folder))
    polls(10, 50, "a", "b")  # the first one has a frame, and later ones are equal to it
    polls(50, 60, "a", "b")
    segments(folder)[1].path.unlink()

    report = pipeline.ingest_capture(str(folder))
    again = pipeline.ingest_capture(str(folder))

    assert report.missing == [f"rows 10 to 49 of {folder}: no segment has them"]
    assert f"missing: rows 10 to 49 of {folder}" in str(report)
    assert not any(again.rows.values())
    assert not again.missing
    [gap] = pipeline.table("poll_gaps").collect()
    # The third segment carries the response over that the second one had first.
    assert (gap.missed_polls, gap.usual_interval_us) == (39, 1_000_000)
    assert {row.topic for row in pipeline.table("topics").collect()} == {"a", "b"}
    assert pipeline.table("polls").count() == 21


@pytest.mark.parametrize("first", ["table", "capture"])
def test_polls_are_known_as_table_and_as_capture(spark: SparkSession, tmp_path: Path, first: str) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    table = bronze_rows.table(spark, tmp_path / "table", *(row._replace(kind=None) for row in ROWS[:350]))
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    if first == "table":
        pipeline.ingest(table)
        report = pipeline.ingest_capture(folder)
    else:
        pipeline.ingest_capture(folder)
        report = pipeline.ingest(table)

    assert report.repeated == 300
    assert_history(tmp_path / "out", 350)


def test_missing_folder_is_rejected_before_spark_job(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    with pytest.raises(NotACapture, match="the folder does not exist"):
        pipeline.ingest_capture(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="needs the folder"):
        pipeline.ingest_capture()


def test_late_frame_is_refused_when_old_parts_of_capture_are_deleted(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    for number in range(3):
        captured(folder, 200 * number, 200 * (number + 1))
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(str(folder))
    for segment in segments(str(folder))[:-1]:
        segment.path.unlink()
    own = [row for row in ROWS[300:] if row.broker_id == ROWS[300].broker_id]
    late = [row._replace(polled_at=row.polled_at + timedelta(milliseconds=1)) for row in own[: FEW + 1]]
    other = late[0]._replace(broker_id=9, endpoint="other:1", polled_at=ROWS[-1].polled_at)

    report = pipeline.ingest(bronze_rows.table(spark, tmp_path / "late", *late, other))
    again = pipeline.ingest(bronze_rows.table(spark, tmp_path / "late", other))

    assert (report.late, report.repeated, again.repeated) == (0, 0, 1)
    [refused] = report.refused
    assert re.fullmatch(
        rf"{len(late)} late frames of broker {late[0].broker_id} of .*: bronze has \d+ of \d+ polls since .*", refused
    )
    assert f"refused: {len(late)} late frames" in str(report)
    assert sum(silver(tmp_path / "out")["polls"].values()) == len(ROWS) + 1


def test_segments_with_exchanged_names_are_reported_and_others_are_ingested(tmp_path: Path) -> None:
    for first in (0, 100, 200):
        captured(tmp_path / "capture", first, first + 100)
    one, two = (segment.path for segment in segments(tmp_path / "capture")[:2])
    one_content, two_content = one.read_bytes(), two.read_bytes()
    one.write_bytes(two_content)
    two.write_bytes(one_content)
    pipeline = Pipeline(no_spark, str(tmp_path / "out"))

    report = pipeline.ingest_capture(str(tmp_path / "capture"))

    assert sum("the file was renamed from part-" in text for text in report.damaged) == 2
    assert report.rows["polls"] >= 100
