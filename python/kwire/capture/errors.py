"""Errors of captures.

An error of the operating system is kept as `__cause__`. An append that raises has stored nothing; a tail that could not
be rolled keeps its rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire._util.folder_lock import FolderInUse
from kwire._util.readable import counted
from kwire.errors import KwireError

if TYPE_CHECKING:
    from pathlib import Path


class CaptureError(KwireError):
    """The base class of errors about captures."""


class CaptureFileError(CaptureError):
    """An error of a file or a folder.

    Attributes:
        path: the file or folder, or the URI of a location; None for a table.
        reason: the reason: what is there instead, the fault, or the error of the operating system.
    """

    TEXT = "{path}: {reason}"

    def __init__(self, path: Path | str | None, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return self.reason if self.path is None else self.TEXT.format(path=self.path, reason=self.reason)


class NotACapture(CaptureFileError, LookupError):
    """The folder does not exist or is not a capture."""


class UnreadableCapture(CaptureFileError, ValueError):
    """A file or table cannot be read as rows of a capture."""


class UploadConflict(CaptureError, LookupError):
    """Another capture was uploaded to a location.

    Attributes:
        location: the path or URI.
        segment: the name of its segment with rows that the uploaded capture has too.
    """

    def __init__(self, location: str, segment: str) -> None:
        super().__init__(location, segment)
        self.location = location
        self.segment = segment

    def __str__(self) -> str:
        return (
            f"{self.location} has another capture: {self.segment} is not one of this capture; expected another location"
        )


class CaptureInUse(CaptureError, FolderInUse):
    """Another process is writing the capture.

    Attributes:
        folder: the folder.
        process_id: the id of the other process, None if unknown.
    """

    def __str__(self) -> str:
        return f"{self.folder} is being written by {self.owner}: a capture has one writer at a time"


class CaptureWriteError(CaptureError, OSError):
    """Rows could not be written and are not in the capture.

    Attributes:
        path: the tail, or the folder if no tail could be created.
        rows: the number of rows.
        reason: the error of the operating system.
    """

    def __init__(self, path: Path, rows: int, reason: str) -> None:
        super().__init__(path, rows, reason)
        self.path = path
        self.rows = rows
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {counted(self.rows, 'row')} not written: {self.reason}"


class SegmentRollError(CaptureFileError, OSError):
    """A tail could not be converted to a parquet file.

    Its rows stay in the tail, where readers find them. The writer retries with the next segment.
    """

    TEXT = "{path}: cannot be converted to a parquet file: {reason}"


class CaptureSyncError(CaptureFileError, OSError):
    """A tail could not be synced to disk, so a power failure would lose its latest rows."""

    TEXT = "{path}: cannot be synced to disk: {reason}"


class NoFullFrame(CaptureError, ValueError):
    """A row of kind 'same' has no full frame before it.

    Attributes:
        polled_at: the time of the row.
        endpoint: the endpoint of the row.
    """

    def __init__(self, polled_at: object, endpoint: str | None) -> None:
        super().__init__(polled_at, endpoint)
        self.polled_at = polled_at
        self.endpoint = endpoint

    def __str__(self) -> str:
        return f"the row of {self.polled_at} from {self.endpoint} has kind 'same', but no full frame precedes it"
