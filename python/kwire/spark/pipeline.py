"""The pipeline: frames to bronze, silver, and gold in one folder.

The driver plans and receives manifests from the executors; rows of data stay there. An ingest appears as a whole or not
at all (`store`). Ingesting the same frames twice changes nothing.

`spark-submit` and `python -m kwire.spark.pipeline` run this module as the command `kwire pipeline`.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.capture.folder import segments
from kwire.spark.batch_ingest import BatchIngest
from kwire.spark.ingest.capture_task import CAPTURES, PARTS, CaptureTask, plan_parts, read_parts
from kwire.spark.ingest.ingest_report import IngestReport
from kwire.spark.ingest.ingest_task import DAYS_KEPT, IngestTask
from kwire.spark.ingest.manifest_changes import (
    of_type,
    oldest,
    record_progress,
    row_counts,
    share_a_reporter,
    to_change,
    to_report,
)
from kwire.spark.session import sized_queries
from kwire.spark.silver.tables import SILVER_SCHEMAS
from kwire.spark.source.bronze import DDL, MissingPollTime, normalize, partition_by_broker, partition_by_reporter
from kwire.spark.source.capture_segments import capture_location
from kwire.spark.source.datasource import register
from kwire.spark.store.commits import Store
from kwire.spark.store.maintenance import KEPT, optimize, vacuum
from kwire.spark.store.manifest import (
    MANIFEST,
    CaptureProgress,
    FileKind,
    ManifestEntry,
    ReporterProgress,
    UntimedRows,
    WrittenFile,
    date_of,
    entries_of,
)
from kwire.spark.store.record import LATE, POLLER, REOPENING, Change, DataFile, Record, reporter_key
from kwire.spark.store.snapshot import PipelineSnapshot, Snapshot, read_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


BATCHES_MERGED = 30
"""After how many batches of a stream the small files of the tables are merged."""

BATCHES_VACUUMED = 2_880
"""After how many batches of a stream old files are deleted: eight hours, with a batch every ten seconds."""

FIRST_DATE, NEVER = "1970-01-01", "9999"

POLLS = "cluster_id string, broker_id int, date string"
"""The columns of silver's `polls` with which bronze is compared."""


