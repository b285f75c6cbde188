"""From a tail to a parquet file.

Rules of this file: the parquet file is written under a name that no reader takes for one, forced to disk, renamed, and
only then does the tail go: at every instant one of the two is whole. Row groups bound the memory that this takes.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kwire.capture.folder import WRITING, part_path, sync_directory
from kwire.capture.rows import SCHEMA
from kwire.capture.tail import Recovered, WholeBatches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    from kwire.capture.folder import CaptureFile

ROW_GROUP_BYTES = 16 << 20
"""Of Arrow memory; about as much is held while closing."""

_WITH_DICTIONARY = ["cluster_id", "endpoint", "dialect", "kind", "error", "broker_id", "api_key", "api_version"]
_WITH_STATISTICS = ["cluster_id", "polled_at", "broker_id", "api_key", "kind"]


def close_tail(folder: Path, tail: CaptureFile) -> Recovered:
    """Make a parquet file of the whole batches of a tail, and remove the tail. Raises OSError, and then it is there."""
    batches = WholeBatches(tail.path)
    groups = _row_groups(batches)
    part, rows = None, 0
    waiting: list[pa.Table] = []  # carried rows alone are no reason for a file
    for group in groups:
        waiting.append(group)
        first_time = _first_time(group)
        if first_time is not None:
            part = part_path(folder, tail.first_row, first_time)
            rows = _write(part, waiting, groups)
            break
    tail.path.unlink()
    return Recovered(tail.path, part, rows, batches.torn_bytes)


def _row_groups(batches: WholeBatches) -> Iterator[pa.Table]:
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


def own_rows(rows: pa.Table | pa.RecordBatch) -> pa.Table | pa.RecordBatch:
    """Without those that were carried over from the file before."""
    return rows.filter(pc.not_equal(rows.column("kind"), "carried"))


def _first_time(group: pa.Table) -> datetime | None:
    own = own_rows(group)
    return own.column("polled_at")[0].as_py() if own.num_rows else None


def _write(part: Path, waiting: list[pa.Table], groups: Iterator[pa.Table]) -> int:
    """The number of rows that are not carried."""
    part.parent.mkdir(exist_ok=True)
    writing = part.with_name(f"_{part.name}{WRITING}")
    rows = 0
    with writing.open("wb") as file:
        with pq.ParquetWriter(
            file,
            SCHEMA,
            compression="zstd",
            use_dictionary=_WITH_DICTIONARY,
            write_statistics=_WITH_STATISTICS,
        ) as parquet:
            for group in chain(waiting, groups):
                parquet.write_table(group, row_group_size=max(group.num_rows, 1))
                rows += own_rows(group).num_rows
            parquet.add_key_value_metadata({"kwire.rows": str(rows)})
        file.flush()
        os.fsync(file.fileno())
    writing.replace(part)
    sync_directory(part.parent)
    return rows


def rows_in(part: CaptureFile) -> int:
    """How many rows of a closed file are not carried; from its footer."""
    with pq.ParquetFile(part.path) as parquet:
        return int(parquet.metadata.metadata[b"kwire.rows"])
