"""The pipeline: frames to bronze, silver, and gold in one folder.

The driver plans and receives manifests from the executors; rows of data stay there. An ingest appears as a whole or not
at all (`store`). Ingesting the same frames twice changes nothing.

`spark-submit` and `python -m kwire_pipeline.pipeline` run this module as the command `kwire pipeline`.
"""

from __future__ import annotations

import json
import pickle
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire.capture.folder import segments
from kwire.capture.rows import SCHEMA
from kwire.metadata.timestamps import microseconds
from kwire.storage.location import Location
from kwire_pipeline.engine import IN_PROCESS_ROWS, Engine
from kwire_pipeline.gold.build import build
from kwire_pipeline.gold.snapshot import PipelineSnapshot
from kwire_pipeline.ingest.capture_task import CAPTURES, PARTS, CaptureTask, count_new_rows, plan_parts, read_parts
from kwire_pipeline.ingest.ingest_report import IngestReport
from kwire_pipeline.ingest.ingest_task import IngestTask
from kwire_pipeline.ingest.late_frames import LateFrames
from kwire_pipeline.ingest.manifest_changes import (
    of_type,
    record_progress,
    share_a_reporter,
    to_change,
    to_report,
)
from kwire_pipeline.source.bronze import DDL, MissingPollTime, check_values, is_plain, normalize, partition_by_broker
from kwire_pipeline.source.capture_readers import read_partition
from kwire_pipeline.source.capture_segments import capture_location
from kwire_pipeline.source.missing_rows import MissingRows, MissingRowsPolicy
from kwire_pipeline.source.recording import bounded_table, read_recording
from kwire_pipeline.store.commits import PipelineStore
from kwire_pipeline.store.maintenance import KEPT, optimize, vacuum
from kwire_pipeline.store.manifest import (
    MANIFEST,
    CaptureProgress,
    FileKind,
    ManifestEntry,
    UntimedRows,
    WrittenFile,
    entries_of,
)
from kwire_pipeline.store.record import LATE, CommitRecord, StoreChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kwire_pipeline.engine import SparkSource


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

LONGEST = timedelta(days=36_525)
"""The longest duration of a setting: times that far from now can be expressed."""

BATCHES_MERGED = 30
"""Batches of a stream between two merges of small files: five minutes, with a batch every ten seconds. Chosen."""

BATCHES_VACUUMED = 2_880
"""Batches of a stream between two deletions of old files: eight hours, with a batch every ten seconds. Chosen."""


