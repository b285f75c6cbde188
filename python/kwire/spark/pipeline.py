"""The pipeline: bronze -> silver -> gold under one folder, and the job that runs it.

    python -m kwire.spark.pipeline --tape FILE | --capture DIR | --bootstrap HOST:PORT  --out OUT [--stream] [--gold]

Rules of this file: the driver plans, and hears from the tasks which files they wrote; no row of data comes here. An
ingest appears as a whole or not at all (`store`). Giving the same frames twice changes nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.spark.bronze import DDL, NoTime, by_broker, by_teller, normalised
from kwire.spark.datasource import register
from kwire.spark.places import literal
from kwire.spark.silver import DAYS_KEPT, Task
from kwire.spark.silver_tables import SILVER_SCHEMAS
from kwire.spark.store import EMPTY, FIRST_DATE, Record, Store, teller_key
from kwire.spark.writing import MANIFEST, Written, date_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class Report:
    """What an ingest did. ``rows``: added, by table; ``late``: frames that re-opened a day they came too late for;
    ``repeated``: frames that were known; ``seconds``: wall clock.
    """

    rows: dict[str, int] = field(default_factory=dict)
    late: int = 0
    repeated: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        told = [f"{name} {self.rows.get(name, 0):,}" for name in ("bronze", *SILVER_SCHEMAS) if self.rows.get(name)]
        bad = self.rows.get("bad_frames", 0)
        return (
            f"{', '.join(told) or 'nothing new'} rows; {bad:,} bad frames, {self.late:,} late, "
            f"{self.repeated:,} repeated; {self.seconds:.1f} s"
        )


class Pipeline:
    """Everything under the folder ``out`` (a path or URI that driver and executors share).

        pipeline = Pipeline(spark, "/data/kafka")
        print(pipeline.ingest_capture("/captures/prod"))
        pipeline.table("partitions").where("leader = -1").show()

    One at a time may write. Raises `kwire.spark.store.BrokenStore` when files are missing.
    """

    def __init__(self, spark: SparkSession, out: str) -> None:
        self.spark = spark
        self.out = str(out)
        self._store = Store(self.out)
        register(spark)

    def ingest(self, frames: DataFrame, *, batch: tuple[str, int] | None = None) -> Report:
        """Take rows of bronze, in any order; columns that are missing count as null, others are left out.

        Each becomes a row of bronze and what it changes becomes rows of silver. Rows that are there already change
        nothing. Rows older than the last ones of their broker re-open the day that they belong to. ``batch``: the name
        of a stream and the number of its batch; one that was taken already is passed over.

        Raises `kwire.spark.bronze.NoTime`, and then nothing was taken.
        """
        begun = time.monotonic()
        if batch is not None and self._store.record.streams.get(batch[0], -1) >= batch[1]:
            return Report(seconds=time.monotonic() - begun)
        rows = by_broker(normalised(frames))
        staging = self._store.stage()
        written = self._run(rows.mapInArrow(self._task(staging).ingest, MANIFEST))
        if timeless := sum(each.rows for each in written if each.kind == "timeless"):
            self._store.discard(staging)
            raise NoTime(timeless)
        late = [each for each in written if each.kind == "late"]
        record = self._next(written, staging)
        report = Report(_counts(written))
        if late:
            self._reopen(late, written, record, report)
        if batch is not None:
            record.streams[batch[0]] = batch[1]
        self._finish(record, batch is not None)
        report.seconds = time.monotonic() - begun
        return report

    def ingest_capture(self, *folders: str) -> Report:
        """Take what captures hold and was not taken before. Their frames stay where they are: a capture is bronze.

        Each folder is one task; the executors must see it under the same path.
        """
        begun = time.monotonic()
        staging = self._store.stage()
        wanted = [(str(folder), self._store.record.captures.get(str(folder), 0)) for folder in folders]
        plan = self.spark.createDataFrame(wanted, "folder string, first bigint").repartition(len(wanted), "folder")
        written = self._run(plan.mapInArrow(self._task(staging).ingest_capture, MANIFEST))
        record = self._next(written, staging)
        self._finish(record, changed=False)
        return Report(_counts(written), seconds=time.monotonic() - begun)

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

        def take(batch: DataFrame, number: int) -> None:
            report = self.ingest(batch, batch=(folder, number))
            if heard is not None:
                heard(report)

        writer = frames.writeStream.foreachBatch(take).option("checkpointLocation", folder).queryName(name)
        return (writer.trigger(**trigger) if trigger else writer).start()

    def table(self, name: str) -> DataFrame:
        """A table of silver, ``bronze``, or a table of gold, by name. Raises KeyError for another."""
        if name == "bronze":
            return self.spark.read.schema(f"{DDL}, date string").parquet(literal(f"{self.out}/bronze"))
        if name in SILVER_SCHEMAS:
            schema = f"{SILVER_SCHEMAS[name].ddl}, date string"
            return self.spark.read.schema(schema).parquet(literal(f"{self.out}/silver/{name}"))
        return self._gold_table(name)

    # One ingest

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
            elif each.kind == "capture":
                record.captures[each.path] = each.rows
        record.moves = _moves(written, record.number)
        return record

    def _finish(self, record: Record, changed: bool) -> None:
        """Commit, unless nothing happened."""
        now = self._store.record
        known = (now.tellers, now.clusters, now.captures, now.streams)
        told = (record.tellers, record.clusters, record.captures, record.streams)
        if not record.moves and not changed and known == told:
            self._store.discard(record.staging)
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
        for folder, count in self._store.record.captures.items():
            capture = self.spark.read.format("kwire").option("toRow", count).load(folder)
            kept = kept.unionByName(capture.where("kind != 'carried'"))
        date = f.date_format(f.to_utc_timestamp("polled_at", f.current_timezone()), "yyyy-MM-dd")
        rows = kept.withColumn("on", date).join(f.broadcast(wanted), ["cluster_id", "broker_id"])
        return rows.where(f.col("on") >= f.col("day")).drop("on", "day")

    # Gold

    def gold(self) -> None:
        """Bring gold up to date with silver (docs/gold.md)."""
        from kwire.spark.gold import build

        build(self.spark, self.out)

    def cluster_at(self, at: datetime, broker_id: int | None = None) -> DataFrame:
        """All partitions at an instant, as that broker told them, or as most did (docs/gold.md)."""
        from kwire.spark.gold import cluster_at

        return cluster_at(self.spark, self.out, at, broker_id)

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
