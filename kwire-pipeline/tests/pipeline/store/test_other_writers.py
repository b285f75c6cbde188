"""Other programs maintain the tables: nothing is lost, and what cannot be prevented is named and mended."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from kwire.cli.program import run
from kwire.errors import KwireError
from kwire_pipeline.store import check as store_check
from kwire_pipeline.store import commits, delta_table, maintenance
from kwire_pipeline.store import repair as store_repair
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import CommitGone, DamagedStore, UnwritableTable
from kwire_pipeline.store.record import INGESTS, CommitRecord
from tests.pipeline.store.other_writers import CHANGES_ROWS, KEEPS_ROWS, NAMES, clean_log, compact, vacuum
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TABLE = TABLES[0]
NOTHING = timedelta(0)


FEW_KEEP_ROWS = ("compact and vacuum", "compact and clean up", "INT96")
FEW_CHANGE_ROWS = ("DELETE", "RESTORE")
IDS = ("few", "all")


def test_commits_are_found_after_ingests_is_rewritten(copies: Callable[[], Path]) -> None:
    """Their numbers do not depend on files: an overwrite may divide and order rows as it likes."""
    out = copies()
    CHANGES_ROWS["overwrite"](f"{out}/{INGESTS}")
    compact(f"{out}/{INGESTS}")

    assert_whole(out, *NAMES)


def assert_whole(out: Path, *names: str) -> None:
    """Check that all readers and commands find the rows of these commits, before and after another commit."""
    store = PipelineStore(str(out))
    assert clusters(store) == everywhere(*names)
    commit(store, "later")
    assert clusters(store) == everywhere(*names, "later")
    assert store_check.check(store) == []
    assert store_repair.repair(store, execute=True) == []
    maintenance.optimize(store)
    maintenance.vacuum(store, NOTHING)
    commit(store, "last")
    store = PipelineStore(str(out))
    assert clusters(store) == everywhere(*names, "later", "last")
    assert store_check.check(store) == []
    assert run(["pipeline", "check", "--out", str(out)]) == 0
    rows = DeltaTable(f"{out}/{TABLE}").to_pyarrow_table()
    assert sorted(rows["cluster_id"].to_pylist()) == sorted([*names, "later", "last"])


@pytest.mark.parametrize("names", [FEW_KEEP_ROWS, pytest.param(KEEPS_ROWS, marks=pytest.mark.nightly)], ids=IDS)
def test_maintenance_by_others_keeps_rows(
    copies: Callable[[], Path], subtests: pytest.Subtests, names: Iterable[str]
) -> None:
    for name in names:
        operation = KEEPS_ROWS[name]
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            assert clusters(store) == everywhere(*NAMES)
            assert store_check.check(store) == []
            maintenance.vacuum(store, NOTHING)
            assert_whole(out, *NAMES)


@pytest.mark.nightly
def test_maintenance_of_ingests_by_others_keeps_commits(copies: Callable[[], Path], subtests: pytest.Subtests) -> None:
    operations = {name: KEEPS_ROWS[name] for name in KEEPS_ROWS if name not in {"z-order", "dictionaries", "DuckDB"}}
    operations["z-order"] = lambda table: DeltaTable(table).optimize.z_order(["number"])
    operations["DELETE of old rows"] = lambda table: DeltaTable(table).delete("number < 3")
    operations["overwrite"] = CHANGES_ROWS["overwrite"]
    operations["polars"] = CHANGES_ROWS["polars"]
    operations["rows twice"] = lambda table: write_deltalake(table, DeltaTable(table).to_pyarrow_table(), mode="append")
    for name, operation in operations.items():
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{INGESTS}")
            assert_whole(out, *NAMES)


def test_folder_that_a_backup_replaced_is_read_again(copies: Callable[[], Path]) -> None:
    """A process that lives longer than a folder must not take commits of the backup for commits that it has read."""
    out, backup = copies(), copies()
    KEEPS_ROWS["properties"](f"{out}/{TABLE}")
    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)
    shutil.rmtree(out)
    shutil.copytree(backup, out)
    CHANGES_ROWS["DELETE"](f"{out}/{TABLE}")

    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)
    assert_whole(out, *NAMES)


@pytest.mark.parametrize("names", [FEW_CHANGE_ROWS, pytest.param(CHANGES_ROWS, marks=pytest.mark.nightly)], ids=IDS)
def test_change_of_rows_by_others_is_named_and_undone(
    copies: Callable[[], Path], caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests, names: Iterable[str]
) -> None:
    for name in names:
        operation = CHANGES_ROWS[name]
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                assert clusters(store) == everywhere(*NAMES)
            assert f"{TABLE}: ignoring " in caplog.text
            assert "of delta-rs:py-" in caplog.text
            [finding, *_] = store_check.check(store)
            assert (finding.path, "changed rows after commit 4" in finding.text) == (TABLE, True)
            maintenance.vacuum(store, NOTHING)
            assert_whole(out, *NAMES)


@pytest.mark.parametrize("names", [FEW_CHANGE_ROWS, pytest.param(CHANGES_ROWS, marks=pytest.mark.nightly)], ids=IDS)
def test_change_of_rows_by_others_is_repaired(
    copies: Callable[[], Path], subtests: pytest.Subtests, names: Iterable[str]
) -> None:
    for name in names:
        operation = CHANGES_ROWS[name]
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            before = store_repair.repair(store, execute=False)
            assert store_repair.repair(store, execute=True) == before
            assert store_check.check(store) == []
            assert_whole(out, *NAMES)


def test_rows_that_others_deleted_for_good_are_an_error(copies: Callable[[], Path], subtests: pytest.Subtests) -> None:
    """Nothing is written before a repair decides to continue with the rows that are left."""
    for name in ("DELETE", "MERGE"):
        with subtests.test(name):
            out = copies()
            CHANGES_ROWS[name](f"{out}/{TABLE}")
            vacuum(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            before = {path.relative_to(out) for path in out.rglob("_delta_log/*.json")}
            for answer in (store.snapshot().dataset, store.snapshot().files):
                with pytest.raises(DamagedStore, match=rf"{TABLE} lacks rows of commit 4.* of delta-rs"):
                    answer(TABLE)
            with pytest.raises(DamagedStore, match=TABLE):
                commit(store, "later")
            assert run(["pipeline", "sql", "--out", str(out), "SELECT count(*) FROM polls"]) == 1
            assert {path.relative_to(out) for path in out.rglob("_delta_log/*.json")} == before
            store_repair.repair(store, execute=True)
            assert clusters(store)[TABLE] == ["a", "c", "d"]
            assert clusters(store)[TABLES[1]] == [*NAMES]
            commit(store, "later")
            assert store_check.check(store) == []


def test_overwrite_with_the_same_rows_and_vacuum_keeps_rows(copies: Callable[[], Path]) -> None:
    out = copies()
    CHANGES_ROWS["overwrite"](f"{out}/{TABLE}")
    vacuum(f"{out}/{TABLE}")

    assert_whole(out, *NAMES)


def test_removed_rows_of_ingests_are_an_error_and_repaired(
    copies: Callable[[], Path], subtests: pytest.Subtests
) -> None:
    operations: dict[str, Callable[[str], object]] = {
        "RESTORE": lambda table: DeltaTable(table).restore(2),
        "DELETE": lambda table: DeltaTable(table).delete("number > 2"),
        "DELETE of all": lambda table: DeltaTable(table).delete(),
    }
    for name, operation in operations.items():
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{INGESTS}")
            store = PipelineStore(str(out))
            for answer in (store.snapshot, store.newest, partial(commit, store, "later")):
                with pytest.raises(DamagedStore, match=rf"{INGESTS} lacks the rows of commits .* after {name[:6]}"):
                    answer()
            assert "lacks the row of commit" in str(store_check.check(store)[-1])
            store_repair.repair(store, execute=True)
            assert_whole(out, *NAMES)


def test_properties_that_prevent_commits_are_refused_before_writing(copies: Callable[[], Path]) -> None:
    out = copies()
    store = PipelineStore(str(out))
    for property_name, value in {
        "delta.appendOnly": "true",
        "delta.setTransactionRetentionDuration": "interval 1 days",
    }.items():
        DeltaTable(f"{out}/{TABLE}").alter.set_table_properties({property_name: value})
        before = sorted(out.rglob("*"))
        with pytest.raises(UnwritableTable, match=f"the property {property_name} is set"):
            maintenance.optimize(store) if "Retention" in property_name else maintenance.expire(store, NOTHING)
        assert [path for path in sorted(out.rglob("*")) if path not in before and "delta_log" in str(path)] == []
    assert clusters(store) == everywhere(*NAMES)


def commit_later(
    applied: Callable[..., None], operation: Callable[[str], object], uri: str, *arguments: Any, **options: Any
) -> None:
    """Commit to a table after another program."""
    if uri.endswith(TABLE):
        operation(uri)
        options["opened"] = None
    applied(uri, *arguments, **options)


def test_commit_of_another_program_between_decision_and_commit_loses_nothing(
    copies: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    """The version that a commit expects to make may be one of another program."""
    operations = {"vacuum": KEEPS_ROWS["vacuum"], "DELETE": CHANGES_ROWS["DELETE"]}
    for name, operation in operations.items():
        with subtests.test(name), monkeypatch.context() as patches:
            out = copies()
            patches.setattr(delta_table, "commit", partial(commit_later, delta_table.commit, operation))
            commit(PipelineStore(str(out)), "e")
            patches.undo()
            assert clusters(PipelineStore(str(out))) == everywhere(*NAMES, "e")
            assert_whole(out, *NAMES, "e")


def test_merge_of_files_that_others_merge_meanwhile_doubles_nothing(copies: Callable[[], Path]) -> None:
    out = copies()
    store = PipelineStore(str(out))
    attempts: list[int] = []

    def run_optimize(record: CommitRecord) -> None:
        with pytest.MonkeyPatch.context() as patches:
            if not attempts:
                patches.setattr(commits, "check_added_files", lambda *_: compact(f"{out}/{TABLE}"))
            attempts.append(record.number)
            maintenance._optimize(store, record)

    store.transact(run_optimize)

    assert_whole(out, *NAMES)


def test_older_commits_are_read_as_they_were_or_are_an_error(copies: Callable[[], Path]) -> None:
    out = copies()
    store = PipelineStore(str(out))
    KEEPS_ROWS["compact"](f"{out}/{TABLE}")
    assert sum(file.rows for file in store.snapshot(number=2).files(TABLE)) == 2

    vacuum(f"{out}/{TABLE}")
    with pytest.raises(CommitGone, match=rf"commit 2 can no longer be read: {TABLE}: 2 files .* were deleted"):
        store.snapshot(number=2).files(TABLE)
    clean_log(f"{out}/{TABLE}")
    with pytest.raises(CommitGone, match=rf"{TABLE}: the log of its version 2 is gone"):
        store.snapshot(number=2).dataset(TABLE)
    assert sum(file.rows for file in store.snapshot(number=2).files(TABLES[1])) == 2


def test_deleted_table_is_an_error_and_created_again(copies: Callable[[], Path]) -> None:
    out = copies()
    shutil.rmtree(out / TABLE)
    store = PipelineStore(str(out))

    with pytest.raises(DamagedStore, match=f"the table {TABLE} does not exist"):
        store.snapshot().files(TABLE)
    with pytest.raises(KwireError, match=f"the table {TABLE} does not exist"):
        commit(store, "later")
    [finding] = store_check.check(store)
    assert (finding.path, finding.rows) == (TABLE, 4)
    store_repair.repair(store, execute=True)
    assert clusters(store) == {TABLE: [], TABLES[1]: [*NAMES]}
    commit(store, "later")
    assert store_check.check(store) == []


@pytest.mark.parametrize("damage", ["the table", "its files"])
def test_store_without_ingests_is_an_error_and_continues_after_repair(copies: Callable[[], Path], damage: str) -> None:
    """Otherwise a new `ingests` would number commits from 1, and the tables would take them for applied ones."""
    out = copies()
    if damage == "the table":
        shutil.rmtree(out / INGESTS)
    else:
        for path in (out / INGESTS).glob("*.parquet"):
            path.unlink()
    for create in (False, True):
        with pytest.raises(DamagedStore, match=f"{INGESTS}.* does not exist"):
            PipelineStore(str(out), create=create).snapshot()
    with pytest.raises(DamagedStore, match=f"{INGESTS}.* does not exist"):
        commit(PipelineStore(str(out)), "later")

    store = PipelineStore(str(out))
    assert store_check.check(store) != []
    store_repair.repair(store, execute=True)
    assert_whole(out, *NAMES)


def test_check_reads_a_store_with_several_faults_to_the_end(
    copies: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out = copies()
    shutil.rmtree(out / TABLE)
    DeltaTable(f"{out}/{TABLES[1]}").delete("cluster_id = 'b'")
    vacuum(f"{out}/{TABLES[1]}")
    for path in (out / "silver/topics/_delta_log").iterdir():
        path.write_bytes(b"no JSON")

    assert run(["pipeline", "check", "--out", str(out)]) == 6

    printed = capsys.readouterr().out
    assert f"{TABLE}: not whole since commit 4: 0 of 4 rows can be read; repair leaves 0 rows and loses 4" in printed
    assert f"{TABLES[1]}: not whole since commit 4: 3 of 4 rows can be read; repair leaves 3 rows" in printed
    assert "silver/topics: not whole" in printed
    assert "silver/brokers: whole at commit 0 (0 rows)" in printed


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 40), marks=pytest.mark.nightly)], ids=IDS)
def test_random_histories_of_several_writers_lose_nothing_in_silence(
    copies: Callable[[], Path], seeds: range, subtests: pytest.Subtests
) -> None:
    """After each operation all rows are there, or an error names the table and a repair says what is left."""
    for seed in seeds:
        with subtests.test(seed=seed):
            run_history(copies(), Random(seed))


def run_history(out: Path, random: Random) -> None:
    others = KEEPS_ROWS | CHANGES_ROWS
    del others["append"]  # rows without a date are in a partition of their own
    expected = everywhere(*NAMES)
    for step in range(8):
        store = PipelineStore(str(out))
        kind = random.choice(["commit", "optimize", "vacuum", "other", "other", "other"])
        history = f"{step}: {kind}"
        if kind == "other":
            name, table = random.choice(sorted(others)), random.choice([*TABLES, TABLE])
            with suppress(DeltaError, OSError, IndexError, pl.exceptions.PolarsError):  # as far as the program can
                others[name](f"{out}/{table}")
            history = f"{step}: {name} of {table}"
        error, found = None, expected
        try:
            if kind == "commit":
                commit(store, str(step))
                expected = {folder: sorted([*rows, str(step)]) for folder, rows in expected.items()}
            elif kind == "optimize":
                maintenance.optimize(store)
            elif kind == "vacuum":
                maintenance.vacuum(store, NOTHING)
            found = clusters(PipelineStore(str(out)))
        except (DamagedStore, UnwritableTable) as refused:
            error = str(refused)
        if error is not None:
            assert "silver/" in error, history
            assert store_check.check(store) != [], history
            store_repair.repair(store, execute=True)
            found = clusters(PipelineStore(str(out)))
            assert all(set(found[folder]) <= {*expected[folder], "other"} for folder in TABLES), history
            assert store_check.check(PipelineStore(str(out))) == [], history
            expected = found
        assert found == expected, history
    store_repair.repair(PipelineStore(str(out)), execute=True)
    assert store_check.check(PipelineStore(str(out))) == []
    assert clusters(PipelineStore(str(out))) == expected
