"""Files that executors write into the staging folder, and the manifest that lists them.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver uses only the files in the manifest that it receives. Rows are written in
groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.fs import FileSystem
    from pyspark.sql import Row as SparkRow

    from kwire.capture import Row

GROUP_ROWS = 100_000
GROUP_BYTES = 16 << 20
_DAY = 86_400_000_000


class FileKind(StrEnum):
    """What a staged file holds."""

    SILVER = "silver"
    REWRITTEN = "rewritten"
    """The rows of a file of silver that stay when late frames replace the others."""
    BRONZE = "bronze"
    LATE = "late"
    """Rows that are not newer than what their broker reported last."""


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file with rows of a table; `path` is relative to the store."""

    kind: FileKind
    table: str
    date: str
    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class StagedState:
    """A file with the state of a broker, and its final place."""

    path: str
    place: str


@dataclass(frozen=True, slots=True)
class ReporterProgress:
    """How far the frames of a broker are ingested.

    `key` is the `reporter_key`, `state` the file of the state, `last` the time of the last frame in microseconds,
    `days` the file of the state at the beginning of each day, and `address` the broker and endpoint of `cluster`.
    """

    key: str
    state: str
    last: int
    days: dict[str, str]
    address: str
    cluster: str


@dataclass(frozen=True, slots=True)
class DamagedSegment:
    """A segment of a capture that cannot be read."""

    first_row: int
    reason: str


@dataclass(frozen=True, slots=True)
class CaptureProgress:
    """How far a capture is ingested: the rows from `first` to before `stop`.

    `in_place` is false if the rows must be ingested one by one like those of a table. `fingerprint` identifies the
    capture.
    """

    folder: str
    first: int
    stop: int
    fingerprint: str
    in_place: bool
    damaged: list[DamagedSegment] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class UntimedRows:
    """The number of rows without a poll time."""

    rows: int


ManifestEntry = StagedFile | StagedState | ReporterProgress | CaptureProgress | UntimedRows

_COLUMNS: dict[type[ManifestEntry], tuple[str, str]] = {
    StagedFile: ("file", "struct<kind:string,table:string,date:string,path:string,rows:bigint>"),
    StagedState: ("state", "struct<path:string,place:string>"),
    ReporterProgress: (
        "reporter",
        "struct<key:string,state:string,last:bigint,days:map<string,string>,address:string,cluster:string>",
    ),
    CaptureProgress: (
        "capture",
        (
            "struct<folder:string,first:bigint,stop:bigint,fingerprint:string,in_place:boolean,"
            "damaged:array<struct<first_row:bigint,reason:string>>>"
        ),
    ),
    UntimedRows: ("untimed", "struct<rows:bigint>"),
}

MANIFEST = ", ".join(f"{name} {type}" for name, type in _COLUMNS.values())
"""The schema of a manifest: a column per class of entries, of which one is set in each row."""


def manifest(entries: list[ManifestEntry]) -> pa.RecordBatch:
    """Return the entries as Arrow, for Spark to hand to the driver."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    damaged = pa.list_(pa.struct([("first_row", number), ("reason", text)]))
    types: dict[type[ManifestEntry], pa.DataType] = {
        StagedFile: pa.struct([("kind", text), ("table", text), ("date", text), ("path", text), ("rows", number)]),
        StagedState: pa.struct([("path", text), ("place", text)]),
        ReporterProgress: pa.struct(
            [
                ("key", text),
                ("state", text),
                ("last", number),
                ("days", pa.map_(text, text)),
                ("address", text),
                ("cluster", text),
            ]
        ),
        CaptureProgress: pa.struct(
            [
                ("folder", text),
                ("first", number),
                ("stop", number),
                ("fingerprint", text),
                ("in_place", pa.bool_()),
                ("damaged", damaged),
            ]
        ),
        UntimedRows: pa.struct([("rows", number)]),
    }
    arrays = [pa.array([asdict(e) if type(e) is cls else None for e in entries], types[cls]) for cls in _COLUMNS]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in _COLUMNS.values()])


def entries_of(rows: Iterable[SparkRow]) -> list[ManifestEntry]:
    """Return the entries of a collected manifest."""
    return [_entry(row.asDict(recursive=True)) for row in rows]


def _entry(row: dict[str, Any]) -> ManifestEntry:
    for cls, (name, _) in _COLUMNS.items():
        if (values := row[name]) is not None:
            if cls is StagedFile:
                values["kind"] = FileKind(values["kind"])
            elif cls is CaptureProgress:
                values["damaged"] = [DamagedSegment(**each) for each in values["damaged"]]
            return cls(**values)
    raise ValueError("a row of the manifest is empty")


def date_of(at: int) -> str:
    """Return the date in UTC of a time in microseconds since 1970."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%d")


