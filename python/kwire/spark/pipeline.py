"""The pipeline: bronze -> silver -> gold under one folder, and the job that runs it.

    python -m kwire.spark.pipeline --tape FILE | --capture DIR | --bootstrap HOST:PORT  --out OUT [--stream] [--gold]

Rules of this file: the driver plans, and hears from the tasks which files they wrote; no row of data comes here. An
ingest appears as a whole or not at all (`store`). Giving the same frames twice changes nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.capture.folder import segments
from kwire.spark.bronze import DDL, NoTime, by_broker, by_teller, normalised
from kwire.spark.capture_task import PLAN, WANTED, CaptureTask, plan, rows_of_plan
from kwire.spark.datasource import local_path, register
from kwire.spark.ingest_task import DAYS_KEPT, Task
from kwire.spark.places import literal
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.store import EMPTY, FIRST_DATE, Store, teller_key
from kwire.spark.writing import MANIFEST, Written, date_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kwire.spark.log import Record


@dataclass
class Report:
    """What an ingest did. ``rows``: added, by table; ``late``: frames that re-opened a day they came too late for;
    ``repeated``: frames that were known; ``damaged``: files of captures that cannot be read, and why; ``seconds``: wall
    clock.
    """

    rows: dict[str, int] = field(default_factory=dict)
    late: int = 0
    repeated: int = 0
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        told = [f"{name} {self.rows.get(name, 0):,}" for name in ("bronze", *SILVER_SCHEMAS) if self.rows.get(name)]
        bad = self.rows.get("bad_frames", 0)
        return (
            f"{', '.join(told) or 'nothing new'} rows; {bad:,} bad frames, {self.late:,} late, "
            f"{self.repeated:,} repeated; {self.seconds:.1f} s"
            + "".join(f"\n  damaged: {each}" for each in self.damaged)
        )

    def add(self, other: Report) -> None:
        """Count that one in."""
        for name, rows in other.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows
        self.late += other.late
        self.repeated += other.repeated
        self.damaged += other.damaged


class Pipeline:
    """Everything under the folder ``out`` (a path or URI that driver and executors share).

        pipeline = Pipeline(spark, "/data/kafka")
        print(pipeline.ingest_capture("/captures/prod"))
        pipeline.table("partitions").where("leader = -1").show()

    Opening it and reading move_random_leaders nobody. One ingest at a time may write: another raises `StoreInUse`, and one that
    finds files missing `BrokenStore` (kwire.spark.store). Raises `NotAStore` when ``out`` is a file.
    """

    def __init__(self, spark: SparkSession, out: str) -> None:
        self.spark = spark
        self.out = str(out)
        self._store = Store(self.out)
        register(spark)

    def ingest(self, frames: DataFrame, *, batch: tuple[str, int] | None = None) -> Report:
        """Take rows of bronze, in any order; columns that are missing count as null, others are left out.

        Each becomes a row of bronze and what it changes becomes rows of silver. Rows that are there already change
        nothing. Rows older than the last ones of their broker re-open the day that they belong to. ``batch``: the id
        of a stream and the number of its batch; one that was taken already is passed over.

        Raises `kwire.spark.bronze.NoTime`, and then nothing was taken.
        """
        begun = time.monotonic()
        report = Report()
        with self._store.writing() as staging:
            if batch is None or self._store.record.streams.get(batch[0], -1) < batch[1]:
                report = self._take(frames, staging, lambda record: record.streams.update([batch] if batch else []))
        report.seconds = time.monotonic() - begun
        return report

    def ingest_capture(self, *folders: str) -> Report:
        """Take what captures hold and was not taken before. Their frames stay where they are: a capture is bronze.

        Each folder is one task; the executors must see it under the same path. Rows that are not newer than what their
        broker told last, as of a capture that came as a stream before, are taken as by `ingest`. Files that cannot be
        read are reported and passed over. Captures of the same brokers are taken one after another. Raises NotACapture.
        """
        if not folders:
            raise ValueError("ingest_capture needs the folder of a capture")
        begun = time.monotonic()
        paths = list(dict.fromkeys(capture_path(folder) for folder in folders))
        for path in paths:
            segments(path)  # raises where there is none
        with self._store.writing() as staging:
            known = [(path, self._store.record.captures.get(path, {})) for path in paths]
            wanted = [(path, each.get("row", 0), each.get("mark", "")) for path, each in known]
            folders_plan = self.spark.createDataFrame(wanted, WANTED).repartition(len(wanted), "folder")
            written = self._run(folders_plan.mapInArrow(CaptureTask(self._task(staging)).ingest, MANIFEST))
            one_after_another = len(paths) > 1 and _share_a_teller(written)
            if not one_after_another:
                record = self._next(written, staging)
                for each in written:
                    if each.kind == "captured":
                        _captured(record, each, lies_there=True)
                self._finish(record)
        if one_after_another:
            report = Report()
            for path in paths:
                report.add(self.ingest_capture(path))
        else:
            report = Report(_counts(written))
            for each in written:
                if each.kind == "aside":
                    report.add(self._ingest_aside(each))
        report.seconds = time.monotonic() - begun
        return report

    def stream(
        self,
        frames: DataFrame,
        *,
        checkpoint: str | None = None,
        name: str = "kwire",
        heard: Callable[[Report], object] | None = None,
        **trigger: Any,
    ) -> StreamingQuery:
        """`ingest` for each micro-batch of a streaming DataFrame, exactly once over restarts from the checkpoint.

        ``checkpoint``: where Spark keeps its offsets (``OUT/_checkpoints/<name>``); ``heard``: gets the report of each
        batch; ``trigger``: as of ``DataStreamWriter.trigger``, say ``processingTime="10 seconds"`` or
        ``availableNow=True``.
        """
        folder = checkpoint or f"{self.out}/_checkpoints/{name}"
        # The id lies in the checkpoint: batches are numbered anew where that is new. The first may come before `start`
        # returns.
        started: Future[str] = Future()

        def take(batch: DataFrame, number: int) -> None:
            report = self.ingest(batch, batch=(started.result(), number))
            if heard is not None:
                heard(report)

        writer = frames.writeStream.foreachBatch(take).option("checkpointLocation", folder).queryName(name)
        try:
            query = (writer.trigger(**trigger) if trigger else writer).start()
        except BaseException as error:
            started.set_exception(error)
            raise
        started.set_result(query.id)
        return query

    def table(self, name: str) -> DataFrame:
        """A table of silver, ``bronze``, or a table of gold, by name. Raises KeyError for another."""
        if name == "bronze":
            return self.spark.read.schema(f"{DDL}, date string").parquet(literal(f"{self.out}/bronze"))
        if name in SILVER_SCHEMAS:
            schema = f"{SILVER_SCHEMAS[name].ddl}, date string"
            return self.spark.read.schema(schema).parquet(literal(f"{self.out}/silver/{name}"))
        return self._gold_table(name)

    # One ingest

    def _take(self, frames: DataFrame, staging: str, note: Callable[[Record], None]) -> Report:
        """Rows of bronze. ``note``: adds to the record where they came from. Raises NoTime, before anything counts."""
        rows = by_broker(normalised(frames))
        written = self._run(rows.mapInArrow(self._task(staging).ingest, MANIFEST))
        if timeless := sum(each.rows for each in written if each.kind == "timeless"):
            raise NoTime(timeless)
        late = [each for each in written if each.kind == "late"]
        record = self._next(written, staging)
        report = Report(_counts(written))
        if late:
            self._reopen(late, written, record, report)
        note(record)
        self._finish(record)
        return report

    def _ingest_aside(self, aside: Written) -> Report:
        """Rows of a capture that could not be walked where they lie; what is new of them is copied to bronze."""
        said = json.loads(aside.detail)
        parts = plan(aside.path, said["first"], aside.rows, [number for number, _ in said["damaged"]])
        frames = self.spark.createDataFrame(parts, PLAN).repartition(max(len(parts), 1)).mapInArrow(rows_of_plan, DDL)
        with self._store.writing() as staging:
            report = self._take(frames, staging, lambda record: _captured(record, aside, lies_there=False))
        report.damaged = [why for _, why in said["damaged"]]
        return report

    def _task(self, staging: str) -> Task:
        record = self._store.record
        return Task(self.out, staging, record.tellers, record.clusters)

    def _run(self, manifest: DataFrame) -> list[Written]:
        return [Written(*row) for row in manifest.collect()]

    def _next(self, written: Iterable[Written], staging: str) -> Record:
        """The record after the newest, as far as the tasks tell it."""
        now = self._store.record
        record = replace(
            now,
            number=now.number + 1,
            tellers=dict(now.tellers),
            clusters=dict(now.clusters),
            captures=dict(now.captures),
            streams=dict(now.streams),
            staging=staging,
            moves=[],
            removed=[],
        )
        for each in written:
            if each.kind == "teller":
                said = json.loads(each.detail)
                record.tellers[said["key"]] = {name: said[name] for name in ("state", "last", "days")}
                if said["cluster"]:
                    record.clusters[said["address"]] = said["cluster"]
        record.moves = _moves(written, record.number)
        return record

    def _finish(self, record: Record) -> None:
        """Commit, unless nothing happened."""
        now = self._store.record
        known = (now.tellers, now.clusters, now.captures, now.streams)
        told = (record.tellers, record.clusters, record.captures, record.streams)
        if not record.moves and known == told:
            return
        before, after = _states(now), _states(record)
        record.removed += sorted(before - after)
        record.moves = [(staged, place) for staged, place in record.moves if not _is_state(place) or place in after]
        self._store.commit(record)

    # Late frames

    def _reopen(self, late: list[Written], written: list[Written], record: Record, report: Report) -> None:
        """Walk once more, from the beginning of the day, what brokers told of which frames came late."""
        frames = self.spark.read.schema(DDL).parquet(*(literal(f"{self.out}/{each.path}") for each in late))
        who = frames.groupBy("cluster_id", "broker_id").agg(f.min(f.unix_micros("polled_at")))
        anew: dict[str, dict[str, Any]] = {}
        for cluster, broker, first in who.collect():
            # Silver tells brokers apart, not endpoints: those of unknown brokers are walked again together.
            tellers = {key: record.tellers[key] for key in _tellers_of(record, cluster, broker)}
            day = min(_day_to_begin(known, date_of(first)) for known in tellers.values())
            for key, known in tellers.items():
                anew[key] = {"day": day, "cluster": cluster, "broker": broker} | _state_at(known, day)
        kept_frames = self._bronze_of(anew, written)
        both = kept_frames.withColumn("late", f.lit(False)).unionByName(frames.withColumn("late", f.lit(True)))
        task = Task(self.out, record.staging, anew, record.clusters)
        again = self._run(by_teller(both, "late").mapInArrow(task.reopen, MANIFEST))
        walked = [json.loads(each.detail) for each in again if each.kind == "teller"]
        report.late = sum(each.rows for each in again if each.kind == "bronze")
        report.repeated = sum(each.rows for each in late) - report.late
        if not walked:
            return
        rewalked = {said["key"]: anew[said["key"]] for said in walked}
        # What this ingest told of those brokers is told once more by the second walk.
        first_day = min(each["day"] for each in rewalked.values())
        old = [
            path
            for table in SILVER_SCHEMAS
            for path in self._store.files(f"silver/{table}")
            if path.split("/")[2].removeprefix("date=") >= first_day and not path.endswith(EMPTY)
        ]
        staged = {each.path: each for each in written if each.kind == "silver"}
        rewrite = Task(self.out, record.staging, rewalked, {})
        kept = self._rewrite(rewrite, old)
        kept += self._rewrite(rewrite, list(staged))
        for said in walked:
            record.tellers[said["key"]] = {name: said[name] for name in ("state", "last", "days")}
        stay = [each for each in written if each.kind != "silver"]
        record.moves = _moves([*stay, *again, *kept], record.number)
        record.removed += old
        report.rows = _counts([*stay, *again])

    def _rewrite(self, task: Task, paths: list[str]) -> list[Written]:
        if not paths:
            return []
        plan = self.spark.createDataFrame([(path,) for path in paths], "path string")
        return self._run(plan.mapInArrow(task.rewrite, MANIFEST))

    def _bronze_of(self, anew: dict[str, dict[str, Any]], written: list[Written]) -> DataFrame:
        """What is kept of those brokers since those days, of this ingest too, and in captures."""
        wanted = self.spark.createDataFrame(
            sorted({(each["cluster"], each["broker"], each["day"]) for each in anew.values()}),
            "cluster_id string, broker_id int, day string",
        )
        staged = [literal(f"{self.out}/{each.path}") for each in written if each.kind == "bronze"]
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

        build(self.spark, self.out)

    def cluster_at(self, at: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
        """All partitions at an instant, as that broker told them, or as most did (docs/gold.md). ``cluster_id``: of
        which cluster, where several are under ``out``.
        """
        from kwire.spark.gold import cluster_at

        return cluster_at(self.spark, self.out, at, broker_id, cluster_id)

    def _gold_table(self, name: str) -> DataFrame:
        from kwire.spark.gold import TABLES

        for table in TABLES:
            if table.name == name:
                return table.read(self.spark, self.out)
        raise KeyError(name)


def _moves(written: Iterable[Written], number: int) -> list[tuple[str, str]]:
    """From where an executor wrote a file to its place."""
    moves = []
    for each in written:
        if each.kind in {"silver", "kept", "bronze"}:
            folder = f"silver/{each.table}" if each.kind != "bronze" else "bronze"
            name = each.path.rpartition("/")[2]
            moves.append((each.path, f"{folder}/date={each.date}/{number:012}-{name}"))
        elif each.kind == "state" and each.path:
            moves.append((each.path, each.detail))
    return moves


def _counts(written: Iterable[Written]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in written:
        if each.kind in {"silver", "bronze"}:
            counts[each.table] += each.rows
    return dict(counts)


def _captured(record: Record, told: Written, *, lies_there: bool) -> None:
    """Note in a record how far a capture was taken. ``lies_there``: those rows are bronze in the capture itself."""
    said = json.loads(told.detail)
    before = record.captures.get(told.path, {})
    same = said["first"] == before.get("row")
    spans = [list(span) for span in before.get("spans", [])] if same else []
    if lies_there and told.rows > said["first"]:
        if spans and spans[-1][1] == said["first"]:
            spans[-1][1] = told.rows
        else:
            spans.append([said["first"], told.rows])
    record.captures[told.path] = {"row": told.rows, "mark": said["mark"], "spans": spans}


def _share_a_teller(written: Iterable[Written]) -> bool:
    """Whether two tasks walked the same broker, each without the other's rows."""
    tellers = Counter(json.loads(each.detail)["key"] for each in written if each.kind == "teller")
    return max(tellers.values(), default=0) > 1


