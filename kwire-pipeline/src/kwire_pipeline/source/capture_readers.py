"""Readers of captures for Spark: the partitions of a batch or a micro-batch, and their rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from kwire.capture.errors import UnreadableCapture
from kwire.capture.folder import segments
from kwire.capture.reader import check_begin, read_segment
from kwire.capture.rows import SCHEMA, request_key
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.source.capture_segments import end_of, fingerprint_of, matches
from kwire_pipeline.source.missing_rows import MissingRows, MissingRowsPolicy, recovered, report
from kwire_pipeline.source.row_selection import RowSelection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql.datasource import Filter

    from kwire.capture.folder import Segment
    from kwire.capture.rows import RequestKey
    from kwire_pipeline.source.live_source import PolledCluster

log = logging.getLogger(__name__)

UNBOUNDED = 1 << 62
"""Number of a row after all rows."""


class ReadOptions(NamedTuple):
    """The options of a read.

    Attributes:
        selection: the rows to return.
        columns: their columns; None for all.
        ignore_damaged: True to pass over segments that cannot be read.
        policy: the policy for missing rows.
        damaged: numbers of the first rows of segments that are left out, because they are damaged.
    """

    selection: RowSelection = RowSelection()
    columns: tuple[str, ...] | None = None
    ignore_damaged: bool = False
    policy: MissingRowsPolicy = MissingRowsPolicy.REPORT
    damaged: frozenset[int] = frozenset()


ALL_ROWS = ReadOptions()


@dataclass
class CapturePartition(InputPartition):
    """The rows of one segment from `start` to before `stop`.

    With `first`, the rows effective at `start` come before them. `read_until` is the number of the row that the reader
    needs next, and `previous` the segment before: rows between them and `first_row` are missing
    (`kwire_pipeline.source.missing_rows`). It is None if the reader has no row before. `lost_from` is the time of the
    first poll in damaged segments right before, in microseconds since 1970.
    """

    folder: str
    first_row: int
    start: int
    stop: int
    first: bool = False
    read_until: int | None = None
    previous: int | None = None
    options: ReadOptions = ALL_ROWS
    lost_from: int | None = None


class CaptureReader(DataSourceReader):
    """Reads the rows that a capture has when the read is planned."""

    def __init__(self, folder: str, start: int, stop: int, options: ReadOptions) -> None:
        self._folder = folder
        self._start = start
        self._stop = stop
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        return plan_partitions(self._folder, self._start, self._stop, begins=True, options=self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, CapturePartition)
        return read_partition(partition)


class PushdownCaptureReader(CaptureReader):
    """Applies filters of a query while it reads. Spark rejects such readers where pushdown is disabled."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._options = self._options._replace(selection=self._options.selection.narrowed(filters))
        return filters


