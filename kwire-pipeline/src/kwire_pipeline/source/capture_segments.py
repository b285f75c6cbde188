"""Captures that driver and executors share, and how one is identified independently of its path.

A fingerprint is the number of a segment and the time of its first row. Neither changes when the segment is closed, and
older segments may be deleted. A folder without that segment, or with another row in it, holds another capture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kwire.capture.errors import NotACapture, UnreadableCapture
from kwire.capture.folder import segments
from kwire.capture.reader import open_closed, read_segment
from kwire.metadata.timestamps import microseconds
from kwire.storage.location import Location, not_visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.capture.folder import Segment

REPORTER_COLUMNS = ["cluster_id", "broker_id", "endpoint", "poller_id"]
"""Columns of a capture that identify a reporter."""


def capture_location(folder: object) -> str:
    """Return the one spelling of the location of a capture: an absolute path, or a URI.

    Raises:
        UnsupportedLocation: the scheme is not supported.
    """
    return Location.parse(folder, any_name=True).native


def visible_segments(folder: str) -> tuple[Segment, ...]:
    """Return the segments of a capture in an executor.

    Raises:
        UnsupportedLocation: this machine does not see the folder, although the driver does.
    """
    try:
        return segments(folder)
    except NotACapture:
        raise not_visible(folder) from None


def fingerprint_of(listed: Sequence[Segment]) -> str:
    """Return the fingerprint from the last of these segments with a row that is not carried; empty without any."""
    for segment in reversed(listed):
        for batch in own_rows(segment):
            if batch.num_rows:
                return f"{segment.first_row} {batch.column('polled_at').cast(pa.int64())[0].as_py()}"
    return ""


def matches(listed: Sequence[Segment], fingerprint: str) -> bool:
    """Return whether these are segments of the capture with that fingerprint, whose segment may have been deleted."""
    number, _, at = fingerprint.partition(" ")
    for segment in listed:
        if str(segment.first_row) == number:
            try:
                return fingerprint_of([segment]) == fingerprint
            except (UnreadableCapture, OSError, pa.ArrowException):  # reported when its rows are read
                return True
    return bool(fingerprint and listed) and _surround(listed, int(number), int(at))


def _surround(listed: Sequence[Segment], number: int, at: int) -> bool:
    """Return whether a row of a deleted segment can be of this capture, by its number and time in microseconds.

    Another capture in the same folder has begun later, and counts its rows from 0 again.
    """
    later = [segment for segment in listed if segment.first_row > number]
    if any(segment.last_time is not None and (microseconds(segment.last_time) or 0) < at for segment in later):
        return False
    if listed[0].first_row > number:
        return True
    _, _, began = fingerprint_of(listed[:1]).partition(" ")
    return bool(began) and int(began) <= at


def own_rows(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Return the rows of a segment that are not carried, without their frames."""
    for batch in _without_frames(segment):
        yield batch.filter(pc.not_equal(batch.column("kind"), "carried"))


def end_of(segment: Segment) -> int:
    """Return the number of the row after a segment.

    Raises:
        ArrowException, OSError: the segment is damaged.
        UnreadableCapture: the same, or it was renamed.
    """
    rows: int = sum(batch.num_rows for batch in own_rows(segment))
    return segment.first_row + rows


def _without_frames(segment: Segment) -> Iterator[pa.RecordBatch]:
    columns = ["kind", "polled_at", *REPORTER_COLUMNS]
    if not segment.is_closed:
        for batch in read_segment(segment):
            yield batch.select(columns)
        return
    with open_closed(segment) as parquet:
        yield from parquet.iter_batches(columns=columns)
