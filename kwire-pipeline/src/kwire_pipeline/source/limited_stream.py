"""Streams of captures with a limit for each micro-batch (Spark 4.2 and later)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from kwire.capture.folder import segments
from kwire_pipeline.source.capture_readers import BaseCaptureStreamReader, rows_in_capture, stops
from kwire_pipeline.source.capture_segments import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.capture.folder import Segment
    from kwire_pipeline.source.capture_readers import ReadOptions
    from kwire_pipeline.source.live_source import PolledCluster


class LimitedCaptureStreamReader(BaseCaptureStreamReader, SupportsTriggerAvailableNow):
    """Reads at most some segments, or segments of some bytes, in a micro-batch; at least one segment.

    A batch ends with a segment, so the limits hold for what is behind; new rows of the open tail are one batch.
    """

    def __init__(
        self, folder: str, start: int, cluster: PolledCluster | None, options: ReadOptions, limit: ReadLimit
    ) -> None:
        super().__init__(folder, start, cluster, options)
        self._limit = limit
        self._target: int | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        return self._limit

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = rows_in_capture(self._folder)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        self.poll()
        listed = segments(self._folder)
        first = self.first_row(start)
        target = rows_in_capture(self._folder) if self._target is None else self._target
        if isinstance(limit, ReadAllAvailable):
            stop = target
        else:
            stop = max(first, min(_stop(listed, first, target, limit), target))
        read = [segment for segment in listed if segment.first_row < stop]
        return {"row": stop, "fingerprint": fingerprint_of(read) or start["fingerprint"]}


def _stop(listed: Sequence[Segment], first: int, target: int, limit: ReadLimit) -> int:
    """Return the row at which a batch that begins with `first` ends."""
    files = size = 0
    stop = first
    for segment, end in zip(listed, [*stops(listed)[:-1], target], strict=True):
        if end <= first:
            continue
        files += 1
        size += segment.size
        exceeded = (isinstance(limit, ReadMaxFiles) and files > limit.max_files) or (
            isinstance(limit, ReadMaxBytes) and size > limit.max_bytes
        )
        if exceeded and files > 1:
            break
        stop = end
    return stop