class BaseCaptureStreamReader(DataSourceStreamReader):
    """Reads a capture as it grows.

    An offset is `{"row": ..., "fingerprint": ...}`: the number of the next row, and the fingerprint of the capture.
    Another capture in the same folder is read from its beginning.
    """

    def __init__(self, folder: str, start: int, cluster: PolledCluster | None, options: ReadOptions = ALL_ROWS) -> None:
        self._folder = folder
        self._start = start
        self._cluster = cluster
        self._options = options

    def initialOffset(self) -> dict[str, Any]:
        return {"row": self._start, "fingerprint": ""}

    def poll(self) -> None:
        """Start to poll the cluster of the stream, if it has one, and check that polling continues."""
        if self._cluster is not None:
            from kwire_pipeline.source.live_source import keep_polling

            keep_polling(self._cluster, self._folder)

    def first_row(self, start: dict[str, Any]) -> int:
        """Return the number of the first row after an offset."""
        if start["fingerprint"] and not matches(segments(self._folder), start["fingerprint"]):
            return self._start
        return int(start["row"])

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        first = self.first_row(start)
        begins = first == self._start
        return plan_partitions(self._folder, first, end["row"], begins=begins, options=self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, CapturePartition)
        return read_partition(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Keep the capture: others may read it."""


class CaptureStreamReader(BaseCaptureStreamReader):
    """Reads all new rows in each micro-batch."""

    # The signature of Spark 4.0 and 4.1, which later versions accept too.
    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override]  # Spark before 4.2 calls it without arguments
        self.poll()
        return {"row": rows_in_capture(self._folder), "fingerprint": fingerprint_of(segments(self._folder))}


def plan_partitions(
    folder: str, start: int, stop: int, *, begins: bool, continues: bool | None = None, options: ReadOptions = ALL_ROWS
) -> list[CapturePartition]:
    """Return the partitions with the selected rows from `start` to before `stop`.

    With `begins`, the effective rows come first. With `continues`, rows before `start` were read, so rows from `start`
    on that no segment has are missing; otherwise a capture may begin at any row [default: unless `begins`].
    """
    partitions: list[CapturePartition] = []
    previous = lost_from = None
    continues = not begins if continues is None else continues
    listed = segments(folder)
    for segment, end in zip(listed, stops(listed), strict=True):
        if segment.first_row < stop and end > start and options.selection.includes(segment):
            if segment.first_row in options.damaged:
                lost_from = microseconds(segment.first_time) if lost_from is None else lost_from
            else:
                part = CapturePartition(folder, segment.first_row, max(start, segment.first_row), min(stop, end))
                part.first, part.previous, part.options = not partitions and begins, previous, options
                part.read_until = max(start, previous or 0) if partitions or continues else None
                part.lost_from, lost_from = lost_from, None
                partitions.append(part)
        previous = segment.first_row
    return partitions


def stops(listed: Sequence[Segment]) -> list[int]:
    """Return the number of the row after each segment; the last segment is unbounded."""
    return [segment.first_row for segment in listed[1:]] + [UNBOUNDED] * bool(listed)


def rows_in_capture(folder: str) -> int:
    """Return the number of rows in a capture, which is the number of the next one."""
    listed = segments(folder)
    if not listed:
        return 0
    last = listed[-1]
    own = sum(batch.num_rows - count_carried(batch) for batch in _batches(folder, last.first_row))
    return int(last.first_row + own)


def read_partition(part: CapturePartition) -> Iterator[pa.RecordBatch]:
    """Read the rows of a partition.

    Raises:
        UnreadableCapture: the segment is damaged, and the partition does not ignore that.
    """
    try:
        for rows in _read_rows(part):
            yield rows if part.options.columns is None else rows.select(part.options.columns)
    except UnreadableCapture as damaged:
        if not part.options.ignore_damaged:
            raise
        log.warning("passing over the rest of a damaged segment: %s", damaged)


def _read_rows(part: CapturePartition) -> Iterator[pa.RecordBatch]:
    selection = part.options.selection
    number = part.first_row
    lost = _lost_before(part)
    effective: dict[RequestKey, pa.RecordBatch] = {}
    for batch in _batches(part.folder, part.first_row):
        carried = count_carried(batch)
        own = batch.slice(carried)
        if lost is not None and own.num_rows:
            missing, lost_from = lost
            at = own.column("polled_at")[0]
            if missing is not None:
                yield selection.within(report(missing, part.options.policy, at))
            for rows in recovered(batch.slice(0, carried), lost_from, microseconds(at.as_py())):
                yield selection.within(selection.of_brokers(rows))
            lost = None
        skipped = min(max(part.start - number, 0), own.num_rows)
        if part.first:
            _update_effective(effective, selection.of_brokers(batch.slice(0, carried + skipped)))
        here = selection.of_brokers(own.slice(skipped, max(part.stop - max(part.start, number), 0)))
        number += own.num_rows
        if part.first:
            _update_effective(effective, selection.before(here))
        here = selection.within(here)
        if here.num_rows:
            yield from effective.values()
            effective.clear()
            yield here
        if number >= part.stop:
            return


def _lost_before(part: CapturePartition) -> tuple[MissingRows | None, int] | None:
    """Return the missing rows before a partition, and the time in microseconds after which lost rows were polled."""
    if part.lost_from is not None:
        return None, part.lost_from  # damaged rows are not missing
    if part.read_until is None or part.start > part.first_row:
        return None
    first, last_time = part.read_until, 0
    if part.previous is not None:
        previous = _segment(part.folder, part.previous)
        if previous.last_time is None:
            return None  # it is being closed
        try:
            end = end_of(previous)
        except FileNotFoundError:
            raise
        except (UnreadableCapture, pa.ArrowException, OSError):
            return None
        check_begin(_segment(part.folder, part.first_row), end)
        first = max(first, end)
        last_time = 1 + (microseconds(previous.last_time) or 0)
    return (MissingRows(part.folder, first, part.first_row), last_time) if first < part.first_row else None


def _update_effective(effective: dict[RequestKey, pa.RecordBatch], rows: pa.RecordBatch) -> None:
    """Add the full responses among the rows as carried ones; they replace older responses to the same request."""
    names = ("cluster_id", "broker_id", "endpoint", "api_key", "api_version", "poller_id", "request")
    keys = map(request_key, *(rows.column(name).to_pylist() for name in names))
    kind_index = SCHEMA.get_field_index("kind")
    field = SCHEMA.field(kind_index)
    for position, (key, kind) in enumerate(zip(keys, rows.column(kind_index).to_pylist(), strict=True)):
        if kind in ("full", "carried"):
            carried = pa.array(["carried"], field.type)
            effective[key] = rows.slice(position, 1).set_column(kind_index, field, carried)


def count_carried(batch: pa.RecordBatch) -> int:
    """Return the number of carried rows in a batch; they come first."""
    return sum(kind == "carried" for kind in batch.column("kind").to_pylist())


def _batches(folder: str, first_row: int) -> Iterator[pa.RecordBatch]:
    """Read the segment that begins with a row; a tail may be closed at the same time."""
    try:
        batches = read_segment(_segment(folder, first_row))
        first = next(batches, None)
    except FileNotFoundError:  # the tail was closed after it was listed
        batches = read_segment(_segment(folder, first_row))
        first = next(batches, None)
    if first is not None:
        yield first
    yield from batches


def _segment(folder: str, first_row: int) -> Segment:
    return {segment.first_row: segment for segment in segments(folder)}[first_row]
