"""Object stores and HDFS as a file system of Arrow, through delta-rs.

So every part of kwire reaches them in the same way and with the same credentials, and executors need neither Hadoop's
jars nor libhdfs. Credentials come from the environment of each process, as delta-rs documents them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from deltalake.fs import DeltaStorageHandler


class StorageHandler(DeltaStorageHandler):
    """The handler of delta-rs, accepting Arrow's buffers, and deleting and listing as Arrow's other file systems do."""

    def open_output_stream(self, path: str, metadata: dict[str, str] | None = None) -> pa.PythonFile:
        """Open a file for writing; it exists once it is closed."""
        return pa.PythonFile(_ByteWriter(self._handler.open_output_stream(path, metadata)), mode="w")

    def create_dir(self, path: str, recursive: bool = True) -> None:
        """Do nothing: folders exist with their files."""


class _ByteWriter:
    """Passes on what Arrow writes as bytes: delta-rs takes nothing else."""

    def __init__(self, file: Any) -> None:
        self._file = file

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    def write(self, data: Any) -> int:
        content = bytes(data)
        self._file.write(content)
        return len(content)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()
