"""Read and replay captures, also while a writer is appending.

One segment is held in memory at a time, sorted by time. Every 'same' row is preceded by a row with its full frame: the
'full' row itself, or a 'carried' one if the full row was filtered out or is in an earlier segment. Carried rows that
repeat the frame already returned are dropped.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire._util.folder_lock import LOCK_FILE
from kwire.capture.errors import NoFullFrame, NotACapture, UnreadableCapture
from kwire.capture.folder import SEGMENT_NAME, Segment, segments
from kwire.capture.rows import SCHEMA, RowKind, is_capture, request_key, to_rows
from kwire.capture.tail import TailReader
from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.capture.rows import RequestKey, Row

BATCH_ROWS = 4096

_KEY_COLUMNS = ["cluster_id", "broker_id", "endpoint", "api_key", "api_version", "poller_id", "request"]


def read_segment(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Return all rows of a segment in the order of appending, carried ones first; of a tail, its complete batches.

    Raises:
        UnreadableCapture: the parquet file is damaged, or was renamed.
        FileNotFoundError: the tail was rolled in the meantime; `segments` returns its closed segment.
    """
    if not segment.is_closed:
        yield from TailReader(segment.path)
        return
    try:
        with open_closed(segment) as parquet:
            for batch in parquet.iter_batches(batch_size=BATCH_ROWS):
                yield batch.replace_schema_metadata(None)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise UnreadableCapture(segment.path, str(error)) from error


@contextmanager
def open_closed(segment: Segment) -> Iterator[pq.ParquetFile]:
    """Open a closed segment under the name that its writer gave it.

    The name has the number of the first row. So two segments whose names were exchanged, or a segment of another
    capture under a free number, would be read in a wrong order.

    Raises:
        ArrowException, OSError: the file is damaged.
        UnreadableCapture: it is not a segment, or not the one of that name.
    """
    with pq.ParquetFile(segment.open()) as parquet:
        if not is_capture(parquet.schema_arrow):
            raise UnreadableCapture(segment.path, "its columns are not the columns of a capture")
        name = (parquet.metadata.metadata or {}).get(SEGMENT_NAME.encode())
        if name is not None and name.decode() != segment.path.name:
            raise UnreadableCapture(segment.path, f"the file was renamed from {name.decode()}")
        if name is None and (times := _times_of(parquet)) != (segment.first_time, segment.last_time):
            text = " to ".join(str(time) for time in times)
            raise UnreadableCapture(segment.path, f"the file was renamed: it has polls of {text}")
        yield parquet


def _times_of(parquet: pq.ParquetFile) -> tuple[datetime | None, datetime | None]:
    """Return the times of the earliest and the latest poll of a segment without its name in the footer."""
    rows = parquet.read(["polled_at", "kind"])
    polled_at = rows["polled_at"].filter(pc.not_equal(rows["kind"], RowKind.CARRIED.value))
    times = pc.min_max(polled_at).as_py()
    return times["min"], times["max"]


def check_begin(segment: Segment, stop: int) -> None:
    """Check that a segment begins after the one before.

    Args:
        segment: the segment.
        stop: the number of the row after the segment before.

    Raises:
        UnreadableCapture: both have rows with the same numbers, so one of them belongs to another capture.
    """
    if segment.first_row < stop:
        reason = f"begins with row {segment.first_row:,}, but the segment before ends with row {stop - 1:,}"
        raise UnreadableCapture(segment.path, f"{reason}: one of them is of another capture")


