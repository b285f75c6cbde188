"""Files of silver, bronze, and states that an ingest writes, divided by day.

Rows are written in groups, so memory is bounded by one group per table.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kwire.capture.rows import SCHEMA, to_rows
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.store.manifest import FileKind, WrittenFile, date_of
from kwire_pipeline.store.record import LATE, STATE
from kwire_pipeline.store.table_files import Output, TableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from kwire.capture import Row
    from kwire_pipeline.silver.state_builder import StateBuilder

GROUP_ROWS = 100_000
"""Rows of a table of silver that are written at once. Chosen, not measured."""

GROUP_BYTES = 16 << 20
"""Bytes of bronze that are written at once. Chosen, not measured."""

_DAY = 86_400_000_000
"""Microseconds of a day."""


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
        time_index = self._times[table]
        by_day: dict[int, list[tuple[Any, ...]]] = {}
        for row in rows:
            by_day.setdefault(row[time_index] // _DAY, []).append(row)
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


class IngestFiles:
    """The files of one task. Without `bronze`, rows of bronze stay where they are, in a capture."""

    def __init__(self, output: Output, *, bronze: bool) -> None:
        self._output = output
        self._silver = SilverFiles(output)
        self._late = BronzeFiles(output, FileKind.LATE)
        self._bronze = BronzeFiles(output, FileKind.BRONZE) if bronze else None

    def add_to_bronze(self, row: Row) -> None:
        """Store a row in bronze."""
        assert self._bronze is not None
        self._bronze.add(row)

    def add_late(self, row: Row) -> None:
        """Set a row aside that is not newer than the last one of its broker."""
        self._late.add(row)

    def write_silver(self, builder: StateBuilder) -> None:
        """Take the rows of silver so far."""
        self._silver.add(builder.take())

    def write_state(self, builder: StateBuilder) -> str:
        """Write a state and return its path; empty for an empty state."""
        rows = builder.state()
        if not rows:
            return ""
        path = f"{STATE}/{uuid4().hex}.parquet"
        self._output.write_rows(path, rows)
        return path

    def read_state(self, path: str) -> list[Row]:
        """Read a state."""
        import pyarrow.parquet as pq

        table = pq.read_table(path, filesystem=self._output.files, partitioning=None)
        return [row for batch in table.to_batches() for row in to_rows(batch)]

    def close(self) -> Iterator[WrittenFile]:
        """Write the remaining rows and return the files."""
        yield from self._silver.close()
        yield from self._late.close()
        if self._bronze is not None:
            yield from self._bronze.close()


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Return the rows of batches."""
    for batch in batches:
        if batch.num_rows:
            yield from to_rows(batch.cast(SCHEMA))


def marked_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Row, bool]]:
    """Return the rows of batches whose last column is a mark, and the marks."""
    for batch in batches:
        if batch.num_rows:
            marks = batch.column(batch.num_columns - 1).to_pylist()
            yield from zip(to_rows(batch.select(SCHEMA.names).cast(SCHEMA)), marks, strict=True)
