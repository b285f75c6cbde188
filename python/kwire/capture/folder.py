"""The files of a capture and their names.

    OUT/
      date=2026-11-21/part-20261121T014732.955674Z-20261121T015732.560911Z-000000000000.parquet    closed segment
      date=2026-11-21/part-20261121T015732.961120Z-20261121T020733.055801Z-000000003712.parquet    closed segment
      _tail-000000007430.arrows                                                                    open tail
      _lock

A segment is identified by the number of its first row, counted over all rows ever appended to the folder except carried
ones. The name of a closed segment also has the times of its earliest and latest poll. Rolling converts a tail to the
closed segment of the same number; while both exist, readers use the closed segment. Spark, Hive, and pyarrow ignore
names that start with an underscore.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire._util.file_sync import named_errors, sync_file
from kwire._util.mount import MountOperation, require_operations
from kwire.capture.errors import NotACapture, UnreadableCapture
from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyarrow.fs import FileSystem

_CLOSED = re.compile(r"part-(\d{8}T\d{6}\.\d{6})Z-(\d{8}T\d{6}\.\d{6})Z-(\d+)\.parquet")
_TAIL = re.compile(r"_tail-(\d+)\.arrows")
_TIME = "%Y%m%dT%H%M%S.%f"
SEGMENT_NAME = "kwire.segment"
"""Key of the footer of a closed segment with its name, by which a renamed file is recognized."""

PARTIAL_SUFFIX = ".writing"
"""Suffix of a file that is being written and will be renamed when it is complete."""


@dataclass(frozen=True)
class RemoteFolder:
    """A folder of an object store or of HDFS; it has closed segments only, because no file there grows.

    Attributes:
        uri: the native URI of its `Location`.
    """

    uri: str

    def list(self) -> list[Path]:
        """Return all files, relative to the folder; an empty list if it does not exist."""
        from pyarrow.fs import FileSelector

        listed = _file_system(self.uri).get_file_info(FileSelector("", allow_not_found=True, recursive=True))
        return [Path(info.path) for info in listed]

    def open(self, path: Path) -> Any:
        """Open a file for random access."""
        return _file_system(self.uri).open_input_file(path.as_posix())

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        return int(_file_system(self.uri).get_file_info(path.as_posix()).size)


@cache
def _file_system(uri: str) -> FileSystem:
    return Location.parse(uri).files()


class Segment(NamedTuple):
    """One file of a capture.

    Attributes:
        path: the file; in `storage`, relative to its URI.
        first_row: the number of its first row that is not carried.
        first_time: the time of its earliest poll, without carried rows; None for a tail.
        last_time: the time of its latest poll, likewise.
        storage: the remote folder of the file; None on this machine.
    """

    path: Path
    first_row: int
    first_time: datetime | None = None
    last_time: datetime | None = None
    storage: RemoteFolder | None = None

    def open(self) -> Any:
        """Return what Arrow reads: the path, or an open file."""
        return self.path if self.storage is None else self.storage.open(self.path)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.path.stat().st_size if self.storage is None else self.storage.size(self.path)

    @property
    def is_closed(self) -> bool:
        """True for a Parquet file, which never changes again."""
        return self.first_time is not None


def segments(folder: Path | str) -> tuple[Segment, ...]:
    """Return the segments of a capture in the order of their rows.

    Args:
        folder: a path, or a URI such as `s3://bucket/capture`; only closed segments are in an object store or HDFS.

    Raises:
        NotACapture: the folder does not exist, or a URI has no closed segments.
        UnreadableCapture: two segments begin with the same row.
        UnsupportedLocation: the scheme of the URI is not supported.
    """
    if isinstance(folder, str):
        location = Location.parse(folder, any_name=True)
        if not location.is_path:
            return _remote_segments(location.native)
        folder = Path(location.native)
    tails = {segment.first_row: segment for segment in _tails(folder)}
    closed = _by_number(_closed(folder))  # listed last: a tail may be rolled meanwhile
    both = tails | closed
    return tuple(both[number] for number in sorted(both))


def _remote_segments(uri: str) -> tuple[Segment, ...]:
    remote = RemoteFolder(uri)
    parsed = (parse_closed(path, remote) for path in remote.list())
    closed = _by_number(segment for segment in parsed if segment is not None)
    if not closed:
        raise NotACapture(uri, "no capture here: no closed segment")
    return tuple(closed[number] for number in sorted(closed))


def _by_number(closed: Iterable[Segment]) -> dict[int, Segment]:
    """Return closed segments by the number of their first row. A copy of a segment in another folder counts once.

    Raises:
        UnreadableCapture: two segments have the same number.
    """
    by_number: dict[int, Segment] = {}
    for segment in closed:
        other = by_number.setdefault(segment.first_row, segment)
        if other.path.name != segment.path.name:
            reason = (
                f"begins with row {segment.first_row:,}, as {other.path.name} does: one of them is of another capture"
            )
            raise UnreadableCapture(segment.path, reason)
    return by_number


def check_writable(folder: Path) -> None:
    """Check that a folder is a capture, or empty apart from names that a capture may leave behind.

    Raises:
        NotACapture: the folder contains something else.
        UnsupportedMount: a new capture cannot be in this folder.
        OSError: the folder cannot be written.
    """
    if segments(folder):
        return
    for name in sorted(path.name for path in folder.iterdir()):
        if not name.startswith(("_", ".", "date=")):
            raise NotACapture(folder, f"the folder is neither empty nor a capture: it contains {name!r}")
    require_operations(folder, "captures", MountOperation.APPEND, MountOperation.RENAME)


def tails(folder: Path) -> list[Segment]:
    """Return all tails in order, including tails that already have a closed segment."""
    return sorted(_tails(folder), key=lambda segment: segment.first_row)


def _tails(folder: Path) -> list[Segment]:
    if not folder.is_dir():
        raise NotACapture(folder, "the folder does not exist")
    matches = ((path, _TAIL.fullmatch(path.name)) for path in folder.iterdir())
    return [Segment(path, int(match[1])) for path, match in matches if match]


def _closed(folder: Path) -> list[Segment]:
    parsed = (parse_closed(path) for path in folder.glob("date=*/part-*.parquet"))
    return [segment for segment in parsed if segment is not None]


def parse_closed(path: Path, storage: RemoteFolder | None = None) -> Segment | None:
    """Return the closed segment with that path; None if it has another name."""
    match = _CLOSED.fullmatch(path.name)
    return match and Segment(path, int(match[3]), _parse_time(match[1]), _parse_time(match[2]), storage)


def _parse_time(text: str) -> datetime:
    return datetime.strptime(text, _TIME).replace(tzinfo=UTC)


def tail_path(folder: Path, first_row: int) -> Path:
    """Return the path of the tail that starts with that row."""
    return folder / f"_tail-{first_row:012}.arrows"


def closed_path(folder: Path, first_row: int, times: tuple[datetime, datetime]) -> Path:
    """Return the path of the closed segment that starts with that row.

    Args:
        folder: the capture.
        first_row: the number of the segment's first row.
        times: the times of its earliest and latest poll.
    """
    first, last = (time.astimezone(UTC) for time in times)
    name = f"part-{_format_time(first)}Z-{_format_time(last)}Z-{first_row:012}.parquet"
    return folder / f"date={first.date().isoformat()}" / name


def _format_time(time: datetime) -> str:
    return f"{time.year:04}{time:%m%dT%H%M%S.%f}"  # some platforms do not pad %Y


def sync_directory(folder: Path) -> None:
    """Sync created and renamed entries of a directory to disk, on platforms and file systems that support it."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except (IsADirectoryError, PermissionError):  # a mount on which directories are listed, but not opened
        return
    try:
        with named_errors(folder):
            sync_file(descriptor)
    finally:
        os.close(descriptor)
