"""The store: reading disturbs nobody, and of two who write only one can; the other is told."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem

from kwire.spark.log import RECORDS_KEPT, Log, Record, StoreInUse
from kwire.spark.store import NotAStore, Store


def committed(store: Store, name: str) -> None:
    """One ingest of one file."""
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


def test_who_only_reads_leaves_an_ingest_under_way_alone(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.writing() as staging:
        (path_of(store, staging) / "under-way").write_text("")
        Store(str(tmp_path))

        commit(store, staging, "a.parquet")

    assert (tmp_path / "bronze/date=2026-11-21/a.parquet").exists()
    assert Store(str(tmp_path)).record.number == 1


def test_opening_a_store_writes_nothing_into_it(tmp_path: Path) -> None:
    committed(Store(str(tmp_path)), "a.parquet")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    Store(str(tmp_path))

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_nothing_is_recorded_whose_files_are_gone(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.writing() as staging:
        lost = Record(number=1, staging=staging, moves=[(f"{staging}/lost", "bronze/lost")])
        with pytest.raises(StoreInUse):
            store.commit(lost)

    assert Store(str(tmp_path)).record.number == 0
    committed(store, "a.parquet")


def test_a_second_writer_is_turned_away_and_may_come_again(tmp_path: Path) -> None:
    first, second = Store(str(tmp_path)), Store(str(tmp_path))
    with first.writing() as staging:
        with pytest.raises(StoreInUse) as refused, second.writing():
            pass
        commit(first, staging, "a.parquet")
    committed(second, "b.parquet")

    assert refused.value.out == str(tmp_path)
    assert second.record.number == 2
    assert sorted(path.name for path in (tmp_path / "bronze/date=2026-11-21").iterdir()) == ["a.parquet", "b.parquet"]


def test_threads_that_share_a_store_wait_for_one_another(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    threads = [threading.Thread(target=committed, args=(store, f"{number}.parquet")) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert store.record.number == 5


def test_without_locks_only_the_writer_that_began_last_has_its_record(tmp_path: Path) -> None:
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


def test_who_recorded_before_somebody_else_began_is_heard_by_them(tmp_path: Path) -> None:
    first, second = (Log(LocalFileSystem(), str(tmp_path), "out") for _ in range(2))
    with first.claimed() as known:
        first.write(replace(known, number=1))
        with second.claimed() as newest:
            assert newest.number == 1


def test_a_log_keeps_few_records(tmp_path: Path) -> None:
    log = Log(LocalFileSystem(), str(tmp_path), "out")
    for _ in range(RECORDS_KEPT + 5):
        with log.claimed() as newest:
            log.write(replace(newest, number=newest.number + 1))

    assert log.newest().number == RECORDS_KEPT + 5
    assert len(list(tmp_path.iterdir())) == RECORDS_KEPT


def test_a_file_is_not_a_store(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    with pytest.raises(NotAStore, match="is a file"):
        Store(str(path))
