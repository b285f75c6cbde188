"""Merging files, deleting unused ones, and expiring days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from kwire.cli.program import run
from kwire_pipeline.store import maintenance
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.record import CommitRecord, DataFile
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere, ingest, make_older

if TYPE_CHECKING:
    from pathlib import Path

NOTHING = timedelta(0)


def test_optimize_merges_files_and_keeps_rows(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
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
    store, other = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    commit(store, "a")
    commit(store, "b")

    def run_optimize(record: CommitRecord) -> None:
        other.commit(ingest(other, other.newest(), "c"))
        maintenance._optimize(store, record)

    store.transact(run_optimize)

    assert clusters(store) == everywhere("a", "b", "c")


def test_vacuum_deletes_files_that_no_table_has(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    commit(store, "a")
    commit(store, "b")
    maintenance.optimize(store)
    (tmp_path / "_state").mkdir()
    (tmp_path / "_state/left-by-a-crash.parquet").write_bytes(b"")
    (tmp_path / TABLES[0] / "date=2026-11-21/left-by-a-crash.parquet").write_bytes(b"")

    assert maintenance.vacuum(store, timedelta(hours=1)) == 0
    assert maintenance.vacuum(store, timedelta(minutes=20)) == 0
    assert maintenance.vacuum(store, NOTHING) == 2 * len(TABLES)
    make_older(tmp_path / "_state", maintenance.KEPT)
    make_older(tmp_path / TABLES[0], maintenance.KEPT)
    assert maintenance.vacuum(store, NOTHING) == 2

    assert clusters(PipelineStore(str(tmp_path))) == everywhere("a", "b")
    commit(store, "c")
    assert clusters(store) == everywhere("a", "b", "c")


@pytest.mark.parametrize("keep", [NOTHING, timedelta(hours=1)])
def test_vacuum_keeps_files_of_ingest_in_progress(tmp_path: Path, keep: timedelta) -> None:
    store, other = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    commit(store, "a")

    def run(record: CommitRecord) -> None:
        change = ingest(store, record, "b")
        make_older(tmp_path / "silver", maintenance.KEPT - timedelta(hours=1))
        assert maintenance.vacuum(other, keep) == 0
        store.commit(change)

    store.transact(run)

    assert clusters(store) == everywhere("a", "b")


def test_expire_removes_old_days_of_samples_only(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
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
    store = PipelineStore(str(tmp_path / "out"))
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
        ["expire", *out, "--keep", "\uff13d"],
        ["expire", *out, "--keep", "999999d"],
        ["vacuum", *out, "--keep", "99999999999999h"],
        ["gold", *out, "--max-clock-skew", "99999999d"],
        ["gold", *out, "--max-clock-skew", "\uff15m"],
        ["optimize", *out, "--keep", "1d"],
        ["vacuum", *out, "--gold"],
        ["vacuum", "--out", str(tmp_path / "none")],
        ["repair", *out, "--keep", "1d"],
    ):
        assert run(["pipeline", *arguments]) == 2
