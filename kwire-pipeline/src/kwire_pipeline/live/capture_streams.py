"""Streams of captures into a pipeline, one for each capture.

An offset refers to one capture, so each stream has its own checkpoint, named after the folder. `finish` ingests the
rows that are captured when it is called.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
import time
from ast import literal_eval
from contextlib import suppress
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from kwire_pipeline.live.backoff import TEMPORARY, Backoff
from kwire_pipeline.source.capture_readers import rows_in_capture
from kwire_pipeline.source.capture_segments import capture_location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql.streaming.query import StreamingQuery

    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.pipeline import Pipeline


FINISH_ATTEMPTS = 5
"""Maximum number of attempts to ingest the last rows, after pauses of 15 s together: a job must end even if its storage
does not respond. Chosen, not measured."""

_PAUSE = 0.2


def stream_name(folder: str) -> str:
    """Return the name of a capture's stream and of its checkpoint."""
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
        self._pipeline = pipeline
        self._every = every
        self._on_report = on_report
        paths = list(dict.fromkeys(map(capture_location, folders)))
        self._backoffs = {folder: Backoff(f"the stream of {folder}") for folder in paths}
        self._restarts: dict[str, float] = {}
        self._queries = {folder: self._start(folder) for folder in paths}

    def _start(self, folder: str) -> StreamingQuery:
        def report(added: IngestReport) -> None:
            self._backoffs[folder].reset()
            self._on_report(added)

        source = self._pipeline.spark.readStream.format("kwire")
        frames = source.option("missingRows", self._pipeline.missing_rows.value).load(folder)
        trigger = f"{self._every} seconds"
        return self._pipeline.stream(frames, name=stream_name(folder), on_report=report, processingTime=trigger)

    def wait(self, seconds: float | None, check: Callable[[], object] = lambda: None) -> None:
        """Wait until a stream is stopped, or for some seconds. A stream that fails continues after a pause.

        Args:
            seconds: timeout in seconds; None is forever.
            check: called from time to time; an error that it raises ends the wait.

        Raises:
            Exception: the error of a stream that another attempt cannot cure (`Backoff.pause_after`).
        """
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < deadline and all(map(self._continues, self._queries)):
            check()
            time.sleep(_PAUSE)

    def _continues(self, folder: str) -> bool:
        """Return whether a stream runs or waits for its restart, and restart it if that is due."""
        if folder in self._restarts:
            if time.monotonic() >= self._restarts[folder]:
                del self._restarts[folder]
                self._queries[folder] = self._start(folder)
            return True
        try:
            return _is_running(self._queries[folder])
        except TEMPORARY as error:
            self._restarts[folder] = time.monotonic() + self._backoffs[folder].pause_after(error)
            return True

    def finish(self) -> None:
        """Ingest the rows that are captured now, and stop. Rows that are captured meanwhile may be left.

        A stream that fails continues after a pause, as in `wait`, but not more often than `FINISH_ATTEMPTS`.

        Raises:
            Exception: the error of a stream that another attempt cannot cure, or has not cured.
        """
        for folder in self._restarts:
            self._queries[folder] = self._start(folder)
        self._restarts.clear()
        for folder in self._queries:
            self._finish(folder, rows_in_capture(folder))
        for query in self._queries.values():
            query.stop()

    def _finish(self, folder: str, rows: int) -> None:
        """Wait until `rows` rows of a capture are ingested."""
        for attempt in itertools.count(1):
            try:
                _wait_for_rows(self._queries[folder], rows)
            except TEMPORARY as error:
                if attempt == FINISH_ATTEMPTS:
                    raise
                time.sleep(self._backoffs[folder].pause_after(error))
                self._queries[folder] = self._start(folder)
            else:
                return


def _wait_for_rows(query: StreamingQuery, rows: int) -> None:
    """Block until `rows` rows are ingested; raise the query's error if it fails first."""
    # `processAllAvailable` waits for a time without new rows, which may never come while another process captures. So
    # the progress counts too; alone it would not do, since a query without new rows reports none.
    idle = threading.Thread(target=_process_all, args=(query,), daemon=True)
    idle.start()
    while idle.is_alive() and _is_running(query) and _ingested_rows(query) < rows:
        time.sleep(_PAUSE)
    _is_running(query)


def _process_all(query: StreamingQuery) -> None:
    with suppress(PySparkException):  # `_is_running` raises the error of the query
        query.processAllAvailable()


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
