"""Filters of delta-rs, polars, and DuckDB return the rows that they select, in each table that kwire writes.

Readers skip files by their statistics, so a wrong or missing bound shows as rows that a filter loses.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store import delta_table, maintenance
from kwire_pipeline.store.commits import PipelineStore, layouts
from kwire_pipeline.store.file_statistics import BOUND_CHARACTERS, data_file
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import StoreChange
from kwire_pipeline.store.table_files import Output, TableFile

FILTERED = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_timestamp, pa.types.is_floating)
"""The types of the columns that are compared with a value: DuckDB and polars disagree about the others."""


def test_filters_return_what_is_there_in_every_table_of_a_pipeline(recorded_gold: str) -> None:
    """Ingest and gold wrote them; the example has two commits, and each table has several files."""
    snapshot = PipelineStore(recorded_gold, create=False).snapshot()
    for name in ["ingests", *snapshot.versions]:
        assert_filters(f"{recorded_gold}/{name}")


def test_filters_return_what_is_there_after_optimize(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    for number in range(3):
        change = StoreChange("ingest", number, streams={"stream": number})
        for name, table in SILVER_SCHEMAS.items():
            rows = [{"cluster_id": f"c{number}", table.time: datetime(2026, 11, 21, number, tzinfo=UTC)}]
            file = TableFile(
                Output(store.location), FileKind.SILVER, f"silver/{name}", {"date": "2026-11-21"}, table.arrow
            )
            file.write(pa.Table.from_pylist(rows, schema=table.arrow))
            change.added[f"silver/{name}"] = [file.close().file]
        store.commit(change)
    for optimized in (False, True):
        if optimized:
            maintenance.optimize(store)
        for name in layouts():
            assert_filters(f"{tmp_path}/{name}")


def test_bounds_hold_for_values_that_json_or_a_footer_cannot_express(tmp_path: Path) -> None:
    long = "x" * BOUND_CHARACTERS
    huge = "y" * 10_000
    schema = pa.schema(
        {
            "text": pa.string(),
            "number": pa.float64(),
            "at": pa.timestamp("us", tz="UTC"),
            "short": pa.int16(),
            "flag": pa.bool_(),
            "bytes": pa.binary(),
        }
    )
    at = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
    files: list[list[dict[str, Any]]] = [
        [{"text": f"{long}a", "number": 1.5}, {"text": f"{long}\U0010ffffb", "number": math.nan}],
        [{"text": huge, "number": math.inf, "at": at}, {"text": "", "number": -math.inf, "at": at.replace(year=999)}],
        [{"text": "\U0010ffff" * 80, "short": -(2**15), "flag": False, "bytes": b"\x00"}, {"flag": True}],
        [{"number": -0.0}, {}],
        [{}],
        [],
    ]
    folder = str(tmp_path / "table")
    DeltaTable.create(folder, schema=schema)
    write_table(folder, schema, files)

    assert_filters(folder)


def write_table(folder: str, schema: pa.Schema, files: list[list[dict[str, Any]]]) -> None:
    """Write files, each with one row group per row, and commit them to a table that exists."""
    added = []
    for number, rows in enumerate(files):
        path = Path(folder) / f"{number}.parquet"
        footers: list[pq.FileMetaData] = []
        values = pa.Table.from_pylist(rows, schema=schema)
        with_nan = [
            f.name for f in schema if pa.types.is_floating(f.type) and pc.any(pc.is_nan(values[f.name])).as_py()
        ]
        pq.write_table(values, path, row_group_size=1, metadata_collector=footers)
        added.append(data_file(path.name, {}, path.stat().st_size, footers[0], with_nan))
    delta_table.commit(folder, 1, added, [], data_change=True)


def assert_filters(folder: str) -> None:
    """Compare what readers return for values of each column with a filter in memory over all rows.

    The smallest and the largest value are at the bounds of a file, where a wrong bound loses rows. Of the first value,
    the other interfaces of delta-rs and polars return the rows, too: they plan which files to read in the same way.
    Readers return no other columns, which would cost more than the plan.
    """
    table = DeltaTable(folder)
    dataset = table.to_pyarrow_dataset()
    rows = dataset.to_table()
    lazy = pl.scan_delta(table)
    connection = duckdb.connect()
    connection.register("dataset", dataset)
    for field in rows.schema:
        if not any(is_type(field.type) for is_type in FILTERED):
            continue
        column = pl.col(field.name)
        nulls = rows[field.name].null_count
        where: tuple[Any, ...] = (folder, field.name)
        assert dataset.count_rows(filter=pc.field(field.name).is_null()) == nulls, where
        assert count(lazy.filter(column.is_null())) == nulls, where
        values = compared_values(rows[field.name])
        for value in values:
            expected = pc.sum(pc.equal(rows[field.name], pa.scalar(value, field.type))).as_py()
            where = (folder, field.name, value)
            selected = pc.field(field.name) == pa.scalar(value, field.type)
            assert dataset.count_rows(filter=selected) == expected, where
            assert count(lazy.filter(column == value)) == expected, where
            query = f'SELECT count(*) FROM dataset WHERE "{field.name}" = ?'
            assert connection.execute(query, [value]).fetchall() == [(expected,)], where
            if value == values[0]:
                # `to_pandas` calls this method.
                filters = [(field.name, "=", value)]
                assert table.to_pyarrow_table(columns=[field.name], filters=filters).num_rows == expected, where
                assert count(lazy.filter(column == value), "streaming") == expected, where
                assert count(pl.scan_delta(table, use_pyarrow=True).filter(column == value)) == expected, where
    connection.close()


def compared_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the first, smallest, and largest value of a column, each once."""
    values = pc.unique(column.drop_null()).to_pylist()
    finite = [value for value in values if is_finite(value)]
    return list(dict.fromkeys([*finite[:1], *([min(finite), max(finite)] if finite else [])]))


def count(rows: pl.LazyFrame, engine: Literal["auto", "streaming"] = "auto") -> int:
    return int(rows.select(pl.len()).collect(engine=engine).item())


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def test_statistics_have_all_scalar_columns(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    file = TableFile(
        Output(store.location),
        FileKind.SILVER,
        "silver/polls",
        {"date": "2026-11-21"},
        schema := SILVER_SCHEMAS["polls"].arrow,
    )
    at = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)
    file.write(
        pa.Table.from_pylist([{"cluster_id": "b", "polled_at": at, "broker_id": 2}, {"cluster_id": "a"}], schema=schema)
    )
    statistics = json.loads(file.close().file.statistics)

    assert statistics["minValues"] == {"cluster_id": "a", "polled_at": "2026-11-21T01:02:03.456789Z", "broker_id": 2}
    assert statistics["maxValues"] == {"cluster_id": "b", "polled_at": "2026-11-21T01:02:03.456789Z", "broker_id": 2}
    assert statistics["nullCount"].keys() == set(schema.names)
    assert {name: count for name, count in statistics["nullCount"].items() if count < 2} == {
        "cluster_id": 0,
        "polled_at": 1,
        "broker_id": 1,
    }


@pytest.mark.parametrize("name", SILVER_SCHEMAS)
def test_first_timestamp_of_silver_is_its_time(name: str) -> None:
    """Builds of gold take the range of a file from it."""
    table = SILVER_SCHEMAS[name]

    assert next(column.name for column in table.columns if column.type == "timestamp") == table.time
