"""Files that executors write into the folders of tables, and the manifest that lists them.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver commits only the files in the manifest that it receives, and `vacuum` deletes the
others. Rows are written in groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.spark.record import INGESTS, LATE, DataFile
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.storage.location import not_visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.fs import FileSystem
    from pyspark.sql import Row as SparkRow

    from kwire.capture import Row
    from kwire.storage.location import Location

GROUP_ROWS = 100_000
GROUP_BYTES = 16 << 20
_DAY = 86_400_000_000


class FileKind(StrEnum):
    """What a written file holds."""

    SILVER = "silver"
    GOLD = "gold"
    REWRITTEN = "rewritten"
    """The rows of a file of silver that stay when late frames replace the others."""
    BRONZE = "bronze"
    LATE = "late"
    """Rows that are not newer than what their broker reported last."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file with rows of a table.

    `table` is the folder of the table, and `path` relative to it. `partition` has the values of the partition columns,
    `first` and `last` are the range of the table's time column in microseconds, if it has one.
    """

    kind: FileKind
    table: str
    partition: dict[str, str]
    path: str
    rows: int
    size: int
    time: str | None
    first: int | None
    last: int | None

    @property
    def data_file(self) -> DataFile:
        """The file as Delta lists it."""
        return DataFile(self.path, self.partition, self.rows, self.size, self.time, self.first, self.last)


@dataclass(frozen=True, slots=True)
class ReporterProgress:
    """How far the frames of a broker are ingested.

    `key` is the `reporter_key`, `state` the file of the state, `last` the time of the last frame in microseconds,
    `days` the file of the state at the beginning of each day, and `address` the broker and endpoint of `cluster`.
    `responded` says whether any new poll has a response, and `failed_polls` how many have failed after that one.
    """

    key: str
    state: str
    last: int
    days: dict[str, str]
    address: str
    cluster: str
    responded: bool
    failed_polls: int


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


ManifestEntry = WrittenFile | ReporterProgress | CaptureProgress | UntimedRows

_COLUMNS: dict[type[ManifestEntry], tuple[str, str]] = {
    WrittenFile: (
        "file",
        (
            "struct<kind:string,table:string,partition:map<string,string>,path:string,rows:bigint,size:bigint,"
            "time:string,first:bigint,last:bigint>"
        ),
    ),
    ReporterProgress: (
        "reporter",
        (
            "struct<key:string,state:string,last:bigint,days:map<string,string>,address:string,cluster:string,"
            "responded:boolean,failed_polls:bigint>"
        ),
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
        WrittenFile: pa.struct(
            [
                ("kind", text),
                ("table", text),
                ("partition", pa.map_(text, text)),
                ("path", text),
                ("rows", number),
                ("size", number),
                ("time", text),
                ("first", number),
                ("last", number),
            ]
        ),
        ReporterProgress: pa.struct(
            [
                ("key", text),
                ("state", text),
                ("last", number),
                ("days", pa.map_(text, text)),
                ("address", text),
                ("cluster", text),
                ("responded", pa.bool_()),
                ("failed_polls", number),
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
            if cls is WrittenFile:
                values["kind"] = FileKind(values["kind"])
            elif cls is CaptureProgress:
                values["damaged"] = [DamagedSegment(**each) for each in values["damaged"]]
            return cls(**values)
    raise ValueError("a row of the manifest is empty")


def date_of(at: int) -> str:
    """Return the date in UTC of a time in microseconds since 1970."""
    return datetime.fromtimestamp(at // 1_000_000, UTC).strftime("%Y-%m-%d")


class Output:
    """Where a task writes: the store's folder, opened once.

    Raises:
        UnsupportedLocation: this machine does not see the folder.
    """

    def __init__(self, location: Location) -> None:
        if location.is_path and not (Path(location.native) / INGESTS).is_dir():
            raise not_visible(location.given)
        self.files: FileSystem = location.files()
        self._makes_folders = location.is_path

    def open(self, path: str, schema: pa.Schema) -> pq.ParquetWriter:
        """Create a Parquet file."""
        import pyarrow.parquet as pq

        if self._makes_folders:
            self.files.create_dir(path.rpartition("/")[0])
        return pq.ParquetWriter(path, schema, filesystem=self.files, compression="zstd", compression_level=1)

    def write_rows(self, path: str, rows: list[Row]) -> None:
        """Write a file with rows of bronze."""
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA, to_batch

        with self.open(path, SCHEMA) as writer:
            writer.write_table(pa.Table.from_batches([to_batch(rows)]))


class TableFile:
    """A file of a table, for one partition. `time` names the time column of the table, if it has one."""

    def __init__(
        self, output: Output, kind: FileKind, table: str, partition: dict[str, str], schema: pa.Schema, time: str | None
    ) -> None:
        self._output, self._kind, self._table, self._partition, self._time = output, kind, table, partition, time
        folder = "".join(f"{name}={value}/" for name, value in partition.items())
        self._path = f"{folder}{uuid.uuid4().hex}.parquet"
        self._rows = 0
        self._times: list[int] = []
        self._writer = output.open(f"{table}/{self._path}", schema)

    def write(self, rows: pa.Table) -> None:
        """Add a group of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._time is not None:
            found = pc.min_max(rows[self._time].cast(pa.int64())).as_py().values()
            self._times += [each for each in found if each is not None]
        self._rows += rows.num_rows
        self._writer.write_table(rows)

    def close(self) -> WrittenFile:
        """Complete the file."""
        self._writer.close()
        size = self._output.files.get_file_info(f"{self._table}/{self._path}").size
        first, last = min(self._times, default=None), max(self._times, default=None)
        return WrittenFile(
            self._kind, self._table, self._partition, self._path, self._rows, size, self._time, first, last
        )


