"""Merging files, deleting unused ones, expiring days, and migrating the layout before Delta tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire.cli.program import run
from kwire.spark import maintenance
from kwire.spark.migration import NothingToMigrate, migrate
from kwire.spark.record import DataFile, Record
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.store import NotAStore, Store
from tests.spark import recorded
from tests.spark.test_store import TABLES, clusters, commit, everywhere, ingest

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = timedelta(0)


def test_optimize_merges_files_and_keeps_rows(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    names = [f"c{number}" for number in range(5)]
    for name in names:
        commit(store, name)
    before = store.snapshot()

    assert maintenance.optimize(store) == 4 * len(TABLES)
    assert maintenance.optimize(store) == 0

    assert [len(store.snapshot().files(table)) for table in TABLES] == [1] * len(TABLES)
    assert clusters(store) == everywhere(*names)
    assert len(before.files(TABLES[0])) == 5


def test_optimize_keeps_rows_of_ingest_that_commits_meanwhile(tmp_path: Path) -> None:
    store, other = Store(str(tmp_path)), Store(str(tmp_path))
    commit(store, "a")
    commit(store, "b")

    def run_optimize(record: Record) -> None:
        other.commit(ingest(other, other.newest(), "c"))
        maintenance._optimize(store, record)

    store.transact(run_optimize)

    assert clusters(store) == everywhere("a", "b", "c")


def test_vacuum_deletes_files_that_no_table_has(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    commit(store, "a")
    commit(store, "b")
    maintenance.optimize(store)
    (tmp_path / "_state").mkdir()
    (tmp_path / "_state/left-by-a-crash.parquet").write_bytes(b"")
    (tmp_path / TABLES[0] / "date=2026-11-21/left-by-a-crash.parquet").write_bytes(b"")

    assert maintenance.vacuum(store, timedelta(hours=1)) == 0
    assert maintenance.vacuum(store, timedelta(minutes=20)) == 0
    assert maintenance.vacuum(store, NOTHING) == 2 * len(TABLES) + 2

    assert clusters(Store(str(tmp_path))) == everywhere("a", "b")
    commit(store, "c")
    assert clusters(store) == everywhere("a", "b", "c")


def test_expire_removes_old_days_of_samples_only(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    commit(store, "a")
    age = datetime.now(UTC) - datetime(2026, 11, 21, tzinfo=UTC)

    assert maintenance.expire(store, age + timedelta(days=1)) == 0
    assert maintenance.expire(store, age - timedelta(days=2)) == 1

    assert clusters(store) == {"silver/polls": [], "silver/partitions": ["a"]}


def test_expire_keeps_newest_state_of_gold_and_lasting_incidents() -> None:
    columns = {"gold/_agreed": "as_of", "gold/incidents": "date", "gold/intervals": "date", "silver/partitions": "date"}
    tables = {}
    for table, column in columns.items():
        days = [f"2026-03-0{day}" + ("T00" if column == "as_of" else "") for day in range(1, 7)]
        tables[table] = [DataFile(day, {column: day}, 1, 1) for day in [*days, *(["open"] if column == "date" else [])]]
    incidents = {f"2026-03-0{day}T00": "2026-03-02T05" for day in (3, 4)}

    removed = maintenance.expired_files(tables, incidents, "2026-03-05")
    without_gold = maintenance.expired_files(tables, {}, "2026-03-05")

    assert {table: [file.path for file in files] for table, files in removed.items()} == {
        "gold/_agreed": ["2026-03-01T00", "2026-03-02T00", "2026-03-03T00"],
        "gold/incidents": ["2026-03-01"],
        "gold/intervals": ["2026-03-01", "2026-03-02", "2026-03-03"],
        "silver/partitions": ["2026-03-01", "2026-03-02", "2026-03-03"],
    }
    assert without_gold == {}


def test_command_maintains_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(str(tmp_path / "out"))
    commit(store, "a")
    commit(store, "b")
    out = ["--out", str(tmp_path / "out")]

    assert run(["pipeline", "optimize", *out]) == 0
    assert run(["pipeline", "vacuum", *out]) == 0
    assert run(["pipeline", "expire", *out, "--keep", "90d"]) == 0
    assert capsys.readouterr().out == "optimize: 2 files fewer\nvacuum: 0 files deleted\nexpire: 0 files removed\n"
    for arguments in (
        ["expire", *out],
        ["expire", *out, "--keep", "90"],
        ["optimize", *out, "--keep", "1d"],
        ["vacuum", *out, "--gold"],
        ["vacuum", "--out", str(tmp_path / "none")],
        ["migrate", *out],
    ):
        assert run(["pipeline", *arguments]) == 2


def test_store_of_old_layout_is_migrated(tmp_path: Path) -> None:
    rows = recorded.silver(recorded.bronze("zk39-public"))
    moves = write_old_layout(tmp_path, rows)
    with pytest.raises(NotAStore, match="kwire pipeline migrate"):
        Store(str(tmp_path))

    store = migrate(str(tmp_path))

    snapshot = store.snapshot()
    for name, table in rows.items():
        dataset = snapshot.dataset(f"silver/{name}")
        assert dataset is not None
        assert dataset.to_table().drop(["date"]).num_rows == table.num_rows
    assert store.newest().progress.reporters == {"c/1": {"state": "", "last": 5, "days": {}}}
    assert store.oldest_poll_since(0, 1) == min(rows["polls"]["polled_at"].to_pylist())
    assert (tmp_path / moves[0][1]).exists()
    assert not any((tmp_path / name).exists() for name in ("_log", "_staging", "gold"))
    with pytest.raises(NothingToMigrate):
        migrate(str(tmp_path))


def write_old_layout(root: Path, tables: dict[str, pa.Table]) -> list[tuple[str, str]]:
    """Write a store as kwire wrote it before Delta tables, after a crash during the moves of a commit."""
    moves = []
    for name in SILVER_SCHEMAS:
        place = f"silver/{name}/date=2026-11-21/000000000001-a.parquet"
        staged = f"_staging/x/{place}" if name == "polls" else place
        empty = f"silver/{name}/date=1970-01-01/empty.parquet"
        for path, rows in ((staged, tables[name]), (empty, tables[name].slice(0, 0))):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, root / path)
        if staged != place:
            moves.append((staged, place))
    (root / "gold/_state").mkdir(parents=True)
    (root / "_log").mkdir()
    record = {"number": 1, "reporters": {"c/1": {"state": "", "last": 5, "days": {}}}, "moves": moves, "removed": []}
    (root / "_log/000000000001.json").write_text(json.dumps(record))
    return moves
