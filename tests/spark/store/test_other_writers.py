"""Other programs maintain the tables: nothing is lost, and what cannot be prevented is named and mended."""

from __future__ import annotations

import json
import logging
import shutil
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from kwire.cli.program import run
from kwire.errors import KwireError
from kwire.spark.store import check as store_check
from kwire.spark.store import delta_table, maintenance
from kwire.spark.store.commits import PipelineStore, layouts
from kwire.spark.store.errors import CommitGone, DamagedStore, UnwritableTable
from kwire.spark.store.record import INGESTS, CommitRecord
from tests.spark.store.test_commits import TABLES, clusters, commit, everywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TABLE = TABLES[0]
EMPTY_TABLES = ("silver/brokers", "silver/topics")
NAMES = ("a", "b", "c", "d")
NOTHING = timedelta(0)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with four commits. It has few tables: each operation of the store opens all of them."""
    folder = tmp_path_factory.mktemp("template") / "store"
    with pytest.MonkeyPatch.context() as patches:
        few = {name: layout for name, layout in layouts().items() if name in {*TABLES, *EMPTY_TABLES, INGESTS}}
        patches.setattr("kwire.spark.store.commits.layouts", lambda: few)
        store = PipelineStore(str(folder))
        for name in NAMES:
            commit(store, name)
    return folder


@pytest.fixture
def copies(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Path]]:
    """Return a function that copies the store."""
    few = {name: layout for name, layout in layouts().items() if name in {*TABLES, *EMPTY_TABLES, INGESTS}}
    monkeypatch.setattr("kwire.spark.store.commits.layouts", lambda: few)
    numbers = iter(range(1000))

    def copy() -> Path:
        folder: Path = tmp_path / str(next(numbers))
        shutil.copytree(template, folder)
        return folder

    yield copy
    shutil.rmtree(tmp_path, ignore_errors=True)


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
    assert store_check.repair(store, execute=True) == []
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
            before = store_check.repair(store, execute=False)
            assert store_check.repair(store, execute=True) == before
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
            store_check.repair(store, execute=True)
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
            store_check.repair(store, execute=True)
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
                patches.setattr(store, "_check_files", lambda _: compact(f"{out}/{TABLE}"))
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
    store_check.repair(store, execute=True)
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
    store_check.repair(store, execute=True)
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
            store_check.repair(store, execute=True)
            found = clusters(PipelineStore(str(out)))
            assert all(set(found[folder]) <= {*expected[folder], "other"} for folder in TABLES), history
            assert store_check.check(PipelineStore(str(out))) == [], history
            expected = found
        assert found == expected, history
    store_check.repair(PipelineStore(str(out)), execute=True)
    assert store_check.check(PipelineStore(str(out))) == []
    assert clusters(PipelineStore(str(out))) == expected
