"""Properties and features that other programs give to tables: `check` names those with which the next commit fails."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures, write_deltalake
from deltalake.exceptions import DeltaError

from kwire.cli.program import run
from kwire.errors import KwireError
from kwire_pipeline.store import check as store_check
from kwire_pipeline.store import delta_table
from kwire_pipeline.store import repair as store_repair
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import IncompatibleTable, UnreadableLog, UnwritableTable
from kwire_pipeline.store.record import INGESTS
from kwire_pipeline.store.repair import CannotRepair
from kwire_pipeline.tables import Layout
from tests.pipeline.store.other_writers import NAMES
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TABLE = TABLES[0]
FEW_UNDONE = ("deletion vectors", "dropped", "replaced")
IDS = ("few", "all")

COMMIT_INFO = {"engineInfo": "another program", "timestamp": 1_795_000_000_000}

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
    lines = [
        {"commitInfo": COMMIT_INFO | {"operation": "DELETE"}},
        {"remove": removed},
        {"add": added | {"deletionVector": VECTOR}},
    ]
    (log / f"{version + 1:020}.json").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


OBSTACLES: dict[str, tuple[Callable[[str], object], str]] = {
    "append only": (set_property("delta.appendOnly", "true"), "the property delta.appendOnly is set"),
    "retention of transactions": (
        set_property("delta.setTransactionRetentionDuration", "interval 1 days"),
        "the property delta.setTransactionRetentionDuration is set",
    ),
    "row tracking": (add_feature(TableFeatures.RowTracking), "deltalake does not write tables with rowTracking"),
    "identity columns": (add_feature(TableFeatures.IdentityColumns), "deltalake does not write tables with identity"),
}

LEGACY = {"minReaderVersion": 2, "minWriterVersion": 6}
"""A protocol that older writers set for identity columns, without a list of features."""


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
            printed = capsys.readouterr().out
            assert f"{table}: {text}" in printed
            assert re.search(f"{table}: {text}.* since .* of delta-rs:py-.* \\(version 5\\)", printed)
            for execute in (False, True):
                with pytest.raises(CannotRepair, match=f"{table}: {text}"):
                    store_repair.repair(PipelineStore(str(out)), execute=execute)
            if name != "append only":  # an ingest removes nothing
                with pytest.raises(UnwritableTable, match=text):
                    commit(PipelineStore(str(out)), "later")
            assert sorted(out.rglob("*.json")) == before
            assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)


def add_commit(table: str, *actions: dict[str, Any]) -> None:
    """Add a version to the log of a table, with actions that deltalake does not write."""
    add_actions(Path(table, "_delta_log"), DeltaTable(table).version() + 1, *actions)


def add_actions(log: Path, version: int, *actions: dict[str, Any]) -> None:
    (log / f"{version:020}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def test_old_protocol_is_refused_before_a_commit_is_decided(copies: Callable[[], Path]) -> None:
    out = copies()
    add_commit(f"{out}/{TABLE}", {"commitInfo": COMMIT_INFO | {"operation": "UPGRADE PROTOCOL"}}, {"protocol": LEGACY})

    with pytest.raises(UnwritableTable, match="version 6 of the protocol since UPGRADE PROTOCOL"):
        commit(PipelineStore(str(out)), "later")

    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)
    assert "version 6 of the protocol" in str(store_check.check(PipelineStore(str(out))))


def require(feature: str) -> Callable[[str], object]:
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": [feature], "writerFeatures": [feature]}
    return lambda table: add_commit(table, {"protocol": protocol})


def leave_log(name: str, text: str) -> Callable[[str], object]:
    """Write a file of a log; `{next}` is the version after the newest."""
    return lambda table: Path(
        table, "_delta_log", name.format(next=f"{DeltaTable(table).version() + 1:020}")
    ).write_text(text)


def delete_version(table: str) -> None:
    Path(table, f"_delta_log/{DeltaTable(table).version() - 1:020}.json").unlink()


UNREADABLE: dict[str, tuple[Callable[[str], object], str]] = {
    "unknown feature": (require("fromTheFuture"), "drop that feature"),
    "managed by a catalog": (require("catalogManaged"), "drop the feature catalogManaged"),
    "torn commit": (leave_log("{next}.json", '{"commitInfo":{"oper'), "restore _delta_log from a backup"),
    "missing version": (delete_version, "restore _delta_log from a backup"),
    "lost checkpoint": (leave_log("_last_checkpoint", '{"version":99,"size":3}'), "delete _delta_log/_last_checkpoint"),
}


@pytest.mark.parametrize("table", [TABLE, INGESTS])
def test_unreadable_log_is_one_error_with_its_remedy(
    copies: Callable[[], Path], capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests, table: str
) -> None:
    for name, (operation, remedy) in UNREADABLE.items():
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{table}")
            before = sorted(out.rglob("*"))
            for answer in (clusters, lambda store: commit(store, "later")):
                with pytest.raises(UnreadableLog, match=f"{table}: its log cannot be read: .*: {remedy}$"):
                    answer(PipelineStore(str(out)))
            with pytest.raises(CannotRepair, match=f"{table}: its log cannot be read: .*: {remedy}$"):
                store_repair.repair(PipelineStore(str(out)), execute=True)
            assert run(["pipeline", "check", "--out", str(out)]) == 6
            assert f"{table}: its log cannot be read: " in capsys.readouterr().out
            assert sorted(out.rglob("*")) == before


def change_columns(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[str], object]:
    """Change columns under column mapping, as ALTER TABLE does, after another was added; partitions as listed."""

    def run(table: str) -> None:
        log = Path(table, "_delta_log")
        actions = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
        metadata = [action["metaData"] for action in actions if "metaData" in action][-1]
        schema = json.loads(metadata["schemaString"])
        schema["fields"].append({"name": "note", "type": "string", "nullable": True, "metadata": {}})
        for number, field in enumerate(schema["fields"], 1):
            physical = "col-4e6f7465" if field["name"] == "note" else field["name"]
            mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
            field["metadata"] |= mapping
        change(schema["fields"])
        configuration = {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": str(len(schema["fields"]) + 1),
        }
        require("columnMapping")(table)
        metadata |= {
            "schemaString": json.dumps(schema),
            "configuration": metadata["configuration"] | configuration,
            "partitionColumns": [field["name"] for field in schema["fields"] if field["name"] in {"date", "day"}],
        }
        add_commit(table, {"commitInfo": COMMIT_INFO | {"operation": "ALTER"}}, {"metaData": metadata})

    return run


def column(fields: list[dict[str, Any]], name: str = "cluster_id") -> dict[str, Any]:
    return next(field for field in fields if field["name"] == name)


def add_again(fields: list[dict[str, Any]]) -> None:
    mapping = {"delta.columnMapping.id": len(fields) + 1, "delta.columnMapping.physicalName": "col-616761696e"}
    column(fields)["metadata"] |= mapping


def replace_table(table: str) -> None:
    """Replace a table by one with the same rows in one partition, as CREATE OR REPLACE TABLE does."""
    rows = DeltaTable(table).to_pyarrow_table()
    write_deltalake(table, rows, mode="overwrite", schema_mode="overwrite", partition_by=[])


UNDONE: dict[str, tuple[Callable[[str], object], str]] = {
    "deletion vectors": (delete_by_vector, "rows are deleted by deletion vectors since DELETE of another program"),
    "renamed": (
        change_columns(lambda fields: column(fields).update(name="renamed")),
        "column cluster_id was renamed renamed since ALTER of another program",
    ),
    "another case": (
        change_columns(lambda fields: column(fields).update(name="Cluster_Id")),
        "column cluster_id was renamed Cluster_Id since ALTER of another program",
    ),
    "dropped": (
        change_columns(lambda fields: fields.remove(column(fields))),
        "column cluster_id was dropped since ALTER of another program",
    ),
    "added again": (change_columns(add_again), "column cluster_id was dropped and added again since ALTER of another"),
    "partition": (
        change_columns(lambda fields: column(fields, "date").update(name="day")),
        "column date was renamed day since ALTER of another program",
    ),
    "type": (
        change_columns(lambda fields: column(fields).update(type="binary")),
        'column cluster_id is PrimitiveType."binary".* since ALTER of another program',
    ),
    "replaced": (replace_table, "found no partition columns, expected partition columns date since WRITE of delta-rs"),
}


@pytest.mark.parametrize("names", [FEW_UNDONE, pytest.param(UNDONE, marks=pytest.mark.nightly)], ids=IDS)
def test_what_others_did_to_columns_and_by_vectors_is_named_and_undone(
    copies: Callable[[], Path], subtests: pytest.Subtests, names: Iterable[str]
) -> None:
    """Rows are read as before; nothing is written before a repair."""
    for name in names:
        operation, text = UNDONE[name]
        with subtests.test(name):
            out = copies()
            operation(f"{out}/{TABLE}")
            store = PipelineStore(str(out))
            before = sorted(out.rglob("*.json"))
            assert clusters(store) == everywhere(*NAMES)
            with pytest.raises(UnwritableTable, match=f"{TABLE}: .*{text}"):
                commit(store, "later")
            assert any(re.search(text, finding.text) for finding in store_check.check(store))
            planned = store_repair.repair(store, execute=False)
            assert sorted(out.rglob("*.json")) == before

            assert store_repair.repair(store, execute=True) == planned
            assert planned[0].text.startswith("returns to version ")
            commit(store, "later")
            assert clusters(PipelineStore(str(out))) == everywhere(*NAMES, "later")
            assert store_check.check(store) == []


def test_new_columns_and_names_in_files_change_nothing(copies: Callable[[], Path]) -> None:
    out = copies()
    change_columns(lambda _: None)(f"{out}/{TABLE}")

    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES)
    assert store_check.check(PipelineStore(str(out))) == []
    commit(PipelineStore(str(out)), "later")
    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES, "later")


def test_structures_of_a_table_with_column_mapping_have_the_same_type(tmp_path: Path) -> None:
    layout = Layout(pa.schema([("reports", pa.list_(pa.struct([("broker_id", pa.int32())])))]))
    table = str(tmp_path / "table")
    delta_table.create(table, layout)
    mapping = {"delta.columnMapping.id": 3, "delta.columnMapping.physicalName": "broker_id"}

    def map_fields(fields: list[dict[str, Any]]) -> None:
        fields[0]["type"]["elementType"]["fields"][0]["metadata"] |= mapping

    change_columns(map_fields)(table)

    delta_table.create(table, layout)
    other = Layout(pa.schema([("reports", pa.list_(pa.struct([("broker_id", pa.int64())])))]))
    with pytest.raises(IncompatibleTable):
        delta_table.create(table, other)


def test_columns_that_cannot_be_added_name_who_dropped_them(tmp_path: Path) -> None:
    layout = Layout(pa.schema([("cluster_id", pa.string()), ("topic", pa.string())]))
    table = str(tmp_path / "table")
    delta_table.create(table, layout)
    change_columns(lambda fields: fields.remove(column(fields)))(table)

    with pytest.raises(UnwritableTable, match="lacks the columns cluster_id since ALTER of another program"):
        delta_table.create(table, layout)


@pytest.mark.parametrize("table", [TABLE, INGESTS])
def test_files_of_another_table_are_named(copies: Callable[[], Path], table: str) -> None:
    """A shallow clone, moved to the folder of its source, names files of the source by absolute paths."""
    out, source = copies(), copies()
    log = Path(out, table, "_delta_log")
    actions = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    shutil.rmtree(out / table)
    log.mkdir(parents=True)
    for action in actions:
        if "add" in action:
            action["add"]["path"] = f"file:{source}/{table}/{action['add']['path']}"
    kept = [action for action in actions if action.keys() & {"protocol", "metaData", "add", "txn"}]
    numbers = [action for action in kept if action.get("txn", {}).get("appId") == "kwire"]
    others = [action for action in kept if "txn" not in action]
    add_actions(log, 0, {"commitInfo": COMMIT_INFO | {"operation": "CLONE"}}, *others, numbers[-1])
    before = sorted(out.rglob("*.json"))

    text = f"{table}: its files are those of another table since CLONE of another program"
    assert any(text in str(finding) for finding in store_check.check(PipelineStore(str(out))))
    for answer in (clusters, lambda store: commit(store, "later"), partial(store_repair.repair, execute=True)):
        with pytest.raises(KwireError, match=table):
            answer(PipelineStore(str(out)))
    assert sorted(out.rglob("*.json")) == before


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
