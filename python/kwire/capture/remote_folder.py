"""Captures in any place: the segments of a folder of this machine, or of an object store or HDFS.

Only closed segments are in an object store, since it has no files that grow (`capture_upload`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.capture.errors import NotACapture
from kwire.capture.folder import Segment, parse_closed, segments
from kwire.spark.location import Location, not_visible

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


@dataclass(frozen=True)
class RemoteFolder:
    """A place that is not a path of this machine; `uri` is the native one of its `Location`."""

    uri: str

    def open(self, path: Path) -> Any:
        """Open a file for random access."""
        return _files(self.uri).open_input_file(path.as_posix())

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        return int(_files(self.uri).get_file_info(path.as_posix()).size)


@cache
def _files(uri: str) -> FileSystem:
    return Location.parse(uri).files()


def capture_location(folder: object) -> str:
    """Return the one spelling under which the log keeps the place of a capture: an absolute path, or a URI.

    Raises:
        UnsupportedLocation: the scheme is not supported.
    """
    return Location.parse(folder, any_name=True).native


def capture_segments(folder: str) -> tuple[Segment, ...]:
    """Return the segments of a capture in the order of their rows.

    Args:
        folder: as `capture_location` returns it.

    Raises:
        NotACapture: the folder does not exist, or the place has no segments.
    """
    if folder.startswith("/"):
        return segments(folder)
    from pyarrow.fs import FileSelector

    remote = RemoteFolder(folder)
    listed = _files(folder).get_file_info(FileSelector("", allow_not_found=True, recursive=True))
    found = [parse_closed(Path(info.path), remote) for info in listed]
    closed = sorted((segment for segment in found if segment is not None), key=lambda segment: segment.first_row)
    if not closed:
        raise NotACapture(Path(folder), "the place has no closed segments of a capture")
    return tuple(closed)


def visible_segments(folder: str) -> tuple[Segment, ...]:
    """Return the segments of a capture in an executor.

    Raises:
        UnsupportedLocation: this machine does not see the folder, although the driver does.
    """
    try:
        return capture_segments(folder)
    except NotACapture:
        raise not_visible(folder) from None
