"""Where the pipeline's tables lie, and how an ingest appears in them all at once.

    OUT/bronze/date=YYYY-MM-DD/*.parquet            rows of captures that came as DataFrames
    OUT/silver/<table>/date=YYYY-MM-DD/*.parquet    see `SILVER_SCHEMAS`
    OUT/gold/...                                    docs/gold.md
    OUT/_state/*.parquet                            what each broker had told when an ingest ended
    OUT/_log/<number>.json                          one record an ingest; the newest holds all that is needed to go on
    OUT/_staging/<id>/...                           files of an ingest under way

Rules of this file: executors write whole files into the staging folder and say which; the record in the log, renamed
into place, is the moment at which they count; then they are moved. Whoever opens the store next, moves what a killed
driver left unmoved, and removes what was never recorded. One driver writes at a time.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
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


@dataclass
class Record:
    """What is known after an ingest. ``tellers``: by their key (`teller_key`), when they were heard last
    (microseconds), the file of their state, and for the last days that of their state when the day began (empty: they
    were not known). ``clusters``: by broker and endpoint. ``captures``: the row to go on with, by folder. ``streams``:
    the last batch, by query. ``moves``: from staging to place; ``removed``: what they replace.
    """

    number: int = 0
    tellers: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    captures: dict[str, int] = field(default_factory=dict)
    streams: dict[str, int] = field(default_factory=dict)
    staging: str = ""
    moves: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


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


class Store:
    """The driver's side. Raises BrokenStore."""

    def __init__(self, out: str) -> None:
        self.out = out
        self._system, self._root = open_file_system(out)
        self._make_folders()
        self.record = self._recover()

    def stage(self) -> str:
        """A new folder for an ingest, relative to the store."""
        folder = f"{STAGING}/{uuid.uuid4().hex}"
        self._system.create_dir(f"{self._root}/{folder}")
        return folder

    def discard(self, staging: str) -> None:
        """Nothing came of it."""
        self._system.delete_dir(f"{self._root}/{staging}")

    def commit(self, record: Record) -> None:
        """Make that the newest record, and all its files appear."""
        path = f"{self._root}/{LOG}/{record.number:012}.json"
        with self._system.open_output_stream(f"{path}.writing") as stream:
            stream.write(json.dumps(asdict(record)).encode())
        self._system.move(f"{path}.writing", path)
        self._apply(record)
        self.record = record

    def files(self, folder: str) -> list[str]:
        """The parquet files below a folder, relative to the store, sorted."""
        return [path for path in self._below(folder) if path.endswith(".parquet")]

    def _below(self, folder: str) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        found = self._system.get_file_info(FileSelector(f"{self._root}/{folder}", allow_not_found=True, recursive=True))
        paths = [info.path for info in found if info.type == FileType.File]
        return sorted(path[len(self._root.lstrip("/")) + 1 :].lstrip("/") for path in (p.lstrip("/") for p in paths))

    def _make_folders(self) -> None:
        """An empty file in each table, so that all can be read from the first day on."""
        import pyarrow.parquet as pq

        from kwire.capture import SCHEMA

        schemas: dict[str, pa.Schema] = {f"silver/{name}": table.arrow for name, table in SILVER_SCHEMAS.items()}
        schemas["bronze"] = SCHEMA
        for folder, schema in schemas.items():
            place = f"{self._root}/{folder}/date={FIRST_DATE}"
            if not self._exists(f"{place}/{EMPTY}"):
                self._system.create_dir(place)
                pq.write_table(schema.empty_table(), f"{place}/{EMPTY}", filesystem=self._system)
        for folder in (LOG, STAGING, STATE):
            self._system.create_dir(f"{self._root}/{folder}")

    def _recover(self) -> Record:
        logs = [path for path in self._below(LOG) if path.endswith(".json")]
        if not logs:
            record = Record()
        else:
            with self._system.open_input_stream(f"{self._root}/{logs[-1]}") as stream:
                record = Record(**json.loads(stream.read()))
            if record.staging:
                self._apply(record)
        self._system.delete_dir_contents(f"{self._root}/{STAGING}")
        return record

    def _apply(self, record: Record) -> None:
        """Can be done again after it was done in part."""
        for staged, place in record.moves:
            if self._exists(f"{self._root}/{staged}"):
                self._system.create_dir(f"{self._root}/{place}".rpartition("/")[0])
                self._system.move(f"{self._root}/{staged}", f"{self._root}/{place}")
            elif not self._exists(f"{self._root}/{place}"):
                raise BrokenStore(place)
        for path in record.removed:
            if self._exists(f"{self._root}/{path}"):
                self._system.delete_file(f"{self._root}/{path}")
        if self._exists(f"{self._root}/{record.staging}"):
            self._system.delete_dir(f"{self._root}/{record.staging}")

    def _exists(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(path).type != FileType.NotFound)
