"""Closed segments read with duckdb, polars, pandas, and pyarrow, also while a writer has an open tail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest

from kwire.capture import SCHEMA, Capture
from tests.capture.sample_rows import at, error_row, metadata, response_row

if TYPE_CHECKING:
    from collections.abc import Iterator

FRAME_SIZE = len(response_row(0, metadata(1)).frame or b"")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Two closed segments, the second with a carried row, and the tail and the lock of an active writer."""
    with Capture(tmp_path) as capture:
        capture.append_many([response_row(0, metadata(1)), response_row(1, metadata(1)), error_row(2)])
    with Capture(tmp_path) as capture:
        capture.append(response_row(10, metadata(2)))
    with Capture(tmp_path) as capture:
        capture.append(response_row(11, metadata(3)))
        yield tmp_path


EXPECTED: list[tuple[Any, ...]] = [
    ("full", at(0), 1, "cluster-one", FRAME_SIZE),
    ("same", at(1), 1, "cluster-one", None),
    ("error", at(2), 1, "cluster-one", None),
    ("full", at(10), 1, "cluster-one", FRAME_SIZE),
]


def test_duckdb(folder: Path) -> None:
    relation = duckdb.sql(
        "select kind, epoch_us(polled_at) as us, broker_id, cluster_id, octet_length(frame), date::varchar"
        f" from read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
        " where kind <> 'carried' order by polled_at"
    )

    assert relation is not None
    assert relation.fetchall() == [
        (kind, int(time.timestamp() * 1_000_000), *rest, "2026-11-21") for kind, time, *rest in EXPECTED
    ]


def test_polars(folder: Path) -> None:
    frame = (
        pl.scan_parquet(f"{folder}/**/*.parquet", hive_partitioning=True)
        .filter(pl.col("kind") != "carried")
        .sort("polled_at")
        .select("kind", "polled_at", "broker_id", "cluster_id", pl.col("frame").bin.size())
        .collect()
    )

    assert frame.rows() == EXPECTED


def test_pandas_and_arrow_read_the_folder(folder: Path) -> None:
    frame = pd.read_parquet(folder).query("kind != 'carried'").sort_values("polled_at")
    table = ds.dataset(folder, format="parquet", partitioning="hive").to_table(columns=SCHEMA.names)

    assert list(frame["kind"]) == [kind for kind, *_ in EXPECTED]
    assert [value and len(value) for value in frame["frame"]] == [size for *_, size in EXPECTED]
    assert table.num_rows == 5
