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
to all tables. What other programs do to the tables is the subject of `kwire_pipeline.store.table_version`.
"""

from __future__ import annotations

import json
import logging
import threading
import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import dropwhile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from deltalake import Transaction
from deltalake.exceptions import CommitFailedError, DeltaError

from kwire.storage.location import Location
from kwire.storage.preconditions import require_credentials
from kwire_pipeline.base_tables import BRONZE, COMMITS
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store import delta_table
from kwire_pipeline.store.errors import ConcurrentCommit, DamagedStore, IncompatibleTable, NotAStore, StoreInUse
from kwire_pipeline.store.ingests import Ingests, pins_of
from kwire_pipeline.store.obstacles import check_added_files, check_writable
from kwire_pipeline.store.record import INGESTS, LAYOUT, RECORDS, REOPENING, CommitRecord, StoreChange, commit_number
from kwire_pipeline.store.snapshot import Snapshot
from kwire_pipeline.store.table_log import APPLICATION
from kwire_pipeline.store.table_version import PinnedTable, number_of, pinned_table, rows_of
from kwire_pipeline.tables import DATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from deltalake import DeltaTable

    from kwire_pipeline.store.ingests import Row
    from kwire_pipeline.store.record import DataFile, StoreProgress
    from kwire_pipeline.tables import Layout

T = TypeVar("T")

log = logging.getLogger(__name__)

RECORDS_AGE = timedelta(hours=6)
"""Age at which records, and the states that only they refer to, are deleted: the longest ingest or build that can
commit beside other writers. Chosen, not measured; ten streams with a batch every five seconds leave 43,200 records."""

RECORDS_KEPT = 16
"""Number of newest records that are kept whatever their age: a reader may be about to open one."""

RECORDS_SWEPT = 16
"""Number of commits from one search for old records to the next one, which lists all records."""

ATTEMPTS = 10
"""Maximum number of attempts of a commit that conflicts with other writers."""


def layouts() -> dict[str, Layout]:
    """Return the tables of bronze and silver, and `ingests`, by folder."""
    silver = {f"silver/{name}": table.stored(DATE) for name, table in SILVER_SCHEMAS.items()}
    return {INGESTS: COMMITS.stored(), "bronze": BRONZE.stored(DATE), **silver}


class PipelineStore:
    """The driver's view of the store.

    Opening a store creates its tables if they do not exist, and changes nothing else.

    Args:
        out: the folder.
        create: True to create tables that do not exist.

    Raises:
        NotAStore: `out` is a file, or has no tables and `create` is false.
        UnsupportedLocation: `out` has an unknown scheme.
    """

    def __init__(self, out: str, *, create: bool = True) -> None:
        self.out = str(out)
        self.location = Location.parse(out)
        if self.location.is_path:
            if Path(self.location.native).is_file():
                raise NotAStore(self.out)
            if create:
                Path(self.location.native).mkdir(parents=True, exist_ok=True)
        require_credentials(self.location.native)
        self._layouts = layouts()
        self._created: dict[str, Layout] = {}
        self._writing = threading.Lock()
        self.files = self.location.files()
        # Without `ingests`, commits would be numbered from 1 again, and tables would take them for applied ones.
        if not delta_table.exists(self.location.child(INGESTS).native) and not self._has_commits():
            if not create:
                raise NotAStore(self.out, "has no tables of a pipeline")
            self.create(self._layouts)

    def _has_commits(self) -> bool:
        """Return whether a store without the table `ingests` has commits."""
        tables = (self._open(name) for name in self._layouts)
        return bool(self.records()) or any(number_of(table) for table in tables if table is not None)

    # Reading

    def snapshot(self, number: int | None = None, at: datetime | None = None) -> Snapshot:
        """Return the tables after the newest commit, after commit `number`, or as they were at a time.

        Raises:
            ValueError: the commit is not known.
        """
        is_older = number is not None or at is not None
        ingests = self._ingests()
        rows = ingests.rows(-1 if is_older else None)
        newest = rows[0] if rows else None
        before = pins_of(rows[1]) if len(rows) > 1 else {}
        if number is not None:
            rows = list(dropwhile(lambda row: row["number"] != number, rows))
        if at is not None:
            rows = list(dropwhile(lambda row: row["committed_at"] > at, rows))
        if is_older and not rows:
            raise ValueError(f"{self.out} has no commit {number if at is None else f'at {at}'}")
        for row in rows:
            snapshot = Snapshot(self.location, row["number"], pins_of(row), row["committed_at"])
            # A writer applies the commit before its own first, so only the newest commit can be incomplete.
            if row is not newest or not snapshot.is_pending(before):
                return snapshot
        return Snapshot(self.location, 0, {})

    def newest(self) -> CommitRecord:
        """Return the newest record, which is not always applied yet.

        Raises:
            DamagedStore: a file of `ingests`, or the record, does not exist.
        """
        return self._newest_of(self._ingests().rows())

    def record(self, path: str) -> CommitRecord:
        """Read a record.

        Raises:
            IncompatibleTable: a newer version of kwire wrote it.
            DamagedStore: it is damaged.
        """
        with self.files.open_input_stream(path) as stream:
            content = stream.read()
        try:
            values = json.loads(content)
            if values["layout"] <= LAYOUT:
                return CommitRecord.of(values)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise DamagedStore(self.out, f"{path} is damaged") from None
        raise IncompatibleTable(self.out, f"its layout is version {values['layout']}, expected at most {LAYOUT}")

    def oldest_poll_since(self, since: int, until: int) -> datetime | None:
        """Return the time of the oldest poll that commits after `since` up to `until` added; None without any."""
        rows = self._ingests().rows(since)
        if since and all(row["number"] > since for row in rows):
            return datetime.fromtimestamp(0, UTC)  # rows were removed: all polls may be new
        times = (row["oldest"] for row in rows if since < row["number"] <= until)
        return min((at for at in times if at is not None), default=None)

    def replaced_topics(self, since: int, record: CommitRecord) -> set[tuple[str, str]] | None:
        """Return the clusters and topics whose reports late frames have removed, in commits after `since`.

        None if they are not known, or are many.
        """
        rows = self._ingests().rows(since)
        reopening = [
            row["number"] for row in rows if since < row["number"] <= record.number and row["kind"] == REOPENING
        ]
        known = [record.progress.replaced_topics.get(str(number)) for number in reopening]
        if None in known:
            return None
        return {(cluster, topic) for found in known if found for cluster, topics in found.items() for topic in topics}

    # Writing

    def transact(self, run: Callable[[CommitRecord], T]) -> T:
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
        raise StoreInUse(self.out, f"{ATTEMPTS} attempts conflicted with commits of other processes: try again later")

    def commit(self, change: StoreChange, opened: Mapping[str, DeltaTable] = MappingProxyType({})) -> CommitRecord:
        """Commit a change. What others have committed since its base is kept.

        Args:
            change: the change.
            opened: tables that were opened before, at any version: opening one reads the list of all files.

        Raises:
            ConcurrentCommit: another writer has changed what the change depends on, or has committed for so long that
                this is not known any more.
            MissingFiles: files of the change do not exist.
            DamagedStore: another program has removed rows.
            UnwritableTable: another program has set what prevents a commit.
        """
        check_added_files(self.out, self.files, change)
        checked = change.base
        while True:
            ingests = self._ingests()
            rows = ingests.rows(checked)
            newest = self._newest_of(rows)
            if change.is_empty(newest.progress) and change.base == newest.number:
                return newest
            for row in rows:
                if row["number"] > checked and self._conflict(change, row["record"]):
                    raise ConcurrentCommit
            checked = newest.number
            self.apply(newest)
            tables = self._opened(change, opened)
            bases = {name: self._base(name, newest, change, table) for name, table in tables.items()}
            record = self._decide(ingests, newest, change, tables, bases)
            if record is not None:
                self.apply(record, tables)
                if record.number % RECORDS_SWEPT == 0:
                    self._delete_old_records(record)
                return record

    def apply(self, record: CommitRecord, opened: Mapping[str, DeltaTable] = MappingProxyType({})) -> None:
        """Add and remove the files of a record in each table, unless that is done already.

        `opened` has tables that were opened before.

        Raises:
            DamagedStore: a table does not exist any more.
        """
        change = record.change
        for name in change.tables:
            delta_table.commit(
                self.location.child(name).native,
                record.number,
                change.added.get(name, ()),
                change.removed.get(name, ()),
                data_change=change.data,
                opened=opened[name] if name in opened else self.open_table(name),
                base=record.bases.get(name),
            )

    def create(self, tables: Mapping[str, Layout]) -> None:
        """Create tables, or add the columns that they lack.

        Raises:
            IncompatibleTable: a column has another type.
            DamagedStore: a table had rows and does not exist any more.
        """
        self._layouts = {**self._layouts, **tables}
        known = self.newest().progress.versions if INGESTS not in tables else {}
        # `ingests` comes last: a store in which it exists has all tables.
        for name in sorted(tables, key=lambda name: name == INGESTS):
            # Each build asks for its tables, and opening one reads the list of all files.
            if self._created.get(name) != tables[name]:
                if name in known:
                    self.open_table(name)
                delta_table.create(self.location.child(name).native, tables[name])
                self._created[name] = tables[name]

    # Repair (`repair`)

    def open_table(self, name: str) -> DeltaTable:
        """Open a table that exists.

        Raises:
            DamagedStore: it does not.
        """
        table = self._open(name)
        if table is None:
            raise DamagedStore(self.out, f"the table {name} does not exist")
        return table

    def readable_rows(self) -> list[Row]:
        """Return the rows of `ingests` that can be read, also removed ones, newest first."""
        return [] if self._open(INGESTS) is None else self._ingests().readable_rows()

    def removed_rows(self) -> list[Row]:
        """Return the newest rows of `ingests` that another program removed and that can still be read, oldest first."""
        return [] if self._open(INGESTS) is None else self._ingests().removed_rows()

    def applied_records(self) -> Iterator[CommitRecord]:
        """Return the records that all of their tables have, newest first: they were decided."""
        for path, _ in sorted(self.records(), reverse=True):
            with suppress(OSError, DamagedStore):
                record = self.record(path)
                tables = [self._open(name) for name in record.change.tables]
                if tables and all(table is not None and number_of(table) >= record.number for table in tables):
                    yield record

    def create_again(self, name: str) -> None:
        """Create a table that was deleted, without rows."""
        delta_table.create(self.location.child(name).native, self._layouts[name])

    def restore(
        self, newest: CommitRecord, change: StoreChange, lost: Sequence[DataFile], recovered: Sequence[Row] = ()
    ) -> CommitRecord:
        """Commit a repair that continues a record, without `lost` files of `ingests` and with `recovered` rows of it.

        Raises:
            StoreInUse: another process has committed.
            UnwritableTable: another program has set what prevents a commit.
        """
        tables = self._opened(change, {})
        for name, table in tables.items():
            removes = bool(change.removed.get(name))
            check_writable(self.location.child(name).native, table, removes=removes)
        bases = {name: table.version() for name, table in tables.items()}
        record = self._decide(self._ingests(), newest, change, tables, bases, lost, recovered)
        if record is None:
            raise StoreInUse(self.out, "another process has committed: try again later")
        self.apply(record)
        return record

    # The steps of a commit

    def _opened(self, change: StoreChange, opened: Mapping[str, DeltaTable]) -> dict[str, DeltaTable]:
        """Return the newest versions of the tables of a change."""
        return {
            name: delta_table.refresh(opened[name]) if name in opened else self.open_table(name)
            for name in change.tables
        }

    def _base(self, name: str, newest: CommitRecord, change: StoreChange, table: DeltaTable) -> int:
        """Return the version of a table that a change continues.

        Raises:
            ConcurrentCommit: another program has replaced files that the change removes.
            DamagedStore: another program has removed rows.
            UnwritableTable: another program has set what prevents a commit.
        """
        removed = delta_table.removable_paths(table, change.removed.get(name, ()))
        if number_of(table) > newest.number:
            self._ingests().check_complete(newest.number, [name])
        pin = newest.progress.pins.get(name)
        pinned = PinnedTable(table, table) if pin is None else pinned_table(self.location, name, pin, table)
        check_writable(self.location.child(name).native, table, pinned.table, removes=bool(removed) and change.data)
        if pin is None:
            return table.version()
        is_unchanged = change.base == newest.number and table.version() == pin.version
        if removed and not is_unchanged and not removed <= {file.path for file in delta_table.files_of(pinned.table)}:
            raise ConcurrentCommit
        return pinned.table.version()

    def _decide(
        self,
        ingests: Ingests,
        newest: CommitRecord,
        change: StoreChange,
        opened: Mapping[str, DeltaTable],
        bases: dict[str, int],
        lost: Sequence[DataFile] = (),
        recovered: Sequence[Row] = (),
    ) -> CommitRecord | None:
        """Write the next record and refer to it in `ingests`; None if another writer was faster."""
        check_writable(self.location.child(INGESTS).native, ingests.table, removes=bool(lost))
        number = newest.number + 1
        versions = {name: opened[name].version() + 1 for name in change.tables}
        before = self._with_new_tables(newest.progress, opened)
        progress = before.after(number, change, versions)
        released = sorted(newest.progress.states() - progress.states())
        record = CommitRecord(number, progress, change, released, bases=bases)
        path = f"{RECORDS}/{number:012}-{uuid.uuid4().hex}.json"
        self._write(path, record.dump())
        row = {
            "number": number,
            "committed_at": datetime.now(UTC),
            "kind": change.kind,
            "oldest": change.oldest,
            "rows": list(change.rows.items()),
            "versions": list(progress.versions.items()),
            "commits": list(progress.commits.items()),
            "totals": list(progress.totals.items()),
            "record": path,
        }
        added, merged = ingests.write([*recovered, row], number, lost)
        transactions = [Transaction(APPLICATION, number)]
        transactions += [Transaction(stream, batch) for stream, batch in change.streams.items()]
        try:
            delta_table.write(ingests.table, [added], [*merged, *lost], transactions)
        except (DeltaError, OSError) as error:
            # When the answer to a successful request is lost, the client of the object store repeats the request, and
            # the second one is refused. So a refused commit may be this one, which needs its files.
            if self._is_decided(number, path):
                return record
            if not isinstance(error, CommitFailedError):
                raise  # the request may still arrive: the files must stay
            self.delete(path)
            self.delete(f"{INGESTS}/{added.path}")
            return None
        return record

    def _with_new_tables(self, progress: StoreProgress, opened: Mapping[str, DeltaTable]) -> StoreProgress:
        """Return the progress with the tables that it does not have yet."""
        versions, totals = dict(progress.versions), dict(progress.totals)
        for name in self._layouts:
            if name not in versions and name != INGESTS:
                table = opened[name] if name in opened else self.open_table(name)
                versions[name] = table.version()
                totals[name] = rows_of(table) if table.version() else 0
        return replace(progress, versions=versions, totals=totals)

    def _is_decided(self, number: int, path: str) -> bool:
        """Return whether `ingests` refers to a record."""
        return any(row["record"] == path for row in self._ingests().rows(number))

    def _newest_of(self, rows: list[Row]) -> CommitRecord:
        """Return the record of the first of these rows of `ingests`."""
        if not rows:
            return CommitRecord()
        try:
            return self.record(rows[0]["record"])
        except FileNotFoundError:
            raise DamagedStore(self.out, f"{rows[0]['record']} does not exist") from None

    def _conflict(self, change: StoreChange, path: str) -> bool:
        """Return whether a change conflicts with a record of another writer, or the record was deleted meanwhile."""
        try:
            return change.conflicts_with(self.record(path).change)
        except FileNotFoundError:
            return True

    def _delete_old_records(self, newest: CommitRecord) -> None:
        """Delete records that are no longer needed, and the states that they have released."""
        used = newest.progress.states()  # a record that was never decided has released states that are still used
        for path, changed in self.records():
            if commit_number(path) > newest.number - RECORDS_KEPT or changed > datetime.now(UTC) - RECORDS_AGE:
                continue
            with suppress(FileNotFoundError, DamagedStore):  # another writer may delete it too
                for state in set(self.record(path).released) - used:
                    self.delete(state)
            self.delete(path)

    # Files

    def list_files(self, *folders: str) -> list[tuple[str, datetime]]:
        """Return the path of each file below folders, and the time of its last change. A folder need not exist."""
        from pyarrow.fs import FileSelector

        below = (FileSelector(folder, allow_not_found=True, recursive=True) for folder in folders)
        return [(file.path, file.mtime) for each in below for file in self.files.get_file_info(each) if file.is_file]

    def records(self) -> list[tuple[str, datetime]]:
        """Return the paths and times of all complete records: while HDFS writes one, a dot precedes its name."""
        return [file for file in self.list_files(RECORDS) if not file[0].removeprefix(f"{RECORDS}/").startswith(".")]

    def _ingests(self) -> Ingests:
        return Ingests(self.location, self.files, self.open_table(INGESTS), self._layouts)

    def _open(self, name: str) -> DeltaTable | None:
        return delta_table.open_table(self.location.child(name).native)

    def _write(self, path: str, content: bytes) -> None:
        if self.location.is_path:
            self.files.create_dir(path.rpartition("/")[0])
        with self.files.open_output_stream(path) as stream:
            stream.write(content)

    def delete(self, path: str) -> None:
        """Delete a file that another process may have deleted already."""
        with suppress(FileNotFoundError):
            self.files.delete_file(path)