class Pipeline:
    """The tables in the folder `out`, a path or URI that driver and executors share.

        pipeline = Pipeline(spark, "/data/kafka")
        print(pipeline.ingest_capture("/captures/prod"))
        pipeline.table("partitions").where("leader = -1").show()

    Several processes may write at a time: an ingest or a build that conflicts with another one is computed again.
    Readers see all tables as they were after one commit.

    Workers that have kwire without its compiled module fail with `EngineMissing`, unless `reference_codec` is set. Gold
    corrects the clocks of pollers that differ by up to `max_clock_skew`, and warns about others (docs/gold.md). Streams
    delete files that were merged, replaced, or removed longer ago than `keep_replaced`.

    Raises:
        NotAStore: `out` is a file.
        UnsupportedLocation: `out` has an unknown scheme.
    """

    def __init__(
        self,
        spark: SparkSession,
        out: str,
        *,
        reference_codec: bool = False,
        max_clock_skew: timedelta = timedelta(minutes=10),
        keep_replaced: timedelta = KEPT,
    ) -> None:
        self.spark = spark
        self.max_clock_skew = max_clock_skew
        self.keep_replaced = keep_replaced
        self.reference_codec = reference_codec
        self.out = str(out)
        self._store = Store(self.out)
        register(spark)

    def ingest(self, frames: DataFrame, *, batch: tuple[str, int] | None = None) -> IngestReport:
        """Ingest frames in any order: each becomes a row of bronze, and each change in it a row of silver.

        Frames that were ingested before change nothing. Frames older than the last ones of their broker reopen the day
        that they belong to. Every 30 batches of a stream, small files are merged; every 2,880, old ones are deleted.

        Args:
            frames: rows of bronze; missing columns are null, and other columns are ignored (`normalize`).
            batch: the id of a stream and the number of its batch; a batch that was ingested before is skipped.

        Raises:
            MissingPollTime: rows have no poll time; nothing is ingested.
        """
        started = time.monotonic()

        def run(record: Record) -> IngestReport:
            if batch is not None and record.progress.streams.get(batch[0], -1) >= batch[1]:
                return IngestReport()
            return self._ingest(frames, record, lambda change: change.streams.update([batch] if batch else []))

        report = self._store.transact(run)
        if batch is not None:
            self._maintain(batch[1] + 1)
        report.seconds = time.monotonic() - started
        return report

    def ingest_capture(self, *folders: str) -> IngestReport:
        """Ingest the new rows of captures. Their frames stay where they are: a capture is bronze.

        Each folder is one task, and the executors must see it under the same path or URI. Rows that are not newer than
        what their broker reported last, such as those that were streamed before, are ingested like those of a table.
        Segments that cannot be read are reported and skipped. Captures of the same brokers are ingested one after
        another.

        Raises:
            NotACapture: a folder does not exist.
        """
        if not folders:
            raise ValueError("ingest_capture needs the folder of a capture")
        started = time.monotonic()
        paths = list(dict.fromkeys(capture_location(folder) for folder in folders))
        for path in paths:
            segments(path)  # raises NotACapture

        def run(record: Record) -> list[ManifestEntry] | None:
            known = [(path, record.progress.captures.get(path, {})) for path in paths]
            captures = [(path, each.get("row", 0), each.get("fingerprint", "")) for path, each in known]
            plan = self.spark.createDataFrame(captures, CAPTURES).repartition(len(captures), "folder")
            entries = self._run(plan.mapInArrow(CaptureTask(self._task(record)).ingest, MANIFEST))
            if len(paths) > 1 and share_a_reporter(entries):
                return None
            change = to_change(record, entries)
            for capture in of_type(entries, CaptureProgress):
                if capture.in_place:
                    record_progress(record, change, capture)
            self._store.commit(change)
            return entries

        entries = self._store.transact(run)
        if entries is None:
            report = IngestReport()
            for path in paths:
                report.add(self.ingest_capture(path))
        else:
            report = to_report(entries)
            for capture in of_type(entries, CaptureProgress):
                if not capture.in_place:
                    report.add(self._ingest_rows_of(capture))
        report.seconds = time.monotonic() - started
        return report

    def stream(
        self,
        frames: DataFrame,
        *,
        checkpoint: str | None = None,
        name: str = "kwire",
        on_report: Callable[[IngestReport], object] | None = None,
        **trigger: Any,
    ) -> StreamingQuery:
        """Ingest each micro-batch of a streaming DataFrame, exactly once across restarts from the checkpoint.

        Args:
            frames: rows of bronze.
            checkpoint: where Spark keeps its offsets [default: `OUT/_checkpoints/<name>`].
            name: the name of the query.
            on_report: called with the report of each batch; behind Spark Connect, in a process beside the server.
            trigger: as of `DataStreamWriter.trigger`, such as `processingTime="10 seconds"` or `availableNow=True`.
        """
        folder = checkpoint or f"{self.out}/_checkpoints/{name}"
        ingest_batch = BatchIngest(self, folder, on_report)
        writer = frames.writeStream.foreachBatch(ingest_batch).option("checkpointLocation", folder).queryName(name)
        return (writer.trigger(**trigger) if trigger else writer).start()

    def snapshot(self, number: int | None = None, at: datetime | None = None) -> PipelineSnapshot:
        """Return all tables as they were after one commit, which later commits do not change.

        Args:
            number: the commit, as the table `ingests` numbers them.
            at: a time: the last commit until then. By default, the newest commit.

        Raises:
            ValueError: the commit is not known.
        """
        return PipelineSnapshot(self.spark, self._store.snapshot(number, at))

    def table(self, name: str) -> DataFrame:
        """Return a table of silver or gold, `bronze`, or `ingests`, after the newest commit.

        Raises:
            KeyError: the table does not exist.
        """
        return self.snapshot().table(name)

    def _maintain(self, batches: int) -> None:
        """Merge and delete files if that is due after so many batches of a stream."""
        if batches % BATCHES_MERGED == 0:
            optimize(self._store)
        if batches % BATCHES_VACUUMED == 0:
            vacuum(self._store, self.keep_replaced)

    # One ingest

    def _ingest(self, frames: DataFrame, record: Record, update: Callable[[Change], object]) -> IngestReport:
        """Ingest rows of bronze. `update` records where they came from."""
        rows = partition_by_broker(normalize(frames))
        entries = self._run(rows.mapInArrow(self._task(record).ingest, MANIFEST))
        late = [written.file for written in of_type(entries, WrittenFile) if written.kind == FileKind.LATE]
        try:
            if untimed := sum(each.rows for each in of_type(entries, UntimedRows)):
                raise MissingPollTime(untimed)
            change = to_change(record, entries)
            report = to_report(entries)
            if late:
                self._reopen(late, entries, record, change, report)
            update(change)
            self._store.commit(change)
        finally:
            for file in late:
                self._store.delete(f"{LATE}/{file.path}")
        return report

    def _ingest_rows_of(self, capture: CaptureProgress) -> IngestReport:
        """Ingest the rows of a capture like those of a table; new ones are copied to bronze."""
        damaged = [segment.first_row for segment in capture.damaged]
        parts = plan_parts(capture.folder, capture.first, capture.stop, damaged)
        plan = self.spark.createDataFrame(parts, PARTS).repartition(max(len(parts), 1))
        frames = plan.mapInArrow(read_parts, DDL)
        report = self._store.transact(
            lambda record: self._ingest(frames, record, lambda change: record_progress(record, change, capture))
        )
        report.damaged = [segment.reason for segment in capture.damaged]
        return report

    def _task(self, record: Record) -> IngestTask:
        progress = record.progress
        return IngestTask(self._store.location, progress.reporters, progress.clusters, self.reference_codec)

    def _run(self, manifest: DataFrame) -> list[ManifestEntry]:
        return entries_of(manifest.collect())

    # Late frames

    def _reopen(
        self,
        late: list[DataFile],
        entries: list[ManifestEntry],
        record: Record,
        change: Change,
        report: IngestReport,
    ) -> None:
        """Ingest again what the brokers of late frames reported, from the beginning of the day on."""
        frames = self._read(LATE, late, DDL)
        snapshot = Snapshot(self._store.location, record.number, record.progress.versions)
        reopened = self._reopened(frames, record, change)
        kept_frames = self._bronze_of(reopened, entries, record, snapshot)
        lacking = self._lacking_bronze(kept_frames, reopened, entries, snapshot)
        refused_rows = 0
        if lacking:
            frames, refused_rows = self._refuse(frames, lacking, report)
            reopened = {key: each for key, each in reopened.items() if (each["cluster"], each["broker"]) not in lacking}
        both = kept_frames.withColumn("late", f.lit(False)).unionByName(frames.withColumn("late", f.lit(True)))
        clusters = record.progress.clusters | change.clusters
        task = IngestTask(self._store.location, reopened, clusters, self.reference_codec)
        again = self._run(partition_by_reporter(both, "late").mapInArrow(task.reopen, MANIFEST))
        progress = list(of_type(again, ReporterProgress))
        new = [written.file for written in of_type(again, WrittenFile) if written.kind == FileKind.BRONZE]
        report.late = sum(file.rows for file in new)
        report.repeated = sum(file.rows for file in late) - report.late - refused_rows
        if not progress:
            return
        # Both the files of earlier ingests and those of this one have rows that are now written again.
        changed = {reporter.key: reopened[reporter.key] for reporter in progress}
        first_day = min(each["day"] for each in changed.values())
        old = {
            f"silver/{name}": [file for file in snapshot.files(f"silver/{name}") if file.partition["date"] >= first_day]
            for name in SILVER_SCHEMAS
        }
        paths = [f"{table}/{file.path}" for table, files in old.items() for file in files]
        paths += [
            f"{written.table}/{written.file.path}"
            for written in of_type(entries, WrittenFile)
            if written.kind == FileKind.SILVER
        ]
        rewritten = self._rewrite(IngestTask(self._store.location, changed, {}, self.reference_codec), paths)
        others = [each for each in entries if not (isinstance(each, WrittenFile) and each.kind == FileKind.SILVER)]
        final = to_change(record, [*others, *again, *rewritten])
        change.reporters, change.clusters = final.reporters, final.clusters
        change.kind, change.added, change.removed = REOPENING, final.added, old
        change.oldest = oldest(change.oldest, *(each.first for each in new))
        change.rows = report.rows = row_counts([*others, *again])

    def _reopened(self, late_frames: DataFrame, record: Record, change: Change) -> dict[str, dict[str, Any]]:
        """Return the reporters of late frames by key: the day to reopen, the broker, and the state on that day."""
        reporters = record.progress.reporters | change.reporters
        brokers = late_frames.groupBy("cluster_id", "broker_id").agg(f.min(f.unix_micros("polled_at")))
        reopened: dict[str, dict[str, Any]] = {}
        for cluster, broker_id, first in brokers.collect():
            # Silver does not distinguish the endpoints of unknown brokers: they are reopened together.
            known = {key: reporters[key] for key in _reporters_of(reporters, cluster, broker_id)}
            day = min(_first_day(each, date_of(first)) for each in known.values())
            for key, each in known.items():
                reopened[key] = {"day": day, "cluster": cluster, "broker": broker_id} | _state_at(each, day)
        return reopened

    def _lacking_bronze(
        self,
        kept_frames: DataFrame,
        reopened: dict[str, dict[str, Any]],
        entries: list[ManifestEntry],
        snapshot: Snapshot,
    ) -> dict[tuple[str, int], str]:
        """Return the brokers of which bronze has fewer polls since their day than silver, and how many it has.

        Old segments of a capture may have been deleted, or old days of bronze have expired: what a broker reported then
        cannot be computed again.
        """
        days = {(each["cluster"], each["broker"]): each["day"] for each in reopened.values()}
        files = [file for file in snapshot.files("silver/polls") if file.partition["date"] >= min(days.values())]
        files += [written.file for written in of_type(entries, WrittenFile) if written.table == "silver/polls"]
        polls = read_files(self.spark, self._store.location, "silver/polls", files, POLLS)
        in_silver: Counter[tuple[str, int]] = Counter()
        for cluster, broker_id, date, count in polls.groupBy("cluster_id", "broker_id", "date").count().collect():
            if date >= days.get((cluster, broker_id), NEVER):
                in_silver[cluster, broker_id] += count
        in_bronze = {row[:2]: row[2] for row in kept_frames.groupBy("cluster_id", "broker_id").count().collect()}
        return {
            broker: f"bronze has {in_bronze.get(broker, 0):,} of {count:,} polls since {days[broker]}"
            for broker, count in in_silver.items()
            if in_bronze.get(broker, 0) < count
        }

    def _refuse(
        self, frames: DataFrame, lacking: dict[tuple[str, int], str], report: IngestReport
    ) -> tuple[DataFrame, int]:
        """Leave out the late frames of brokers, and report them. Returns the others, and how many are left out."""
        refused = 0
        for cluster, broker_id, count in frames.groupBy("cluster_id", "broker_id").count().collect():
            if (cluster, broker_id) in lacking:
                refused += count
                report.refused.append(
                    f"{count:,} late frames of broker {broker_id} of cluster {cluster!r}: {lacking[cluster, broker_id]}"
                )
        brokers = self.spark.createDataFrame(list(lacking), "cluster_id string, broker_id int")
        return frames.join(f.broadcast(brokers), ["cluster_id", "broker_id"], "left_anti").select(
            frames.columns
        ), refused

    def _rewrite(self, task: IngestTask, paths: list[str]) -> list[ManifestEntry]:
        if not paths:
            return []
        plan = self.spark.createDataFrame([(path,) for path in paths], "path string")
        return self._run(plan.mapInArrow(task.rewrite, MANIFEST))

    def _bronze_of(
        self,
        reopened: dict[str, dict[str, Any]],
        entries: list[ManifestEntry],
        record: Record,
        snapshot: Snapshot,
    ) -> DataFrame:
        """Return the bronze rows of brokers since their days, from this ingest, earlier ones, and captures."""
        wanted = self.spark.createDataFrame(
            sorted({(each["cluster"], each["broker"], each["day"]) for each in reopened.values()}),
            "cluster_id string, broker_id int, day string",
        )
        first_day = min(each["day"] for each in reopened.values())
        files = [file for file in snapshot.files("bronze") if file.partition["date"] >= first_day]
        files += [written.file for written in of_type(entries, WrittenFile) if written.kind == FileKind.BRONZE]
        kept = self._read("bronze", files, DDL)
        for folder, capture in record.progress.captures.items():
            for first, stop in capture["spans"]:
                rows = self.spark.read.format("kwire").option("fromRow", first).option("toRow", stop).load(folder)
                kept = kept.unionByName(rows.where("kind != 'carried'"))
        date = f.date_format(f.to_utc_timestamp("polled_at", f.current_timezone()), "yyyy-MM-dd")
        theirs = kept.withColumn("on", date).join(f.broadcast(wanted), ["cluster_id", "broker_id"])
        return theirs.where(f.col("on") >= f.col("day")).drop("on", "day")

    def _read(self, table: str, files: Iterable[DataFile], schema: str) -> DataFrame:
        return read_files(self.spark, self._store.location, table, files, f"{schema}, date string").drop("date")

    # Gold

    def gold(self, hours: Iterable[datetime] | None = None) -> None:
        """Bring gold up to date with silver (docs/gold.md).

        Args:
            hours: the beginnings of the hours to build again, in UTC, with the hours after them; by default, those
                with frames that are not in gold.

        Raises:
            StoreInUse: other processes build gold all the time.
        """
        from kwire.spark.gold import build

        with sized_queries(self.spark, _largest_day(self._store.snapshot())):
            build(self.spark, self._store, hours, max_clock_skew=self.max_clock_skew)

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """Return all partitions at a point in time; see `kwire.spark.gold.cluster_at`."""
        return self.snapshot().cluster_at(at, broker_id, cluster_id)


