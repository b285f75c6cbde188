"""A run belongs to one process at a time, and its journal survives a crash in the middle of a line."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from kwire._util.folder_lock import FolderInUse
from kwire.client.admin.group_values import TopicPartition
from kwire_admin.operations.declaration import Failed
from kwire_admin.operations.reassignment_runs import check_not_running, finished
from kwire_admin.reassignment import InvalidJournal, Move, ReassignError
from kwire_admin.reassignment.execution.journal import EventKind, Phase, started_details
from kwire_admin.reassignment.execution.run_folder import (
    AUDIT,
    JOURNAL,
    PLAN,
    RunFolder,
    cluster_folder,
    newest_run,
    read_run,
    running_process,
)
from tests.for_rows import for_rows

MOVE = Move(TopicPartition("orders", 0), (1, 2), (3, 2), 7, 1)


def create(folder: Path, notes: list[str] | None = None) -> RunFolder:
    details = started_details("cluster-7", [[MOVE]], 1000, elections=True)
    return RunFolder.create(folder, {PLAN: "{}"}, details, print if notes is None else notes.append)


def test_every_event_is_in_the_journal_the_audit_and_a_note(tmp_path: Path) -> None:
    notes: list[str] = []
    with create(tmp_path, notes) as run:
        run.record(EventKind.BATCH_STARTED, batch=0)
        assert read_run(run.path).batch == 0
    assert notes == ["started 1 move in 1 batch at 1000 bytes a second", "started batch 1"]
    audit = (tmp_path / AUDIT).read_text(encoding="utf-8").splitlines()
    assert [line.endswith(note) for line, note in zip(audit, notes, strict=True)] == [True, True]
    assert (run.path / PLAN).read_text(encoding="utf-8") == "{}"


def test_text_of_a_broker_forges_no_line_of_the_audit(tmp_path: Path) -> None:
    reason = "no\n2026-11-27T00:00:00Z root run completed\x1b[2J\u2028"
    notes: list[str] = []
    with create(tmp_path, notes) as run:
        run.record(EventKind.MOVE_FAILED, partition=["orders", 0], reason=reason)
        assert reason in (run.path / JOURNAL).read_text(encoding="utf-8").encode().decode("unicode_escape")
    assert (tmp_path / AUDIT).read_text(encoding="utf-8").count("\n") == len(notes) == 2
    assert all(text.isprintable() for text in notes)


def test_run_belongs_to_one_process(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        assert running_process(tmp_path) is not None
        with pytest.raises(FolderInUse):
            create(tmp_path)
        with pytest.raises(FolderInUse):
            RunFolder.take_over(run.path, print)
    assert running_process(tmp_path) is None


def test_incomplete_run_prevents_another_one(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        run.record(EventKind.THROTTLING, resource="broker 1", previous={"leader.replication.throttled.rate": None})
        run.record(EventKind.COMPLETED)
    with pytest.raises(ReassignError, match="is not complete"):
        create(tmp_path)
    with RunFolder.take_over(run.path, print) as taken:
        taken.record(EventKind.UNTHROTTLED, resource="broker 1")
    with create(tmp_path) as second:
        assert newest_run(tmp_path) == second.path


def test_line_that_a_crash_cut_off_is_ignored(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        pass
    with (run.path / JOURNAL).open("a", encoding="utf-8") as journal:
        journal.write('{"time": "2026-01-')
    assert read_run(run.path).phase is Phase.MOVING
    with RunFolder.take_over(run.path, print) as taken:
        taken.record(EventKind.BATCH_STARTED, batch=0)
    assert read_run(run.path).batch == 0


@pytest.mark.parametrize("fits", range(0, 120, 7))
def test_events_after_one_that_a_full_disk_cut_off_are_read(tmp_path: Path, fits: int) -> None:
    """The limit of a process on the size of files refuses the rest of a write as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with create(tmp_path, []) as run:
        run.record(EventKind.BATCH_STARTED, batch=0)
        journal = run.path / JOURNAL
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (journal.stat().st_size + fits, limits[1]))
            with pytest.raises(OSError, match="too large"):
                run.record(EventKind.MOVE_FAILED, partition=["orders", 0], reason="r" * 100)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, ignored)
        run.record(EventKind.INTERRUPTED)
        assert read_run(run.path).phase is Phase.INTERRUPTED


def test_run_that_was_killed_before_its_first_event_does_not_count(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        pass
    journal = run.path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-9])
    assert newest_run(tmp_path) is None
    with create(tmp_path) as second:
        assert newest_run(tmp_path) == second.path


def test_empty_journal_is_explained(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        pass
    (run.path / JOURNAL).write_text("", encoding="utf-8")
    with pytest.raises(InvalidJournal, match="has no events: remove the folder"):
        read_run(run.path)


def test_clusters_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cluster_folder(None, "a/b") == tmp_path / "kwire" / "reassign" / "a%2Fb"
    assert cluster_folder(tmp_path, None) == tmp_path / "without-id"
    assert newest_run(tmp_path / "nosuch") is None


def test_run_with_failed_moves_is_a_failure(tmp_path: Path) -> None:
    with create(tmp_path) as run:
        run.record(EventKind.MOVE_FAILED, partition=["orders", 0], reason="the topic does not exist")
        run.record(EventKind.COMPLETED)
    with pytest.raises(Failed, match="1 of 1 partitions could not be moved") as failure:
        finished(run.path)
    [row] = failure.value.rows
    assert (row.failed, row.phase) == (1, "completed")


def test_dry_run_of_a_run_in_progress_names_its_process(tmp_path: Path) -> None:
    with create(tmp_path) as run, pytest.raises(FolderInUse):
        check_not_running(run.path)
    check_not_running(run.path)


@for_rows(
    ("cluster_id", "name"),
    [
        ("OxLJSmVyQDObLBBCZ8iTXg", "OxLJSmVyQDObLBBCZ8iTXg"),
        ("a/b", "a%2Fb"),
        ("a_b", "a_b"),
        ("..", "%2E."),
        (".", "%2E"),
        (None, "without-id"),
    ],
)
def test_each_cluster_has_a_folder_of_its_own(cluster_id: str | None, name: str) -> None:
    assert cluster_folder(Path("/state"), cluster_id) == Path("/state") / name


def test_long_ids_of_clusters_have_short_and_different_names() -> None:
    names = {cluster_folder(Path("/state"), "é" * 500 + end).name for end in ("", "a", "b")}
    assert len(names) == 3
    assert max(map(len, names)) < 255
