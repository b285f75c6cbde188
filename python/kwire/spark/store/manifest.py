"""Files that executors write into the folders of tables, and the manifest that lists them.

A file is complete when the manifest entry that names it leaves the task. Names are random, so a task that Spark retries
or runs twice does no harm: the driver commits only the files in the manifest that it receives, and `vacuum` deletes the
others. Rows are written in groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

import builtins
import uuid
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

from kwire.spark.silver.tables import SILVER_SCHEMAS
from kwire.spark.store.file_statistics import data_file
from kwire.spark.store.record import INGESTS, LATE, DataFile
from kwire.spark.tables import arrow_type
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
    """A file with rows of a table. `table` is the folder of the table."""

    kind: FileKind
    table: str
    file: DataFile


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

_COLUMNS: dict[type[ManifestEntry], str] = {
    WrittenFile: "file",
    ReporterProgress: "reporter",
    CaptureProgress: "capture",
    UntimedRows: "untimed",
}


def _ddl_type(annotation: Any) -> str:
    """Return the type of a field in Spark's DDL."""
    if get_origin(annotation) is UnionType:  # all columns are nullable
        [annotation] = set(get_args(annotation)) - {NoneType}
    arguments = get_args(annotation)
    match get_origin(annotation) or annotation:
        case builtins.int:
            return "bigint"
        case builtins.bool:
            return "boolean"
        case builtins.dict:
            return f"map<{','.join(map(_ddl_type, arguments))}>"
        case builtins.list:
            return f"array<{_ddl_type(*arguments)}>"
        case cls if is_dataclass(cls):
            types = get_type_hints(cls)
            return f"struct<{','.join(f'{field.name}:{_ddl_type(types[field.name])}' for field in fields(cls))}>"
        case cls if issubclass(cls, str):
            return "string"
    raise TypeError(f"no column of a manifest can hold {annotation}")


_TYPES = {cls: _ddl_type(cls) for cls in _COLUMNS}

MANIFEST = ", ".join(f"{name} {_TYPES[cls]}" for cls, name in _COLUMNS.items())
"""The schema of a manifest: a column per class of entries, of which one is set in each row."""


def manifest(entries: list[ManifestEntry]) -> pa.RecordBatch:
    """Return the entries as Arrow, for Spark to hand to the driver."""
    import pyarrow as pa

    arrays = [
        pa.array([asdict(entry) if type(entry) is cls else None for entry in entries], arrow_type(type_))
        for cls, type_ in _TYPES.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(_COLUMNS.values()))


def entries_of(rows: Iterable[SparkRow]) -> list[ManifestEntry]:
    """Return the entries of a collected manifest."""
    return [_entry(row.asDict(recursive=True)) for row in rows]


def _entry(row: dict[str, Any]) -> ManifestEntry:
    for cls, name in _COLUMNS.items():
        if (values := row[name]) is not None:
            if cls is WrittenFile:
                return WrittenFile(FileKind(values["kind"]), values["table"], DataFile(**values["file"]))
            if cls is CaptureProgress:
                values["damaged"] = [DamagedSegment(**segment) for segment in values["damaged"]]
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

    def open(self, path: str, schema: pa.Schema) -> tuple[pq.ParquetWriter, list[pq.FileMetaData]]:
        """Create a Parquet file. Closing the writer adds the footer to the list."""
        import pyarrow.parquet as pq

        if self._makes_folders:
            self.files.create_dir(path.rpartition("/")[0])
        footers: list[pq.FileMetaData] = []
        writer = pq.ParquetWriter(
            path,
            schema,
            filesystem=self.files,
            compression="zstd",
            compression_level=1,
            metadata_collector=footers,
        )
        return writer, footers

    def write_rows(self, path: str, rows: list[Row]) -> None:
        """Write a file with rows of bronze."""
        import pyarrow as pa

        from kwire.capture.rows import SCHEMA, to_batch

        writer, _ = self.open(path, SCHEMA)
        with writer:
            writer.write_table(pa.Table.from_batches([to_batch(rows)]))


class TableFile:
    """A file of a table, for one partition."""

    def __init__(
        self, output: Output, kind: FileKind, table: str, partition: dict[str, str], schema: pa.Schema
    ) -> None:
        self._output, self._kind, self._table, self._partition = output, kind, table, partition
        folder = "".join(f"{name}={value}/" for name, value in partition.items())
        self._path = f"{folder}{uuid.uuid4().hex}.parquet"
        self._with_nan: set[str] = set()
        self._writer, self._footers = output.open(f"{table}/{self._path}", schema)

    def write(self, rows: pa.Table) -> None:
        """Add a group of rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for column in rows.schema:
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(rows[column.name])).as_py():
                self._with_nan.add(column.name)
        self._writer.write_table(rows)

    def close(self) -> WrittenFile:
        """Complete the file."""
        self._writer.close()
        [footer] = self._footers
        size = self._output.files.get_file_info(f"{self._table}/{self._path}").size
        return WrittenFile(
            self._kind, self._table, data_file(self._path, self._partition, size, footer, self._with_nan)
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
                    self._output, FileKind.SILVER, f"silver/{table}", {"date": date}, declared.arrow
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
                self._files[date] = TableFile(self._output, self._kind, self._folder, {"date": date}, SCHEMA)
            self._files[date].write(pa.Table.from_batches([to_batch(rows)]))
        self._waiting.clear()
        self._bytes = 0


class PartitionWriter(NamedTuple):
    """Writes rows to files of a table, one per partition and task. `partition_by` are the last columns of the input."""

    location: Location
    folder: str
    schema: pa.Schema
    partition_by: tuple[str, ...]

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
                    files[place] = TableFile(output, FileKind.GOLD, self.folder, partition, self.schema)
                files[place].write(own.select(self.schema.names).cast(self.schema))
        yield manifest([file.close() for file in files.values()])
