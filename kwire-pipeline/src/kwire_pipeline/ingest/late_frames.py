"""Late frames: older than the last ones of their broker, so silver from their day on is computed again.

Silver has changes, and each depends on the state before it. A late frame therefore *reopens* its broker at the last
point before the frame with a kept state (`resume_points`): the state is restored, all bronze of the broker since then
is ingested again together with the late frames, and the rows of silver since then are replaced. Other rows in the same
files are copied. All of it is one commit, so readers see either the old rows or the new ones.

Late frames that are one poll too many among regular ones have the time of a wrong clock (`extra_polls`) and are kept
aside: they would reopen days without a reason.

A broker is refused if bronze lacks polls that silver has since then: its reports cannot be computed again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kwire._util.readable import counted
from kwire.capture.equivalence import is_same_poll
from kwire.capture.rows import SCHEMA, to_rows
from kwire.metadata.timestamps import microseconds
from kwire_pipeline.in_process import aggregate, broadcast, with_columns
from kwire_pipeline.ingest.clock_faults import ANY_TIME
from kwire_pipeline.ingest.extra_polls import EXTRA_POLLS, WINDOW, Reporter, are_extra, can_be_extra
from kwire_pipeline.ingest.ingest_task import IngestTask
from kwire_pipeline.ingest.manifest_changes import of_type, oldest, row_counts, to_change
from kwire_pipeline.ingest.resume_points import BEGINNING, reopening_time, state_at
from kwire_pipeline.silver.poll_gaps import METADATA
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.source.bronze import DDL, partition_by_reporter
from kwire_pipeline.store.manifest import (
    MANIFEST,
    FileKind,
    ManifestEntry,
    ReporterProgress,
    WrittenFile,
    date_of,
    entries_of,
)
from kwire_pipeline.store.record import LATE, POLLER, REOPENING, CommitRecord, DataFile, StoreChange, reporter_key
from kwire_pipeline.store.snapshot import Snapshot
from kwire_pipeline.store.table_files import in_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from kwire.capture import Row
    from kwire_pipeline.engine import Engine
    from kwire_pipeline.ingest.ingest_report import IngestReport
    from kwire_pipeline.store.commits import PipelineStore

FIRST_DATE = "1970-01-01"
"""A date before all others."""

COMPARED_BYTES = 32 << 20
"""Maximum size of the compressed files that the driver compares with late frames. Chosen, not measured."""

REPLACED_TOPICS = 1_000
"""Maximum number of topics with removed reports that a commit names; gold folds all partitions for more. Chosen."""

REPORTS = "cluster_id string, broker_id int, topic string, partition int, at timestamp, change string"
"""The columns of silver's `partitions` by which a report is found again."""

POLLS_TABLE = "silver/polls"

POLLS = "cluster_id string, broker_id int, polled_at timestamp, date string"
"""The columns of silver's `polls` with which bronze is compared."""