class _File:
    def __init__(self, system: FileSystem, root: str, path: str, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self.path = path
        self.rows = 0
        system.create_dir(f"{root}/{path}".rpartition("/")[0])
        self._writer: pq.ParquetWriter = pq.ParquetWriter(
            f"{root}/{path}", schema, filesystem=system, compression="zstd", compression_level=1
        )

    def write(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


class SilverFiles:
    """Files with rows of silver, one per table and date."""

    def __init__(self, system: FileSystem, root: str, staging: str) -> None:
        self._system, self._root, self._staging = system, root, staging
        self._files: dict[tuple[str, str], _File] = {}
        self._waiting: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SILVER_SCHEMAS}
        self._times = {
            name: [c.name for c in table.columns].index(table.time) for name, table in SILVER_SCHEMAS.items()
        }
        self._name = uuid.uuid4().hex

    def add(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        """Add rows as `StateBuilder.take` returns them."""
        for table, new in rows.items():
            waiting = self._waiting[table]
            waiting += new
            if len(waiting) >= GROUP_ROWS:
                self._write(table)

    def close(self) -> Iterator[StagedFile]:
        """Write the remaining rows and return the files."""
        for table in self._waiting:
            self._write(table)
        for (table, date), file in self._files.items():
            file.close()
            yield StagedFile(FileKind.SILVER, table, date, file.path, file.rows)

    def _write(self, table: str) -> None:
        import pyarrow as pa

        rows = self._waiting[table]
        if not rows:
            return
        place = self._times[table]
        by_day: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            by_day.setdefault(row[place] // _DAY, []).append(row)
        schema = SILVER_SCHEMAS[table].arrow
        for day, some in by_day.items():
            columns = [pa.array(column, f.type) for column, f in zip(zip(*some, strict=True), schema, strict=True)]
            self._file(table, date_of(day * _DAY), schema).write(pa.table(columns, schema=schema))
        rows.clear()

    def _file(self, table: str, date: str, schema: pa.Schema) -> _File:
        file = self._files.get((table, date))
        if file is None:
            path = f"{self._staging}/silver/{table}/date={date}/{self._name}.parquet"
            file = self._files[table, date] = _File(self._system, self._root, path, schema)
        return file


class BronzeFiles:
    """Files with rows of bronze, one per date."""

    def __init__(self, system: FileSystem, root: str, staging: str, kind: FileKind) -> None:
        self._system, self._root, self._staging, self._kind = system, root, staging, kind
        self._files: dict[str, _File] = {}
        self._waiting: list[Row] = []
        self._bytes = 0
        self._name = uuid.uuid4().hex

    def add(self, row: Row) -> None:
        """Add a row."""
        self._waiting.append(row)
        self._bytes += len(row.frame or b"") + 500
        if self._bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> Iterator[StagedFile]:
        """Write the remaining rows and return the files."""
        self._write()
        for date, file in self._files.items():
            file.close()
            yield StagedFile(self._kind, "bronze", date, file.path, file.rows)

    def _write(self) -> None:
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA, to_batch

        by_date: dict[str, list[Row]] = {}
        for row in self._waiting:
            by_date.setdefault(f"{row.polled_at.astimezone(UTC):%Y-%m-%d}", []).append(row)
        for date, rows in by_date.items():
            file = self._files.get(date)
            if file is None:
                path = f"{self._staging}/{self._kind}/date={date}/{self._name}.parquet"
                file = self._files[date] = _File(self._system, self._root, path, SCHEMA)
            file.write(pa.Table.from_batches([to_batch(rows)]))
        self._waiting.clear()
        self._bytes = 0


def write_rows(system: FileSystem, root: str, path: str, rows: list[Row]) -> None:
    """Write a file with rows of bronze."""
    import pyarrow as pa

    from kwire.capture.rows import SCHEMA, to_batch

    file = _File(system, root, path, SCHEMA)
    file.write(pa.Table.from_batches([to_batch(rows)]))
    file.close()
