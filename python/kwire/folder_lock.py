"""``FolderLock``: a folder has one owner at a time.

Rules of this file: the system keeps the lock and lets go of it when its owner ends, however that happens, so nothing
stale is ever in the way. The file says who took it, and stays. A program that is given the descriptor owns the folder
too, for as long as it lives.
"""

from __future__ import annotations

import os
import sys
import time
from typing import IO, TYPE_CHECKING

from kwire.child_process import runs
from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FolderInUse", "FolderLock"]


class FolderInUse(KwireError, RuntimeError):
    """Somebody owns the folder. ``folder``; ``process_id``: who took it, None when it did not say."""

    def __init__(self, folder: Path, process_id: int | None) -> None:
        super().__init__(folder, process_id)
        self.folder = folder
        self.process_id = process_id

    def __str__(self) -> str:
        who = f"process {self.process_id}" if self.process_id is not None else "another process"
        return f"{self.folder} is in use by {who}: stop that first, or take another folder"


class FolderLock:
    """Taken when it is made, and held until ``release``.

    ``patience``: seconds to wait for programs that outlive an owner who is gone; one who lives is not waited for.
    Raises FolderInUse.
    """

    def __init__(self, folder: Path, *, patience: float = 0.0) -> None:
        self._file: IO[str] = (folder / "_lock").open("a+", encoding="ascii")
        deadline = time.monotonic() + patience
        while True:
            try:
                _lock(self._file)
                break
            except OSError as error:
                self._file.seek(0)
                written = self._file.read().strip()
                owner = int(written) if written.isdecimal() else None
                if time.monotonic() < deadline and owner is not None and not runs(owner):
                    time.sleep(0.02)
                    continue
                self._file.close()
                raise FolderInUse(folder, owner) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    @property
    def descriptor(self) -> int:
        """For programs that shall own the folder too."""
        return self._file.fileno()

    def release(self) -> None:
        """Let the next owner in; may be called again."""
        if not self._file.closed:
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