class LateFrames:
    """The late frames of one ingest.

    Args:
        engine: reads and writes the frames. A few are ingested in this process, like other little data.
        store: the store of the pipeline.
        record: the record that the ingest continues.
        entries: the manifest of the ingest of all other frames, which is not committed yet.
        reference_codec: as of `Pipeline`.
        latest: as of `IngestTask`.
    """

    def __init__(
        self,
        engine: Engine,
        store: PipelineStore,
        record: CommitRecord,
        entries: list[ManifestEntry],
        reference_codec: bool,
        latest: int = ANY_TIME,
    ) -> None:
        self._engine = engine
        self._location = store.location
        self._record = record
        self._entries = entries
        self._reference_codec = reference_codec
        self._latest = latest
        self._snapshot = Snapshot.of(store.location, record)

    def ingest(self, late: list[DataFile], change: StoreChange, report: IngestReport) -> None:
        """Ingest the frames of files of `LATE`, and let `change` and `report` describe the whole ingest."""
        rows = sum(file.rows for file in late)
        new = self._not_in_bronze(late)
        if new is not None and not new:
            report.repeated = rows
            return
        if new is not None and self._are_extra(new):
            report.repeated = rows - len(new)
            self._set_aside(new, change, report)
            return
        with self._engine.queries(in_process=self._engine.ingests_in_process(self._rows_to_read(late))):
            self._reopen(late, change, report)

    def _rows_to_read(self, late: list[DataFile]) -> int:
        """Return an upper bound for the rows that are read again because of late frames."""
        first = min((file.first for file in late if file.first is not None), default=BEGINNING)
        reporters = self._record.progress.reporters.values()
        start = min((reopening_time([reporter], first) for reporter in reporters), default=BEGINNING)
        tables = ("bronze", *(f"silver/{name}" for name in SILVER_SCHEMAS))
        files = [*late, *(file for table in tables for file in self._files_since(table, start))]
        files += [written.file for written in of_type(self._entries, WrittenFile)]
        spans = (span for capture in self._record.progress.captures.values() for span in capture["spans"])
        return sum(file.rows for file in files) + sum(int(stop) - int(start) for start, stop in spans)

    def _reopen(self, late: list[DataFile], change: StoreChange, report: IngestReport) -> None:
        frames = self._read(LATE, late, DDL)
        reopened = self._reopened(frames, change)
        bronze = self._bronze_of(reopened)
        # Brokers whose bronze is incomplete keep their silver, and their late frames are refused.
        incomplete = self._incomplete_bronze(bronze, reopened)
        refused_rows = 0
        if incomplete:
            frames, refused_rows = self._refuse(frames, incomplete, report)
            reopened = {
                key: state for key, state in reopened.items() if (state["cluster"], state["broker"]) not in incomplete
            }
        # Ingest again what the brokers reported, in order of time; frames that bronze has already are dropped.
        both = with_columns(bronze, late="false").unionByName(with_columns(frames, late="true"))
        clusters = self._record.progress.clusters | change.clusters
        reopen = self._task(reopened, clusters).reopen
        again = self._run(partition_by_reporter(both, "late").mapInArrow(reopen, MANIFEST))
        progress = list(of_type(again, ReporterProgress))
        new = [written.file for written in of_type(again, WrittenFile) if written.kind == FileKind.BRONZE]
        report.late = sum(file.rows for file in new)
        report.repeated = sum(file.rows for file in late) - report.late - refused_rows
        if not progress:
            return
        # Files of earlier ingests and of this one have rows that are now written again: keep the rows of other brokers.
        changed = {reporter.key: reopened[reporter.key] for reporter in progress}
        start = min(state["from"] for state in changed.values())
        replaced = {f"silver/{name}": self._files_since(f"silver/{name}", start) for name in SILVER_SCHEMAS}
        paths = [(table, file.path, file.partition["date"]) for table, files in replaced.items() for file in files]
        written_before = [written for written in of_type(self._entries, WrittenFile) if _is_silver(written)]
        paths += [(entry.table, entry.file.path, entry.file.partition["date"]) for entry in written_before]
        rewritten = self._rewrite(self._task(changed, {}), paths)
        others = [entry for entry in self._entries if not _is_silver(entry)]
        final = to_change(self._record, [*others, *again, *rewritten])
        change.reporters, change.clusters = final.reporters, final.clusters
        change.kind, change.added, change.removed = REOPENING, final.added, replaced
        change.replaced_topics = self._replaced_topics(change, written_before)
        change.oldest = oldest(change.oldest, *(file.first for file in new))
        change.rows = report.rows = row_counts([*others, *again])

    def _replaced_topics(self, change: StoreChange, written_before: list[WrittenFile]) -> dict[str, list[str]] | None:
        """Return the topics by cluster with reports about partitions that are gone; None if they are many.

        Gold folds all partitions with a report in its window, but it cannot see that one was there before.
        """
        table = "silver/partitions"
        before = [*change.removed[table], *(entry.file for entry in written_before if entry.table == table)]
        key = [name for name, _ in map(str.split, REPORTS.split(", "))]
        reports = self._engine.read_files(self._location, table, before, f"{REPORTS}, date string").drop("date")
        now = self._engine.read_files(self._location, table, change.added.get(table, []), f"{REPORTS}, date string")
        gone = reports.join(now.drop("date"), key, "left_anti").select("cluster_id", "topic").distinct().collect()
        topics: dict[str, list[str]] = defaultdict(list)
        for cluster_id, topic in sorted(tuple(row) for row in gone):
            topics[cluster_id].append(topic)
        return dict(topics) if len(gone) <= REPLACED_TOPICS else None

    def _not_in_bronze(self, late: list[DataFile]) -> list[Row] | None:
        """Return the frames that bronze does not have, compared in the driver; None if there are too many to compare.

        Whoever ingests a file twice pays for reading it and its time in bronze, not for the days that it belongs to.
        """
        times = [time for file in late for time in (file.first, file.last) if time is not None]
        first, last = min(times), max(times)
        bronze = [
            file
            for file in self._snapshot.files("bronze")
            if (file.first is None or file.first <= last) and (file.last is None or file.last >= first)
        ]
        if sum(file.size for file in (*late, *bronze)) > COMPARED_BYTES:
            return None
        stored: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
        for row in self._rows("bronze", bronze):
            stored[row.cluster_id, row.broker_id, row.polled_at].append(row)
        return [
            row
            for row in self._rows(LATE, late)
            if not any(is_same_poll(row, other) for other in stored[row.cluster_id, row.broker_id, row.polled_at])
        ]

    def _are_extra(self, late: list[Row]) -> bool:
        """Return whether a few late polls have the times of a wrong clock, by the ingested polls around them."""
        if len(late) > EXTRA_POLLS or not can_be_extra(late):
            return False
        polled_at = [microseconds(row.polled_at) for row in late]
        first, last = min(polled_at), max(polled_at)
        oldest_poll = min((file.first or 0 for file in self._snapshot.files(POLLS_TABLE)), default=0)
        times = self._metadata_times(first - WINDOW, max(last, oldest_poll if first < oldest_poll else 0) + WINDOW)
        # Polls of a capture are not in the table bronze.
        are_new = not self._record.progress.captures
        return times is not None and are_extra(late, times, oldest_poll, are_new=are_new)

    def _metadata_times(self, first: int, last: int) -> dict[Reporter, list[int]] | None:
        """Return the times of ingested Metadata polls of each poller in a span; None if it has too many files."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        # The polls of this ingest follow those of earlier ones.
        written = [entry.file for entry in of_type(self._entries, WrittenFile) if entry.table == POLLS_TABLE]
        files = [
            file
            for file in (*self._snapshot.files(POLLS_TABLE), *written)
            if (file.first is None or file.first <= last) and (file.last is None or file.last >= first)
        ]
        if sum(file.size for file in files) > COMPARED_BYTES:
            return None
        file_system = self._location.files()
        times: dict[Reporter, list[int]] = defaultdict(list)
        for file in files:
            rows = pq.read_table(f"{POLLS_TABLE}/{file.path}", filesystem=file_system, partitioning=None)
            polls = in_schema(rows, SILVER_SCHEMAS["polls"].arrow).filter(pc.field("api_key") == METADATA)
            polled_at = polls["polled_at"].cast(pa.int64()).to_pylist()
            columns = (polls[name].to_pylist() for name in ("cluster_id", "broker_id", "poller_id"))
            for cluster_id, broker_id, poller_id, at in zip(*columns, polled_at, strict=True):
                times[cluster_id, broker_id, poller_id].append(at)
        return {reporter: sorted(found) for reporter, found in times.items()}

    def _set_aside(self, late: list[Row], change: StoreChange, report: IngestReport) -> None:
        """Keep late polls aside, and let `change` and `report` describe the whole ingest."""
        entries = self._task(self._record.progress.reporters | change.reporters, {}).set_aside(late)
        final = to_change(self._record, [*self._entries, *entries])
        change.reporters, change.added = final.reporters, final.added
        change.rows = report.rows = row_counts([*self._entries, *entries])
        report.outside += [text for reporter in of_type(entries, ReporterProgress) for text in reporter.outside]

    def _rows(self, folder: str, files: Iterable[DataFile]) -> Iterator[Row]:
        """Read rows of bronze in the driver."""
        import pyarrow.parquet as pq

        file_system = self._location.files()
        for file in files:
            rows = pq.read_table(f"{folder}/{file.path}", filesystem=file_system, partitioning=None)
            for batch in in_schema(rows, SCHEMA).to_batches():
                yield from to_rows(batch)

    def _reopened(self, frames: DataFrame, change: StoreChange) -> dict[str, dict[str, Any]]:
        """Return the reporters of late frames by key: the time to reopen `from`, the broker, and the state then."""
        reporters = self._record.progress.reporters | change.reporters
        brokers = aggregate(frames, "cluster_id, broker_id", "min(unix_micros(polled_at)) AS first")
        reopened: dict[str, dict[str, Any]] = {}
        for cluster, broker_id, first in brokers.collect():
            # Silver does not distinguish the endpoints of unknown brokers: they are reopened together.
            progress = {key: reporters[key] for key in _reporters_of(reporters, cluster, broker_id)}
            start = reopening_time(progress.values(), first)
            for key, reporter in progress.items():
                reopened[key] = {"from": start, "cluster": cluster, "broker": broker_id} | state_at(reporter, start)
        return reopened

    def _incomplete_bronze(self, bronze: DataFrame, reopened: dict[str, dict[str, Any]]) -> dict[tuple[str, int], str]:
        """Return the brokers for which bronze has fewer polls since their time than silver, with both numbers as text.

        Old segments of a capture may have been deleted, or old days of bronze have expired.
        """
        starts = {(state["cluster"], state["broker"]): state["from"] for state in reopened.values()}
        files = self._files_since("silver/polls", min(starts.values()))
        files += [written.file for written in of_type(self._entries, WrittenFile) if written.table == "silver/polls"]
        polls = self._engine.read_files(self._location, "silver/polls", files, POLLS)
        counts = (
            _count_by_broker(self._since(polls, reopened)).collect(),
            _count_by_broker(bronze).collect(),
        )
        in_silver, in_bronze = ({tuple(row[:2]): row[2] for row in rows} for rows in counts)
        return {
            broker: f"bronze has {in_bronze.get(broker, 0):,} of {count:,} polls since {_date_of(starts[broker])}"
            for broker, count in in_silver.items()
            if in_bronze.get(broker, 0) < count
        }

    def _refuse(
        self, frames: DataFrame, incomplete: dict[tuple[str, int], str], report: IngestReport
    ) -> tuple[DataFrame, int]:
        """Report and leave out the late frames of brokers. Returns the other frames, and the number of refused ones."""
        refused = 0
        for cluster, broker_id, count in _count_by_broker(frames).collect():
            if (cluster, broker_id) in incomplete:
                refused += count
                reason = incomplete[cluster, broker_id]
                report.refused.append(
                    f"{counted(count, 'late frame')} of broker {broker_id} of cluster {cluster!r}: {reason}"
                )
        brokers = self._engine.frame(list(incomplete), "cluster_id string, broker_id int")
        others = frames.join(broadcast(brokers), ["cluster_id", "broker_id"], "left_anti")
        return others.select(*frames.columns), refused

    def _bronze_of(self, reopened: dict[str, dict[str, Any]]) -> DataFrame:
        """Return the bronze rows of brokers since their times, from this ingest, earlier ones, and captures."""
        start = min(state["from"] for state in reopened.values())
        files = self._files_since("bronze", start)
        files += [written.file for written in of_type(self._entries, WrittenFile) if written.kind == FileKind.BRONZE]
        bronze = self._read("bronze", files, DDL)
        for folder, capture in self._record.progress.captures.items():
            for first, stop in capture["spans"]:
                rows = self._engine.read_capture(folder, first, stop, start)
                bronze = bronze.unionByName(rows.where("kind not in ('carried', 'missing')"))
        return self._since(bronze, reopened)

    def _since(self, polls: DataFrame, reopened: dict[str, dict[str, Any]]) -> DataFrame:
        """Return the polls of brokers since their times."""
        starts = self._engine.frame(
            sorted({(state["cluster"], state["broker"], state["from"]) for state in reopened.values()}),
            "cluster_id string, broker_id int, since bigint",
        )
        timed = polls.join(broadcast(starts), ["cluster_id", "broker_id"])
        return timed.where("unix_micros(polled_at) >= since").drop("since")

    def _files_since(self, table: str, start: int) -> list[DataFile]:
        """Return the files of a table that may have rows since a time."""
        day = _date_of(start)
        files = (file for file in self._snapshot.files(table) if file.partition["date"] >= day)
        return [file for file in files if file.last is None or file.last >= start]

    def _rewrite(self, task: IngestTask, paths: list[tuple[str, str, str]]) -> list[ManifestEntry]:
        """Copy files without the rows that are written again; `paths` has their tables, paths, and dates."""
        if not paths:
            return []
        plan = self._engine.frame(paths, "folder string, path string, date string")
        return self._run(plan.mapInArrow(task.rewrite, MANIFEST))

    def _task(self, reporters: dict[str, dict[str, Any]], clusters: dict[str, str]) -> IngestTask:
        return IngestTask(self._location, reporters, clusters, self._reference_codec, self._latest)

    def _run(self, manifest: DataFrame) -> list[ManifestEntry]:
        return entries_of(manifest.toArrow())

    def _read(self, table: str, files: Iterable[DataFile], schema: str) -> DataFrame:
        return self._engine.read_files(self._location, table, files, f"{schema}, date string").drop("date")


def _count_by_broker(rows: DataFrame) -> DataFrame:
    return aggregate(rows, "cluster_id, broker_id", "count(*) AS count")


def _is_silver(entry: ManifestEntry) -> bool:
    return isinstance(entry, WrittenFile) and entry.kind == FileKind.SILVER


def _reporters_of(reporters: Iterable[str], cluster: str, broker_id: int) -> list[str]:
    """Return the keys of a broker, one for each poller; for unknown brokers, the keys of all their endpoints."""
    name = reporter_key(cluster, broker_id, "", None)
    brokers = {key: key.partition(POLLER)[0] for key in reporters}
    if broker_id >= 0:
        return [key for key, broker in brokers.items() if broker == name]
    return [key for key, broker in brokers.items() if broker.startswith(name) and not broker[len(name) :].isdigit()]


def _date_of(at: int) -> str:
    return FIRST_DATE if at < 0 else date_of(at)
