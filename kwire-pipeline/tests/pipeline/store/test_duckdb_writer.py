"""DuckDB's own writer of Delta: its extension of a release that PyPI has, in a process of its own.

It inserts rows, and refuses DELETE, UPDATE, and ALTER of Delta tables.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire_pipeline.store import check as store_check
from kwire_pipeline.store import repair as store_repair
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import UnusableTable
from kwire_pipeline.store.record import INGESTS
from tests.installing import package_folder, run
from tests.pipeline.store.other_writers import NAMES
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere
from tests.pipeline.store.test_other_writers import assert_whole

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.programs

DUCKDB, EXTENSION = "1.4.4", "1.4.4.20260205"
PROGRAM = """
import json, sys, duckdb
extension, table, query = sys.argv[1:]
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
connection.execute(f"LOAD '{extension}'")
connection.execute(f"ATTACH '{table}' AS stored (TYPE delta)")
print(json.dumps(connection.execute(query).fetchall()))
"""


def in_duckdb(table: Path, query: str) -> list[list[Any]]:
    """Run a query over the Delta table `stored`."""
    packages = [
        package_folder("duckdb", DUCKDB, "--no-deps"),
        package_folder("duckdb-ext-delta", EXTENSION, "--no-deps"),
    ]
    [extension] = packages[1].rglob("delta.duckdb_extension")
    output = run(sys.executable, "-c", PROGRAM, extension, table, query, PYTHONPATH=os.pathsep.join(map(str, packages)))
    rows: list[list[Any]] = json.loads(output)
    return rows


def test_inserted_rows_are_ignored_named_and_removed(
    copies: Callable[[], Path], caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    for table in TABLES:
        with subtests.test(table):
            out = copies()
            assert in_duckdb(out / table, "INSERT INTO stored SELECT * FROM stored LIMIT 1") == [[1]]
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)
            assert f"{table}: ignoring " in caplog.text
            [finding] = store_check.check(PipelineStore(str(out)))
            assert (finding.path, finding.rows) == (table, 1)
            assert_whole(out, *NAMES)
            names = in_duckdb(out / table, "SELECT cluster_id FROM stored ORDER BY cluster_id")
            assert names == [[name] for name in sorted((*NAMES, "later", "last"))]


def test_insert_into_ingests_loses_nothing_and_is_repaired(copies: Callable[[], Path]) -> None:
    """DuckDB 1.4.4 names files of tables without partitions by absolute paths, at which they do not exist."""
    out = copies()
    in_duckdb(out / INGESTS, "INSERT INTO stored SELECT * FROM stored LIMIT 1")
    store = PipelineStore(str(out))

    assert clusters(store) == everywhere(*NAMES)
    with pytest.raises(UnusableTable, match=r"since UNKNOWN of DuckDB at .*, such as /duckdb"):
        commit(store, "refused")
    [finding] = store_check.check(store)
    assert "/duckdb" in finding.text
    planned = store_repair.repair(store, execute=False)
    assert planned[0].text.startswith("returns to version 4, before UNKNOWN of DuckDB")
    assert store_repair.repair(store, execute=True) == planned
    commit(PipelineStore(str(out)), "after")
    assert_whole(out, *NAMES, "after")
