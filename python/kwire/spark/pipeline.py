"""The pipeline: frames to bronze, silver, and gold in one folder.

The driver plans and receives manifests from the executors; rows of data stay there. An ingest appears as a whole or not
at all (`store`). Ingesting the same frames twice changes nothing.

`spark-submit` and `python -m kwire.spark.pipeline` run this module as the command `kwire pipeline`.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import functions as f

from kwire.capture.folder import segments
from kwire.spark.batch_ingest import BatchIngest
from kwire.spark.bronze import DDL, MissingPollTime, normalize, partition_by_broker, partition_by_reporter
from kwire.spark.capture_task import CAPTURES, PARTS, CaptureTask, plan_parts, read_parts
from kwire.spark.datasource import register
from kwire.spark.ingest_task import DAYS_KEPT, IngestTask
from kwire.spark.paths import capture_path, escape_glob
from kwire.spark.session import sized_shuffles
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.store import EMPTY, FIRST_DATE, Store, open_file_system, parquet_files, reporter_key
from kwire.spark.writing import (
    MANIFEST,
    CaptureProgress,
    FileKind,
    ManifestEntry,
    ReporterProgress,
    StagedFile,
    StagedState,
    UntimedRows,
    date_of,
    entries_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kwire.spark.log import Record

T = TypeVar("T")


@dataclass
class IngestReport:
    """What an ingest did.

    Attributes:
        rows: added rows by table.
        late: frames that reopened the day that they belong to.
        repeated: frames that were ingested before.
        damaged: segments of captures that cannot be read, and why.
        seconds: duration.
    """

    rows: dict[str, int] = field(default_factory=dict)
    late: int = 0
    repeated: int = 0
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        counts = [f"{name} {self.rows.get(name, 0):,}" for name in ("bronze", *SILVER_SCHEMAS) if self.rows.get(name)]
        bad = self.rows.get("bad_frames", 0)
        return (
            f"{', '.join(counts) or 'nothing new'} rows; {bad:,} bad frames, {self.late:,} late, "
            f"{self.repeated:,} repeated; {self.seconds:.1f} s"
            + "".join(f"\n  damaged: {each}" for each in self.damaged)
        )

    def add(self, other: IngestReport) -> None:
        """Add the counts of another report."""
        for name, rows in other.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows
        self.late += other.late
        self.repeated += other.repeated
        self.damaged += other.damaged


class Pipeline:
    """The tables in the folder `out`, a path or URI that driver and executors share.

        pipeline = Pipeline(spark, "/data/kafka")
        print(pipeline.ingest_capture("/captures/prod"))
        pipeline.table("partitions").where("leader = -1").show()

    Creating a `Pipeline` and reading tables do not affect other processes. Only one process may write at a time:
    another one gets `StoreInUse`. A writer that finds files missing gets `BrokenStore` (both in `kwire.spark.store`).

    Workers that have kwire without its compiled module fail with `EngineMissing`, unless `reference_codec` is set.

    Raises:
        NotAStore: `out` is a file.
    """

    def __init__(self, spark: SparkSession, out: str, *, reference_codec: bool = False) -> None:
        self.spark = spark
        self.reference_codec = reference_codec
        self.out = str(out)
        self._store = Store(self.out)
        register(spark)

    def ingest(self, frames: DataFrame, *, batch: tuple[str, int] | None = None) -> IngestReport:
        """Ingest frames in any order: each becomes a row of bronze, and each change in it a row of silver.

        Frames that were ingested before change nothing. Frames older than the last ones of their broker reopen the day
        that they belong to.

        Args:
            frames: rows of bronze; missing columns are null, and other columns are ignored (`normalize`).
            batch: the id of a stream and the number of its batch; a batch that was ingested before is skipped.

        Raises:
            MissingPollTime: rows have no poll time; nothing is ingested.
        """
        started = time.monotonic()
        report = IngestReport()
        with self._store.writing() as staging:
            if batch is None or self._store.record.streams.get(batch[0], -1) < batch[1]:
                report = self._ingest(frames, staging, lambda record: record.streams.update([batch] if batch else []))
        report.seconds = time.monotonic() - started
        return report

    def ingest_capture(self, *folders: str) -> IngestReport:
        """Ingest the new rows of captures. Their frames stay where they are: a capture is bronze.

        Each folder is one task, and the executors must see it under the same path. Rows that are not newer than what
        their broker reported last, such as those that were streamed before, are ingested like those of a table.
        Segments that cannot be read are reported and skipped. Captures of the same brokers are ingested one after
        another.

        Raises:
            NotACapture: a folder does not exist.
        """
        if not folders:
            raise ValueError("ingest_capture needs the folder of a capture")
        started = time.monotonic()
        paths = list(dict.fromkeys(capture_path(folder) for folder in folders))
        for path in paths:
            segments(path)  # raises NotACapture
        with self._store.writing() as staging:
            known = [(path, self._store.record.captures.get(path, {})) for path in paths]
            captures = [(path, each.get("row", 0), each.get("fingerprint", "")) for path, each in known]
            plan = self.spark.createDataFrame(captures, CAPTURES).repartition(len(captures), "folder")
            entries = self._run(plan.mapInArrow(CaptureTask(self._task(staging)).ingest, MANIFEST))
            one_by_one = len(paths) > 1 and _share_a_reporter(entries)
            if not one_by_one:
                record = self._next_record(entries, staging)
                for capture in _of(entries, CaptureProgress):
                    if capture.in_place:
                        _record_progress(record, capture)
                self._commit(record)
        if one_by_one:
            report = IngestReport()
            for path in paths:
                report.add(self.ingest_capture(path))
        else:
            report = IngestReport(_counts(entries))
            for capture in _of(entries, CaptureProgress):
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

    def table(self, name: str) -> DataFrame:
        """Return a table of silver or gold, or `bronze`.

        Raises:
            KeyError: there is no such table.
        """
        if name == "bronze":
            return self.spark.read.schema(f"{DDL}, date string").parquet(escape_glob(f"{self.out}/bronze"))
        if name in SILVER_SCHEMAS:
            schema = f"{SILVER_SCHEMAS[name].ddl}, date string"
            return self.spark.read.schema(schema).parquet(escape_glob(f"{self.out}/silver/{name}"))
        return self._gold_table(name)

    # One ingest

    def _ingest(self, frames: DataFrame, staging: str, update: Callable[[Record], None]) -> IngestReport:
        """Ingest rows of bronze. `update` records where they came from."""
        rows = partition_by_broker(normalize(frames))
        entries = self._run(rows.mapInArrow(self._task(staging).ingest, MANIFEST))
        if untimed := sum(each.rows for each in _of(entries, UntimedRows)):
            raise MissingPollTime(untimed)
        late = [file for file in _of(entries, StagedFile) if file.kind == FileKind.LATE]
        record = self._next_record(entries, staging)
        report = IngestReport(_counts(entries))
        if late:
            self._reopen(late, entries, record, report)
        update(record)
        self._commit(record)
        return report

    def _ingest_rows_of(self, capture: CaptureProgress) -> IngestReport:
        """Ingest the rows of a capture like those of a table; new ones are copied to bronze."""
        damaged = [segment.first_row for segment in capture.damaged]
        parts = plan_parts(capture.folder, capture.first, capture.stop, damaged)
        plan = self.spark.createDataFrame(parts, PARTS).repartition(max(len(parts), 1))
        frames = plan.mapInArrow(read_parts, DDL)
        with self._store.writing() as staging:
            report = self._ingest(frames, staging, lambda record: _record_progress(record, capture))
        report.damaged = [segment.reason for segment in capture.damaged]
        return report

    def _task(self, staging: str) -> IngestTask:
        record = self._store.record
        return IngestTask(self.out, staging, record.reporters, record.clusters, self.reference_codec)

    def _run(self, manifest: DataFrame) -> list[ManifestEntry]:
        return entries_of(manifest.collect())

    def _next_record(self, entries: Iterable[ManifestEntry], staging: str) -> Record:
        """Return the record that follows the newest, with the progress in the manifest."""
        now = self._store.record
        record = replace(
            now,
            number=now.number + 1,
            reporters=dict(now.reporters),
            clusters=dict(now.clusters),
            captures=dict(now.captures),
            streams=dict(now.streams),
            staging=staging,
            moves=[],
            removed=[],
        )
        for reporter in _of(entries, ReporterProgress):
            record.reporters[reporter.key] = _known(reporter)
            if reporter.cluster:
                record.clusters[reporter.address] = reporter.cluster
        record.moves = _moves(entries, record.number)
        return record

    def _commit(self, record: Record) -> None:
        """Commit the record, unless it changes nothing."""
        now = self._store.record
        before = (now.reporters, now.clusters, now.captures, now.streams)
        after = (record.reporters, record.clusters, record.captures, record.streams)
        if not record.moves and before == after:
            return
        old_states, states = _states(now), _states(record)
        record.removed += sorted(old_states - states)
        record.moves = [(staged, place) for staged, place in record.moves if not _is_state(place) or place in states]
        self._store.commit(record)

    # Late frames

    def _reopen(
        self, late: list[StagedFile], entries: list[ManifestEntry], record: Record, report: IngestReport
    ) -> None:
        """Ingest again what the brokers of late frames reported, from the beginning of the day on."""
        frames = self.spark.read.schema(DDL).parquet(*(escape_glob(f"{self.out}/{each.path}") for each in late))
        reopened = self._reopened(frames, record)
        kept_frames = self._bronze_of(reopened, entries)
        both = kept_frames.withColumn("late", f.lit(False)).unionByName(frames.withColumn("late", f.lit(True)))
        task = IngestTask(self.out, record.staging, reopened, record.clusters, self.reference_codec)
        again = self._run(partition_by_reporter(both, "late").mapInArrow(task.reopen, MANIFEST))
        progress = list(_of(again, ReporterProgress))
        report.late = sum(file.rows for file in _of(again, StagedFile) if file.kind == FileKind.BRONZE)
        report.repeated = sum(file.rows for file in late) - report.late
        if not progress:
            return
        # Both the files of earlier ingests and those of this one have rows that are now written again.
        changed = {reporter.key: reopened[reporter.key] for reporter in progress}
        first_day = min(each["day"] for each in changed.values())
        old = [
            path
            for table in SILVER_SCHEMAS
            for path in self._store.files(f"silver/{table}")
            if path.split("/")[2].removeprefix("date=") >= first_day and not path.endswith(EMPTY)
        ]
        staged = [file.path for file in _of(entries, StagedFile) if file.kind == FileKind.SILVER]
        rewrite = IngestTask(self.out, record.staging, changed, {}, self.reference_codec)
        rewritten = [*self._rewrite(rewrite, old), *self._rewrite(rewrite, staged)]
        for reporter in progress:
            record.reporters[reporter.key] = _known(reporter)
        others = [each for each in entries if not (isinstance(each, StagedFile) and each.kind == FileKind.SILVER)]
        record.moves = _moves([*others, *again, *rewritten], record.number)
        record.removed += old
        report.rows = _counts([*others, *again])

    def _reopened(self, late_frames: DataFrame, record: Record) -> dict[str, dict[str, Any]]:
        """Return the reporters of late frames by key: the day to reopen, the broker, and the state on that day."""
        brokers = late_frames.groupBy("cluster_id", "broker_id").agg(f.min(f.unix_micros("polled_at")))
        reopened: dict[str, dict[str, Any]] = {}
        for cluster, broker_id, first in brokers.collect():
            # Silver does not distinguish the endpoints of unknown brokers: they are reopened together.
            known = {key: record.reporters[key] for key in _reporters_of(record, cluster, broker_id)}
            day = min(_first_day(each, date_of(first)) for each in known.values())
            for key, each in known.items():
                reopened[key] = {"day": day, "cluster": cluster, "broker": broker_id} | _state_at(each, day)
        return reopened

    def _rewrite(self, task: IngestTask, paths: list[str]) -> list[ManifestEntry]:
        if not paths:
            return []
        plan = self.spark.createDataFrame([(path,) for path in paths], "path string")
        return self._run(plan.mapInArrow(task.rewrite, MANIFEST))

    def _bronze_of(self, reopened: dict[str, dict[str, Any]], entries: list[ManifestEntry]) -> DataFrame:
        """Return the bronze rows of brokers since their days, from this ingest, earlier ones, and captures."""
        wanted = self.spark.createDataFrame(
            sorted({(each["cluster"], each["broker"], each["day"]) for each in reopened.values()}),
            "cluster_id string, broker_id int, day string",
        )
        staged = [
            escape_glob(f"{self.out}/{file.path}") for file in _of(entries, StagedFile) if file.kind == FileKind.BRONZE
        ]
        kept = self.table("bronze").drop("date")
        if staged:
            kept = kept.unionByName(self.spark.read.schema(DDL).parquet(*staged))
        for folder, capture in self._store.record.captures.items():
            for first, stop in capture["spans"]:
                rows = self.spark.read.format("kwire").option("fromRow", first).option("toRow", stop).load(folder)
                kept = kept.unionByName(rows.where("kind != 'carried'"))
        date = f.date_format(f.to_utc_timestamp("polled_at", f.current_timezone()), "yyyy-MM-dd")
        theirs = kept.withColumn("on", date).join(f.broadcast(wanted), ["cluster_id", "broker_id"])
        return theirs.where(f.col("on") >= f.col("day")).drop("on", "day")

    # Gold

    def gold(self) -> None:
        """Bring gold up to date with silver (docs/gold.md)."""
        from kwire.spark.gold import build

        with sized_shuffles(self.spark, _largest_day(self.out)):
            build(self.spark, self.out)

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """Return all partitions at a point in time; see `kwire.spark.gold.cluster_at`."""
        from kwire.spark.gold import cluster_at

        return cluster_at(self.spark, self.out, at, broker_id, cluster_id)

    def _gold_table(self, name: str) -> DataFrame:
        from kwire.spark.gold import TABLES

        for table in TABLES:
            if table.name == name:
                return table.read(self.spark, self.out)
        raise KeyError(name)


def _largest_day(out: str) -> int:
    """Return the bytes of silver's files in the day with the most; builds read a day at a time."""
    system, root = open_file_system(out)
    sizes: Counter[str] = Counter()
    for table in ("partitions", "polls"):
        for path in parquet_files(system, root, f"silver/{table}"):
            sizes[path.partition("date=")[2].partition("/")[0]] += system.get_file_info(f"{root}/{path}").size
    return max(sizes.values(), default=0)


