"""Ingests and builds give the same rows from files that other programs have rewritten with other types and paths."""

from __future__ import annotations

import shutil
import time
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from deltalake.transaction import AddAction, RemoveAction
from pyarrow import types

from kwire_pipeline.pipeline import Pipeline
from kwire_pipeline.store import delta_table, maintenance
from kwire_pipeline.store.check import check
from tests.pipeline.bronze_rows import START, failed_poll, response, table, topic

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kwire.capture.rows import Row

pytestmark = pytest.mark.nightly

TABLES = ("bronze", "partitions", "polls", "brokers", "incidents", "intervals", "broker_load")


def cast(is_type: Callable[[pa.DataType], bool], to: pa.DataType) -> Callable[[pa.Table], pa.Table]:
    """Return a function that casts the columns of a type."""

    def run(rows: pa.Table) -> pa.Table:
        fields = [field.with_type(to) if is_type(field.type) else field for field in rows.schema]
        return rows.cast(pa.schema(fields))

    return run


def dictionaries(rows: pa.Table) -> pa.Table:
    columns = [column.dictionary_encode() if types.is_string(column.type) else column for column in rows.columns]
    return pa.table(columns, rows.column_names)


VARIANTS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "INT96": lambda rows: rows,
    "int64": cast(types.is_int32, pa.int64()),
    "nanoseconds": cast(types.is_timestamp, pa.timestamp("ns", "UTC")),
    "string views": cast(types.is_string, pa.string_view()),
    "dictionaries": dictionaries,
    "other paths": lambda rows: rows.select(sorted(rows.column_names)),
}


def rewrite(folder: Path, variant: str) -> None:
    """Write each file of all tables again."""
    numbers = count()
    for log in sorted(folder.glob("*/**/_delta_log")):
        opened = DeltaTable(str(log.parent))
        if log.parent.name == "ingests":
            continue
        actions: list[AddAction | RemoveAction] = []
        now = int(time.time() * 1000)
        for file in delta_table.files_of(opened):
            rows = VARIANTS[variant](pq.read_table(log.parent / file.path, partitioning=None))
            if variant == "other paths":  # Delta's writer in Spark then writes the columns of the partition
                for column, value in file.partition.items():
                    rows = rows.append_column(column, pa.repeat(value, rows.num_rows))
            name = f"part-{next(numbers):05}-0a1b2c3d.c000.snappy.parquet"
            path = f"Xy/{name}" if variant == "other paths" else f"{file.path.rpartition('/')[0]}/{name}"
            (log.parent / path).parent.mkdir(exist_ok=True)
            pq.write_table(rows, log.parent / path, use_deprecated_int96_timestamps=variant == "INT96")
            size = (log.parent / path).stat().st_size
            actions.append(AddAction(path, size, {**file.partition}, now, False, f'{{"numRecords": {file.rows}}}'))
            actions.append(RemoveAction(file.path, False, now, file.size, {**file.partition}))
            (log.parent / file.path).unlink()
        if actions:
            partition = opened.metadata().partition_columns
            opened.create_write_transaction(actions, "append", opened.schema(), partition_by=partition)


def rows_of(pipeline: Pipeline) -> dict[str, list[str]]:
    return {name: sorted(str(row.asDict(True)) for row in pipeline.table(name).collect()) for name in TABLES}


def test_files_with_other_types_and_paths_give_the_same_rows(
    spark: SparkSession, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    def frames(*rows: Row) -> DataFrame:
        return table(spark, tmp_path / "frames", *rows)

    first = Pipeline(spark, str(tmp_path / "seed"))
    first.ingest(frames(response(0, topic("a")), response(1, topic("a"), topic("b")), response(1, broker=2)))
    first.ingest(frames(failed_poll(20), failed_poll(3_700), response(7_300, topic("a"), topic("b", 2, epoch=1))))
    first.gold()
    later = frames(response(10, topic("a", 2, epoch=3)), failed_poll(7_400), response(11_000, topic("a", 2, epoch=4)))
    expected: list[dict[str, list[str]]] = []
    for variant in ("", *VARIANTS):
        with subtests.test(variant or "as kwire writes them"):
            folder = tmp_path / (variant.replace(" ", "-") or "plain")
            shutil.copytree(tmp_path / "seed", folder)
            if variant:
                rewrite(folder, variant)
            pipeline = Pipeline(spark, str(folder))
            found = [rows_of(pipeline)]
            report = pipeline.ingest(later)
            assert (report.late, report.refused) == (1, [])
            pipeline.gold()
            maintenance.optimize(pipeline._store)
            found.append(rows_of(pipeline))
            pipeline.gold([START])
            found.append(rows_of(pipeline))
            expected = expected or found
            assert found == expected
            assert check(pipeline._store) == []
