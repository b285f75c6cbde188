"""Places of tables and captures: one folder or file, as Spark, delta-rs, and Arrow spell it.

| given | Spark reads | delta-rs and Arrow read |
|---|---|---|
| `/x`, `x`, `file:/x`, `file:///x` | `/x` | `/x` |
| `s3:`, `s3a:`, `s3n:` | `s3a:` | `s3:` |
| `hdfs:`, `abfss:`, `abfs:`, `gs:` | as given | as given |
| `dbfs:/x` | `dbfs:/x` | `/dbfs/x` |
"""

from __future__ import annotations

import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from kwire.errors import KwireError

if TYPE_CHECKING:
    from pyarrow import NativeFile
    from pyarrow.fs import FileSystem

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):(.*)", re.DOTALL)
_UNREADABLE = re.compile("[\\0\ud800-\udfff]")
"""NUL, and the bytes of a name that are not UTF-8, as Python represents them."""
_CONTROL = re.compile(r"[\x01-\x1f\x7f]")
_S3 = frozenset({"s3", "s3a", "s3n"})
_AS_GIVEN = frozenset({"hdfs", "abfs", "abfss", "gs"})


class UnsupportedLocation(KwireError, ValueError):
    """kwire cannot keep tables or captures at `location`."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(location, reason)
        self.location = location
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.location}: {self.reason}"


def not_visible(folder: str) -> UnsupportedLocation:
    """Return the error of an executor on a machine that does not see a folder of the driver."""
    return UnsupportedLocation(
        folder,
        f"the executor on {platform.node()} does not see this folder of the driver: use a file system that all machines"
        " share, or the URI of an object store or HDFS",
    )


@dataclass(frozen=True, slots=True)
class Location:
    """A folder or a file.

    Attributes:
        given: as the user wrote it, for messages.
        spark: as Spark reads it.
        native: as delta-rs and Arrow read it: an absolute path, or a URI.
    """

    given: str
    spark: str
    native: str

    @classmethod
    def parse(cls, location: object, *, any_name: bool = False) -> Location:
        """Resolve a path or URI.

        Args:
            location: the path or URI.
            any_name: accept names that delta-rs cannot open, for folders without tables.

        Raises:
            UnsupportedLocation: the scheme is not supported, the name contains a character that Arrow or delta-rs does
                not take, or another folder would be opened: the name contains an escape such as %20, or for a URI or
                delta-rs another character that has a meaning there.
        """
        given = str(location)
        if found := _UNREADABLE.search(given):
            raise UnsupportedLocation(
                given, f"the name contains {found[0]!r}, which Arrow cannot open: rename the folder in UTF-8"
            )
        match = _SCHEME.fullmatch(given)
        scheme = match[1].lower() if match else "file"
        rest = given if match is None else match[2]
        trimmed = given.rstrip("/")
        if scheme == "file":
            uri_path = "/" + unquote(re.sub(r"^//[^/]*", "", rest)).lstrip("/")
            path = str(Path(given).absolute() if match is None else Path(uri_path))
            if not any_name and re.search("%[0-9a-fA-F]{2}", path):
                raise UnsupportedLocation(given, "delta-rs cannot open a folder with a percent escape in its name")
            if not any_name and "\\" in path:
                raise UnsupportedLocation(given, "delta-rs takes the backslash in the name of a folder for a slash")
            if not any_name and (found := _CONTROL.search(path)):
                raise UnsupportedLocation(
                    given, f"delta-rs cannot open a folder with {found[0]!r} in its name: rename the folder"
                )
            return cls(given, path, path)
        if scheme in _S3 | _AS_GIVEN:
            _check_uri(given, rest)
        if scheme in _S3:
            tail = trimmed.partition(":")[2]
            return cls(given, f"s3a:{tail}", f"s3:{tail}")
        if scheme in _AS_GIVEN:
            return cls(given, trimmed, trimmed)
        if scheme == "dbfs":
            path = "/" + rest.strip("/")
            return cls(given, f"dbfs:{path}", f"/dbfs{path}")
        raise UnsupportedLocation(given, f"expected a path or file:, s3a:, hdfs:, abfss:, gs:, or dbfs:, got {scheme}:")

    @property
    def is_path(self) -> bool:
        """True for a path of the operating system, also one of a mounted or shared file system."""
        return self.native.startswith("/")

    def child(self, name: str) -> Location:
        """Return a folder or file below this one."""
        return Location(f"{self.given.rstrip('/')}/{name}", f"{self.spark}/{name}", f"{self.native}/{name}")

    def kind(self) -> Literal["folder", "file"] | None:
        """Return the kind of the location; None if nothing exists. Folders of object stores exist with their files."""
        if self.is_path:
            path = Path(self.native)
            return "folder" if path.is_dir() else "file" if path.exists() else None
        from pyarrow.fs import FileSelector, FileType

        parent, _, name = self.native.rpartition("/")
        if name and not parent.endswith("/"):
            info = Location(parent, parent, parent).files().get_file_info(name)
            if info.type == FileType.File:
                return "file"
        listed = self.files().get_file_info(FileSelector("", allow_not_found=True, recursive=False))
        return "folder" if listed else None

    def open(self) -> NativeFile:
        """Open a file for random access."""
        from pyarrow.fs import LocalFileSystem

        if self.is_path:
            return LocalFileSystem().open_input_file(self.native)
        parent, _, name = self.native.rpartition("/")
        return Location(parent, parent, parent).files().open_input_file(name)

    def files(self) -> FileSystem:
        """Return the file system of Arrow with this folder as its root; a path is created.

        Raises:
            NoCredentials: there are no credentials for S3.
        """
        from pyarrow.fs import LocalFileSystem, PyFileSystem, SubTreeFileSystem

        if self.is_path:
            return SubTreeFileSystem(self.native, LocalFileSystem())
        from kwire.storage.object_storage import StorageHandler
        from kwire.storage.preconditions import require_credentials

        require_credentials(self.native)
        return PyFileSystem(StorageHandler(self.native))


def _check_uri(given: str, rest: str) -> None:
    """Check that delta-rs, Spark, and Arrow take the text after a scheme for the same folder.

    Raises:
        UnsupportedLocation: delta-rs parses it as a URL, in which a character of it has a meaning of its own.
    """
    found = next((sign for sign in rest if sign in "#?%\\" or not sign.isprintable()), None)
    if found is not None:
        raise UnsupportedLocation(given, f"the name of a folder in a URI cannot contain {found!r}")
    if not re.match("//" if given.lower().startswith("hdfs:") else "//[^/]", rest):
        scheme = given.partition(":")[0]
        raise UnsupportedLocation(given, f"expected {scheme}://BUCKET/FOLDER, with two slashes and a bucket")
    names = rest.removeprefix("//").rstrip("/").split("/")
    if any(name in {"", ".", ".."} for name in names[1:]):
        raise UnsupportedLocation(given, "a folder in a URI needs a name between slashes, other than '.' and '..'")
