"""Streams of captures into a pipeline, one for each capture.

An offset refers to one capture, so each stream has its own checkpoint, named after the folder. `finish` ingests the
rows that are captured when it is called.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from ast import literal_eval
from typing import TYPE_CHECKING

from kwire.spark.capture_segments import capture_location
from kwire.spark.datasource import rows_in_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql.streaming.query import StreamingQuery

    from kwire.spark.ingest_report import IngestReport
    from kwire.spark.pipeline import Pipeline


_PAUSE = 0.2


def stream_name(folder: str) -> str:
    """Return the name of a capture's stream, which is also that of its checkpoint."""
    return f"capture-{hashlib.sha256(capture_location(folder).encode()).hexdigest()[:16]}"


class CaptureStreams:
    """Running streams of captures into a pipeline."""

    def __init__(
        self, pipeline: Pipeline, folders: Iterable[str], every: float, on_report: Callable[[IngestReport], object]
    ) -> None:
        """Start the streams.

        Args:
            pipeline: the pipeline.
            folders: the captures.
            every: seconds between batches.
            on_report: called with the report of each batch.
        """
        self._queries: dict[str, StreamingQuery] = {}
        for folder in dict.fromkeys(map(capture_location, folders)):
            frames = pipeline.spark.readStream.format("kwire").load(folder)
            self._queries[folder] = pipeline.stream(
                frames, name=stream_name(folder), on_report=on_report, processingTime=f"{every} seconds"
            )

    def wait(self, seconds: float | None, check: Callable[[], object] = lambda: None) -> None:
        """Wait until a stream ends, or for some seconds.

        Args:
            seconds: how long to wait; None is forever.
            check: called from time to time; an error that it raises ends the wait.
        """
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < deadline and all(map(_is_running, self._queries.values())):
            check()
            time.sleep(_PAUSE)

    def finish(self) -> None:
        """Ingest the rows that are captured now, and stop. Rows that are captured meanwhile may be left."""
        for folder, query in self._queries.items():
            _wait_for_rows(query, rows_in_capture(folder))
        for query in self._queries.values():
            query.stop()


def _wait_for_rows(query: StreamingQuery, rows: int) -> None:
    """Wait until so many rows are ingested, and raise the error that ended the query before, if any."""
    # `processAllAvailable` waits for a time without new rows, which may never come while another process captures. So
    # the progress counts too; alone it would not do, since a query without new rows reports none.
    idle = threading.Thread(target=query.processAllAvailable, daemon=True)
    idle.start()
    while idle.is_alive() and _is_running(query) and _ingested_rows(query) < rows:
        time.sleep(_PAUSE)
    _is_running(query)


def _is_running(query: StreamingQuery) -> bool:
    """Return whether a query runs, and raise the error that ended it, if any."""
    if query.isActive:
        return True
    if (failure := query.exception()) is not None:
        raise failure
    return False


def _ingested_rows(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None or not progress["sources"]:
        return 0
    # Spark 4.0 has the text of a dict, later versions JSON; both are literals of Python.
    return int(literal_eval(progress["sources"][0]["endOffset"])["row"])
