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

from kwire.capture.equivalence import is_same_poll
from kwire.capture.folder import Segment, segments
from kwire.capture.reader import read_segment
from kwire.capture.rows import Row, to_rows
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.ingest.attribution import broker_of, with_cluster
from kwire_pipeline.ingest.clock_faults import ANY_TIME, ClockFaults, has_live_polls, is_impossible
from kwire_pipeline.ingest.reporter_ingest import ReporterIngest
from kwire_pipeline.ingest.resume_points import BEGINNING
from kwire_pipeline.ingest.row_files import IngestFiles, marked_rows, rows_of
from kwire_pipeline.session import require_engine
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.source.capture_readers import stops
from kwire_pipeline.source.missing_rows import MISSING
from kwire_pipeline.store.manifest import (
    FileKind,
    ManifestEntry,
    UnreadRows,
    UntimedRows,
    manifest,
)
from kwire_pipeline.store.record import reporter_key
from kwire_pipeline.store.table_files import Output, TableFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from kwire.storage.location import Location

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
        with _Ingest(self) as ingest:
            polls = rows_of(ingest.drop_missing(ingest.drop_untimed(batches)))
            for (cluster_id, broker_id, *_), rows in groupby(polls, broker_of):
                ingest.ingest(cluster_id, broker_id, rows)
                ingest.end_reporters()
        yield manifest(ingest.entries)

    def ingest_segments(self, folder: str, first: int) -> tuple[list[ManifestEntry], int]:
        """Ingest the rows of a capture from `first` on, in place.

        Returns:
            The entries of the manifest, and the number of the next row.
        """
        with _Ingest(self, bronze=False) as ingest:
            stop = ingest.ingest_segments(folder, first)
        return ingest.entries, stop

    def reopen(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ingest known and late rows together. For `mapInArrow`; a last column marks the late rows.

        `reporters` has the state to start with.
        """
        with _Ingest(self) as ingest:
            for _, rows in groupby(marked_rows(batches), lambda marked: (marked[0].cluster_id, marked[0].broker_id)):
                ingest.ingest_again(rows)
                ingest.end_reporters()
        yield manifest(ingest.entries)

    def set_aside(self, rows: Iterable[Row]) -> list[ManifestEntry]:
        """Keep rows aside that an ingest has taken for late ones (`extra_polls`), and return their manifest."""
        with _Ingest(self) as ingest:
            for row in rows:
                ingest.reporter(_key_of(row)).set_aside(row, to_bronze=True)
        return ingest.entries

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


class _Ingest:
    """The ingest of one task: its files, the brokers whose rows it applies, and the entries of its manifest."""

    def __init__(self, task: IngestTask, *, bronze: bool = True) -> None:
        if not task.reference_codec:
            require_engine()
        self._task = task
        self._files = IngestFiles(Output(task.location), bronze=bronze)
        self._reporters: dict[str, ReporterIngest] = {}
        self.entries: list[ManifestEntry] = []
        self._untimed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed is None:
            self.end_reporters()
        written = list(self._files.close())
        if failed is None:
            self.entries += written
        if self._untimed:
            self.entries.append(UntimedRows(self._untimed))

    def reporter(self, key: str) -> ReporterIngest:
        """Return the ingest of the broker with a `reporter_key`."""
        if key not in self._reporters:
            progress = self._task.reporters.get(key, {})
            if "last_before" in progress:
                progress = progress | {"last_before": min(progress["last_before"], self._task.latest)}
            self._reporters[key] = ReporterIngest(key, progress, self._files)
        return self._reporters[key]

    def end_reporters(self) -> None:
        """Write the remaining rows of brokers, and the entries of their progress."""
        for reporter in self._reporters.values():
            reporter.finish()
            if reporter.applied or reporter.outside:
                self.entries.append(reporter.end())
        self._reporters.clear()

    def ingest(self, cluster_id: str | None, broker_id: int, rows: Iterator[Row]) -> None:
        """Ingest the rows of one broker, in order of time."""
        first, task = next(rows), self._task
        endpoint, poller_id = first.endpoint, first.poller_id
        cluster = cluster_id or task.clusters.get(f"{broker_id}/{endpoint}", "")
        # Failed polls that were ingested before the cluster was known are stored without it.
        unattributed = task.reporters.get(reporter_key("", broker_id, endpoint, poller_id), {})
        last_unattributed = unattributed.get("last", BEGINNING)
        before: list[Row] = []
        reporter = self.reporter(reporter_key(cluster, broker_id, endpoint, poller_id))
        faults = task.clock_faults(reporter.key)
        for recorded, known_cluster in with_cluster(faults.plausible(chain([first], rows)), cluster):
            reporter = self.reporter(reporter_key(known_cluster, broker_id, endpoint, poller_id))
            row = recorded._replace(cluster_id=recorded.cluster_id or known_cluster)
            at = microseconds(row.polled_at)
            if row.kind == "carried":
                if not reporter.has_response(row):
                    reporter.apply(row)
            elif not recorded.cluster_id and recorded.frame is None and at <= last_unattributed:
                self._files.add_late(row._replace(cluster_id=""))
            elif at <= reporter.ingested_until:
                self._files.add_late(row)
            elif not _is_repeated(row, before):
                reporter.apply(row, to_bronze=True)
            before = [*(other for other in before if other.polled_at == row.polled_at), row]
        for row in faults.found:
            reporter.set_aside(row._replace(cluster_id=row.cluster_id or cluster), to_bronze=True)

    def ingest_segments(self, folder: str, first: int) -> int:
        """Ingest the rows of a capture from a number on, and return the number of the next row."""
        number = first
        listed = segments(folder)
        for segment, stop in zip(listed, stops(listed), strict=True):
            if stop <= first:
                continue
            rows, number = _rows_of_segment(segment, first)
            # Within a segment, rows of several brokers are written as they answer, not in the order of their times.
            by_reporter: dict[str, list[Row]] = defaultdict(list)
            for row in sorted(rows, key=lambda row: row.polled_at):
                by_reporter[_key_of(row)].append(row)
            for key, own in by_reporter.items():
                reporter, faults = self.reporter(key), self._task.clock_faults(key)
                plausible = set(map(id, faults.plausible(row for row in own if row.kind != "carried")))
                for row in own:
                    if id(row) in plausible or (row.kind == "carried" and not reporter.has_response(row)):
                        reporter.apply(row)
                for row in faults.found:
                    reporter.set_aside(row)
        return number

    def ingest_again(self, marked: Iterator[tuple[Row, bool]]) -> None:
        """Ingest known and late rows of one broker, or of all unknown brokers of a cluster.

        Nothing is written unless a late row is new.
        """
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
                    self._apply_again(*marked_row)
                waiting.clear()

    def _apply_again(self, row: Row, late: bool) -> None:
        reporter, task = self.reporter(_key_of(row)), self._task
        at = microseconds(row.polled_at)
        is_ahead = at > task.latest and has_live_polls(task.reporters, task.latest)
        if at in reporter.aside or is_ahead or is_impossible(at):
            reporter.set_aside(row, to_bronze=late, again=not late)
        else:
            reporter.apply(row, to_bronze=late)

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


def _key_of(row: Row) -> str:
    return reporter_key(row.cluster_id or "", row.broker_id, row.endpoint, row.poller_id)


def _rows_of_segment(segment: Segment, first: int) -> tuple[list[Row], int]:
    """Return the carried rows and the rows from a number on, and the next number."""
    number = segment.first_row
    rows: list[Row] = []
    for row in chain.from_iterable(map(to_rows, read_segment(segment))):
        is_carried = row.kind == "carried"
        if is_carried or number >= first:
            rows.append(row)
        number += not is_carried
    return rows, number


def _is_repeated(row: Row, before: list[Row]) -> bool:
    """Return whether one of the rows before records the same poll."""
    return any(is_same_poll(row, other) for other in before)
