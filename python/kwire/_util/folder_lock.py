"""Exclusive ownership of a folder through a lock file.

The operating system releases the lock when its owner ends, so there are no stale locks. The file stays and holds the
process id of its last owner and a number that this owner saved for its successor. A program that inherits the
descriptor shares the ownership until it ends.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from contextlib import suppress

from kwire._util.child_process import is_running
from kwire._util.file_sync import named_errors, sync_file
from kwire._util.light_typing import TYPE_CHECKING
from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["LOCK_FILE", "FolderInUse", "FolderLock"]

LOCK_FILE = "_lock"
"""The name of the lock file."""

FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

LINE_BYTES = 64
"""Maximum number of bytes of the content that are read."""

HELD = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})
"""Errors of a lock that another process holds, by `fcntl` (POSIX) or Windows; any other one is a fault of the file
system."""


class FolderInUse(KwireError, RuntimeError):
    """Another process owns the folder.

    Attributes:
        folder: the folder.
        process_id: the id of the owner, None if unknown.
    """

    def __init__(self, folder: Path, process_id: int | None) -> None:
        super().__init__(folder, process_id)
        self.folder = folder
        self.process_id = process_id

    @property
    def owner(self) -> str:
        """The owner for an error message."""
        return "another process" if self.process_id is None else f"process {self.process_id}"

    def __str__(self) -> str:
        return f"{self.folder} is in use by {self.owner}: stop it first, or use another folder"


class NoFolderLocks(KwireError, OSError):
    """The file system of a folder has no locks.

    Attributes:
        folder: the folder.
    """

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(error.errno, f"{folder}: its file system has no locks (flock, fcntl: {error.strerror})")
        self.folder = folder

    def __str__(self) -> str:
        return f"{self.args[1]}: use a folder on a local disk, or mount it with locks"


class FolderLock:
    """Own a folder from construction until `release`.

    Args:
        folder: the folder, which must exist.
        timeout: seconds to wait for programs that share the lock of an owner that has ended. A running owner is not
            waited for.

    Attributes:
        saved_number: the number that the previous owner saved; 0 by default.

    Raises:
        FolderInUse: another process owns the folder.
        NoFolderLocks: the file system has no locks.
        OSError: the lock file cannot be read or written.
    """

    def __init__(self, folder: Path, *, timeout: float = 0.0) -> None:
        self._path = folder / LOCK_FILE
        self._descriptor = os.open(self._path, FLAGS, 0o644)
        self._process_id = os.getpid()
        try:
            self._acquire(folder, time.monotonic() + timeout)
            _, self.saved_number = self._read()
            self.save_number(self.saved_number)
        except BaseException:
            self.release()
            raise

    def _acquire(self, folder: Path, deadline: float) -> None:
        while True:
            try:
                _lock(self._descriptor)
            except OSError as error:
                if error.errno not in HELD:
                    raise NoFolderLocks(folder, error) from error
                owner, _ = self._read()
                if time.monotonic() < deadline and owner is not None and not is_running(owner):
                    time.sleep(0.02)
                    continue
                raise FolderInUse(folder, owner) from error
            return

    def _read(self) -> tuple[int | None, int]:
        with named_errors(self._path):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            words = os.read(self._descriptor, LINE_BYTES).split()
        numbers = [int(word) for word in words if word.isdigit()]
        return (numbers[0] if numbers else None), (numbers[1] if len(numbers) > 1 else 0)

    def save_number(self, number: int) -> None:
        """Save a number for the next owner.

        Raises:
            OSError: the file cannot be written.
        """
        line = f"{self._process_id:<10} {number:012}\n"  # a fixed length, so the file is never empty
        with named_errors(self._path):
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            if os.write(self._descriptor, line.encode("ascii")) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            sync_file(self._descriptor)

    @property
    def descriptor(self) -> int:
        """The descriptor to pass to programs that share the lock."""
        return self._descriptor

    def release(self) -> None:
        """Release the lock, even if a forked process has the file open. Releasing twice is allowed."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if os.getpid() == self._process_id:  # not in a forked process
            with suppress(OSError):  # the lock of another process
                _unlock(descriptor)
        with suppress(OSError):  # the content was synced, and closing ends the lock whatever it answers
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 1 << 20, os.SEEK_SET)  # after the content: Windows locks block readers
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

    def _unlock(file: int) -> None:
        os.lseek(file, 1 << 20, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                raise
            _lock_description(file, fcntl.F_WRLCK)

    def _lock_description(file: int, kind: int) -> None:
        """Lock like `flock`, by the call of POSIX, which some mounts have alone."""
        if not hasattr(fcntl, "F_OFD_SETLK"):
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0))

    def _unlock(file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_UN)  # closing alone would leave it to a forked process
        except OSError:
            _lock_description(file, fcntl.F_UNLCK)
