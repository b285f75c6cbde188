"""The store: readers change nothing, and only one of two writers succeeds."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from kwire.spark.log import RECORDS_KEPT, Log, Record, StoreInUse
from kwire.spark.store import NotAStore, Store


def committed(store: Store, name: str) -> None:
    """Commit one ingest of one file."""
    with store.writing() as staging:
        commit(store, staging, name)


def commit(store: Store, staging: str, name: str) -> None:
    (path_of(store, staging) / name).write_text(name)
    place = f"bronze/date=2026-11-21/{name}"
    store.commit(
        replace(store.record, number=store.record.number + 1, staging=staging, moves=[(f"{staging}/{name}", place)])
    )


def path_of(store: Store, staging: str) -> Path:
    return Path(store.out) / staging


def test_reader_does_not_disturb_ingest_in_progress(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.writing() as staging:
        (path_of(store, staging) / "under-way").write_text("")
        Store(str(tmp_path))

        commit(store, staging, "a.parquet")

    assert (tmp_path / "bronze/date=2026-11-21/a.parquet").exists()
    assert Store(str(tmp_path)).record.number == 1


def test_opening_store_writes_nothing(tmp_path: Path) -> None:
    committed(Store(str(tmp_path)), "a.parquet")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    Store(str(tmp_path))

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_commit_without_its_files_is_rejected(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.writing() as staging:
        lost = Record(number=1, staging=staging, moves=[(f"{staging}/lost", "bronze/lost")])
        with pytest.raises(StoreInUse):
            store.commit(lost)

    assert Store(str(tmp_path)).record.number == 0
    committed(store, "a.parquet")


def test_second_writer_is_rejected_and_may_retry(tmp_path: Path) -> None:
    first, second = Store(str(tmp_path)), Store(str(tmp_path))
    with first.writing() as staging:
        with pytest.raises(StoreInUse) as rejected, second.writing():
            pass
        commit(first, staging, "a.parquet")
    committed(second, "b.parquet")

    assert rejected.value.out == str(tmp_path)
    assert second.record.number == 2
    assert sorted(path.name for path in (tmp_path / "bronze/date=2026-11-21").iterdir()) == ["a.parquet", "b.parquet"]


def test_threads_that_share_store_wait_for_one_another(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    threads = [threading.Thread(target=committed, args=(store, f"{number}.parquet")) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert store.record.number == 5


def test_without_locks_only_last_writer_can_commit(tmp_path: Path) -> None:
    first, second = (Log(LocalFileSystem(), str(tmp_path), "out") for _ in range(2))
    with first.claimed() as known:
        with second.claimed() as same:
            with pytest.raises(StoreInUse):
                first.write(replace(known, number=1, staging="first"))
            second.write(replace(same, number=1, staging="second"))
        with pytest.raises(StoreInUse):
            first.write(replace(known, number=1, staging="first"))

    assert first.newest().staging == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["000000000001.json"]


def test_writer_sees_records_committed_before_it_began(tmp_path: Path) -> None:
    first, second = (Log(LocalFileSystem(), str(tmp_path), "out") for _ in range(2))
    with first.claimed() as known:
        first.write(replace(known, number=1))
        with second.claimed() as newest:
            assert newest.number == 1


def test_log_keeps_limited_number_of_records(tmp_path: Path) -> None:
    log = Log(LocalFileSystem(), str(tmp_path), "out")
    for _ in range(RECORDS_KEPT + 5):
        with log.claimed() as newest:
            log.write(replace(newest, number=newest.number + 1))

    assert log.newest().number == RECORDS_KEPT + 5
    assert len(list(tmp_path.iterdir())) == RECORDS_KEPT


def test_file_is_rejected_as_store(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    with pytest.raises(NotAStore, match="is a file"):
        Store(str(path))
