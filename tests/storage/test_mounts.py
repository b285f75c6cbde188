"""Mounts that lack an operation: they work without it, or are refused with its name."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from kwire._util.file_sync import sync_file
from kwire._util.folder_lock import FolderInUse, FolderLock, NoFolderLocks
from kwire.storage.preconditions import UnsupportedMount, require_links

UNSUPPORTED = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)


def failing(number: int) -> Any:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", UNSUPPORTED)
def test_folder_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    require_links(tmp_path)
    monkeypatch.setattr(os, "link", failing(number))

    with pytest.raises(UnsupportedMount, match=r"has no link \("):
        require_links(tmp_path)
    assert list(tmp_path.iterdir()) == []


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