class Pipeline:
    """The tables in the folder `out`, a path or URI that driver and executors share.

        pipeline = Pipeline(spark, "/data/kafka")
        print(pipeline.ingest_capture("/captures/prod"))
        pipeline.table("partitions").where("leader = -1").show()

    Several processes may write at a time: an ingest or a build that conflicts with another one is computed again.
    Readers see all tables as they were after one commit.

    Workers that have kwire without its compiled module fail with `EngineMissing`, unless `reference_codec` is set. Gold
    corrects the clocks of pollers that differ by up to `max_clock_skew`, and warns about others (docs/gold.md). Streams
    delete files that were merged, replaced, or removed longer ago than `keep_replaced`. Rows that no segment of a
    capture has are reported, or end the ingest (`missing_rows`).

    Raises:
        NotAStore: `out` is a file.
        UnsupportedLocation: `out` has an unknown scheme.
        ValueError: `max_clock_skew` or `keep_replaced` is negative, or longer than 100 years.
    """

    def __init__(
        self,
        spark: SparkSource,
        out: str,
        *,
        reference_codec: bool = False,
        max_clock_skew: timedelta = timedelta(minutes=10),
        keep_replaced: timedelta = KEPT,
        missing_rows: MissingRowsPolicy = MissingRowsPolicy.REPORT,
        in_process_rows: int = IN_PROCESS_ROWS,
    ) -> None:
        for name, duration in {"max_clock_skew": max_clock_skew, "keep_replaced": keep_replaced}.items():
            if not timedelta(0) <= duration <= LONGEST:
                raise ValueError(f"{name} is {duration}: expected a duration from 0 to 100 years")
        self.engine = Engine(spark, in_process_rows)
        self.missing_rows = missing_rows
        self.max_clock_skew = max_clock_skew
        self.keep_replaced = keep_replaced
        self.reference_codec = reference_codec
        self.out = str(out)
        self._store = PipelineStore(self.out)
        if not self.engine.starts_spark:
            from kwire_pipeline.source.datasource import register

            register(self.spark)

    @property
    def spark(self) -> SparkSession:
        """The session, which this starts if necessary."""
        return self.engine.spark

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments with which another process opens this pipeline."""
        return {
            "reference_codec": self.reference_codec,
            "max_clock_skew": self.max_clock_skew,
            "keep_replaced": self.keep_replaced,
            "missing_rows": self.missing_rows,
            "in_process_rows": self.engine.limit,
        }

    def ingest(self, frames: DataFrame | pa.Table, *, batch: tuple[str, int] | None = None) -> IngestReport:
        """Ingest frames in any order: each becomes a row of bronze, and each change in it a row of silver.

        Frames that were ingested before change nothing. Frames older than the last ones of their broker are ingested
        with the ones after them, from the last kept state before them. Every 30 batches of a stream, small files are
        merged; every 2,880, old ones are deleted.

        Args:
            frames: rows of bronze; missing columns are null, and other columns are ignored (`normalize`). A table of
                Arrow is ingested in this process if it is small.
            batch: the id of a stream and the number of its batch; a batch that was ingested before is skipped.

        Raises:
            InvalidColumn: a column has values that a column of bronze cannot have.
            MissingPollTime: rows have no poll time; nothing is ingested.
        """
        started = time.monotonic()
        if isinstance(frames, pa.Table) and not (
            self.engine.ingests_in_process(frames.num_rows) and is_plain(frames.schema)
        ):
            frames = self.engine.of_arrow(frames)
        if isinstance(frames, pa.Table):
            check_values(frames)

        def run(record: CommitRecord) -> IngestReport:
            if batch is not None and record.progress.streams.get(batch[0], -1) >= batch[1]:
                return IngestReport()
            return self._ingest(frames, record, lambda change: change.streams.update([batch] if batch else []))

        report = self._store.transact(run)
        if batch is not None:
            self._maintain(batch[1] + 1)
        report.seconds = time.monotonic() - started
        return report

    def ingest_recording(self, path: str) -> IngestReport:
        """Ingest a Parquet file of frames, or a folder or a pattern of such files, like a table of frames.

        Raises:
            InvalidColumn: a column cannot be one of bronze.
            PySparkException: Spark cannot read it.
        """
        return self.ingest(read_recording(self.engine, path))

    def ingest_capture(self, *folders: str) -> IngestReport:
        """Ingest the new rows of captures. Their frames stay where they are: a capture is bronze.

        Each folder is one task, and the executors must see it under the same path or URI. Rows that are not newer than
        what their broker reported last, such as rows that were streamed before, are ingested like rows of a table.
        Segments that cannot be read, and missing ones, are reported and skipped. Captures of the same brokers are
        ingested one after another.

        Raises:
            NotACapture: a folder does not exist.
            MissingRows: no segment has some rows, and `missing_rows` is to fail; nothing is ingested.
        """
        if not folders:
            raise ValueError("ingest_capture needs the folder of a capture")
        started = time.monotonic()
        paths = list(dict.fromkeys(capture_location(folder) for folder in folders))
        for path in paths:
            segments(path)  # raises NotACapture

        def run(record: CommitRecord) -> list[ManifestEntry] | None:
            progress_by_path = [(path, record.progress.captures.get(path, {})) for path in paths]
            captures = [
                (path, progress.get("row", 0), progress.get("fingerprint", "")) for path, progress in progress_by_path
            ]
            rows = sum(count_new_rows(*capture) for capture in captures) if self.engine.starts_spark else 0
            with self.engine.queries(in_process=self.engine.ingests_in_process(rows)):
                plan = self.engine.frame(captures, CAPTURES).repartition(len(captures), "folder")
                entries = self._run(plan.mapInArrow(CaptureTask(self._task(record)).ingest, MANIFEST))
            if len(paths) > 1 and share_a_reporter(entries):
                return None
            change = to_change(record, entries)
            for capture in of_type(entries, CaptureProgress):
                if capture.holes and self.missing_rows is MissingRowsPolicy.FAIL:
                    raise MissingRows(capture.folder, capture.holes[0].first, capture.holes[0].stop)
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
            checkpoint: the folder of Spark's offsets [default: `OUT/_checkpoints/<name>`].
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
            at: a time, in UTC if it has no zone: the last commit until then. By default, the newest commit.

        Raises:
            ValueError: the commit is not known.
        """
        if at is not None and at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return PipelineSnapshot(self.engine, self._store.snapshot(number, at))

    def table(self, name: str) -> DataFrame:
        """Return a table of silver or gold, `bronze`, or `ingests`, after the newest commit.

        Raises:
            KeyError: the table does not exist.
        """
        return self.snapshot().table(name)

    def newest_polls(self) -> dict[str, datetime]:
        """Return the time of the newest ingested poll of each cluster; '' for unknown clusters."""
        newest: dict[str, int] = {}
        for key, reporter in self._store.newest().progress.reporters.items():
            cluster_id = key.partition("/")[0]
            newest[cluster_id] = max(newest.get(cluster_id, 0), reporter["last"])
        return {cluster_id: EPOCH + timedelta(microseconds=at) for cluster_id, at in newest.items()}

    def _maintain(self, batches: int) -> None:
        """Run the maintenance that is due after `batches` batches of a stream."""
        if batches % BATCHES_MERGED == 0:
            optimize(self._store)
        if batches % BATCHES_VACUUMED == 0:
            vacuum(self._store, self.keep_replaced)

    # One ingest

    def _ingest(
        self, frames: DataFrame | pa.Table, record: CommitRecord, update: Callable[[StoreChange], object]
    ) -> IngestReport:
        """Ingest rows of bronze, a table of Arrow in this process. `update` records where they came from."""
        in_process = isinstance(frames, pa.Table)
        with self.engine.queries(in_process=in_process, frames=None if in_process else frames):
            rows = partition_by_broker(normalize(self.engine.of_arrow(frames) if in_process else frames))
            entries = self._run(rows.mapInArrow(self._task(record).ingest, MANIFEST))
        late = [written.file for written in of_type(entries, WrittenFile) if written.kind == FileKind.LATE]
        try:
            if untimed := sum(entry.rows for entry in of_type(entries, UntimedRows)):
                raise MissingPollTime(untimed)
            change = to_change(record, entries)
            report = to_report(entries)
            if late:
                frames_of_late = LateFrames(
                    self.engine, self._store, record, entries, self.reference_codec, self._latest_poll()
                )
                frames_of_late.ingest(late, change, report)
            update(change)
            self._store.commit(change)
        finally:
            for file in late:
                self._store.delete(f"{LATE}/{file.path}")
        return report

    def _ingest_rows_of(self, capture: CaptureProgress) -> IngestReport:
        """Ingest the rows of a capture like rows of a table; new ones are copied to bronze."""
        parts = plan_parts(capture)
        frames = None
        if self.engine.ingests_in_process(capture.stop - capture.first):
            rows = (batch for part in parts for batch in read_partition(part))
            frames = bounded_table(rows, SCHEMA, self.engine.limit)
        if frames is None:  # too large for this process
            plan = self.spark.createDataFrame([(pickle.dumps(part),) for part in parts], PARTS)
            frames = plan.repartition(max(len(parts), 1)).mapInArrow(read_parts, DDL)
        report = self._store.transact(
            lambda record: self._ingest(frames, record, lambda change: record_progress(record, change, capture))
        )
        report.damaged = [segment.reason for segment in capture.damaged]
        return report

    def _task(self, record: CommitRecord) -> IngestTask:
        progress = record.progress
        latest = self._latest_poll()
        return IngestTask(self._store.location, progress.reporters, progress.clusters, self.reference_codec, latest)

    def _latest_poll(self) -> int:
        """Return the latest plausible time of a poll: no clock that gold corrects is further ahead."""
        return microseconds(datetime.now(UTC) + self.max_clock_skew)

    def _run(self, manifest: DataFrame) -> list[ManifestEntry]:
        return entries_of(manifest.toArrow())

    # Gold

    def gold(self, hours: Iterable[datetime] | None = None) -> None:
        """Bring gold up to date with silver (docs/gold.md).

        Args:
            hours: the beginnings of the hours to build again, in UTC, with the hours after them; by default, those
                with frames that are not in gold.

        Raises:
            StoreInUse: other processes build gold all the time.
        """
        build(self.engine, self._store, hours, max_clock_skew=self.max_clock_skew)

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """Return all partitions at a point in time; see `kwire_pipeline.gold.cluster_at`."""
        return self.snapshot().cluster_at(at, broker_id, cluster_id)


