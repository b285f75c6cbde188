"""Logs that deltalake does not write itself: merged commits, checkpoints with sidecars, encoded paths, a lost end."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from kwire_pipeline.store import delta_table, maintenance
from kwire_pipeline.store.check import check
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.errors import DamagedStore, UnwritableTable
from kwire_pipeline.store.record import INGESTS
from kwire_pipeline.store.repair import repair
from tests.pipeline.store.other_writers import NAMES
from tests.pipeline.store.test_commits import TABLES, clusters, commit, everywhere
from tests.pipeline.store.test_other_writers import assert_whole

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = TABLES[0]

Action = dict[str, dict[str, Any]]


def actions(table: Path) -> list[Action]:
    """Return the actions of a log, oldest first, without replaced ones."""
    replaced: dict[object, Action] = {}
    for path in sorted((table / "_delta_log").glob("*.json")):
        for action in map(json.loads, path.read_text().splitlines()):
            for kind, value in action.items():
                name = value.get("path") or value.get("appId") or kind
                if kind != "commitInfo":
                    replaced[name] = action
    return list(replaced.values())


def write(log: Path, name: str, *content: Action) -> None:
    (log / name).write_text("".join(f"{json.dumps(action)}\n" for action in content))


def merge_commits(table: Path) -> None:
    """Merge the commits of a log into one file, as log compaction does, beside a checkpoint without them."""
    opened = DeltaTable(str(table))
    opened.create_checkpoint()
    log, newest = table / "_delta_log", opened.version()
    write(log, f"{1:020}.{newest:020}.compacted.json", *actions(table))
    for path in log.glob("*.json"):
        if path.stem.isdigit() and int(path.stem) < newest:
            path.unlink()


def write_checkpoint_with_sidecar(table: Path) -> None:
    """Write a checkpoint of version 2, and remove the commits before it."""
    log, version = table / "_delta_log", DeltaTable(str(table)).version() + 1
    before = actions(table)
    [metadata] = [action for action in before if "metaData" in action]
    metadata["metaData"]["configuration"]["delta.checkpointPolicy"] = "v2"
    features = {"readerFeatures": ["v2Checkpoint"], "writerFeatures": ["v2Checkpoint"]}
    protocol: Action = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}}
    write(log, f"{version:020}.json", protocol, metadata)
    copy = table.parent / f"copy-{uuid4()}"
    shutil.copytree(table, copy)
    DeltaTable(str(copy)).create_checkpoint()
    [plain] = (copy / "_delta_log").glob("*.checkpoint.parquet")
    rows = pq.read_table(plain, partitioning=None)
    shutil.rmtree(copy)
    sidecar = log / "_sidecars" / f"{uuid4()}.parquet"
    sidecar.parent.mkdir()
    pq.write_table(rows.select(["add", "remove"]).filter(rows["add"].is_valid()), sidecar)
    size = sidecar.stat().st_size
    rest = [action for action in before if not {"add", "remove", "protocol"} & action.keys()]
    link: Action = {"sidecar": {"path": sidecar.name, "sizeInBytes": size, "modificationTime": 1_700_000_000_000}}
    top: Action = {"checkpointMetadata": {"version": version}}
    write(log, f"{version:020}.checkpoint.{uuid4()}.json", top, protocol, *rest, link)
    (log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": len(before)}))
    for path in log.glob("*.json"):
        if path.stem.isdigit() and int(path.stem) < version:
            path.unlink()


@pytest.mark.parametrize("table", [TABLE, INGESTS])
def test_merged_commits_keep_rows(copies: Callable[[], Path], table: str) -> None:
    out = copies()
    merge_commits(out / table)

    assert_whole(out, *NAMES)


@pytest.mark.parametrize("table", [TABLE, INGESTS])
def test_checkpoint_with_sidecar_keeps_rows(copies: Callable[[], Path], table: str) -> None:
    out = copies()
    write_checkpoint_with_sidecar(out / table)

    for name in ("later", "last"):
        store = PipelineStore(str(out))
        commit(store, name)
        maintenance.optimize(store)
        maintenance.vacuum(store, timedelta(0))
    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES, "later", "last")
    assert check(PipelineStore(str(out))) == []


def rename_file(table: Path, encode: Callable[[str], str]) -> None:
    """Rename a data file, as a compaction of one file; the log has an encoded path."""
    [*_, added] = [action["add"] for action in actions(table) if "add" in action]
    path = Path(added["path"]).parent / "part with space%41 é.parquet"
    (table / added["path"]).rename(table / path)
    removed = {key: added[key] for key in ("path", "partitionValues", "size")} | {"dataChange": False}
    version = DeltaTable(str(table)).version() + 1
    renamed = added | {"path": encode(str(path)), "dataChange": False}
    write(table / "_delta_log", f"{version:020}.json", {"remove": removed}, {"add": renamed})


def test_paths_are_decoded(copies: Callable[[], Path]) -> None:
    """The log names files by URIs. A vacuum that takes them for paths deletes the files."""
    for table in (TABLE, INGESTS):
        out = copies()
        rename_file(out / table, lambda path: quote(path, safe="/="))

        assert_whole(out, *NAMES)


def test_file_that_deltalake_cannot_remove_is_named(copies: Callable[[], Path]) -> None:
    out = copies()
    rename_file(out / TABLE, lambda path: quote(path, safe="/"))

    table = DeltaTable(f"{out}/{TABLE}")

    with pytest.raises(UnwritableTable, match=r"deltalake cannot remove .*part with space%41"):
        delta_table.write(table, [], delta_table.files_of(table), [])

    commit(PipelineStore(str(out)), "later")
    maintenance.vacuum(PipelineStore(str(out)), timedelta(0))
    assert clusters(PipelineStore(str(out))) == everywhere(*NAMES, "later")


@pytest.mark.parametrize("kept", [0, 2])
def test_lost_end_of_ingests_is_an_error_before_a_commit(copies: Callable[[], Path], kept: int) -> None:
    """The folder returned to its backup. Tables would take the next commit for one that they have."""
    out = copies()
    table = DeltaTable(f"{out}/{INGESTS}")
    for version in range(table.version(), kept, -1):
        (out / INGESTS / f"_delta_log/{version:020}.json").unlink()
    before = sorted(out.rglob("*.json"))

    with pytest.raises(DamagedStore, match=f"ingests ends with commit {kept}, but .* has commit {len(NAMES)}"):
        commit(PipelineStore(str(out)), "later")
    if not kept:
        with pytest.raises(DamagedStore, match="ingests ends with commit 0"):
            PipelineStore(str(out)).snapshot()

    tables = [path for path in before if path.parent.name == "_delta_log"]
    assert sorted(out.glob("**/_delta_log/*.json")) == tables
    assert [finding.text for finding in check(PipelineStore(str(out)))] == [
        f"lacks the rows of commits {kept + 1} to {len(NAMES)}"
    ]
    repair(PipelineStore(str(out)), execute=True)
    assert_whole(out, *NAMES)
