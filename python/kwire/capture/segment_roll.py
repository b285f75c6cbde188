"""Convert a finished tail to a closed parquet segment.

The parquet file is written under a temporary name, synced, and renamed before the tail is removed, so one of the two is
always complete. Row groups bound the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire._util.atomic_file import open_new
from kwire._util.file_sync import named_errors, sync_file
from kwire.capture.folder import PARTIAL_SUFFIX, SEGMENT_NAME, closed_path, sync_directory
from kwire.capture.rows import SCHEMA, RowKind
from kwire.capture.tail import RecoveredTail, TailReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture.folder import Segment

ROW_GROUP_BYTES = 16 << 20
"""Arrow bytes per row group, and about the memory needed to roll a segment."""

_ROW_COUNT = "kwire.rows"
_WITH_DICTIONARY = ["cluster_id", "endpoint", "dialect", "kind", "error", "broker_id", "api_key", "api_version"]
_WITH_STATISTICS = ["cluster_id", "polled_at", "broker_id", "api_key", "kind"]


def roll_segment(folder: Path, tail: Segment) -> RecoveredTail:
    """Convert the complete batches of a tail to a parquet file and remove the tail.

    A tail that has only carried rows is removed without a replacement.

    Raises:
        OSError: the file cannot be written; the tail is kept.
    """
    batches = TailReader(tail.path)
    partial = folder / f"_part-{tail.first_row:012}.parquet{PARTIAL_SUFFIX}"
    rows, segment = _write_parquet(partial, batches, folder, tail)
    if segment is None:
        partial.unlink()
    else:
        segment.parent.mkdir(exist_ok=True)
        partial.replace(segment)
        sync_directory(segment.parent)
        sync_directory(folder)
    tail.path.unlink()
    return RecoveredTail(tail.path, segment, rows, batches.torn_bytes)


def _row_groups(batches: TailReader) -> Iterator[pa.Table]:
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.Table.from_batches(group).combine_chunks()
            group, size = [], 0
    if group:
        yield pa.Table.from_batches(group).combine_chunks()


def _write_parquet(partial: Path, batches: TailReader, folder: Path, tail: Segment) -> tuple[int, Path | None]:
    """Write the file and return the number of polls, and the path to rename it to; None without polls."""
    rows, times, segment = 0, None, None
    with open_new(partial) as file, named_errors(partial):
        with pq.ParquetWriter(
            file,
            SCHEMA,
            compression="zstd",
            use_dictionary=_WITH_DICTIONARY,
            write_statistics=_WITH_STATISTICS,
        ) as parquet:
            for group in _row_groups(batches):
                parquet.write_table(group, row_group_size=group.num_rows)
                polled_at = group.column("polled_at").filter(pc.not_equal(group.column("kind"), RowKind.CARRIED.value))
                rows += len(polled_at)
                times = _union(times, pc.min_max(polled_at).as_py())
            segment = None if times is None else closed_path(folder, tail.first_row, times)
            name = {} if segment is None else {SEGMENT_NAME: segment.name}
            parquet.add_key_value_metadata({_ROW_COUNT: str(rows), **name})
        file.flush()
        sync_file(file.fileno())
    return rows, segment


def _union(
    times: tuple[datetime, datetime] | None, group: dict[str, datetime | None]
) -> tuple[datetime, datetime] | None:
    first, last = group["min"], group["max"]
    if first is None or last is None:
        return times
    return (first, last) if times is None else (min(first, times[0]), max(last, times[1]))


def closed_row_count(segment: Segment) -> int:
    """Return the number of rows of a closed segment without carried ones, from its footer."""
    with pq.ParquetFile(segment.open()) as parquet:
        return int(parquet.metadata.metadata[_ROW_COUNT.encode()])
