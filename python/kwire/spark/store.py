"""Where the pipeline's tables lie, and how an ingest appears in them all at once.

    OUT/bronze/date=YYYY-MM-DD/*.parquet            rows of captures that came as DataFrames
    OUT/silver/<table>/date=YYYY-MM-DD/*.parquet    see `SILVER_SCHEMAS`
    OUT/gold/...                                    docs/gold.md
    OUT/_state/*.parquet                            what each broker had told when an ingest ended
    OUT/_log/<number>.json                          one record an ingest; the newest holds all that is needed to go on
    OUT/_staging/<id>/...                           files of an ingest under way

Rules of this file: executors write whole files into the staging folder and say which; the record in the log, renamed
into place, is the moment at which they count; then they are moved. Opening a store only looks. Whoever writes next,
moves what a killed driver left unmoved, and removes what was never recorded. One driver writes at a time: on a local
file system a lock keeps others out, and everywhere the log lets only the last one that began have its record.
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
    """The folder is not as the log says. ``path``: what is missing."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path} is in the log, and neither in its place nor staged"


class NotAStore(KwireError, ValueError):
    """There is something else where a store is wanted. ``out``."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out} is a file: tables want a folder"


def teller_key(cluster_id: str, broker_id: int, endpoint: str) -> str:
    """Who speaks: a broker wherever it listens, or an endpoint while nobody knows which broker it is."""
    return f"{cluster_id}/{broker_id}" if broker_id >= 0 else f"{cluster_id}/{endpoint}"


def open_file_system(out: str) -> tuple[FileSystem, str]:
    """The file system of a URI or local path, and the path in it."""
    from pathlib import Path

    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" in out:
        system, path = FileSystem.from_uri(out)
        return system, path.rstrip("/")
    return LocalFileSystem(), str(Path(out).absolute())


def parquet_files(system: FileSystem, root: str, folder: str) -> list[str]:
    """The files below a folder of ``root``, relative to that, sorted; none where there is no such folder."""
    from pyarrow.fs import FileSelector, FileType

    found = system.get_file_info(FileSelector(f"{root}/{folder}", allow_not_found=True, recursive=True))
    paths = (info.path.lstrip("/") for info in found if info.type == FileType.File)
    return sorted(path.removeprefix(f"{root}/".lstrip("/")) for path in paths if path.endswith(".parquet"))


class Store:
    """The driver's side. ``record``: the newest when the store was opened, or as far as this object wrote since.

    Raises NotAStore.
    """

    def __init__(self, out: str) -> None:
        self.out = out
        self._system, self._root = open_file_system(out)
        self._log = Log(self._system, f"{self._root}/{LOG}", out)
        self._writing = threading.Lock()
        self._settled = -1  # the number of the record that is known to be applied
        self._make_folders()
        self.record = self._log.newest()

    @contextmanager
    def writing(self) -> Iterator[str]:
        """One ingest: ``record`` is the newest, and a new folder is there to stage files in, which is given relative to
        the store and goes when nothing came of it. Threads wait for one another. Raises StoreInUse when somebody else
        writes, and BrokenStore when files of the newest record are missing.
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
        """Make that the newest record, and all its files appear. Raises StoreInUse when they were taken away."""
        staged = (path for path, _ in record.moves)
        if not all(self._exists(path) for path in staged):
            raise StoreInUse(self.out)
        self._log.write(record)
        self.record = record
        self._apply(record)

    def files(self, folder: str) -> list[str]:
        """The parquet files below a folder, relative to the store, sorted."""
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
        """An empty file in each table, so that all can be read from the first day on. A store that has them is left
        alone: who reads may not be allowed to write.
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
        """Can be done again after it was done in part."""
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