def _largest_day(snapshot: Snapshot) -> int:
    """Return the bytes of silver's files in the day with the most; builds read a day at a time."""
    sizes: Counter[str] = Counter()
    for table in ("silver/partitions", "silver/polls"):
        for file in snapshot.files(table):
            sizes[file.partition["date"]] += file.size
    return max(sizes.values(), default=0)


def _reporters_of(reporters: Iterable[str], cluster: str, broker_id: int) -> list[str]:
    """Return the keys of a broker, one for each poller; for unknown brokers, those of all their endpoints."""
    name = reporter_key(cluster, broker_id, "", None)
    brokers = {key: key.partition(POLLER)[0] for key in reporters}
    if broker_id >= 0:
        return [key for key, broker in brokers.items() if broker == name]
    return [key for key, broker in brokers.items() if broker.startswith(name) and not broker[len(name) :].isdigit()]


def _first_day(known: dict[str, Any], day: str) -> str:
    """Return the day, or the first one if the state on that day is no longer kept."""
    days: dict[str, str] = known["days"]
    return FIRST_DATE if len(days) >= DAYS_KEPT and day < min(days) else day


def _state_at(known: dict[str, Any], day: str) -> dict[str, Any]:
    """Return the state of a broker at the beginning of a day."""
    days: dict[str, str] = known["days"]
    later = [each for each in sorted(days) if each >= day]
    state = days[later[0]] if later else ""
    if day < min(days, default=day):
        state = ""
    return {"state": state, "days": {each: days[each] for each in days if each < day}, "last": known["last"]}


if __name__ == "__main__":
    import runpy
    import sys

    sys.argv.insert(1, "pipeline")
    runpy.run_module("kwire", run_name="__main__", alter_sys=True)
