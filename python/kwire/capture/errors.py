"""What can be wrong with a capture, and what each error carries.

Rules of this file: an error of the operating system stays the cause (``__cause__``) of ours, which adds what became of
the rows: an append that raises has stored nothing, a file that could not be closed is still there as a tail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.folder_lock import FolderInUse

if TYPE_CHECKING:
    from pathlib import Path


class CaptureError(KwireError):
    """The base of what is raised about captures."""


class NotACapture(CaptureError, LookupError):
    """There is no such folder, or it holds a file that no capture has. ``path``: which."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnreadableCapture(CaptureError, ValueError):
    """What is there does not make rows of a capture. ``path``: the file, None when it was a table."""

    def __init__(self, path: Path | None, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return self.reason if self.path is None else f"{self.path}: {self.reason}"


class CaptureInUse(CaptureError, FolderInUse):
    """Another writer has the folder. ``folder``; ``process_id``: the writer's, None when it did not say."""

    def __str__(self) -> str:
        return f"{self.folder} is being written by {self.owner}: a capture has one writer at a time"


class CaptureWriteError(CaptureError, OSError):
    """Rows that could not be written, and are not in the capture. ``path``: the tail; ``rows``: how many."""

    def __init__(self, path: Path, rows: int, reason: str) -> None:
        super().__init__(path, rows, reason)
        self.path = path
        self.rows = rows
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.rows} rows not written: {self.reason}"


class SegmentRollError(CaptureError, OSError):
    """A tail that could not be made a parquet file. Its rows are safe where they are (``path``), readers find them
    there, and closing is tried again with the next file.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: cannot be closed into a parquet file: {self.reason}"


class CaptureSyncError(CaptureError, OSError):
    """A tail that could not be forced to disk: what was appended lately would not survive a loss of power. ``path``."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: cannot be forced to disk: {self.reason}"


class NoFullFrame(CaptureError, ValueError):
    """A row that says 'same' where nothing stands that it could be the same as. ``polled_at``, ``endpoint``."""

    def __init__(self, polled_at: object, endpoint: str | None) -> None:
        super().__init__(polled_at, endpoint)
        self.polled_at = polled_at
        self.endpoint = endpoint

    def __str__(self) -> str:
        return f"the row of {self.polled_at} from {self.endpoint} is 'same', and there is no full frame before it"
