"""Ingesting frames in the executors: rows of bronze in, files of bronze and silver out.

A worker holds the last responses and the state of one broker at a time; nothing else grows with the history. Rows that
are not newer than the last ones of their broker are late or repeated. They are set aside, and `reopen` ingests them
together with the known rows of their days.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from uuid import uuid4

from kwire.capture.equivalence import is_same_poll
from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read_segment
from kwire.capture.rows import Row, to_rows
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.attribution import broker_of, with_cluster
from kwire_pipeline.ingest.clock_faults import ANY_TIME, ClockFaults, has_live_polls, is_impossible
from kwire_pipeline.ingest.reporter_ingest import ReporterIngest
from kwire_pipeline.ingest.resume_points import BEGINNING
from kwire_pipeline.ingest.row_files import BronzeFiles, SilverFiles, marked_rows, rows_of
from kwire_pipeline.session import require_engine
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.source.missing_rows import MISSING
from kwire_pipeline.store.manifest import (
    FileKind,
    ManifestEntry,
    UnreadRows,
    UntimedRows,
    manifest,
)
from kwire_pipeline.store.record import STATE, reporter_key
from kwire_pipeline.store.table_files import Output, TableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from kwire.storage.location import Location
    from kwire_pipeline.silver.state_builder import StateBuilder

FIRST_TIME = microseconds(datetime(1, 1, 1, tzinfo=UTC))
LAST_TIME = microseconds(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))
"""The first and the last time that Python can express, in microseconds since 1970."""


class IngestTask(NamedTuple):
    """The task of a worker: the location of the store, and `reporters` and `clusters` of its newest record."""

    location: Location
    reporters: dict[str, dict[str, Any]]
    clusters: dict[str, str]
    reference_codec: bool = False
    """True if workers may decode without the engine."""
    latest: int = ANY_TIME
    """The latest time of a poll in microseconds since 1970 (`clock_faults`)."""

    def clock_faults(self, key: str) -> ClockFaults:
        """Return what sorts out the polls of a reporter with times of a wrong clock."""
        is_bounded = self.latest < ANY_TIME and has_live_polls(self.reporters, self.latest)
        return ClockFaults(self.reporters.get(key, {}), self.latest, is_bounded=is_bounded)

    def ingest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ingest rows of bronze. For `mapInArrow` over `partition_by_broker`."""
        with _Files(self) as output:
            for (cluster_id, broker_id, *_), rows in groupby(
                rows_of(output.drop_missing(output.drop_untimed(batches))), broker_of
            ):
                output.ingest(self, cluster_id, broker_id, rows)
        yield manifest(output.entries)

    def ingest_segments(self, folder: str, first: int) -> tuple[list[ManifestEntry], int]:
        """Ingest the rows of a capture from `first` on, in place.

        Returns:
            The entries of the manifest, and the number of the next row.
        """
        with _Files(self, bronze=False) as output:
            stop = output.ingest_segments(self, folder, first)
        return output.entries, stop

    def reopen(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ingest known and late rows together. For `mapInArrow`; a last column marks the late rows.

        `reporters` has the state to start with.
        """
        with _Files(self) as output:
            for _, rows in groupby(marked_rows(batches), lambda marked: (marked[0].cluster_id, marked[0].broker_id)):
                output.ingest_again(self, rows)
        yield manifest(output.entries)

    def set_aside(self, rows: Iterable[Row]) -> list[ManifestEntry]:
        """Keep rows aside that an ingest has taken for late ones (`extra_polls`), and return their manifest."""
        with _Files(self) as output:
            reporters: dict[str, ReporterIngest] = {}
            for row in rows:
                key = reporter_key(row.cluster_id or "", row.broker_id, row.endpoint, row.poller_id)
                if key not in reporters:
                    reporters[key] = ReporterIngest(key, self.reporters.get(key, {}), output)
                reporters[key].set_aside(row, to_bronze=True)
            for reporter in reporters.values():
                output.end(reporter)
        return output.entries

    def rewrite(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Copy files of silver without the rows of `reporters` since their time `from`. For `mapInArrow` over files."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        output = Output(self.location)
        entries: list[ManifestEntry] = []
        for batch in batches:
            for folder, path, day in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                declared = SILVER_SCHEMAS[folder.removeprefix("silver/")]
                stored = f"{folder}/{path}"
                rows = pq.read_table(stored, filesystem=output.files, partitioning=None, schema=declared.arrow)
                # Frames that came late change everything that their broker reported after them, and only that.
                for reopened in self.reporters.values():
                    own = pc.and_(
                        pc.equal(rows["cluster_id"], reopened["cluster"]),
                        pc.equal(rows["broker_id"], reopened["broker"]),
                    )
                    is_later = pc.greater_equal(rows[declared.time].cast(pa.int64()), reopened["from"])
                    rows = rows.filter(pc.invert(pc.and_(own, is_later)))
                if rows.num_rows:
                    copy = TableFile(output, FileKind.REWRITTEN, folder, {"date": day}, declared.arrow)
                    copy.write(rows)
                    entries.append(copy.close())
        yield manifest(entries)


class _Files:
    """The files of one task, and the entries of its manifest when it ends."""

    def __init__(self, task: IngestTask, *, bronze: bool = True) -> None:
        if not task.reference_codec:
            require_engine()
        self._output = Output(task.location)
        self._silver = SilverFiles(self._output)
        self._bronze = BronzeFiles(self._output, FileKind.BRONZE) if bronze else None
        self._late = BronzeFiles(self._output, FileKind.LATE)
        self.entries: list[ManifestEntry] = []
        self._untimed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        files: tuple[SilverFiles | BronzeFiles | None, ...] = (self._silver, self._late, self._bronze)
        for group in files:
            written = [] if group is None else list(group.close())
            if failed is None:
                self.entries += written
        if self._untimed:
            self.entries.append(UntimedRows(self._untimed))

    def ingest(self, task: IngestTask, cluster_id: str | None, broker_id: int, rows: Iterator[Row]) -> None:
        """Ingest the rows of one broker, in order of time."""
        first = next(rows)
        endpoint, poller_id = first.endpoint, first.poller_id
        cluster = cluster_id or task.clusters.get(f"{broker_id}/{endpoint}", "")
        # Failed polls that were ingested before the cluster was known are stored without it.
        unattributed = task.reporters.get(reporter_key("", broker_id, endpoint, poller_id), {})
        last_unattributed = unattributed.get("last", BEGINNING)
        last = BEGINNING
        reporter: ReporterIngest | None = None
        before: list[Row] = []
        faults = task.clock_faults(reporter_key(cluster, broker_id, endpoint, poller_id))
        for recorded, known_cluster in with_cluster(faults.plausible(chain([first], rows)), cluster):
            key = reporter_key(known_cluster, broker_id, endpoint, poller_id)
            if reporter is None or reporter.key != key:
                if reporter is not None:
                    self.end(reporter)
                reporter = ReporterIngest(key, task.reporters.get(key, {}), self)
                last = task.reporters.get(key, {}).get("last", BEGINNING)
            row = recorded._replace(cluster_id=recorded.cluster_id or known_cluster)
            at = microseconds(row.polled_at)
            if row.kind == "carried":
                if not reporter.has_response(row):
                    reporter.apply(row)
            elif not recorded.cluster_id and recorded.frame is None and at <= last_unattributed:
                self._late.add(row._replace(cluster_id=""))
            elif at <= last:
                self._late.add(row)
            elif not _is_repeated(row, before):
                reporter.apply(row, to_bronze=True)
            before = [*(other for other in before if other.polled_at == row.polled_at), row]
        if reporter is None:  # all polls are kept aside
            key = reporter_key(cluster, broker_id, endpoint, poller_id)
            reporter = ReporterIngest(key, task.reporters.get(key, {}), self)
        for row in faults.found:
            reporter.set_aside(row._replace(cluster_id=row.cluster_id or cluster), to_bronze=True)
        self.end(reporter)

    def ingest_segments(self, task: IngestTask, folder: str, first: int) -> int:
        """Ingest the rows of a capture from a number on, and return the number of the next row."""
        reporters: dict[str, ReporterIngest] = {}
        number = first
        listed = segments(folder)
        for position, segment in enumerate(listed):
            # The next segment begins at or before the first wanted row, so this one has none.
            if position + 1 < len(listed) and listed[position + 1].first_row <= first:
                continue
            rows, number = _rows_of_segment(segment, first)
            # Within a segment, rows of several brokers are written as they answer, not in the order of their times.
            by_reporter: dict[str, list[tuple[Row, bool]]] = defaultdict(list)
            for row, carried in sorted(rows, key=lambda each: each[0].polled_at):
                key = reporter_key(row.cluster_id or "", row.broker_id, row.endpoint, row.poller_id)
                by_reporter[key].append((row, carried))
            for key, own in by_reporter.items():
                reporter = reporters.get(key)
                if reporter is None:
                    reporter = reporters[key] = ReporterIngest(key, task.reporters.get(key, {}), self)
                faults = task.clock_faults(key)
                plausible = set(map(id, faults.plausible(row for row, carried in own if not carried)))
                for row, carried in own:
                    if id(row) in plausible or (carried and not reporter.has_response(row)):
                        reporter.apply(row)
                for row in faults.found:
                    reporter.set_aside(row)
        for reporter in reporters.values():
            self.end(reporter)
        return number

    def ingest_again(self, task: IngestTask, marked: Iterator[tuple[Row, bool]]) -> None:
        """Ingest known and late rows of one broker, or of all unknown brokers of a cluster.

        Nothing is written unless a late row is new.
        """
        reporters: dict[str, ReporterIngest] = {}
        waiting: list[tuple[Row, bool]] = []
        before: list[Row] = []
        any_new = False
        for row, late in marked:  # of two rows at one time the known one comes first
            before = [other for other in before if other.polled_at == row.polled_at]
            if late and _is_repeated(row, before):
                continue
            before.append(row)
            any_new = any_new or late
            waiting.append((row, late))
            if any_new:
                for marked_row in waiting:
                    self._apply_again(task, reporters, *marked_row)
                waiting.clear()
        for reporter in reporters.values():
            self.end(reporter)

    def _apply_again(self, task: IngestTask, reporters: dict[str, ReporterIngest], row: Row, late: bool) -> None:
        key = reporter_key(row.cluster_id or "", row.broker_id, row.endpoint, row.poller_id)
        if key not in reporters:
            progress = task.reporters.get(key, {})
            before = {"last_before": min(progress.get("last_before", BEGINNING), task.latest)}
            reporters[key] = ReporterIngest(key, progress | before, self)
        at = microseconds(row.polled_at)
        is_ahead = at > task.latest and has_live_polls(task.reporters, task.latest)
        if at in reporters[key].aside or is_ahead or is_impossible(at):
            reporters[key].set_aside(row, to_bronze=late, again=not late)
        else:
            reporters[key].apply(row, to_bronze=late)

    def drop_untimed(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows with a poll time; the manifest has the number of the others."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            times = batch.column("polled_at").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            is_timed = pc.fill_null(
                pc.and_(pc.greater_equal(times, FIRST_TIME), pc.less_equal(times, LAST_TIME)), False
            )
            untimed = batch.num_rows - pc.sum(is_timed, min_count=0).as_py()
            self._untimed += untimed
            yield batch.filter(is_timed) if untimed else batch

    def drop_missing(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows that stand for a poll; the manifest has the rows for missing rows of a capture."""
        import pyarrow.compute as pc

        for batch in batches:
            missing = pc.equal(batch.column("kind"), MISSING)
            if pc.any(missing).as_py():
                reasons = batch.filter(missing).column("error").to_pylist()
                self.entries += [UnreadRows(reason or "rows of a recording are missing") for reason in reasons]
                yield batch.filter(pc.invert(missing))
            else:
                yield batch

    def add_to_bronze(self, row: Row) -> None:
        """Store a row in bronze."""
        assert self._bronze is not None
        self._bronze.add(row)

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

    def end(self, reporter: ReporterIngest) -> None:
        """Write the remaining rows of a reporter, and the entry of its progress."""
        reporter.finish()
        if reporter.applied or reporter.outside:
            self.entries.append(reporter.end())


def _rows_of_segment(segment: Segment, first: int) -> tuple[list[tuple[Row, bool]], int]:
    """Return the carried rows and the rows from a number on, each with whether it is carried, and the next number."""
    number = segment.first_row
    rows: list[tuple[Row, bool]] = []
    for row in chain.from_iterable(map(to_rows, read_segment(segment))):
        is_carried = row.kind == "carried"
        if is_carried or number >= first:
            rows.append((row, is_carried))
        number += not is_carried
    return rows, number


def _is_repeated(row: Row, before: list[Row]) -> bool:
    """Return whether one of the rows before records the same poll."""
    return any(is_same_poll(row, other) for other in before)
