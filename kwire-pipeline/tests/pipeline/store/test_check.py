"""Checking stores that lack files, and repairing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kwire.cli.program import run
from kwire_pipeline.store import check as store_check
from kwire_pipeline.store import delta_table, maintenance
from kwire_pipeline.store import repair as store_repair
from kwire_pipeline.store.check import Finding
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import DamagedStore
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import RECORDS, StoreChange
from kwire_pipeline.store.repair import CannotRepair
from kwire_pipeline.store.table_files import Output, TableFile
from kwire_pipeline.tables import Layout
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere, ingest

if TYPE_CHECKING:
    from pathlib import Path

GOLD = "gold/incidents"


@pytest.fixture
def store(tmp_path: Path) -> PipelineStore:
    """Return a store with three commits."""
    store = PipelineStore(str(tmp_path))
    for name in "abc":
        commit(store, name)
    return store


def newest(folder: Path) -> Path:
    """Return the file of a folder that sorts last."""
    return max(path for path in folder.iterdir() if path.is_file())


def repaired(store: PipelineStore) -> list[Finding]:
    """Repair a store, check it, and return the steps, which a dry run shows first."""
    before = {path for path, _ in store.list_files("")}
    planned = store_repair.repair(store, execute=False)
    assert {path for path, _ in store.list_files("")} == before
    assert store_repair.repair(store, execute=True) == planned
    assert store_check.check(PipelineStore(store.out)) == []
    return planned


def test_whole_store_needs_no_repair(store: PipelineStore) -> None:
    maintenance.optimize(store)

    assert store_check.check(store) == []
    assert store_repair.repair(store, execute=True) == []
    assert store.newest().number == 4


def test_commit_that_was_decided_and_not_applied_is_not_a_fault(
    store: PipelineStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as writer:
        writer.setattr(delta_table, "commit", lambda *_, **__: None)  # it dies before
        store.commit(ingest(store, store.newest(), "d"))

    assert store_check.check(PipelineStore(store.out)) == []


def test_store_without_row_and_record_of_last_commit_returns_to_the_one_before(
    store: PipelineStore, tmp_path: Path
) -> None:
    """Older versions of kwire deleted both after a lost answer of S3."""
    newest(tmp_path / "ingests").unlink()
    newest(tmp_path / RECORDS).unlink()
    with pytest.raises(DamagedStore, match=r"ingests/.*does not exist: run `kwire pipeline check"):
        PipelineStore(str(tmp_path)).snapshot()

    steps = repaired(store)

    assert [(step.path.partition("/")[0], step.rows) for step in steps] == [
        ("silver", 1),
        ("silver", 1),
        ("ingests", 1),
        (RECORDS, 0),
    ]
    assert clusters(store) == everywhere("a", "b")
    commit(store, "c")
    assert clusters(store) == everywhere("a", "b", "c")
    assert store.newest().number == 5


@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_references_to_faulty_files_are_dropped(store: PipelineStore, tmp_path: Path, damage: str) -> None:
    [path] = {path for path in (tmp_path / TABLES[0]).glob("*/*.parquet") if "b" in rows_of(path)}
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-20] if damage == "cut" else b"")

    [fault] = store_check.check(store)
    steps = repaired(store)

    assert fault.path == path.relative_to(tmp_path).as_posix()
    assert fault.rows == 1
    assert steps[0] == Finding(TABLES[0], "loses 1 missing file", 1)
    assert clusters(store) == {TABLES[0]: ["a", "c"], TABLES[1]: ["a", "b", "c"]}


def rows_of(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    names: list[str] = pq.read_table(path, columns=["cluster_id"], partitioning=None)["cluster_id"].to_pylist()
    return names


def test_gold_that_lacks_a_file_is_dropped_and_built_again(store: PipelineStore, tmp_path: Path) -> None:
    schema = pa.schema([("cluster_id", pa.string())])
    store.create({GOLD: Layout(schema.append(pa.field("date", pa.string())), ("date",))})
    change = StoreChange("gold", store.newest().number, gold={"commit": 3})
    for date in ("2026-11-21", "2026-11-22"):
        file = TableFile(Output(store.location), FileKind.GOLD, GOLD, {"date": date}, schema)
        file.write(pa.table({"cluster_id": ["a"]}, schema=schema))
        change.added.setdefault(GOLD, []).append(file.close().file)
    store.commit(change)
    (tmp_path / GOLD / change.added[GOLD][0].path).unlink()

    repaired(store)

    assert store.snapshot().files(GOLD) == []
    assert store.newest().progress.gold == {}
    assert clusters(store) == everywhere("a", "b", "c")


def test_missing_state_of_a_broker_is_forgotten(store: PipelineStore) -> None:
    point = {"after": 1, "until": 2, "state": "_state/gone.parquet"}
    state = {"state": "_state/gone.parquet", "last": 7, "starts": [point]}
    store.commit(StoreChange("ingest", 3, reporters={"c/1": state}))

    repaired(store)

    assert store.newest().progress.reporters["c/1"] == {"state": "", "last": 7, "starts": []}


def test_store_without_any_record_cannot_be_repaired(store: PipelineStore, tmp_path: Path) -> None:
    for path in (tmp_path / RECORDS).iterdir():
        path.unlink()

    with pytest.raises(CannotRepair, match="no commit can be read"):
        store_repair.repair(store, execute=True)


def test_commands_check_and_repair(store: PipelineStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path)]
    assert run(["pipeline", "check", *out]) == 0
    next((tmp_path / TABLES[0]).glob("*/*.parquet")).unlink()

    assert [run(["pipeline", *arguments, *out]) for arguments in (["check"], ["repair"], ["check"])] == [6, 0, 6]
    assert "repair: nothing was changed: run it with --execute" in capsys.readouterr().out
    assert run(["pipeline", "repair", *out, "--execute"]) == 0
    assert run(["pipeline", "check", *out]) == 0
    assert clusters(store)[TABLES[1]] == ["a", "b", "c"]
