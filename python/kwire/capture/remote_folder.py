"""Captures in an object store or HDFS, which have closed segments only: no file there grows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.storage.location import Location

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem


@dataclass(frozen=True)
class RemoteFolder:
    """A place that is not a path of this machine; `uri` is the native one of its `Location`."""

    uri: str

    def list(self) -> list[Path]:
        """Return all files, relative to the place; none if it does not exist."""
        from pyarrow.fs import FileSelector

        listed = _files(self.uri).get_file_info(FileSelector("", allow_not_found=True, recursive=True))
        return [Path(info.path) for info in listed]

    def open(self, path: Path) -> Any:
        """Open a file for random access."""
        return _files(self.uri).open_input_file(path.as_posix())

    def size(self, path: Path) -> int:
        """Return the size of a file in bytes."""
        return int(_files(self.uri).get_file_info(path.as_posix()).size)


@cache
def _files(uri: str) -> FileSystem:
    return Location.parse(uri).files()
