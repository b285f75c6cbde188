"""A folder's lock: held by one, told with its process, and free as soon as all that hold it are gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kwire.child_process import is_running
from kwire.folder_lock import FolderInUse, FolderLock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWNER = (
    "import subprocess, sys; from pathlib import Path; from kwire.folder_lock import FolderLock\n"
    "lock = FolderLock(Path(sys.argv[1]))\n"
    "program = subprocess.Popen(['/bin/sleep', sys.argv[2]], pass_fds=[lock.descriptor], stdout=subprocess.DEVNULL)\n"
    "print(program.pid, flush=True); sys.stdin.read()\n"
)


@contextmanager
def an_owner(folder: Path, seconds: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Its process, and that of a program to which it gave the lock and which lives for so many seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), seconds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        program = int(owner.stdout.readline())
        try:
            yield owner, program
        finally:
            owner.kill()


def killed(owner: subprocess.Popen[str]) -> None:
    """And nobody waits for it, so that its process id stays."""
    owner.kill()
    deadline = time.monotonic() + 60
    while is_running(owner.pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_second_is_told_who_was_first(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(FolderInUse, match=rf"in use by process {os.getpid()}") as refused:
        FolderLock(tmp_path, timeout=60)  # who lives is not waited for
    assert (refused.value.folder, refused.value.process_id) == (tmp_path, os.getpid())
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_a_program_that_outlives_the_owner_keeps_the_folder(tmp_path: Path) -> None:
    with an_owner(tmp_path, "600") as (owner, program):
        killed(owner)
        try:
            with pytest.raises(FolderInUse, match=f"process {owner.pid}"):
                FolderLock(tmp_path, timeout=0.2)
        finally:
            os.kill(program, signal.SIGKILL)


def test_such_a_program_is_waited_for(tmp_path: Path) -> None:
    with an_owner(tmp_path, "1") as (owner, _):
        killed(owner)
        FolderLock(tmp_path, timeout=60).release()


def test_a_copy_of_the_owner_that_was_forked_does_not_keep_the_folder(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    copy = os.dup(lock.descriptor)  # a fork has one like it
    lock.release()
    FolderLock(tmp_path).release()
    os.close(copy)
