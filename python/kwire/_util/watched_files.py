"""Values that are read from files, and again after the files were replaced.

Certificates are renewed while a process runs: a tool replaces the files, or a link to their folder. No signal reaches
the process, so it looks at the files whenever it needs the value, which costs a system call for each of them.
"""

from __future__ import annotations

import logging
import threading

from kwire._util.light_typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["WatchedFiles"]

log = logging.getLogger("kwire")

T = TypeVar("T")


class WatchedFiles(Generic[T]):
    """A value that is read from files.

    While files are replaced one after the other, such as a certificate and its key, they do not belong together. The
    value before stays then, with a warning, and the next change of a file is another attempt.

    Args:
        value: the value of the files as they are.
        files: the files.
        read: reads the value again.
        errors: errors of `read` after which the value before stays. Their texts must not contain secrets.
    """

    def __init__(
        self, value: T, files: Sequence[Path], read: Callable[[], T], errors: tuple[type[Exception], ...]
    ) -> None:
        self._value, self._files, self._read, self._errors = value, tuple(files), read, errors
        self._lock = threading.Lock()
        self._seen = self._state()

    def get(self) -> T:
        """Return the value, from the files as they are now."""
        with self._lock:
            state = self._state()
            if state != self._seen:
                self._seen = state
                names = ", ".join(map(str, self._files))
                try:
                    self._value = self._read()
                except self._errors as error:
                    log.warning("%s changed and cannot be used, what was read before stays: %s", names, error)
                else:
                    log.info("%s changed and was read again", names)
            return self._value

    def _state(self) -> tuple[object, ...]:
        """Return what changes when a file is replaced, also behind a link."""
        states: list[object] = []
        for file in self._files:
            try:
                status = file.stat()
            except OSError:
                states.append(None)
            else:
                states.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return tuple(states)
