"""``FolderLock``: a folder has one owner at a time.

Rules of this file: the system keeps the lock and lets go of it when its owner ends, however that happens, so nothing
stale is ever in the way. The file stays, and says who took it last and what number that owner left for the next. A
program that is given the descriptor owns the folder too, for as long as it lives.
"""

from __future__ import annotations

import os
import sys
import time
from typing import IO, TYPE_CHECKING

from kwire.child_process import is_running
from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LOCK_FILE", "FolderInUse", "FolderLock"]

LOCK_FILE = "_lock"
"""The file's name."""


class FolderInUse(KwireError, RuntimeError):
    """Somebody owns the folder. ``folder``; ``process_id``: who took it, None when it did not say."""

    def __init__(self, folder: Path, process_id: int | None) -> None:
        super().__init__(folder, process_id)
        self.folder = folder
        self.process_id = process_id

    @property
    def owner(self) -> str:
        """The other one, in words."""
        return "another process" if self.process_id is None else f"process {self.process_id}"

    def __str__(self) -> str:
        return f"{self.folder} is in use by {self.owner}: stop that first, or take another folder"


class FolderLock:
    """Taken when it is made, and held until ``release``.

    ``timeout``: seconds to wait for programs that outlive an owner who is gone; one who lives is not waited for.
    ``saved_number``: the number that the owner before left, 0 for none.
    Raises FolderInUse.
    """

    def __init__(self, folder: Path, *, timeout: float = 0.0) -> None:
        opened = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
        self._file: IO[str] = os.fdopen(opened, "r+", encoding="ascii", errors="replace")
        self._process_id = os.getpid()
        deadline = time.monotonic() + timeout
        while True:
            try:
                _lock(self._file)
                break
            except OSError as error:
                owner, _ = self._read()
                if time.monotonic() < deadline and owner is not None and not is_running(owner):
                    time.sleep(0.02)
                    continue
                self._file.close()
                raise FolderInUse(folder, owner) from error
        _, self.saved_number = self._read()
        self.save_number(self.saved_number)

    def _read(self) -> tuple[int | None, int]:
        self._file.seek(0)
        numbers = [int(word) for word in self._file.read().split() if word.isdecimal()]
        return (numbers[0] if numbers else None), (numbers[1] if len(numbers) > 1 else 0)

    def save_number(self, number: int) -> None:
        """Write down who has the folder, and a number for the next owner. Raises OSError."""
        self._file.seek(0)
        self._file.write(f"{self._process_id:<10} {number:012}\n")  # as long as before: there is no moment without
        self._file.flush()
        os.fsync(self._file.fileno())

    @property
    def descriptor(self) -> int:
        """For programs that shall own the folder too."""
        return self._file.fileno()

    def release(self) -> None:
        """Let the next owner in, also when a fork of this process has the file too; may be called again."""
        if not self._file.closed:
            if os.getpid() == self._process_id:  # and not in such a one
                _unlock(self._file)
            self._file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        file.seek(1 << 20)  # beyond what a reader of the process id wants, since such locks keep readers out
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(file: IO[str]) -> None:
        file.seek(1 << 20)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)  # closing alone would leave it to a copy of us that was forked meanwhile
