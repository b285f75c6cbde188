"""Recordings: Parquet files of frames, which are read in this process if they are small."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from kwire.storage.location import Location
from kwire_pipeline.engine import IN_PROCESS_BYTES
from kwire_pipeline.source.bronze import COLUMNS, MissingPollTime, check_types, is_plain
from kwire_pipeline.store.errors import StoreFault

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

    from kwire_pipeline.engine import Engine

BATCH_ROWS = 1_000
"""Rows that are read at once, before their size is known. Chosen, not measured."""

READ = {*COLUMNS, "request_hex", "sent_at"}
"""The columns of a recording that an ingest reads."""


class UnreadableRecording(StoreFault, ValueError):
    """A file of a recording is damaged."""


def read_recording(engine: Engine, path: str) -> DataFrame | pa.Table:
    """Return the rows of a recording; its files may have different columns, but not of different types.

    Raises:
        InvalidColumn: a column cannot be one of bronze.
        MissingPollTime: no file has the column `polled_at`.
        PySparkException: Spark cannot read it.
        UnreadableRecording: a file is damaged.
    """
    rows = _small_recording(engine, path)
    if rows is not None:
        return rows
    frames = engine.spark.read.option("mergeSchema", "true").parquet(path)
    check_types(frames)
    return frames


def local_files(path: str) -> list[Path] | None:
    """Return the files of a recording on this machine that Spark would read as data.

    None for a pattern or another file system, which Spark resolves.

    Raises:
        FileNotFoundError: the path, or a file of it, does not exist.
        ValueError: it is neither a file nor a folder with files.
    """
    if path.startswith("file:"):
        path = Location.parse(path, any_name=True).native
    if "://" in path or any(sign in path for sign in "*?[{"):
        return None
    local = Path(path)
    if not path or not local.is_dir():
        files = [local] if path else []
    elif not (files := _files_below(local, set())):
        raise ValueError(f"{path} has no files")
    if not files:
        raise ValueError("expected a file or a folder, found an empty name")
    for file in files:
        if not file.exists():
            raise FileNotFoundError(f"{file} does not exist")
        if not file.is_file():
            raise ValueError(f"{file} is not a file")
    return files


def _files_below(folder: Path, visited: set[Path]) -> list[Path]:
    """Return the files of a folder and of its subfolders, links included, but each folder once."""
    if folder.resolve() in visited:
        return []
    visited.add(folder.resolve())
    files: list[Path] = []
    for path in sorted(folder.iterdir()):
        if not path.name.startswith(("_", ".")):
            files += _files_below(path, visited) if path.is_dir() else [path]
    return files


def plain_type(type: pa.DataType) -> pa.DataType:
    """Return the type of Arrow that Spark's type for `type` has."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return pa.string()
    if pa.types.is_large_binary(type) or pa.types.is_binary_view(type):
        return pa.binary()
    return pa.timestamp("us", type.tz and "UTC") if pa.types.is_timestamp(type) else type


def bounded_table(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int) -> pa.Table | None:
    """Return batches as a table; None if they have more than `rows` rows or `IN_PROCESS_BYTES`."""
    read: list[pa.RecordBatch] = []
    size = count = 0
    for batch in batches:
        size, count = size + batch.nbytes, count + batch.num_rows
        if size > IN_PROCESS_BYTES or count > rows:
            return None
        read.append(batch)
    return pa.Table.from_batches(read, schema)


def _small_recording(engine: Engine, path: str) -> pa.Table | None:
    """Return the rows of a recording that can be ingested in this process; None for others."""
    files = local_files(path) if engine.ingests_in_process(0) else None
    # Spark takes columns from names of folders.
    if not files or any("=" in part for file in files for part in file.parent.parts):
        return None
    tables = []
    limit = engine.limit
    for file in files:
        table = _read_file(file, limit)
        if table is None or not is_plain(table.schema):
            return None
        limit -= table.num_rows
        tables.append(table)
    rows = pa.concat_tables(tables, promote_options="default")
    if "polled_at" not in rows.column_names:
        raise MissingPollTime
    return rows if rows.nbytes <= IN_PROCESS_BYTES else None


def _read_file(file: Path, rows: int) -> pa.Table | None:
    """Return the rows of a file; None if it has more than `rows`.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    try:
        return _rows_of(file, rows)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableRecording(str(file), f"cannot be read: {reason}") from None


def _rows_of(file: Path, rows: int) -> pa.Table | None:
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as parquet:
        if parquet.metadata.num_rows > rows:
            return None
        schema = pa.schema([field for field in parquet.schema_arrow if field.name in READ])
        batches = parquet.iter_batches(BATCH_ROWS, columns=schema.names)
        table = bounded_table(batches, schema, rows)
    if table is None:
        return None
    return table.cast(pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema]))
