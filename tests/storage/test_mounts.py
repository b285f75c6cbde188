"""Mounts that lack an operation: they work without it, or are refused with its name."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.atomic_file import replace_file
from kwire._util.file_sync import sync_file
from kwire._util.folder_lock import FolderInUse, FolderLock, NoFolderLocks
from kwire._util.mount import MountOperation, UnsupportedMount, require_operations
from kwire.capture import Capture, CaptureWriteError, read
from kwire.capture.errors import CaptureSyncError
from kwire.capture.folder import Segment, sync_directory
from kwire.capture.rows import to_batch
from kwire.capture.segment_roll import roll_segment
from kwire.capture.tail import TailWriter
from tests.capture.sample_rows import metadata, response_row

if TYPE_CHECKING:
    from collections.abc import Callable

UNSUPPORTED = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def failing(number: int) -> Any:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


OPERATIONS = (MountOperation.APPEND, MountOperation.LINK, MountOperation.RENAME)

LACKING = {MountOperation.LINK: "link", MountOperation.RENAME: "replace", MountOperation.UNLINK: "unlink"}
"""Functions of `os` that fail if an operation is missing."""


def lack(monkeypatch: pytest.MonkeyPatch, operation: MountOperation, number: int) -> None:
    """Let an operation of all file systems fail."""
    flag = {MountOperation.APPEND: os.O_APPEND, MountOperation.CREATE: os.O_EXCL}.get(operation)
    real = os.open

    def open_without(path: Any, flags: int, *mode: int, **options: Any) -> int:
        if flag is not None and flags & flag:
            failing(number)()
        return real(path, flags, *mode, **options)

    if flag is None:
        monkeypatch.setattr(os, LACKING[operation], failing(number))
    else:
        monkeypatch.setattr(os, "open", open_without)


@pytest.mark.parametrize("operation", MountOperation)
def test_folder_without_an_operation_is_refused_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: MountOperation
) -> None:
    require_operations(tmp_path, "tests", *OPERATIONS)
    assert list(tmp_path.iterdir()) == []

    for number in UNSUPPORTED[operation is MountOperation.CREATE :]:
        with monkeypatch.context() as patch:
            lack(patch, operation, number)
            with pytest.raises(UnsupportedMount) as refused:
                require_operations(tmp_path, "tests", *OPERATIONS)
        assert refused.value.operation == operation
        assert f"{tmp_path}: its file system has no {operation} (" in str(refused.value)
    assert operation is MountOperation.UNLINK or list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.ESTALE, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("operation", MountOperation)
def test_other_errors_name_the_folder_and_no_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: MountOperation, number: int
) -> None:
    lack(monkeypatch, operation, number)

    with pytest.raises(OSError, match=os.strerror(number)) as refused:
        require_operations(tmp_path, "tests", *OPERATIONS)
    assert refused.value.errno == number
    assert refused.value.filename == str(tmp_path)


@pytest.mark.parametrize("operation", [MountOperation.APPEND, MountOperation.RENAME])
def test_capture_is_refused_at_its_creation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: MountOperation
) -> None:
    lack(monkeypatch, operation, errno.EOPNOTSUPP)

    with pytest.raises(UnsupportedMount, match="which captures need"):
        Capture(tmp_path)


def test_capture_on_a_mount_that_opens_no_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def open_files(path: Any, flags: int, *mode: int, **options: Any) -> int:
        if Path(path).is_dir():
            failing(errno.EISDIR)()
        return real(path, flags, *mode, **options)

    monkeypatch.setattr(os, "open", open_files)
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))

    assert sum(batch.num_rows for batch in read(tmp_path)) == 1


@pytest.mark.parametrize("number", [errno.EIO, errno.EDQUOT, errno.EINTR])
def test_capture_survives_an_error_at_close(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Later segments are still rolled, and the error is raised once."""
    real_open, real_close = os.open, os.close
    tails: set[int] = set()

    def open_tail(path: Any, *options: Any, **more: Any) -> int:
        descriptor = real_open(path, *options, **more)
        if str(path).endswith(".arrows"):
            tails.add(descriptor)
        return descriptor

    def close(descriptor: int) -> None:
        real_close(descriptor)
        if descriptor in tails:
            tails.remove(descriptor)
            failing(number)()

    failures = []
    capture = Capture(tmp_path, roll_bytes=1)
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_tail)
        patch.setattr(os, "close", close)
        for second in range(3):
            try:
                capture.append(response_row(second, metadata(second)))
            except CaptureSyncError as failure:
                failures.append(failure)
                capture.append(response_row(second, metadata(second)))
        try:
            capture.close()
        except CaptureSyncError as failure:
            failures.append(failure)

    assert bool(failures) == (number != errno.EINTR)
    assert not list(tmp_path.glob("_tail*"))
    with Capture(tmp_path) as reopened:
        assert reopened.next_row == 3


