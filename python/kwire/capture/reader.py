"""Reading a capture, closed files and tail, also while a writer is at work.

Rules of this file: one file is held at a time, its rows sorted by time. Every 'same' row that is given out has its full
frame before it, in a row that is 'full', or 'carried' where the full one was left out or lies too far back. What a file
carries is left out when the last thing said before was the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.errors import NotACapture, UnreadableCapture
from kwire.capture.folder import Segment, segments
from kwire.capture.rows import SCHEMA, request_key
from kwire.capture.tail import TailReader
from kwire.folder_lock import LOCK_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from kwire.capture.rows import RequestKey

BATCH_ROWS = 4096

_KEY_COLUMNS = ["cluster_id", "broker_id", "endpoint", "api_key", "api_version", "request"]


def read_file(file: Segment) -> Iterator[pa.RecordBatch]:
    """All rows of one file in the order of appending, carried ones first; of a tail, what is whole.

    Raises UnreadableCapture for a broken part; FileNotFoundError for a tail closed meanwhile: ``files`` then has its part.
    """
    if not file.is_closed:
        yield from TailReader(file.path)
        return
    try:
        with pq.ParquetFile(file.path) as parquet:
            if parquet.schema_arrow != SCHEMA:
                raise UnreadableCapture(file.path, "its columns are not those of a capture")
            for batch in parquet.iter_batches(batch_size=BATCH_ROWS, columns=SCHEMA.names):
                yield batch.replace_schema_metadata(None)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise UnreadableCapture(file.path, str(error)) from error


def read(
    folder: Path | str, *, since: datetime | None = None, until: datetime | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows that were polled from ``since`` on and before ``until``, as batches of ``SCHEMA``.

    Within a file rows are in order of time; files follow in the order of appending, so that where one ends and the next
    begins answers of several brokers may be out of order by as long as they took to be appended. With ``since``, what
    was the last full answer to each request then comes first, as 'carried' rows. Raises NotACapture.
    """
    shown = _Shown()
    before: dict[RequestKey, pa.Table] = {}
    begun = since is None
    found = segments(folder)
    if not (found or (Path(folder) / LOCK_FILE).exists()):
        raise NotACapture(Path(folder), "there is nothing of a capture in this folder")
    for file in _reaching(found, since, until):
        rows = _sorted(_load(file))
        kind, polled_at = rows.column("kind"), rows.column("polled_at")
        carried = pc.equal(kind, "carried")
        early = pc.less(polled_at, since) if since is not None else pc.and_(carried, False)
        own = pc.invert(pc.or_(carried, early))
        if until is not None:
            own = pc.and_(own, pc.less(polled_at, until))
        in_force = rows.filter(pc.and_(pc.or_(carried, early), pc.is_in(kind, pa.array(["full", "carried"]))))
        own = rows.filter(own)
        for place, key in enumerate(_keys(in_force)):
            if not begun:
                before[key] = in_force.slice(place, 1)
        if begun:
            yield from shown.where_needed(in_force)
        elif own.num_rows:
            begun = True
            yield from shown.where_needed(_sorted(pa.concat_tables(before.values())) if before else in_force)
        shown.note(own.filter(pc.equal(own.column("kind"), "full")))
        yield from own.to_batches(max_chunksize=BATCH_ROWS)
    if not begun and before:
        yield from shown.where_needed(_sorted(pa.concat_tables(before.values())))


class _Shown:
    """Of each request, when the frame was polled that was given out last."""

    def __init__(self) -> None:
        self._last: dict[RequestKey, datetime] = {}

    def note(self, full: pa.Table) -> None:
        """Those rows were given out."""
        self._last.update(zip(_keys(full), full.column("polled_at").to_pylist(), strict=True))

    def where_needed(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        """Those of the rows that are not what was given out last anyway, as carried ones."""
        times = rows.column("polled_at").to_pylist()
        wanted = [self._last.get(key) != time for key, time in zip(_keys(rows), times, strict=True)]
        needed = rows.filter(pa.array(wanted, pa.bool_()))
        self.note(needed)
        kinds = pa.array(["carried"] * needed.num_rows, pa.string())
        needed = needed.set_column(SCHEMA.get_field_index("kind"), SCHEMA.field("kind"), kinds)
        yield from needed.to_batches(max_chunksize=BATCH_ROWS)


def _keys(rows: pa.Table) -> Iterator[RequestKey]:
    columns = [rows.column(name).to_pylist() for name in _KEY_COLUMNS]
    return map(request_key, *columns)


def _reaching(all_files: tuple[Segment, ...], since: datetime | None, until: datetime | None) -> tuple[Segment, ...]:
    """Those that have rows of that time, or may have; and the last one before, for the state at its start."""
    early = [since is not None and file.last_time is not None and file.last_time < since for file in all_files]
    late = [until is not None and file.first_time is not None and file.first_time >= until for file in all_files]
    tells_state = max((place for place, is_early in enumerate(early) if is_early), default=None)
    return tuple(
        file for place, file in enumerate(all_files) if place == tells_state or not (early[place] or late[place])
    )


def _load(file: Segment) -> pa.Table:
    try:
        return pa.Table.from_batches(read_file(file), SCHEMA)
    except FileNotFoundError:
        # Two folders up from a part, one from a tail; closed between the listing and now.
        if file.is_closed:
            raise
    for closed in segments(file.path.parent):
        if closed.first_row == file.first_row and closed.is_closed:
            return pa.Table.from_batches(read_file(closed), SCHEMA)
    raise NotACapture(file.path, "it has gone, and there is no parquet file instead")


def _sorted(rows: pa.Table) -> pa.Table:
    """By time; what came first stays first where times are equal."""
    if rows.num_rows < 2:
        return rows
    return rows.take(pc.sort_indices(rows, sort_keys=[("polled_at", "ascending")]))
