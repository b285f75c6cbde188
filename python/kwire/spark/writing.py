"""What an executor writes: parquet files in the staging folder, and the word which ones.

Rules of this file: a file is whole when its manifest row leaves the task; names are random, so a task that is tried
again, or run twice at once, harms nobody: the driver takes the files of the try that it heard of. Rows are written in
groups, so memory is bounded by one group a table.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow.fs import FileSystem

    from kwire.capture import Row

GROUP_ROWS = 100_000
GROUP_BYTES = 16 << 20
_DAY = 86_400_000_000


class Written(NamedTuple):
    """A row of the manifest. ``kind``: 'silver', 'bronze', 'late', 'teller' (then ``detail`` is JSON for the log), or
    'timeless' (``rows`` that do not say when they were polled).
    ``path``: relative to the store; ``bad``: how many rows are bad frames.
    """

    kind: str
    table: str
    date: str
    path: str
    rows: int
    detail: str


MANIFEST = "kind string, table string, date string, path string, rows bigint, detail string"


def manifest(rows: list[Written]) -> pa.RecordBatch:
    """As Arrow."""
    import pyarrow as pa

    types = (pa.string(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.string())
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(Written._fields))


def date_of(at: int) -> str:
    """Of microseconds since 1970, UTC."""
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
    """Rows of silver, each table's by date."""

    def __init__(self, system: FileSystem, root: str, staging: str) -> None:
        self._system, self._root, self._staging = system, root, staging
        self._files: dict[tuple[str, str], _File] = {}
        self._waiting: dict[str, list[tuple[Any, ...]]] = {name: [] for name in SILVER_SCHEMAS}
        self._times = {
            name: [c.name for c in table.columns].index(table.time) for name, table in SILVER_SCHEMAS.items()
        }
        self._name = uuid.uuid4().hex

    def add(self, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        """Take rows as a walk gives them."""
        for table, new in rows.items():
            waiting = self._waiting[table]
            waiting += new
            if len(waiting) >= GROUP_ROWS:
                self._write(table)

    def close(self) -> Iterator[Written]:
        """Write what waits; which files there are."""
        for table in self._waiting:
            self._write(table)
        for (table, date), file in self._files.items():
            file.close()
            yield Written("silver", table, date, file.path, file.rows, "")

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
    """Rows of bronze by date. ``kind``: what the manifest calls them."""

    def __init__(self, system: FileSystem, root: str, staging: str, kind: str) -> None:
        self._system, self._root, self._staging, self._kind = system, root, staging, kind
        self._files: dict[str, _File] = {}
        self._waiting: list[Row] = []
        self._bytes = 0
        self._name = uuid.uuid4().hex

    def add(self, row: Row) -> None:
        """Take a row."""
        self._waiting.append(row)
        self._bytes += len(row.frame or b"") + 500
        if self._bytes >= GROUP_BYTES:
            self._write()

    def close(self) -> Iterator[Written]:
        """Write what waits; which files there are."""
        self._write()
        for date, file in self._files.items():
            file.close()
            yield Written(self._kind, "bronze", date, file.path, file.rows, "")

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
    """One file of bronze rows."""
    import pyarrow as pa

    from kwire.capture.rows import SCHEMA, to_batch

    file = _File(system, root, path, SCHEMA)
    file.write(pa.Table.from_batches([to_batch(rows)]))
    file.close()
