"""The database of DuckDB: times in UTC for everybody, and clusters without partitions. No session of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from kwire_pipeline.sql_views import write_duckdb
from kwire_pipeline.store.commits import PipelineStore

POLL = "'{cluster}', TIMESTAMP '2026-11-21 14:00:00', {broker}, 'b:9092', 3, '{kind}'"
COLUMNS = "cluster_id, polled_at, broker_id, endpoint, api_key, kind"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("database")
    path = folder / "kafka.duckdb"
    write_duckdb(PipelineStore(str(folder / "out")).snapshot(), path)
    with duckdb.connect(str(path)) as connection:
        for cluster, broker, kind in (("answers", 1, "full"), ("silent", 1, "error"), ("", -1, "error")):
            poll = POLL.format(cluster=cluster, broker=broker, kind=kind)
            connection.execute(f"INSERT INTO polls ({COLUMNS}) VALUES ({poll})")
    return path


def rows(database: Path, zone: str, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        connection.execute(f"SET TimeZone = '{zone}'")
        return connection.execute(query).fetchall()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_times_do_not_depend_on_the_zone_of_the_reader(database: Path, zone: str) -> None:
    query = "SELECT count(*), CAST(min(polled_at) AS VARCHAR) FROM polls WHERE polled_at >= '2026-11-21 14:00:00'"

    assert rows(database, zone, query) == [(3, "2026-11-21 14:00:00")]
    zoned = "SELECT table_name FROM duckdb_columns() WHERE data_type = 'TIMESTAMP WITH TIME ZONE' AND NOT internal"
    types = rows(database, zone, zoned)
    assert types == []


def test_cluster_without_partitions_is_shown(database: Path) -> None:
    query = "SELECT cluster_id, last_answered_at IS NULL, partitions, offline FROM current_clusters ORDER BY cluster_id"

    assert rows(database, "UTC", query) == [("answers", False, 0, 0), ("silent", True, None, None)]
