"""The files of a pipeline, and how the files of an ingest appear all at once.

    OUT/bronze/date=YYYY-MM-DD/*.parquet            frames that were ingested as DataFrames
    OUT/silver/<table>/date=YYYY-MM-DD/*.parquet    see `SILVER_SCHEMAS`
    OUT/gold/...                                    docs/gold.md
    OUT/_state/*.parquet                            the state of each broker after an ingest
    OUT/_log/<number>.json                          one record per ingest; the newest has everything that the next needs
    OUT/_staging/<id>/...                           files of an ingest in progress

Executors write files to the staging folder and list them in a manifest. The files count once the record that lists them
is renamed into the log; then they are moved. Opening a store does not change it. The next writer completes or discards
the commit of a crashed driver. Only one driver writes at a time: a lock on local file systems, and the log everywhere,
reject others.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.spark.log import Log, Record, StoreInUse
from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyarrow.fs import FileSystem

LOG, STAGING, STATE = "_log", "_staging", "_state"
FIRST_DATE, EMPTY = "1970-01-01", "empty.parquet"


class BrokenStore(KwireError, RuntimeError):
    """A file in the log is missing; `path` is its place."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is in the log, but neither in its place nor in the staging folder"


class NotAStore(KwireError, ValueError):
    """`out` is a file."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out} is a file: expected a folder for the tables"


def reporter_key(cluster_id: str, broker_id: int, endpoint: str) -> str:
    """Return the key of a reporting broker: its id, or its endpoint while the id is not known."""
    return f"{cluster_id}/{broker_id}" if broker_id >= 0 else f"{cluster_id}/{endpoint}"


def open_file_system(out: str) -> tuple[FileSystem, str]:
    """Return the file system of a URI or local path, and the path in it."""
    from pathlib import Path

    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" in out:
        system, path = FileSystem.from_uri(out)
        return system, path.rstrip("/")
    return LocalFileSystem(), str(Path(out).absolute())


def parquet_files(system: FileSystem, root: str, folder: str) -> list[str]:
    """Return the sorted paths of the parquet files below a folder of `root`, relative to `root`."""
    from pyarrow.fs import FileSelector, FileType

    found = system.get_file_info(FileSelector(f"{root}/{folder}", allow_not_found=True, recursive=True))
    paths = (info.path.lstrip("/") for info in found if info.type == FileType.File)
    return sorted(path.removeprefix(f"{root}/".lstrip("/")) for path in paths if path.endswith(".parquet"))


class Store:
    """The driver's view of the store.

    `record` is the newest record when the store was opened, or the last one that this object wrote.

    Raises:
        NotAStore: `out` is a file.
    """

    def __init__(self, out: str) -> None:
        self.out = out
        self._system, self._root = open_file_system(out)
        self._log = Log(self._system, f"{self._root}/{LOG}", out)
        self._writing = threading.Lock()
        self._settled = -1  # number of the last record that is completely applied
        self._make_folders()
        self.record = self._log.newest()

    @contextmanager
    def writing(self) -> Iterator[str]:
        """Begin an ingest: update `record`, and create a staging folder, which is deleted unless it is committed.

        Threads that share the store wait for one another.

        Yields:
            The staging folder, relative to the store.

        Raises:
            StoreInUse: another process writes.
            BrokenStore: files of the newest record are missing.
        """
        with self._writing, self._locked(), self._log.claimed() as newest:
            self.record = newest
            if newest.staging and newest.number != self._settled:
                self._apply(newest)
            self._system.delete_dir_contents(f"{self._root}/{STAGING}", missing_dir_ok=True)
            staging = f"{STAGING}/{uuid.uuid4().hex}"
            self._system.create_dir(f"{self._root}/{staging}")
            try:
                yield staging
            finally:
                if self.record.staging != staging and self._exists(staging):
                    self._system.delete_dir(f"{self._root}/{staging}")

    def commit(self, record: Record) -> None:
        """Write the next record and move its files into place.

        Raises:
            StoreInUse: another writer has removed the files.
        """
        staged = (path for path, _ in record.moves)
        if not all(self._exists(path) for path in staged):
            raise StoreInUse(self.out)
        self._log.write(record)
        self.record = record
        self._apply(record)

    def files(self, folder: str) -> list[str]:
        """Return the sorted paths of the parquet files below a folder, relative to the store."""
        return parquet_files(self._system, self._root, folder)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from pathlib import Path

        from pyarrow.fs import LocalFileSystem

        from kwire.folder_lock import FolderInUse, FolderLock

        if not isinstance(self._system, LocalFileSystem):
            yield
            return
        try:
            lock = FolderLock(Path(self._root))
        except FolderInUse as error:
            raise StoreInUse(self.out, error.process_id) from error
        try:
            yield
        finally:
            lock.release()

    def _make_folders(self) -> None:
        """Create an empty file in each table, so that every table can be read before the first ingest.

        An existing store is not changed: a reader may not be allowed to write.
        """
        import pyarrow.parquet as pq
        from pyarrow.fs import FileType

        from kwire.capture import SCHEMA

        if self._system.get_file_info(self._root).type == FileType.File:
            raise NotAStore(self.out)
        schemas: dict[str, pa.Schema] = {f"silver/{name}": table.arrow for name, table in SILVER_SCHEMAS.items()}
        schemas["bronze"] = SCHEMA
        for folder, schema in schemas.items():
            place = f"{folder}/date={FIRST_DATE}"
            if not self._exists(f"{place}/{EMPTY}"):
                self._system.create_dir(f"{self._root}/{place}")
                pq.write_table(schema.empty_table(), f"{self._root}/{place}/{EMPTY}", filesystem=self._system)
        for folder in (LOG, STAGING, STATE):
            if not self._exists(folder):
                self._system.create_dir(f"{self._root}/{folder}")

    def _apply(self, record: Record) -> None:
        """Move and delete the files of a record. It can be repeated after it was interrupted."""
        for staged, place in record.moves:
            if self._exists(staged):
                self._system.create_dir(f"{self._root}/{place}".rpartition("/")[0])
                self._system.move(f"{self._root}/{staged}", f"{self._root}/{place}")
            elif not self._exists(place):
                raise BrokenStore(place)
        for path in record.removed:
            if self._exists(path):
                self._system.delete_file(f"{self._root}/{path}")
        if self._exists(record.staging):
            self._system.delete_dir(f"{self._root}/{record.staging}")
        self._settled = record.number

    def _exists(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(f"{self._root}/{path}").type != FileType.NotFound)
