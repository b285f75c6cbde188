"""Operations of other programs on tables of the pipeline: some keep all rows, and others change rows."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import AddAction, RemoveAction

from kwire_pipeline.store import delta_table

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("a", "b", "c", "d")
"""The commits of the store that tests copy."""


def compact(table: str) -> None:
    DeltaTable(table).optimize.compact()


def vacuum(table: str) -> None:
    DeltaTable(table).vacuum(0, dry_run=False, enforce_retention_duration=False)


def rewrite(table: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    """Replace all files of a table by one of another writer, without a change of rows, as a compaction does."""
    opened = DeltaTable(table)
    partition = opened.metadata().partition_columns
    files = delta_table.files_of(opened)
    values = files[0].partition if partition else {}
    rows = change(pa.table(opened.to_pyarrow_table()).drop_columns(partition))
    path = f"part-00000-{uuid4()}.c000.parquet"
    pq.write_table(rows, f"{table}/{path}", **options)
    replace_files(opened, path, values, rows.num_rows)


def replace_files(opened: DeltaTable, path: str, partition: dict[str, str], rows: int) -> None:
    now = int(time.time() * 1000)
    folder = opened.table_uri.removeprefix("file://").rstrip("/")
    size = Path(folder, path).stat().st_size
    removed = [
        RemoveAction(file.path, False, now, file.size, {**file.partition}) for file in delta_table.files_of(opened)
    ]
    added = AddAction(path, size, partition, now, False, json.dumps({"numRecords": rows}))
    opened.create_write_transaction(
        [added, *removed], "append", opened.schema(), partition_by=opened.metadata().partition_columns
    )


def with_types(table: pa.Table, types: dict[Callable[[pa.DataType], bool], pa.DataType]) -> pa.Table:
    """Return a table with columns of some types cast to others."""
    for index, field in enumerate(table.schema):
        for is_type, type in types.items():
            if is_type(field.type):
                table = table.set_column(index, field.name, table[field.name].cast(type))
    return table


def dictionary(table: pa.Table) -> pa.Table:
    return table.set_column(
        table.schema.get_field_index("cluster_id"), "cluster_id", table["cluster_id"].dictionary_encode()
    )


def written_by_duckdb(table: str) -> None:
    opened = DeltaTable(table)
    path = f"data_{uuid4()}.parquet"
    rows = opened.to_pyarrow_table().drop_columns(opened.metadata().partition_columns)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("stored", rows)
        connection.execute(f"COPY stored TO '{table}/{path}' (FORMAT parquet)")
    replace_files(opened, path, delta_table.files_of(opened)[0].partition, rows.num_rows)


def clean_log(table: str) -> None:
    """Write a checkpoint, and delete the commits before it, as the retention of a log does."""
    opened = DeltaTable(table)
    opened.create_checkpoint()
    log = f"{table}/_delta_log"
    for version in range(opened.version()):
        Path(f"{log}/{version:020}.json").unlink()


KEEPS_ROWS: dict[str, Callable[[str], object]] = {
    "compact": compact,
    "z-order": lambda table: DeltaTable(table).optimize.z_order(["cluster_id"]),
    "vacuum": vacuum,
    "compact and vacuum": lambda table: [operation(table) for operation in (compact, vacuum)],
    "full vacuum": lambda table: DeltaTable(table).vacuum(
        0, dry_run=False, enforce_retention_duration=False, full=True
    ),
    "checkpoint": lambda table: DeltaTable(table).create_checkpoint(),
    "clean up": clean_log,
    "compact and clean up": lambda table: [operation(table) for operation in (compact, clean_log)],
    "properties": lambda table: DeltaTable(table).alter.set_table_properties({"delta.checkpointInterval": "1"}),
    "description": lambda table: DeltaTable(table).alter.set_table_description("of team x"),
    "add a column": lambda table: write_deltalake(
        table, pa.table({"note": pa.array([], pa.string())}), mode="append", schema_mode="merge"
    ),
    "DuckDB": written_by_duckdb,
    "large strings": lambda table: rewrite(
        table, lambda rows: with_types(rows, {pa.types.is_string: pa.large_string()})
    ),
    "string views": lambda table: rewrite(table, lambda rows: with_types(rows, {pa.types.is_string: pa.string_view()})),
    "dictionaries": lambda table: rewrite(table, dictionary),
    "INT96": lambda table: rewrite(table, lambda rows: rows, use_deprecated_int96_timestamps=True),
    "nanoseconds": lambda table: rewrite(
        table, lambda rows: with_types(rows, {pa.types.is_timestamp: pa.timestamp("ns", "UTC")})
    ),
    "int64": lambda table: rewrite(table, lambda rows: with_types(rows, {pa.types.is_int32: pa.int64()})),
}
"""Operations that change no row; they have paths without the values of partitions, too."""

CHANGES_ROWS: dict[str, Callable[[str], object]] = {
    "DELETE": lambda table: DeltaTable(table).delete("cluster_id = 'b'"),
    "DELETE of all": lambda table: DeltaTable(table).delete(),
    "UPDATE": lambda table: DeltaTable(table).update({"cluster_id": "'other'"}, predicate="cluster_id = 'b'"),
    "UPDATE with the same values": lambda table: DeltaTable(table).update({"cluster_id": "cluster_id"}),
    "MERGE": lambda table: (
        DeltaTable(table)
        .merge(pa.table({"cluster_id": ["b"]}), "s.cluster_id = t.cluster_id", source_alias="s", target_alias="t")
        .when_matched_delete()
        .execute()
    ),
    "RESTORE": lambda table: DeltaTable(table).restore(1),
    "append": lambda table: write_deltalake(
        table, pa.table({"cluster_id": ["new"], "date": ["2026-11-21"]}), mode="append", schema_mode="merge"
    ),
    "overwrite": lambda table: write_deltalake(table, DeltaTable(table).to_pyarrow_table(), mode="overwrite"),
    "polars": lambda table: pl.read_delta(table).write_delta(table, mode="overwrite"),
    "two": lambda table: (DeltaTable(table).delete("cluster_id = 'b'"), DeltaTable(table).optimize.compact()),
}
