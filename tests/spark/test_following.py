"""Captures that grow are followed; an end ingests what is there and does not wait for what may still come."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kwire.capture import Capture
from kwire.spark.pipeline import Pipeline
from kwire.spark.streaming import Streams, stream_name
from tests.spark.recorded import bronze
from tests.spark.test_pipeline import TAPE

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = bronze(TAPE)


def test_an_end_comes_while_somebody_else_captures_on(spark: SparkSession, tmp_path: Path) -> None:
    ended = threading.Event()
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS[:100])

        def capture_on() -> None:
            for row in ROWS[100:]:
                if ended.wait(0.2):
                    return
                capture.append(row)

        pipeline = Pipeline(spark, str(tmp_path / "out"))
        streams = Streams(pipeline, [str(tmp_path / "capture")], 0.1, lambda _: None)
        others = threading.Thread(target=capture_on)
        others.start()
        try:
            streams.finish()
            rows = capture.next_row
        finally:
            ended.set()
            others.join()

    assert rows < len(ROWS), "it waited for the last row"
    assert pipeline.table("polls").count() >= 100
    assert not spark.streams.active


def test_each_capture_has_a_stream_of_its_own(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")

    assert stream_name(first) == stream_name(f"{first}/") != stream_name(second)
