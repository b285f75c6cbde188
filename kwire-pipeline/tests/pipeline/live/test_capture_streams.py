"""Streams of growing captures: `finish` ingests what is captured, and does not wait for more."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from kwire.capture import Capture
from kwire_pipeline.live.capture_streams import CaptureStreams, stream_name
from kwire_pipeline.pipeline import Pipeline
from tests.pipeline.recorded import bronze
from tests.pipeline.test_pipeline import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS = bronze(RECORDING)


def test_finish_does_not_wait_while_capture_grows(spark: SparkSession, tmp_path: Path) -> None:
    ended = threading.Event()
    with Capture(tmp_path / "capture") as capture:
        capture.append_many(ROWS[:100])

        def capture_on() -> None:
            for row in ROWS[100:]:
                if ended.wait(0.2):
                    return
                capture.append(row)

        pipeline = Pipeline(spark, str(tmp_path / "out"))
        streams = CaptureStreams(pipeline, [str(tmp_path / "capture")], 0.1, lambda _: None)
        writer = threading.Thread(target=capture_on)
        writer.start()
        try:
            streams.finish()
            rows = capture.next_row
        finally:
            ended.set()
            writer.join()

    assert rows < len(ROWS), "it waited for the last row"
    assert pipeline.table("polls").count() >= 100
    assert not spark.streams.active


def test_stream_name_depends_on_capture(tmp_path: Path) -> None:
    first, second = str(tmp_path / "first"), str(tmp_path / "second")

    assert stream_name(first) == stream_name(f"{first}/") != stream_name(second)