def capture_path(folder: object) -> str:
    """One spelling of a capture's folder."""
    return str(Path(local_path(str(folder))).absolute())


def _is_state(place: str) -> bool:
    return place.startswith("_state/")


def _states(record: Record) -> set[str]:
    """The files of states that a record refers to."""
    used = {known["state"] for known in record.tellers.values()}
    used.update(state for known in record.tellers.values() for state in known["days"].values())
    return used - {""}


def _tellers_of(record: Record, cluster: str, broker: int) -> list[str]:
    """The keys of a broker; of all endpoints where brokers are not known."""
    if broker >= 0:
        return [teller_key(cluster, broker, "")]
    prefix = teller_key(cluster, broker, "")
    return [key for key in record.tellers if key.startswith(prefix) and not key.removeprefix(prefix).isdigit()]


def _day_to_begin(known: dict[str, Any], day: str) -> str:
    """The day itself, or the beginning of all where what was known of a broker at that day is forgotten."""
    days: dict[str, str] = known["days"]
    return FIRST_DATE if len(days) >= DAYS_KEPT and day < min(days) else day


def _state_at(known: dict[str, Any], day: str) -> dict[str, Any]:
    """What was known of a broker when a day began."""
    days: dict[str, str] = known["days"]
    later = [each for each in sorted(days) if each >= day]
    state = days[later[0]] if later else ""
    if day < min(days, default=day):
        state = ""
    return {"state": state, "days": {each: days[each] for each in days if each < day}, "last": known["last"]}


def main() -> None:
    from kwire.spark.job import main as run

    run()


if __name__ == "__main__":
    main()
