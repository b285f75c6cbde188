"""Readers of captures for Spark: the partitions of a batch or a micro-batch, and their rows."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from kwire.capture.errors import UnreadableCapture
from kwire.capture.folder import segments
from kwire.capture.reader import check_begin, read_segment
from kwire.capture.rows import SCHEMA, request_key
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.source.capture_segments import fingerprint_of, matches
from kwire_pipeline.source.missing_rows import MissingRows, MissingRowsPolicy, end_of, recovered, report
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

ALL_ROWS = RowSelection()


class CapturePartition(InputPartition):
    """The rows of one segment from `start` to before `stop`.

    With `first`, the rows effective at `start` come before them. `columns` is None for all. `read_until` is the number
    of the row that the reader needs next, and `previous` the segment before: rows between them and `first_row` are
    missing (`kwire_pipeline.source.missing_rows`). It is None if the reader has no row before.
    """

    def __init__(
        self,
        folder: str,
        first_row: int,
        start: int,
        stop: int,
        *,
        first: bool,
        selection: RowSelection = ALL_ROWS,
        read_until: int | None = None,
        previous: int | None = None,
    ) -> None:
        super().__init__((folder, first_row, start, stop, first))
        self.read_until = read_until
        self.previous = previous
        self.policy = MissingRowsPolicy.REPORT
        self.selection = selection
        self.columns: tuple[str, ...] | None = None
        self.ignore_damaged = False
        self.folder = folder
        self.first_row = first_row
        self.start = start
        self.stop = stop
        self.first = first


class CaptureReader(DataSourceReader):
    """Reads the rows that a capture has when the read is planned."""

    def __init__(
        self,
        folder: str,
        start: int,
        stop: int,
        selection: RowSelection,
        columns: tuple[str, ...],
        ignore_damaged: bool,
        policy: MissingRowsPolicy = MissingRowsPolicy.REPORT,
    ) -> None:
        self._folder = folder
        self._start = start
        self._stop = stop
        self._selection = selection
        self._columns = columns
        self._ignore_damaged = ignore_damaged
        self._policy = policy

    def partitions(self) -> Sequence[InputPartition]:
        planned = plan_partitions(self._folder, self._start, self._stop, begins=True, selection=self._selection)
        return _with_options(planned, self._columns, self._ignore_damaged, self._policy)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, CapturePartition)
        return read_partition(partition)


class PushdownCaptureReader(CaptureReader):
    """Applies filters of a query while it reads. Spark rejects such readers where pushdown is disabled."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._selection = self._selection.narrowed(filters)
        return filters


class BaseCaptureStreamReader(DataSourceStreamReader):
    """Reads a capture as it grows.

    An offset is `{"row": ..., "fingerprint": ...}`: the number of the next row, and the fingerprint of the capture.
    Another capture in the same folder is read from its beginning.
    """

    def __init__(
        self,
        folder: str,
        start: int,
        cluster: PolledCluster | None,
        selection: RowSelection = ALL_ROWS,
        columns: tuple[str, ...] | None = None,
        ignore_damaged: bool = False,
        policy: MissingRowsPolicy = MissingRowsPolicy.REPORT,
    ) -> None:
        self._policy = policy
        self._folder = folder
        self._start = start
        self._cluster = cluster
        self._selection = selection
        self._columns = columns
        self._ignore_damaged = ignore_damaged

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
        planned = plan_partitions(self._folder, first, end["row"], begins=begins, selection=self._selection)
        return _with_options(planned, self._columns, self._ignore_damaged, self._policy)

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


def _with_options(
    partitions: list[CapturePartition],
    columns: tuple[str, ...] | None,
    ignore_damaged: bool,
    policy: MissingRowsPolicy,
) -> list[CapturePartition]:
    for partition in partitions:
        partition.policy = policy
        partition.columns, partition.ignore_damaged = columns, ignore_damaged
    return partitions


def plan_partitions(
    folder: str, start: int, stop: int, *, begins: bool, selection: RowSelection = ALL_ROWS
) -> list[CapturePartition]:
    """Return the partitions with the selected rows from `start` to before `stop`.

    With `begins`, no rows before `start` were read, so the effective rows come first.
    """
    partitions: list[CapturePartition] = []
    listed = segments(folder)
    for position, segment in enumerate(listed):
        end = listed[position + 1].first_row if position + 1 < len(listed) else UNBOUNDED
        if segment.first_row < stop and end > start and selection.includes(segment):
            first = not partitions and begins
            previous = listed[position - 1].first_row if position else None
            # A capture may begin at any row, since old segments may be deleted.
            read_until = None if first else start if previous is None else max(start, previous)
            partitions.append(
                CapturePartition(
                    folder,
                    segment.first_row,
                    max(start, segment.first_row),
                    min(stop, end),
                    first=first,
                    selection=selection,
                    read_until=read_until,
                    previous=previous,
                )
            )
    return partitions


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
            yield rows if part.columns is None else rows.select(part.columns)
    except UnreadableCapture as damaged:
        if not part.ignore_damaged:
            raise
        log.warning("passing over the rest of a damaged segment: %s", damaged)


def _read_rows(part: CapturePartition) -> Iterator[pa.RecordBatch]:
    selection = part.selection
    number = part.first_row
    missing = _missing_before(part)
    effective: dict[RequestKey, pa.RecordBatch] = {}
    for batch in _batches(part.folder, part.first_row):
        carried = count_carried(batch)
        own = batch.slice(carried)
        if missing is not None and own.num_rows:
            at = own.column("polled_at")[0]
            yield selection.within(report(missing[0], part.policy, at))
            for rows in recovered(batch.slice(0, carried), missing[1], microseconds(at.as_py())):
                yield selection.within(selection.of_brokers(rows))
            missing = None
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


def _missing_before(part: CapturePartition) -> tuple[MissingRows, int] | None:
    """Return the missing rows before a partition, and the time in microseconds after which they were polled."""
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
            return None  # damaged rows are not missing
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
