"""The ingest of captures in the executors: finding new rows, and ingesting them in place where possible.

Rows that are newer than what their brokers reported last are ingested where they are: the segments are bronze. Other
rows (the same capture under another path, a clock that was set back, a damaged or missing segment) are left to
`Pipeline.ingest`, which compares them one by one with silver.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from kwire.capture.errors import UnreadableCapture
from kwire.capture.folder import segments
from kwire.capture.reader import check_begin, read_segment
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.source.capture_readers import (
    CapturePartition,
    ReadOptions,
    plan_partitions,
    read_partition,
    rows_in_capture,
    stops,
)
from kwire_pipeline.source.capture_segments import (
    REPORTER_COLUMNS,
    end_of,
    fingerprint_of,
    matches,
    own_rows,
    visible_segments,
)
from kwire_pipeline.store.manifest import CaptureProgress, DamagedSegment, Hole, ManifestEntry, manifest
from kwire_pipeline.store.record import reporter_key

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kwire.capture.folder import Segment
    from kwire_pipeline.ingest.ingest_task import IngestTask

CAPTURES = "folder string, row bigint, fingerprint string"
"""Input of `CaptureTask.ingest`: the folder, the next row, and the fingerprint that was recorded with it."""

PARTS = "part binary"
"""Input of `read_parts`: pickled partitions of captures."""


class CaptureTask(NamedTuple):
    """Finds and ingests the new rows of captures. The manifest has a `CaptureProgress` for each."""

    task: IngestTask

    def ingest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ingest the new rows of each capture. For `mapInArrow` over `CAPTURES`."""
        for batch in batches:
            for folder, row, fingerprint in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                try:
                    yield manifest(self._ingest(folder, row, fingerprint))
                except FileNotFoundError:  # a tail was closed after it was listed
                    yield manifest(self._ingest(folder, row, fingerprint))

    def _ingest(self, folder: str, row: int, fingerprint: str) -> list[ManifestEntry]:
        listed = visible_segments(folder)
        # All segments may have been deleted; the capture continues later.
        first = row if not listed or matches(listed, fingerprint) else 0
        new_segments = [segment for segment, stop in zip(listed, stops(listed), strict=True) if stop > first]
        damaged: dict[Segment, str] = {}
        holes: list[Hole] = []
        try:
            holes = _holes(new_segments, first)
            if not holes and not self._any_late(new_segments, first):
                entries, stop = self.task.ingest_segments(folder, first)
                newest = fingerprint_of(new_segments) or fingerprint
                return [*entries, CaptureProgress(folder, first, stop, newest, in_place=True)]
        except FileNotFoundError:
            raise
        except (UnreadableCapture, OSError, pa.ArrowException):
            damaged = {segment: reason for segment in new_segments if (reason := damage(segment))}
            if not damaged:
                raise
            holes = _holes(new_segments, first, damaged)
        stop = first
        if new_segments:
            last = new_segments[-1]
            stop = last.first_row if last in damaged else end_of(last)
        newest = fingerprint_of([segment for segment in new_segments if segment not in damaged]) or fingerprint
        bad = [DamagedSegment(segment.first_row, f"{segment.path}: {reason}") for segment, reason in damaged.items()]
        return [CaptureProgress(folder, first, max(stop, first), newest, in_place=False, damaged=bad, holes=holes)]

    def _any_late(self, new_segments: list[Segment], first: int) -> bool:
        """Return whether any row is not newer than what its broker reported last."""
        for segment in new_segments:
            number = segment.first_row
            for batch in own_rows(segment):
                new = batch.slice(max(first - number, 0))
                number += batch.num_rows
                # Only the earliest row of each broker can be the late one.
                earliest = pa.table(new).group_by(REPORTER_COLUMNS).aggregate([("polled_at", "min")])
                for row in earliest.to_pylist():
                    last = self._last_reported(*(row[name] for name in REPORTER_COLUMNS))
                    if microseconds(row["polled_at_min"]) <= last:
                        return True
        return False

    def _last_reported(self, cluster_id: str | None, broker_id: int, endpoint: str, poller_id: str | None) -> int:
        cluster = cluster_id or self.task.clusters.get(f"{broker_id}/{endpoint}", "")
        progress = self.task.reporters.get(reporter_key(cluster, broker_id, endpoint, poller_id))
        return -(2**63) if progress is None else int(progress["last"])


def count_new_rows(folder: str, row: int, fingerprint: str) -> int:
    """Return the number of rows of a capture from `row` on, at least; `fingerprint` was recorded with it."""
    listed = segments(folder)
    first = row if matches(listed, fingerprint) else 0
    try:
        stop = rows_in_capture(folder)
    except (UnreadableCapture, OSError, pa.ArrowException):  # reported when its rows are read
        stop = listed[-1].first_row
    return max(stop - max(first, listed[0].first_row if listed else 0), 0)


def _holes(new_segments: Sequence[Segment], first: int, damaged: Container[Segment] = ()) -> list[Hole]:
    """Return the rows from `first` on that no segment has: segments were deleted, or not copied.

    A capture may begin at any row, since old segments may be deleted. The rows of damaged segments are not missing.
    """
    holes = []
    following = first if first or not new_segments else new_segments[0].first_row
    for segment, later in zip(new_segments, [*new_segments, None][1:], strict=True):
        if segment.first_row > following:
            holes.append(Hole(following, segment.first_row))
        elif segment.first_row > first:
            check_begin(segment, following)
        if later is not None:
            following = later.first_row if segment in damaged else end_of(segment)
    return holes


def plan_parts(capture: CaptureProgress) -> list[CapturePartition]:
    """Return the parts of a capture with the rows of its progress, without damaged segments."""
    options = ReadOptions(damaged=frozenset(segment.first_row for segment in capture.damaged))
    span = capture.first, capture.stop
    return plan_partitions(capture.folder, *span, begins=True, continues=capture.first > 0, options=options)


def read_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the rows of parts. For `mapInArrow` over `PARTS`."""
    for batch in batches:
        for part in batch.column(0).to_pylist():
            yield from read_partition(pickle.loads(part))  # noqa: S301  # of our own driver


def damage(segment: Segment) -> str:
    """Return why a segment cannot be read; empty if it can."""
    try:
        for _ in read_segment(segment):
            pass
    except UnreadableCapture as error:
        return error.reason.partition("\n")[0]
    return ""
