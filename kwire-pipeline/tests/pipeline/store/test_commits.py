"""The store: several tables change in one commit, whatever other writers do and wherever a writer dies."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import deltalake
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.commits import RECORDS_AGE, RECORDS_KEPT, RECORDS_SWEPT, PipelineStore
from kwire_pipeline.store.errors import ConcurrentCommit, IncompatibleTable, MissingFiles, NotAStore
from kwire_pipeline.store.ingests import MERGED_INGESTS, Ingests
from kwire_pipeline.store.manifest import FileKind
from kwire_pipeline.store.record import RECORDS, CommitRecord, StoreChange, reporter_key
from kwire_pipeline.store.table_files import Output, TableFile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLES = ("silver/polls", "silver/partitions")
DAY = datetime(2026, 11, 21, tzinfo=UTC)
READ_EVERY = 0.1
"""Seconds between two reads beside a writer, which takes about one; almost without a pause, reads cost two thirds."""


def ingest(
    store: PipelineStore, record: CommitRecord, name: str, rows: int = 1, stream: tuple[str, int] | None = None
) -> StoreChange:
    """Write rows of one broker, named `name`, to several tables, and return the change that adds them."""
    change = StoreChange(
        "ingest", record.number, reporters={reporter_key(name, 1, "", None): {"state": "", "last": 0, "starts": []}}
    )
    change.streams.update([stream] if stream else [])
    for folder in TABLES:
        table = SILVER_SCHEMAS[folder.removeprefix("silver/")]
        file = TableFile(Output(store.location), FileKind.SILVER, folder, {"date": f"{DAY:%Y-%m-%d}"}, table.arrow)
        values = [{"cluster_id": name, table.time: DAY} for _ in range(rows)]
        file.write(pa.Table.from_pylist(values, schema=table.arrow))
        change.added[folder] = [file.close().file]
    return change


def commit(store: PipelineStore, name: str, rows: int = 1, stream: tuple[str, int] | None = None) -> None:
    store.transact(lambda record: store.commit(ingest(store, record, name, rows, stream)))


def clusters(store: PipelineStore) -> dict[str, list[str]]:
    """Return the values of `cluster_id` in the newest snapshot by table."""
    snapshot = store.snapshot()
    found = {}
    for folder in TABLES:
        dataset = snapshot.dataset(folder)
        found[folder] = sorted(dataset.to_table()["cluster_id"].to_pylist()) if dataset is not None else []
    return found


def everywhere(*names: str) -> dict[str, list[str]]:
    return dict.fromkeys(TABLES, sorted(names))


def test_opening_store_again_writes_nothing(tmp_path: Path) -> None:
    commit(PipelineStore(str(tmp_path)), "a")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    assert clusters(PipelineStore(str(tmp_path))) == everywhere("a")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_writers_of_different_brokers_both_commit(tmp_path: Path) -> None:
    first, second = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    base = first.newest()
    changes = ingest(first, base, "a"), ingest(second, base, "b")

    first.commit(changes[0])
    second.commit(changes[1])

    assert clusters(first) == clusters(second) == everywhere("a", "b")


def test_second_ingest_of_same_broker_is_computed_again(tmp_path: Path) -> None:
    first, second = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    attempts: list[int] = []

    def run(record: CommitRecord) -> None:
        change = ingest(second, record, "a")
        if not attempts:
            first.commit(ingest(first, record, "a"))
        attempts.append(record.number)
        second.commit(change)

    second.transact(run)

    assert attempts == [0, 1]
    assert clusters(first) == everywhere("a", "a")


def test_batch_of_stream_is_committed_once(tmp_path: Path) -> None:
    first, second = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    base = first.newest()
    twice = [ingest(store, base, f"c{number}", stream=("query", 5)) for number, store in enumerate((first, second))]

    first.commit(twice[0])
    with pytest.raises(ConcurrentCommit):
        second.commit(twice[1])

    assert clusters(first) == everywhere("c0")
    assert first.newest().progress.streams == {"query": 5}


def test_threads_that_share_store_wait_for_one_another(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    threads = [threading.Thread(target=commit, args=(store, str(number))) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert clusters(store) == everywhere(*map(str, range(5)))


def test_snapshot_does_not_change_with_later_commits(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    commit(store, "a")
    before = store.snapshot()
    commit(store, "b")

    for folder in TABLES:
        for snapshot in (before, store.snapshot(number=1), store.snapshot(at=before.committed_at)):
            dataset = snapshot.dataset(folder)
            assert dataset is not None
            assert dataset.to_table()["cluster_id"].to_pylist() == ["a"]
    with pytest.raises(ValueError, match="has no commit 9"):
        store.snapshot(number=9)


def test_other_programs_read_tables(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    commit(store, "a", rows=3)
    folder = str(tmp_path / "silver/partitions")
    paths = store.snapshot().paths("silver/partitions")

    assert pl.scan_delta(folder).select("cluster_id", "date").collect().rows() == [("a", "2026-11-21")] * 3
    assert deltalake.DeltaTable(folder).count() == 3
    with duckdb.connect() as connection:
        assert connection.execute("SELECT count(*) FROM read_parquet(?)", [paths]).fetchall() == [(3,)]
        connection.register("partitions", deltalake.DeltaTable(folder).to_pyarrow_dataset())
        assert connection.execute("SELECT DISTINCT cluster_id FROM partitions").fetchall() == [("a",)]


@pytest.mark.parametrize("kind", ["ingest", "gold"])
def test_commit_that_many_others_overtake_is_committed(tmp_path: Path, kind: str) -> None:
    first, second = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    commit(first, "before")
    attempts: list[int] = []

    def run(record: CommitRecord) -> None:
        slow = (
            ingest(first, record, "slow") if kind == "ingest" else StoreChange("gold", record.number, gold={"until": 1})
        )
        for number in range(2 * RECORDS_KEPT if not attempts else 0):
            second.commit(StoreChange("ingest", second.newest().number, streams={"query": number}))
        attempts.append(record.number)
        first.commit(slow)

    first.transact(run)

    assert attempts == [1]
    assert first.newest().number == 2 + 2 * RECORDS_KEPT


def test_commit_is_computed_again_if_records_of_others_are_deleted(tmp_path: Path) -> None:
    """They are kept for hours; a commit that took longer cannot know what it conflicts with."""
    first, second = PipelineStore(str(tmp_path)), PipelineStore(str(tmp_path))
    attempts: list[int] = []

    def run(record: CommitRecord) -> None:
        change = ingest(first, record, "slow")
        if not attempts:
            commit(second, "other")
            [deleted] = (tmp_path / RECORDS).iterdir()
            commit(second, "another")
            deleted.unlink()
        attempts.append(record.number)
        first.commit(change)

    first.transact(run)

    assert attempts == [0, 2]
    assert clusters(first) == everywhere("slow", "other", "another")


def test_old_records_are_deleted_by_age_and_rows_of_ingests_merged(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    commits = MERGED_INGESTS + RECORDS_KEPT
    for number in range(commits - 1):
        store.commit(StoreChange("ingest", number, streams={"query": number}))
    assert len(list((tmp_path / RECORDS).iterdir())) == commits - 1
    make_older(tmp_path / RECORDS, RECORDS_AGE)
    store.commit(StoreChange("ingest", commits - 1, streams={"query": commits}))

    table = deltalake.DeltaTable(str(tmp_path / "ingests"))
    assert sorted(table.to_pyarrow_table()["number"].to_pylist()) == list(range(1, commits + 1))
    assert len(table.file_uris()) <= RECORDS_KEPT
    assert len(list((tmp_path / RECORDS).iterdir())) == RECORDS_KEPT
    assert store.snapshot(number=3).number == 3


def test_record_of_a_killed_writer_releases_no_state_that_is_used(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    used = {"state": "_state/used.parquet", "last": 0, "starts": []}
    store.commit(StoreChange("ingest", 0, reporters={"c/1": used}))
    (tmp_path / "_state").mkdir()
    (tmp_path / "_state/used.parquet").write_bytes(b"")
    undecided = CommitRecord(2, store.newest().progress, StoreChange("ingest", 1), ["_state/used.parquet"])
    (tmp_path / RECORDS / "000000000002-killed.json").write_bytes(undecided.dump())
    make_older(tmp_path / RECORDS, RECORDS_AGE)
    for number in range(1, RECORDS_SWEPT + RECORDS_KEPT):
        store.commit(StoreChange("ingest", number, streams={"query": number}))

    assert not (tmp_path / RECORDS / "000000000002-killed.json").exists()
    assert (tmp_path / "_state/used.parquet").exists()


def test_commit_of_deleted_files_is_refused(tmp_path: Path) -> None:
    store = PipelineStore(str(tmp_path))
    change = ingest(store, store.newest(), "a")
    [file] = change.added[TABLES[1]]
    (tmp_path / TABLES[1] / file.path).unlink()

    with pytest.raises(MissingFiles, match=rf"1 of the files to commit do not exist, such as {TABLES[1]}/.*again"):
        store.commit(change)

    assert clusters(store) == everywhere()


def make_older(folder: Path, age: timedelta) -> None:
    """Set the times of files to an age."""
    at = (datetime.now(UTC) - age).timestamp() - 1
    for path in folder.rglob("*.*"):
        os.utime(path, (at, at))


def test_columns_that_a_table_lacks_are_added(tmp_path: Path) -> None:
    folder = str(tmp_path / "silver/polls")
    old = pa.schema([pa.field("cluster_id", pa.string()), pa.field("date", pa.string())])
    deltalake.DeltaTable.create(folder, schema=old, partition_by=["date"])
    pq.write_table(pa.table({"cluster_id": ["old"]}), tmp_path / "old.parquet")

    store = PipelineStore(str(tmp_path))
    commit(store, "new")

    assert set(SILVER_SCHEMAS["polls"].names) < {field.name for field in deltalake.DeltaTable(folder).schema().fields}
    assert clusters(store) == everywhere("new")


def test_column_of_other_type_is_rejected(tmp_path: Path) -> None:
    wrong = pa.schema([pa.field("cluster_id", pa.int32()), pa.field("date", pa.string())])
    deltalake.DeltaTable.create(str(tmp_path / "silver/polls"), schema=wrong, partition_by=["date"])

    with pytest.raises(RuntimeError, match="column cluster_id is"):
        PipelineStore(str(tmp_path))


def test_store_of_newer_kwire_is_rejected(tmp_path: Path) -> None:
    """Its records may have fields that this version does not know."""
    store = PipelineStore(str(tmp_path))
    commit(store, "a")
    [path] = (tmp_path / RECORDS).iterdir()
    newer = json.loads(path.read_text())
    newer["layout"] += 1
    newer["progress"]["of a newer version"] = {}
    path.write_text(json.dumps(newer))

    with pytest.raises(IncompatibleTable, match=r"its layout is version 3, expected at most 2"):
        commit(store, "b")

    assert clusters(store) == everywhere("a")


def test_file_is_rejected_as_store(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    with pytest.raises(NotAStore, match="is a file"):
        PipelineStore(str(path))


def test_writer_killed_at_any_step_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """A reader checks every snapshot meanwhile: all tables have the same commits, each once."""
    store = PipelineStore(str(tmp_path))
    commit(store, "before")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    stop = threading.Event()
    seen: list[dict[str, list[str]]] = []

    def read() -> None:
        reader = PipelineStore(str(tmp_path))
        while not stop.wait(READ_EVERY):
            seen.append(clusters(reader))

    reader = threading.Thread(target=read)
    reader.start()
    expected = ["before"]
    try:
        for step in itertools.count():
            process = context.Process(target=_commit_and_die, args=(str(tmp_path), f"killed {step:02}", step))
            process.start()
            process.join(60)
            decided = f"killed {step:02}/1" in store.newest().progress.reporters
            commit(store, f"next {step:02}")
            expected += [*([f"killed {step:02}"] if decided else []), f"next {step:02}"]
            assert clusters(store) == everywhere(*expected)
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL
    finally:
        stop.set()
        reader.join(60)

    assert step > 15
    assert len({len(found[TABLES[0]]) for found in seen}) > 3
    for found in seen:
        assert found == everywhere(*expected[: len(found[TABLES[0]])]) or found == everywhere(*set(found[TABLES[0]]))


def _commit_and_die(out: str, name: str, step: int) -> None:
    """Commit, and be killed before or after one of the calls that write, the `step`-th of these moments."""
    moments = itertools.count()

    def interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if next(moments) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*args, **kwargs)
            if next(moments) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for owner, names in (
        (PipelineStore, ("_write", "_delete_old_records")),
        (Ingests, ("write",)),
        (delta_table, ("write", "commit")),
    ):
        for each in names:
            setattr(owner, each, interrupted(getattr(owner, each)))
    commit(PipelineStore(out), name)
