"""The tables of a pipeline, and how a commit changes several of them at once.

    OUT/bronze/                     frames that were ingested as DataFrames
    OUT/silver/<table>/             see `SILVER_SCHEMAS`
    OUT/gold/<table>/               docs/gold.md
    OUT/ingests/                    one row per commit: its number, time, kind, rows, and the version of every table
    OUT/_commits/<number>-<id>.json the record of a commit
    OUT/_state/*.parquet            the state of each broker after an ingest

Tables are Delta tables. Executors write data files; nothing refers to them until the driver commits. A commit is
decided by adding a row to `ingests`, which only one of several writers can do for a number; the row names the record,
which lists the files. Then the record is applied to each table, once, because its number is a Delta transaction of that
table. If the driver dies in between, the next writer applies the record. Readers use the newest record that is applied
to all tables.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from deltalake import DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError

from kwire.errors import KwireError
from kwire.spark import delta_table
from kwire.spark.delta_table import IncompatibleTable
from kwire.spark.record import INGESTS, LAYOUT, RECORDS, REOPENING, Change, DataFile, Layout, Record
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.snapshot import Snapshot
from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

T = TypeVar("T")

log = logging.getLogger(__name__)

RECORDS_KEPT = 16
"""Older records, and the states that only they refer to, are deleted."""

ATTEMPTS = 10
"""How often a commit is repeated that conflicts with other writers."""

MERGED_INGESTS = 64
"""How many files of `ingests` are merged into one."""


class StoreInUse(KwireError, RuntimeError):
    """Other processes write to the store `out` all the time."""

    def __init__(self, out: str) -> None:
        super().__init__(out)
        self.out = out

    def __str__(self) -> str:
        return f"{self.out}: {ATTEMPTS} attempts conflicted with commits of other processes: try again later"


class ConcurrentCommit(KwireError, RuntimeError):
    """Another writer has changed what a commit depends on: it must be computed again."""


class NotAStore(KwireError, ValueError):
    """`out` cannot be used as a store."""

    def __init__(self, out: str, reason: str = "is a file: expected a folder for the tables") -> None:
        super().__init__(out, reason)
        self.out = out
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.out} {self.reason}"


def layouts() -> dict[str, Layout]:
    """Return the tables of bronze and silver, and `ingests`, by folder."""
    import pyarrow as pa

    from kwire.capture import SCHEMA

    date = pa.field("date", pa.string())
    ingests = pa.schema(
        {
            "number": pa.int64(),
            "committed_at": pa.timestamp("us", tz="UTC"),
            "kind": pa.string(),
            "oldest": pa.timestamp("us", tz="UTC"),
            "rows": pa.map_(pa.string(), pa.int64()),
            "versions": pa.map_(pa.string(), pa.int64()),
            "record": pa.string(),
        }
    )
    found = {
        INGESTS: Layout(ingests),
        "bronze": Layout(SCHEMA.append(date), ("date",)),
    }
    for name, table in SILVER_SCHEMAS.items():
        found[f"silver/{name}"] = Layout(table.arrow.append(date), ("date",))
    return found


class Store:
    """The driver's view of the store.

    Opening a store creates its tables if they do not exist, and changes nothing else.

    Args:
        out: the folder.
        create: whether to create tables that do not exist.
        old_layout: whether to accept a folder with the layout of an older version of kwire (`migration`).

    Raises:
        NotAStore: `out` is a file, has the layout of an older version of kwire, or has no tables and `create` is false.
        UnsupportedLocation: `out` has an unknown scheme.
    """

    def __init__(self, out: str, *, create: bool = True, old_layout: bool = False) -> None:
        self.out = str(out)
        self.location = Location.parse(out)
        if self.location.is_path:
            if Path(self.location.native).is_file():
                raise NotAStore(self.out)
            if create:
                Path(self.location.native).mkdir(parents=True, exist_ok=True)
        self._layouts = layouts()
        self._writing = threading.Lock()
        if not old_layout and self.location.is_path and (Path(self.location.native) / "_log").is_dir():
            raise NotAStore(self.out, "has the layout of kwire before Delta tables: run `kwire pipeline migrate`")
        if self._open(INGESTS) is None:
            if not create:
                raise NotAStore(self.out, "has no tables of a pipeline")
            self.create(self._layouts)
        self.files = self.location.files()

    # Reading

    def snapshot(self, number: int | None = None, at: datetime | None = None) -> Snapshot:
        """Return the tables after the newest commit, after commit `number`, or as they were at a time.

        Raises:
            ValueError: the commit is not known.
        """
        wanted = number is not None or at is not None
        rows = self._rows_of(self._opened(INGESTS), -1 if wanted else None)
        if number is not None:
            rows = list(dropwhile(lambda row: row["number"] != number, rows))
        if at is not None:
            rows = list(dropwhile(lambda row: row["committed_at"] > at, rows))
        if wanted and not rows:
            raise ValueError(
                f"{self.out} has no commit {number}" if at is None else f"{self.out} has no commit at {at}"
            )
        for place, row in enumerate(rows):
            versions = dict(row["versions"])
            before = dict(rows[place + 1]["versions"]) if place + 1 < len(rows) else {}
            snapshot = Snapshot(self.location, row["number"], versions, row["committed_at"])
            if snapshot.is_applied([name for name in versions if versions[name] != before.get(name)]):
                return snapshot
        return Snapshot(self.location, 0, {})

    def newest(self) -> Record:
        """Return the newest record, which may not be applied yet."""
        rows = self._rows_of(self._opened(INGESTS), None)
        return self.record(rows[0]["record"]) if rows else Record()

    def record(self, path: str) -> Record:
        """Read a record.

        Raises:
            IncompatibleTable: a newer version of kwire wrote it.
        """
        with self.files.open_input_stream(path) as stream:
            values = json.loads(stream.read())
        if values["layout"] > LAYOUT:
            raise IncompatibleTable(self.out, f"its layout is version {values['layout']}, expected at most {LAYOUT}")
        return Record.of(values)

    def oldest_poll_since(self, since: int, until: int) -> datetime | None:
        """Return the time of the oldest poll that the commits after `since` up to `until` added; None without any."""
        rows = self._rows_of(self._opened(INGESTS), since)
        found = (row["oldest"] for row in rows if since < row["number"] <= until)
        return min((at for at in found if at is not None), default=None)

    def has_replaced_rows(self, since: int, until: int) -> bool:
        """Return whether commits after `since` up to `until` replaced rows of silver, as late frames do."""
        rows = self._rows_of(self._opened(INGESTS), since)
        return any(row["kind"] == REOPENING for row in rows if since < row["number"] <= until)

    # Writing

    def transact(self, run: Callable[[Record], T]) -> T:
        """Run a function that computes and commits a change to a record, again if another writer was faster.

        Threads that share the store wait for one another.

        Raises:
            StoreInUse: every attempt conflicted with other writers.
        """
        with self._writing:
            for _ in range(ATTEMPTS):
                record = self.newest()
                self.apply(record)
                try:
                    return run(record)
                except ConcurrentCommit:
                    log.warning("another process has changed %s: computing the commit again", self.out)
        raise StoreInUse(self.out)

    def commit(self, change: Change) -> Record:
        """Commit a change. What others have committed since its base is kept.

        Raises:
            ConcurrentCommit: another writer has changed what the change depends on.
        """
        while True:
            ingests = self._opened(INGESTS)
            rows = self._rows_of(ingests, change.base)
            newest = self.record(rows[0]["record"]) if rows else Record()
            if change.is_empty(newest.progress) and change.base == newest.number:
                return newest
            for row in rows:
                if row["number"] > change.base and change.conflicts_with(self.record(row["record"]).change):
                    raise ConcurrentCommit
            self.apply(newest)
            record = self._decide(ingests, newest, change)
            if record is not None:
                self.apply(record)
                self._delete_old_records(record)
                return record

    def apply(self, record: Record) -> None:
        """Add and remove the files of a record in each table, unless that is done already."""
        change = record.change
        for name in change.tables:
            delta_table.commit(
                self.location.child(name).native,
                record.number,
                change.added.get(name, ()),
                change.removed.get(name, ()),
                data_change=change.data,
            )

    def create(self, tables: Mapping[str, Layout]) -> None:
        """Create tables, or add the columns that they lack.

        Raises:
            IncompatibleTable: a column has another type.
        """
        self._layouts = {**self._layouts, **tables}
        # `ingests` comes last: a store in which it exists has all tables.
        for name in sorted(tables, key=lambda name: name == INGESTS):
            delta_table.create(self.location.child(name).native, tables[name])

    # The steps of a commit

    def _decide(self, ingests: DeltaTable, newest: Record, change: Change) -> Record | None:
        """Write the next record and refer to it in `ingests`; None if another writer was faster."""
        number = newest.number + 1
        versions = {name: self._opened(name).version() + 1 for name in change.tables}
        missing = [name for name in self._layouts if name not in newest.progress.versions and name not in versions]
        versions |= {name: self._opened(name).version() for name in missing if name != INGESTS}
        progress = newest.progress.after(change, versions)
        released = sorted(newest.progress.states() - progress.states())
        record = Record(number, progress, change, released)
        path = f"{RECORDS}/{number:012}-{uuid.uuid4().hex}.json"
        self._write(path, record.dump())
        row = {
            "number": number,
            "committed_at": datetime.now(UTC),
            "kind": change.kind,
            "oldest": change.oldest,
            "rows": list(change.rows.items()),
            "versions": list(progress.versions.items()),
            "record": path,
        }
        added, removed = self._write_rows(ingests, row)
        transactions = [Transaction(delta_table.APPLICATION, number)]
        transactions += [Transaction(stream, batch) for stream, batch in change.streams.items()]
        try:
            delta_table.write(ingests, [added], removed, transactions)
        except CommitFailedError:
            self.delete(path)
            self.delete(f"{INGESTS}/{added.path}")
            return None
        return record

    def _write_rows(self, ingests: DeltaTable, row: dict[str, Any]) -> tuple[DataFile, list[DataFile]]:
        """Write a row of `ingests`, together with those of small files if there are many of them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = self._layouts[INGESTS].schema
        rows = pa.Table.from_pylist([row], schema=schema)
        merged = [file for file in delta_table.files_of(ingests) if file.rows < MERGED_INGESTS**2]
        if len(merged) < MERGED_INGESTS:
            merged = []
        else:
            rows = pa.concat_tables([*(self._read(file) for file in merged), rows])
        path = f"{row['number']:012}-{uuid.uuid4().hex}.parquet"
        pq.write_table(rows, f"{INGESTS}/{path}", filesystem=self.files, compression="zstd")
        size = self.files.get_file_info(f"{INGESTS}/{path}").size
        times = rows["committed_at"].cast(pa.int64()).to_pylist()
        return DataFile(path, {}, len(times), size, "committed_at", min(times), max(times)), merged

    def _delete_old_records(self, record: Record) -> None:
        """Delete records that are no longer needed, and the states that they have released."""
        for path in self._records():
            number = int(path.removeprefix(f"{RECORDS}/").partition("-")[0])
            if number <= record.number - RECORDS_KEPT:
                with suppress(FileNotFoundError):  # another writer may delete it too
                    for state in self.record(path).released:
                        self.delete(state)
                self.delete(path)

    # Files

    def list_files(self, *folders: str) -> list[tuple[str, datetime]]:
        """Return the files below folders, with the times of their last changes."""
        from pyarrow.fs import FileSelector, FileType

        found = [
            info
            for folder in folders
            for info in self.files.get_file_info(FileSelector(folder, allow_not_found=True, recursive=True))
        ]
        return [(info.path, info.mtime) for info in found if info.type == FileType.File]

    def used_files(self) -> set[str]:
        """Return the records that are kept, and the states that they refer to."""
        used = set()
        for path in self._records():
            record = self.record(path)
            used |= {path, *record.progress.states(), *record.released}
        return used

    def _records(self) -> list[str]:
        """Return the paths of all records; on HDFS, one that is being written has a name with a dot before it."""
        return [path for path, _ in self.list_files(RECORDS) if not path.removeprefix(f"{RECORDS}/").startswith(".")]

    def _rows_of(self, ingests: DeltaTable, since: int | None) -> list[dict[str, Any]]:
        """Return rows of `ingests`, newest first: at least those from number `since` on, or the last two."""
        rows: list[dict[str, Any]] = []
        # Names of files begin with the number of their newest row.
        for file in reversed(delta_table.files_of(ingests)):
            rows += reversed(self._read(file).sort_by("number").to_pylist())
            if (since is None and len(rows) > 1) or (since is not None and rows[-1]["number"] <= since):
                break
        return rows

    def _read(self, file: DataFile) -> pa.Table:
        import pyarrow.parquet as pq

        return pq.read_table(f"{INGESTS}/{file.path}", filesystem=self.files, schema=self._layouts[INGESTS].schema)

    def _open(self, name: str) -> DeltaTable | None:
        return delta_table.open_table(self.location.child(name).native)

    def _opened(self, name: str) -> DeltaTable:
        return DeltaTable(self.location.child(name).native)

    def _write(self, path: str, content: bytes) -> None:
        if self.location.is_path:
            self.files.create_dir(path.rpartition("/")[0])
        with self.files.open_output_stream(path) as stream:
            stream.write(content)

    def delete(self, path: str) -> None:
        """Delete a file; another process may have deleted it already."""
        with suppress(FileNotFoundError):
            self.files.delete_file(path)