def _of(entries: Iterable[ManifestEntry], cls: type[T]) -> Iterable[T]:
    return (entry for entry in entries if isinstance(entry, cls))


def _moves(entries: Iterable[ManifestEntry], number: int) -> list[tuple[str, str]]:
    """Return the staged path and the final place of each file."""
    moves = []
    for entry in entries:
        match entry:
            case StagedState(path, place):
                moves.append((path, place))
            case StagedFile(kind, table, date, path) if kind != FileKind.LATE:
                folder = "bronze" if kind == FileKind.BRONZE else f"silver/{table}"
                name = path.rpartition("/")[2]
                moves.append((path, f"{folder}/date={date}/{number:012}-{name}"))
    return moves


def _counts(entries: Iterable[ManifestEntry]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for file in _of(entries, StagedFile):
        if file.kind in {FileKind.SILVER, FileKind.BRONZE}:
            counts[file.table] += file.rows
    return dict(counts)


def _known(reporter: ReporterProgress) -> dict[str, Any]:
    """Return what a record keeps of a reporter."""
    return {"state": reporter.state, "last": reporter.last, "days": reporter.days}


def _record_progress(record: Record, capture: CaptureProgress) -> None:
    """Record how far a capture is ingested."""
    before = record.captures.get(capture.folder, {})
    continued = capture.first == before.get("row")
    spans = [list(span) for span in before.get("spans", [])] if continued else []
    if capture.in_place and capture.stop > capture.first:
        if spans and spans[-1][1] == capture.first:
            spans[-1][1] = capture.stop
        else:
            spans.append([capture.first, capture.stop])
    record.captures[capture.folder] = {"row": capture.stop, "fingerprint": capture.fingerprint, "spans": spans}


def _share_a_reporter(entries: Iterable[ManifestEntry]) -> bool:
    """Return whether two tasks ingested the same broker, each without the rows of the other."""
    keys = Counter(reporter.key for reporter in _of(entries, ReporterProgress))
    return max(keys.values(), default=0) > 1


def _is_state(place: str) -> bool:
    return place.startswith("_state/")


def _states(record: Record) -> set[str]:
    """Return the files of states that a record refers to."""
    used = {known["state"] for known in record.reporters.values()}
    used.update(state for known in record.reporters.values() for state in known["days"].values())
    return used - {""}


def _reporters_of(record: Record, cluster: str, broker_id: int) -> list[str]:
    """Return the key of a broker; for unknown brokers, the keys of all their endpoints."""
    if broker_id >= 0:
        return [reporter_key(cluster, broker_id, "")]
    prefix = reporter_key(cluster, broker_id, "")
    return [key for key in record.reporters if key.startswith(prefix) and not key.removeprefix(prefix).isdigit()]


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
