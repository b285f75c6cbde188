"""Captures that are not what they were: by another name, made anew, streamed before, damaged. Each row counts once."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture
from kwire.capture.errors import NotACapture
from kwire.capture.folder import segments
from kwire.spark.pipeline import Pipeline
from tests.spark.recorded import bronze
from tests.spark.test_pipeline import TABLES, TAPE, expected, silver

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kwire.spark.pipeline import Report

ROWS = bronze(TAPE)[:600]
STATE = [name for name in TABLES if name != "polls"]  # a capture says 'same' where a tape has a frame again


def captured(folder: Path, first: int, stop: int) -> str:
    """The folder, with those rows of the tape appended in one file."""
    with Capture(folder) as capture:
        capture.append_many(ROWS[first:stop])
    return str(folder)


def streamed(pipeline: Pipeline, folder: str) -> list[Report]:
    heard: list[Report] = []
    frames = pipeline.spark.readStream.format("kwire").load(folder)
    assert pipeline.stream(frames, heard=heard.append, availableNow=True).awaitTermination(300)
    return heard


def assert_history(out: Path, rows: int) -> None:
    """It is that of the first rows of the tape."""
    made, wanted = silver(out), expected(ROWS[:rows])
    assert sum(made["polls"].values()) == rows
    assert {name: made[name] for name in STATE} == {name: wanted[name] for name in STATE}


def test_a_capture_by_another_name_is_the_same_one(
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


def test_captures_of_the_same_brokers_are_one_history(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    shutil.copytree(folder, tmp_path / "copy")
    copy = captured(tmp_path / "copy", 300, 400)

    report = Pipeline(spark, str(tmp_path / "out")).ingest_capture(folder, copy)

    assert report.repeated == 300
    assert_history(tmp_path / "out", 400)


def test_what_came_as_a_stream_is_not_taken_again_from_the_capture(spark: SparkSession, tmp_path: Path) -> None:
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


def test_a_capture_that_was_made_anew_is_taken_from_its_beginning(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 200)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    pipeline.ingest_capture(folder)
    shutil.rmtree(folder)
    captured(tmp_path / "capture", 200, 500)

    report = pipeline.ingest_capture(folder)

    assert report.rows["polls"] == 300
    assert_history(tmp_path / "out", 500)


def test_a_stream_begins_anew_with_a_capture_that_was_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    folder = captured(tmp_path / "capture", 0, 300)
    pipeline = Pipeline(spark, str(tmp_path / "out"))
    streamed(pipeline, folder)
    shutil.rmtree(folder)
    captured(tmp_path / "capture", 300, 500)

    streamed(pipeline, folder)

    assert_history(tmp_path / "out", 500)


def test_a_stream_whose_checkpoint_was_removed_loses_and_repeats_nothing(spark: SparkSession, tmp_path: Path) -> None:
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


def test_a_damaged_file_is_named_and_the_others_are_taken(spark: SparkSession, tmp_path: Path) -> None:
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
    assert 400 <= pipeline.table("polls").count() < 420  # with what the third file carries over from the second
    held = {(row.topic, row.partition) for row in pipeline.table("partitions").select("topic", "partition").collect()}
    whole = Pipeline(spark, str(tmp_path / "whole"))
    whole.ingest_capture(captured(tmp_path / "healthy", 0, 600))
    wanted = whole.table("partitions").where("at > '2000-01-01'").select("topic", "partition").collect()
    assert held == {(row.topic, row.partition) for row in wanted}


def test_a_folder_that_is_none_is_refused_before_spark_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(spark, str(tmp_path / "out"))

    with pytest.raises(NotACapture, match="no such folder"):
        pipeline.ingest_capture(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="needs the folder"):
        pipeline.ingest_capture()