def read(
    folder: Path | str, *, since: datetime | None = None, until: datetime | None = None
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a capture as batches of `SCHEMA`.

    Rows of a segment are sorted by time; segments follow in the order of appending. Around the boundary of two
    segments, rows of different brokers may be out of order by the time that appending them took.

    Args:
        folder: the capture: a path, or the URI of a folder in an object store or HDFS.
        since: return polls at or after this time. The last full response to each request before it comes first, as a
            'carried' row.
        until: return polls before this time.

    Raises:
        NotACapture: the folder is missing or not a capture.
        UnreadableCapture: a parquet file is damaged, was renamed, or has numbers of rows that another one has.
    """
    emitted = _EmittedFrames()
    earlier: dict[RequestKey, pa.Table] = {}
    started = since is None
    stop = 0
    listed = segments(folder)
    if not (listed or _is_open(folder)):
        raise NotACapture(folder, "the folder is not a capture")
    for segment in _overlapping(listed, since, until):
        rows = _load(segment)
        check_begin(segment, stop)
        stop = segment.first_row + pc.sum(pc.not_equal(rows["kind"], RowKind.CARRIED.value), min_count=0).as_py()
        effective, own = _split(_sort(rows), since, until)
        if not started:
            for index, key in enumerate(_request_keys(effective)):
                earlier[key] = effective.slice(index, 1)
        if started:
            yield from emitted.as_carried(effective)
        elif own.num_rows:
            started = True
            yield from emitted.as_carried(_sort(pa.concat_tables(earlier.values())) if earlier else effective)
        emitted.add(own.filter(pc.equal(own.column("kind"), RowKind.FULL.value)))
        yield from own.to_batches(max_chunksize=BATCH_ROWS)
    if not started and earlier:
        yield from emitted.as_carried(_sort(pa.concat_tables(earlier.values())))


def _is_open(folder: Path | str) -> bool:
    """Return whether a folder of this machine is a capture without rows."""
    return (Path(Location.parse(folder, any_name=True).native) / LOCK_FILE).exists()


def _split(rows: pa.Table, since: datetime | None, until: datetime | None) -> tuple[pa.Table, pa.Table]:
    """Return the full responses before the window, including carried ones, and the polls within the window."""
    kind, polled_at = rows.column("kind"), rows.column("polled_at")
    carried = pc.equal(kind, RowKind.CARRIED.value)
    early = pc.less(polled_at, since) if since is not None else pc.and_(carried, False)
    selected = pc.invert(pc.or_(carried, early))
    if until is not None:
        selected = pc.and_(selected, pc.less(polled_at, until))
    with_frame = pc.is_in(kind, pa.array([RowKind.FULL.value, RowKind.CARRIED.value]))
    return rows.filter(pc.and_(pc.or_(carried, early), with_frame)), rows.filter(selected)


def replay(
    folder: Path | str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    speed: float | None = None,
    carried: bool = False,
) -> Iterator[Row]:
    """Return every poll of a capture as a `Row`, in the order of `read`.

    A 'same' row has the frame of the response it is equivalent to, as the same bytes object. That frame has its own
    correlation id, controller id, and order of elements; `controller_id` is the poll's own.

    Args:
        folder: the capture, as of `read`.
        since: return polls at or after this time.
        until: return polls before this time.
        speed: 1.0 returns rows as far apart as they were polled, 10.0 ten times as fast, None without waiting.
        carried: also return carried rows.

    Raises:
        NotACapture: the folder is missing or not a capture.
        NoFullFrame: a 'same' row has no full frame before it.
        ValueError: `speed` is not positive.
    """
    if speed is not None and not speed > 0:
        raise ValueError(f"speed must be above 0, not {speed!r}")
    frames: dict[RequestKey, bytes] = {}
    started_at = time.monotonic()
    first: datetime | None = None
    for batch in read(folder, since=since, until=until):
        # A frame counts for later "same" rows even if its own row is not returned.
        for row in to_rows(batch):
            if row.frame is not None:
                frames[row.request_key] = row.frame
            if row.kind == RowKind.CARRIED:
                if carried:
                    yield row
                continue
            # Due times refer to the first row, so that the time that a caller takes for a row does not add up.
            if speed is not None:
                first = first or row.polled_at
                due = started_at + (row.polled_at - first).total_seconds() / speed
                time.sleep(max(due - time.monotonic(), 0))
            yield _with_frame(row, frames) if row.kind == RowKind.SAME else row


def _with_frame(row: Row, frames: dict[RequestKey, bytes]) -> Row:
    frame = frames.get(row.request_key)
    if frame is None:
        raise NoFullFrame(row.polled_at, row.endpoint)
    return row._replace(frame=frame)


class _EmittedFrames:
    """The time of the last frame returned for each request."""

    def __init__(self) -> None:
        self._last: dict[RequestKey, datetime] = {}

    def add(self, full: pa.Table) -> None:
        self._last.update(zip(_request_keys(full), full.column("polled_at").to_pylist(), strict=True))

    def as_carried(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Return the rows as carried ones, except rows that repeat the last returned frame of their request."""
        times = rows.column("polled_at").to_pylist()
        is_new = [self._last.get(key) != time for key, time in zip(_request_keys(rows), times, strict=True)]
        needed = rows.filter(pa.array(is_new, pa.bool_()))
        self.add(needed)
        kinds = pa.array([RowKind.CARRIED.value] * needed.num_rows, pa.string())
        needed = needed.set_column(SCHEMA.get_field_index("kind"), SCHEMA.field("kind"), kinds)
        yield from needed.to_batches(max_chunksize=BATCH_ROWS)


def _request_keys(rows: pa.Table) -> Iterator[RequestKey]:
    columns = [rows.column(name).to_pylist() for name in _KEY_COLUMNS]
    return map(request_key, *columns)


def _overlapping(all_segments: tuple[Segment, ...], since: datetime | None, until: datetime | None) -> list[Segment]:
    """Return the segments that may have polls in the window, and the last one before it for the state at its start."""
    early = [
        since is not None and segment.last_time is not None and segment.last_time < since for segment in all_segments
    ]
    late = [
        until is not None and segment.first_time is not None and segment.first_time >= until for segment in all_segments
    ]
    last_early = max((index for index, is_early in enumerate(early) if is_early), default=None)
    return [
        segment
        for index, segment in enumerate(all_segments)
        if index == last_early or not (early[index] or late[index])
    ]


def _load(segment: Segment) -> pa.Table:
    try:
        return pa.Table.from_batches(read_segment(segment), SCHEMA)
    except FileNotFoundError:
        if segment.is_closed:
            raise
    # The tail was rolled after it was listed.
    for closed in segments(segment.path.parent):
        if closed.first_row == segment.first_row and closed.is_closed:
            return pa.Table.from_batches(read_segment(closed), SCHEMA)
    raise NotACapture(segment.path, "the tail was removed, and there is no parquet file in its place")


def _sort(rows: pa.Table) -> pa.Table:
    """Sort by time; rows of equal times keep their order."""
    if rows.num_rows < 2:
        return rows
    return rows.take(pc.sort_indices(rows, sort_keys=[("polled_at", "ascending")]))
