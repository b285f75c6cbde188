"""Captures that grow, each a stream of its own into one pipeline.

Rules of this file: an offset of one capture means nothing in another, so each has its own checkpoint, named after its
folder. What was captured when a stream is to end is ingested before it does.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from typing import TYPE_CHECKING

from kwire.spark.datasource import rows_in_capture
from kwire.spark.pipeline import capture_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql.streaming.query import StreamingQuery

    from kwire.spark.pipeline import Pipeline, Report


_PAUSE = 0.2


def stream_name(folder: str) -> str:
    """What the stream of a capture is called, and its checkpoint."""
    return f"capture-{hashlib.sha256(capture_path(folder).encode()).hexdigest()[:16]}"


class Streams:
    """Streams of these captures, running. ``every``: seconds between batches; ``heard``: gets each report."""

    def __init__(
        self, pipeline: Pipeline, folders: Iterable[str], every: float, heard: Callable[[Report], object]
    ) -> None:
        self._queries: dict[str, StreamingQuery] = {}
        for folder in dict.fromkeys(map(capture_path, folders)):
            frames = pipeline.spark.readStream.format("kwire").load(folder)
            self._queries[folder] = pipeline.stream(
                frames, name=stream_name(folder), heard=heard, processingTime=f"{every} seconds"
            )

    def go_on(self, seconds: float | None, check: Callable[[], object] = lambda: None) -> None:
        """For so long, or until one ends. ``check``: called now and then; raises when it makes no sense to go on."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        while time.monotonic() < until and all(map(_runs, self._queries.values())):
            check()
            time.sleep(_PAUSE)

    def finish(self) -> None:
        """Ingest what is captured by now, and end. What is captured meanwhile may be left to the next time."""
        for folder, query in self._queries.items():
            _reach(query, rows_in_capture(folder))
        for query in self._queries.values():
            query.stop()


def _reach(query: StreamingQuery, rows: int) -> None:
    """Wait until so many rows of the capture were ingested. Raises what ended the query before."""
    # Spark waits for a moment without news, which need not come where another process captures on; so progress is
    # looked at too. Progress alone would not do: a query that finds nothing new tells none.
    idle = threading.Thread(target=query.processAllAvailable, daemon=True)
    idle.start()
    while idle.is_alive() and _runs(query) and _rows_taken(query) < rows:
        time.sleep(_PAUSE)
    _runs(query)


def _runs(query: StreamingQuery) -> bool:
    """Whether it goes on. Raises what ended it, unless it was stopped."""
    if query.isActive:
        return True
    if (failure := query.exception()) is not None:
        raise failure
    return False


def _rows_taken(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None or not progress["sources"]:
        return 0
    return int(json.loads(progress["sources"][0]["endOffset"])["row"])
