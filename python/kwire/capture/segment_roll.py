"""From a tail to a parquet file.

Rules of this file: the parquet file is written under a name that no reader takes for one, forced to disk, renamed, and
only then does the tail go: at every instant one of the two is whole. Row groups bound the memory that this takes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.folder import WRITING, segment_path, sync_directory
from kwire.capture.rows import SCHEMA
from kwire.capture.tail import RecoveredTail, TailReader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture.folder import Segment

ROW_GROUP_BYTES = 16 << 20
"""Of Arrow memory; about as much is held while closing."""

_ROWS = "kwire.rows"
_WITH_DICTIONARY = ["cluster_id", "endpoint", "dialect", "kind", "error", "broker_id", "api_key", "api_version"]
_WITH_STATISTICS = ["cluster_id", "polled_at", "broker_id", "api_key", "kind"]


def roll_segment(folder: Path, tail: Segment) -> RecoveredTail:
    """Make a parquet file of the whole batches of a tail, and remove the tail. Raises OSError, and then it is there.

    A tail with no rows but carried ones is only removed.
    """
    batches = TailReader(tail.path)
    writing = folder / f"_part-{tail.first_row:012}.parquet{WRITING}"
    rows, times = _write(writing, batches)
    part = None
    if times is None:
        writing.unlink()
    else:
        part = segment_path(folder, tail.first_row, times)
        part.parent.mkdir(exist_ok=True)
        writing.replace(part)
        sync_directory(part.parent)
        sync_directory(folder)
    tail.path.unlink()
    return RecoveredTail(tail.path, part, rows, batches.torn_bytes)


def _row_groups(batches: TailReader) -> Iterator[pa.Table]:
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.Table.from_batches(gathered).combine_chunks()
            gathered, size = [], 0
    if gathered:
        yield pa.Table.from_batches(gathered).combine_chunks()


def _write(writing: Path, batches: TailReader) -> tuple[int, tuple[datetime, datetime] | None]:
    """How many rows are not carried, and when the earliest and the latest of them were polled."""
    rows, times = 0, None
    with writing.open("wb") as file:
        with pq.ParquetWriter(
            file,
            SCHEMA,
            compression="zstd",
            use_dictionary=_WITH_DICTIONARY,
            write_statistics=_WITH_STATISTICS,
        ) as parquet:
            for group in _row_groups(batches):
                parquet.write_table(group, row_group_size=group.num_rows)
                polled_at = group.column("polled_at").filter(pc.not_equal(group.column("kind"), "carried"))
                rows += len(polled_at)
                times = _wider(times, pc.min_max(polled_at).as_py())
            parquet.add_key_value_metadata({_ROWS: str(rows)})
        file.flush()
        os.fsync(file.fileno())
    return rows, times


def _wider(
    times: tuple[datetime, datetime] | None, further: dict[str, datetime | None]
) -> tuple[datetime, datetime] | None:
    first, last = further["min"], further["max"]
    if first is None or last is None:
        return times
    return (first, last) if times is None else (min(first, times[0]), max(last, times[1]))


def closed_row_count(part: Segment) -> int:
    """How many rows of a closed file are not carried; from its footer."""
    with pq.ParquetFile(part.path) as parquet:
        return int(parquet.metadata.metadata[_ROWS.encode()])