class BatchIngest:
    """Ingests each micro-batch of a stream exactly once.

    In a classic session it runs in the driver. Behind Spark Connect, Spark pickles it and runs it in a process beside
    the server, where it opens the pipeline again with the session of the batch.

    Args:
        pipeline: the pipeline.
        checkpoint: the folder where Spark keeps the offsets of the stream. The id of the query is read there: with a
            new checkpoint, batches are numbered from 0 again.
        on_report: called with the report of each batch, in the process that runs this function.
    """

    def __init__(self, pipeline: Pipeline, checkpoint: str, on_report: Callable[[IngestReport], object] | None) -> None:
        self._pipeline: Pipeline | None = pipeline
        self._out = pipeline.out
        self._settings = pipeline.settings
        self._checkpoint = checkpoint
        self._on_report = on_report
        self._query_id = ""

    def __call__(self, batch: DataFrame, number: int) -> None:
        if self._pipeline is None:
            self._pipeline = Pipeline(batch.sparkSession, self._out, **self._settings)
        if not self._query_id:
            self._query_id = _query_id(self._checkpoint)
        report = self._pipeline.ingest(batch, batch=(self._query_id, number))
        if self._on_report is not None:
            self._on_report(report)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pipeline": None}


def _query_id(checkpoint: str) -> str:
    """Return the id of the query, which Spark writes to the checkpoint before the first batch."""
    with Location.parse(checkpoint).files().open_input_stream("metadata") as stream:
        return str(json.loads(stream.read())["id"])


if __name__ == "__main__":
    import runpy
    import sys

    sys.argv.insert(1, "pipeline")
    runpy.run_module("kwire", run_name="__main__", alter_sys=True)
