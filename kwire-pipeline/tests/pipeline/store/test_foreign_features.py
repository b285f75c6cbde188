"""Properties and features that other programs give to tables: `check` names those with which the next commit fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from deltalake import DeltaTable, TableFeatures
from deltalake.exceptions import DeltaError

from kwire.cli.program import run
from kwire_pipeline.sql_views import write_duckdb
from kwire_pipeline.store import check as store_check
from kwire_pipeline.store.check import CannotRepair
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import UnwritableTable
from kwire_pipeline.store.record import INGESTS
from tests.pipeline.store.other_writers import KEEPS_ROWS, NAMES
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TABLE = TABLES[0]
FEW_KEEP_ROWS = ("DuckDB", "INT96", "nanoseconds", "int64")
IDS = ("few", "all")

VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000005c8Xg00000",
    "sizeInBytes": 34,
    "cardinality": 1,
}
"""A deletion vector of row 0."""


def set_property(name: str, value: str) -> Callable[[str], object]:
    return lambda table: DeltaTable(table).alter.set_table_properties({name: value})


def add_feature(feature: TableFeatures) -> Callable[[str], object]:
    return lambda table: DeltaTable(table).alter.add_feature(feature, allow_protocol_versions_increase=True)


def delete_by_vector(table: str) -> None:
    """Delete rows of a file by a deletion vector, as Delta's writer in Spark does."""
    add_feature(TableFeatures.DeletionVectors)(table)
    version = DeltaTable(table).version()
    log = Path(table, "_delta_log")
    actions = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    [*_, added] = [action["add"] for action in actions if "add" in action]
    removed = {"path": added["path"], "dataChange": True, "deletionTimestamp": added["modificationTime"]}
    commit_info = {"operation": "DELETE", "engineInfo": "another program", "timestamp": added["modificationTime"]}
    lines = [{"commitInfo": commit_info}, {"remove": removed}, {"add": added | {"deletionVector": VECTOR}}]
    (log / f"{version + 1:020}.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


OBSTACLES: dict[str, tuple[Callable[[str], object], str]] = {
    "append only": (set_property("delta.appendOnly", "true"), "the property delta.appendOnly is set"),
    "retention of transactions": (
        set_property("delta.setTransactionRetentionDuration", "interval 1 days"),
        "the property delta.setTransactionRetentionDuration is set",
    ),
    "row tracking": (add_feature(TableFeatures.RowTracking), "deltalake does not write tables with rowTracking"),
    "identity columns": (add_feature(TableFeatures.IdentityColumns), "deltalake does not write tables with identity"),
    "deletion vectors": (delete_by_vector, "rows are deleted by deletion vectors"),
}


@pytest.mark.parametrize("table", [TABLE, INGESTS])
def test_check_names_what_prevents_the_next_commit(
    copies: Callable[[], Path], capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests, table: str
) -> None:
    for name, (operation, text) in OBSTACLES.items():
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{table}")
            before = sorted(out.rglob("*.json"))

            assert run(["pipeline", "check", "--out", str(out)]) == 6
            assert f"{table}: {text}" in capsys.readouterr().out
            for execute in (False, True):
                with pytest.raises(CannotRepair, match=f"{table}: {text}"):
                    store_check.repair(PipelineStore(str(out)), execute=execute)
            if name != "append only":  # an ingest removes nothing
                with pytest.raises(UnwritableTable, match=text):
                    commit(PipelineStore(str(out)), "later")
            assert sorted(out.rglob("*.json")) == before
            assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)


def test_harmless_features_are_not_reported(copies: Callable[[], Path], subtests: pytest.Subtests) -> None:
    operations = {
        "change data": set_property("delta.enableChangeDataFeed", "true"),
        "deletion vectors without any": add_feature(TableFeatures.DeletionVectors),
        "not append only": set_property("delta.appendOnly", "false"),
        "column mapping": add_feature(TableFeatures.ColumnMapping),
    }
    for name, operation in operations.items():
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            assert store_check.check(store) == []
            commit(store, "later")
            assert clusters(store) == everywhere(*NAMES, "later")
            assert store_check.check(store) == []


@pytest.mark.nightly
def test_what_check_calls_writable_can_be_written(copies: Callable[[], Path], subtests: pytest.Subtests) -> None:
    """A feature is refused by name before a commit is decided, or the commit succeeds."""
    for feature in (getattr(TableFeatures, name) for name in dir(TableFeatures) if name[0].isupper()):
        with subtests.test(str(feature)):
            out = copies()
            try:
                add_feature(feature)(f"{out}/{TABLE}")
            except DeltaError:  # it needs another feature
                continue
            store = PipelineStore(str(out))
            if store_check.check(store):
                with pytest.raises(UnwritableTable):
                    commit(store, "later")
                assert clusters(store) == everywhere(*NAMES)
            else:
                commit(store, "later")
                assert clusters(store) == everywhere(*NAMES, "later")


@pytest.mark.parametrize("names", [FEW_KEEP_ROWS, pytest.param(KEEPS_ROWS, marks=pytest.mark.nightly)], ids=IDS)
def test_database_of_duckdb_reads_files_of_other_programs(
    copies: Callable[[], Path], tmp_path: Path, subtests: pytest.Subtests, names: Iterable[str]
) -> None:
    """They have other types, and paths without the values of partitions."""
    database = tmp_path / "kafka.duckdb"
    results = {}
    for name in ("kwire", *names):
        with subtests.test(name):
            out = copies()
            if name != "kwire":
                KEEPS_ROWS[name](f"{out}/{TABLE}")
            write_duckdb(PipelineStore(str(out)).snapshot(), database)
            with duckdb.connect(str(database), read_only=True) as connection:
                connection.execute("SET TimeZone = 'America/New_York'")
                rows = connection.execute(f"SELECT * FROM {TABLE.partition('/')[2]} ORDER BY ALL")
                results[name] = [(column[0], str(column[1])) for column in rows.description or ()], rows.fetchall()
            assert len(results[name][1]) == len(NAMES)
            assert results[name] == results["kwire"]
