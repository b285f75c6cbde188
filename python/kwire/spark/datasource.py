"""``spark.read.format("kwire")`` and ``spark.readStream.format("kwire")``: captures and clusters as a data source.

    spark.read.format("kwire").load("/captures/prod")
    spark.readStream.format("kwire").option("bootstrap", "broker-1:9092").load("/captures/prod")

gives the rows of bronze (docs/pipeline.md). Options:

``path``       the folder of the capture
``fromRow``    rows from that number on
``toRow``      and before that one; not for streams
``bootstrap``  a cluster to poll into that folder: while a stream runs, and before a batch is read
``interval``   seconds between polls (1)
``seconds``    how long a batch polls (5)

Rules of this file: an offset is the number of a row of the capture, which never changes: so a stream that is started
again from its checkpoint loses nothing and repeats nothing. A partition is a file. What was in force where a read, or a
stream, begins comes first, as 'carried' rows, since 'same' rows may refer to it; what later files carry is left out.

Spark finds the format by itself where the wheel is installed (package ``pyspark_kwire``); `register` does it by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read_segment
from kwire.capture.rows import SCHEMA, request_key
from kwire.errors import KwireError
from kwire.spark.bronze import DDL
from kwire.spark.interpreter import own_python
from kwire.spark.marks import holds, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from kwire.capture.rows import RequestKey

MOST_ROWS = 1 << 62


class BadOption(KwireError, ValueError):
    """An option that makes no sense. ``option``, ``value``; ``wanted``: what would."""

    def __init__(self, option: str, value: str, wanted: str) -> None:
        super().__init__(option, value, wanted)
        self.option = option
        self.value = value
        self.wanted = wanted

    def __str__(self) -> str:
        return f"option {self.option!r} of format('kwire') is {self.value!r}, and must be {self.wanted}"


def register(spark: SparkSession) -> None:
    """Make ``format("kwire")`` known to a session. In a local one workers run this Python, unless one was chosen."""
    own_python(spark)
    spark.dataSource.register(KwireSource)


class KwireSource(DataSource):
    """The format ``kwire``."""

    @classmethod
    def name(cls) -> str:
        return "kwire"

    def schema(self) -> str:
        return DDL

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  it is ours
        folder = self._folder()
        if cluster := self._cluster():
            from kwire.spark.live_source import capturing

            with capturing(cluster.bootstrap, folder, cluster.interval) as polling:
                polling.wait(self._seconds("seconds", 5.0))
        return CaptureReader(folder, self._number("fromRow", 0), self._number("toRow", MOST_ROWS))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802  it is ours; Spark's name
        return CaptureStreamReader(self._folder(), self._number("fromRow", 0), self._cluster())

    def _folder(self) -> str:
        path = self.options.get("path")
        if not path:
            raise ValueError('format("kwire") needs the folder of a capture: load("/captures/prod")')
        return local_path(path)

    def _number(self, option: str, default: int) -> int:
        value = self.options.get(option, str(default))
        if not (value.isascii() and value.isdigit()):
            raise BadOption(option, value, "the number of a row, from 0")
        return int(value)

    def _seconds(self, option: str, default: float) -> float:
        value = self.options.get(option, str(default))
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds < float("inf"):
            raise BadOption(option, value, "a number of seconds above 0")
        return seconds

    def _cluster(self) -> Cluster | None:
        bootstrap = self.options.get("bootstrap")
        return Cluster(bootstrap, self._seconds("interval", 1.0)) if bootstrap else None


def local_path(path: str) -> str:
    """A folder as the file system calls it; it may be given as a URI."""
    from urllib.parse import unquote

    return unquote(path.removeprefix("file://")) if path.startswith("file:///") else path


class Cluster(NamedTuple):
    """A cluster to poll: ``interval`` in seconds."""

    bootstrap: str
    interval: float


class Rows(InputPartition):
    """The rows of one file from ``start`` to before ``stop``. ``first``: with what was in force at ``start``."""

    def __init__(self, folder: str, first_row: int, start: int, stop: int, *, first: bool) -> None:
        super().__init__((folder, first_row, start, stop, first))
        self.folder = folder
        self.first_row = first_row
        self.start = start
        self.stop = stop
        self.first = first


class CaptureReader(DataSourceReader):
    """What a capture holds now."""

    def __init__(self, folder: str, start: int, stop: int) -> None:
        self._folder = folder
        self._start = start
        self._stop = stop

    def partitions(self) -> Sequence[InputPartition]:
        return planned(self._folder, self._start, self._stop, begins=True)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return rows_of_file(partition)


class CaptureStreamReader(DataSourceStreamReader):
    """A capture that grows. Offsets: ``{"row": number, "mark": text}``, that of the next row, and by what the capture
    is known again: another one in the same folder is read from its beginning.
    """

    def __init__(self, folder: str, start: int, cluster: Cluster | None) -> None:
        self._folder = folder
        self._start = start
        self._cluster = cluster

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        return {"row": self._start, "mark": ""}

    # The signature of Spark 4.0 and 4.1, which later ones take too.
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # noqa: N802  see above
        if self._cluster is not None:
            from kwire.spark.live_source import keep_polling

            keep_polling(self._cluster.bootstrap, self._folder, self._cluster.interval)
        return {"row": rows_in_capture(self._folder), "mark": mark_of(segments(self._folder))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first = start["row"]
        if start["mark"] and not holds(segments(self._folder), start["mark"]):
            first = self._start
        return planned(self._folder, first, end["row"], begins=first == self._start)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Rows)
        return rows_of_file(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """The capture stays as it is: others may read it."""


def planned(folder: str, start: int, stop: int, *, begins: bool) -> list[Rows]:
    """The files that hold those rows. ``begins``: nobody was given the rows before."""
    plan: list[Rows] = []
    found = segments(folder)
    for place, file in enumerate(found):
        behind = found[place + 1].first_row if place + 1 < len(found) else MOST_ROWS
        if file.first_row < stop and behind > start:
            plan.append(
                Rows(folder, file.first_row, max(start, file.first_row), min(stop, behind), first=not plan and begins)
            )
    return plan


def rows_in_capture(folder: str) -> int:
    """How many rows there are: the number of the next one."""
    found = segments(folder)
    if not found:
        return 0
    last = found[-1]
    own = sum(batch.num_rows - carried_in(batch) for batch in _batches(folder, last.first_row))
    return int(last.first_row + own)


def rows_of_file(part: Rows) -> Iterator[pa.RecordBatch]:
    """The rows of a partition as Arrow. Raises `kwire.capture.UnreadableCapture` for a damaged file."""
    number = part.first_row
    in_force: dict[RequestKey, pa.RecordBatch] = {}
    for batch in _batches(part.folder, part.first_row):
        carried = carried_in(batch)
        own = batch.slice(carried)
        skipped = min(max(part.start - number, 0), own.num_rows)
        if part.first:
            _note(in_force, batch.slice(0, carried + skipped))
        here = own.slice(skipped, max(part.stop - max(part.start, number), 0))
        number += own.num_rows
        if here.num_rows:
            yield from in_force.values()
            in_force.clear()
            yield here
        if number >= part.stop:
            return


def _note(in_force: dict[RequestKey, pa.RecordBatch], rows: pa.RecordBatch) -> None:
    """The full answers among these rows are in force from now on, as carried ones."""
    names = ("cluster_id", "broker_id", "endpoint", "api_key", "api_version", "request")
    keys = map(request_key, *(rows.column(name).to_pylist() for name in names))
    kind = SCHEMA.get_field_index("kind")
    for place, (key, said) in enumerate(zip(keys, rows.column(kind).to_pylist(), strict=True)):
        if said in ("full", "carried"):
            in_force[key] = rows.slice(place, 1).set_column(
                kind, SCHEMA.field(kind), pa.array(["carried"], SCHEMA.field(kind).type)
            )


def carried_in(batch: pa.RecordBatch) -> int:
    """How many carried rows a batch has; they stand first."""
    return sum(kind == "carried" for kind in batch.column("kind").to_pylist())


def _batches(folder: str, first_row: int) -> Iterator[pa.RecordBatch]:
    """Of the file that begins with that row, be it closed or, just now, a tail."""
    try:
        batches = read_segment(_numbered(folder, first_row))
        first = next(batches, None)
    except FileNotFoundError:  # closed since
        batches = read_segment(_numbered(folder, first_row))
        first = next(batches, None)
    if first is not None:
        yield first
    yield from batches


def _numbered(folder: str, first_row: int) -> Segment:
    return {file.first_row: file for file in segments(folder)}[first_row]