def test_stale_handle_of_a_capture_is_an_error_of_each_append(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Capture(tmp_path) as capture:
        capture.append(response_row(0, metadata(1)))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", failing(errno.ESTALE))
            patch.setattr(os, "ftruncate", failing(errno.ESTALE))
            for _ in range(3):
                with pytest.raises(CaptureWriteError, match="Stale file handle"):
                    capture.append(response_row(1, metadata(2)))
        capture.append(response_row(1, metadata(2)))

    assert sum(batch.num_rows for batch in read(tmp_path)) == 2


def test_full_disk_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a name, the error would be taken for one of the output."""
    lock = FolderLock(tmp_path)
    monkeypatch.setattr(os, "write", failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left") as full:
        lock.save_number(1)
    assert full.value.filename == str(tmp_path / "_lock")
    lock.release()
    with pytest.raises(OSError, match="No space left"):
        FolderLock(tmp_path)
    monkeypatch.undo()
    FolderLock(tmp_path).release()

    monkeypatch.setattr(os, "replace", failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left") as full:
        replace_file(tmp_path / "file", "text")
    assert full.value.filename == str(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["_lock"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_lock_without_flock_is_exclusive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(number))
    first = FolderLock(tmp_path)

    with pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
        FolderLock(tmp_path)
    first.release()
    FolderLock(tmp_path).release()


def test_folder_without_locks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))
    monkeypatch.setattr(fcntl, "fcntl", failing(errno.ENOLCK))

    with pytest.raises(NoFolderLocks, match=r"has no locks \(flock, fcntl: No locks available\)"):
        FolderLock(tmp_path)


def test_file_system_without_fsync_is_used_and_an_error_of_the_disk_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "file").open("wb") as file:
        sync_file(file.fileno())
        for number in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            monkeypatch.setattr(os, "fsync", failing(number))
            sync_file(file.fileno())
        monkeypatch.setattr(os, "fsync", failing(errno.EIO))
        with pytest.raises(OSError, match="Input/output"):
            sync_file(file.fileno())


@pytest.mark.parametrize("operation", ["write", "fsync", "ftruncate"])
def test_error_of_a_descriptor_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    tail = TailWriter(tmp_path / "tail", 0)
    tail.create()
    tail.append(to_batch([response_row(1, metadata())]))
    monkeypatch.setattr(os, operation, failing(errno.EIO))

    attempts: dict[str, list[tuple[Callable[[], object], Path]]] = {
        "write": [(lambda: tail.append(to_batch([]), sync=True), tail.path)],
        "fsync": [
            (lambda: tail.append(to_batch([]), sync=True), tail.path),
            (tail.sync, tail.path),
            (lambda: sync_directory(tmp_path), tmp_path),
            (lambda: replace_file(tmp_path / "new", b"", is_synced=True), tmp_path / "new"),
            (lambda: roll_segment(tmp_path, Segment(tail.path, 0)), tmp_path),
        ],
        "ftruncate": [(lambda: tail.truncate(0), tail.path)],
    }
    for attempt, path in attempts[operation]:
        with pytest.raises(OSError, match=f"Input/output error: '{path}"):
            attempt()