class SilverFiles:
    """Files with rows of silver, one per table and date."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._files: dict[tuple[str, str], TableFile] = {}
        self._waiting: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SILVER_SCHEMAS}
        self._times = {
            name: [c.name for c in table.columns].index(table.time) for name, table in SILVER_SCHEMAS.items()
        }

    def add(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        """Add rows as `StateBuilder.take` returns them."""
        for table, new in rows.items():
            waiting = self._waiting[table]
            waiting += new
            if len(waiting) >= GROUP_ROWS:
                self._write(table)

    def close(self) -> Iterator[WrittenFile]:
        """Write the remaining rows and return the files."""
        for table in self._waiting:
            self._write(table)
        for file in self._files.values():
            yield file.close()

    def _write(self, table: str) -> None:
        import pyarrow as pa

        rows = self._waiting[table]
        if not rows:
            return
        place = self._times[table]
        by_day: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            by_day.setdefault(row[place] // _DAY, []).append(row)
        declared = SILVER_SCHEMAS[table]
        for day, some in by_day.items():
            date = date_of(day * _DAY)
            columns = [
                pa.array(column, f.type) for column, f in zip(zip(*some, strict=True), declared.arrow, strict=True)
            ]
            if (table, date) not in self._files:
                self._files[table, date] = TableFile(
                    self._output, FileKind.SILVER, f"silver/{table}", {"date": date}, declared.arrow, declared.time
                )
            self._files[table, date].write(pa.table(columns, schema=declared.arrow))
        rows.clear()


class BronzeFiles:
    """Files with rows of bronze, one per date. Late rows are written to a folder of their own."""

    def __init__(self, output: Output, kind: FileKind) -> None:
        self._output, self._kind = output, kind
        self._folder = "bronze" if kind == FileKind.BRONZE else LATE
        self._files: dict[str, TableFile] = {}
        self._waiting: list[Row] = []
        self._bytes = 0

    def add(self, row: Row) -> None:
        """Add a row."""
        self._waiting.append(row)
        self._bytes += len(row.frame or b"") + 500
        if self._bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> Iterator[WrittenFile]:
        """Write the remaining rows and return the files."""
        self._write()
        for file in self._files.values():
            yield file.close()

    def _write(self) -> None:
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA, to_batch

        by_date: dict[str, list[Row]] = {}
        for row in self._waiting:
            by_date.setdefault(f"{row.polled_at.astimezone(UTC):%Y-%m-%d}", []).append(row)
        for date, rows in by_date.items():
            if date not in self._files:
                self._files[date] = TableFile(
                    self._output, self._kind, self._folder, {"date": date}, SCHEMA, "polled_at"
                )
            self._files[date].write(pa.Table.from_batches([to_batch(rows)]))
        self._waiting.clear()
        self._bytes = 0


class PartitionWriter(NamedTuple):
    """Writes rows to files of a table, one per partition and task. `partition_by` are the last columns of the input."""

    location: Location
    folder: str
    schema: pa.Schema
    partition_by: tuple[str, ...]
    time: str | None

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows. For `mapInArrow`."""
        import pyarrow as pa
        import pyarrow.compute as pc

        output = Output(self.location)
        files: dict[tuple[str, ...], TableFile] = {}
        for batch in batches:
            rows = pa.table(batch)
            keys = rows.select(list(self.partition_by)).group_by(list(self.partition_by)).aggregate([]).to_pylist()
            for key in keys:
                own = rows
                for name, value in key.items():
                    own = own.filter(pc.equal(own[name], value)) if len(keys) > 1 else own
                partition = {name: str(value) for name, value in key.items()}
                place = tuple(partition.values())
                if place not in files:
                    files[place] = TableFile(output, FileKind.GOLD, self.folder, partition, self.schema, self.time)
                files[place].write(own.select(self.schema.names).cast(self.schema))
        yield manifest([file.close() for file in files.values()])
