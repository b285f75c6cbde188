"""`FolderLock`: one owner at a time, released when every process that holds it has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from kwire._util.child_process import is_running
from kwire._util.folder_lock import FolderInUse, FolderLock
from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWNER = (
    "import subprocess, sys; from pathlib import Path; from kwire._util.folder_lock import FolderLock\n"
    "lock = FolderLock(Path(sys.argv[1]))\n"
    "program = subprocess.Popen(['/bin/sleep', sys.argv[2]], pass_fds=[lock.descriptor], stdout=subprocess.DEVNULL)\n"
    "print(program.pid, flush=True); sys.stdin.read()\n"
)


@contextmanager
def running_owner(folder: Path, seconds: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start an owner that shares its lock with a `sleep` program; yield its process and the program's id."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), seconds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        program = int(owner.stdout.readline())
        try:
            yield owner, program
        finally:
            owner.kill()


def kill_without_wait(owner: subprocess.Popen[str]) -> None:
    """Kill the owner without reaping it, so that its process id stays in use."""
    owner.kill()
    eventually_sync(lambda: not is_running(owner.pid), "the owner is dead", within=60)


def test_second_owner_is_rejected(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(FolderInUse, match=rf"in use by process {os.getpid()}") as caught:
        FolderLock(tmp_path, timeout=60)  # a running owner is not waited for
    assert (caught.value.folder, caught.value.process_id) == (tmp_path, os.getpid())
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_program_that_outlives_the_owner_keeps_the_lock(tmp_path: Path) -> None:
    with running_owner(tmp_path, "600") as (owner, program):
        kill_without_wait(owner)
        try:
            with pytest.raises(FolderInUse, match=f"process {owner.pid}"):
                FolderLock(tmp_path, timeout=0.2)
        finally:
            os.kill(program, signal.SIGKILL)


def test_program_that_outlives_the_owner_is_waited_for(tmp_path: Path) -> None:
    with running_owner(tmp_path, "1") as (owner, _):
        kill_without_wait(owner)
        FolderLock(tmp_path, timeout=60).release()


def test_duplicate_descriptor_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    copy = os.dup(lock.descriptor)  # as a forked process has
    lock.release()
    FolderLock(tmp_path).release()
    os.close(copy)
