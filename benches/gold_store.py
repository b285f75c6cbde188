"""Stores with generated silver, and the cost of builds of gold in them.

Silver is written directly, so that only gold is measured. The CPU time covers the driver, the JVM, and the workers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benches.process_time import cpu_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from kwire_pipeline import Pipeline
    from kwire_pipeline.store.record import CommitRecord

FIRST = datetime(2026, 10, 1, 8, tzinfo=UTC)
"""The first hour of silver."""
HOUR = timedelta(hours=1)
POLLED = (1, 2, 3)
"""The brokers that are polled, every 30 seconds."""
BROKERS = 30
PARTITIONS_OF_TOPIC = 20


@dataclass
class Cluster:
    """A cluster whose silver is generated hour by hour.

    Attributes:
        partitions: their number, a multiple of `PARTITIONS_OF_TOPIC`.
        changed: the fraction of partitions whose ISR changes in each hour.
        heals: true if the ISR is complete again 20 minutes later; otherwise some partition is always under-replicated,
            and its incident lasts for the whole history.
    """

    name: str
    partitions: int
    changed: float = 0.0
    heals: bool = False
    _random: Random = field(default_factory=lambda: Random(0))
    _epochs: dict[int, int] = field(default_factory=dict)

    def silver(self, hour: datetime, *, first: bool) -> dict[str, pa.Table]:
        """Return the rows of an hour; the first one has the state of all partitions."""
        import pyarrow as pa

        tables = {"polls": self._polls(hour)}
        if first:
            tables["brokers"] = self._brokers(hour)
            numbers = list(range(self.partitions))
        else:
            numbers = sorted(self._random.sample(range(self.partitions), int(self.partitions * self.changed)))
        if numbers:
            at = hour if first else hour + 20 * timedelta(minutes=1)
            tables["partitions"] = self._partitions(numbers, at)
            if self.heals and not first:
                healed = self._partitions(numbers, at + 20 * timedelta(minutes=1))
                tables["partitions"] = pa.concat_tables([tables["partitions"], healed])
        return tables

    def _polls(self, hour: datetime) -> pa.Table:
        rows = [
            {
                "cluster_id": self.name,
                "polled_at": hour + timedelta(seconds=30 * number, milliseconds=100 * broker),
                "broker_id": broker,
                "endpoint": f"broker-{broker}:9092",
                "api_key": 3,
                "kind": "same",
                "topics": self.partitions // PARTITIONS_OF_TOPIC,
                "partitions": self.partitions,
                "duration_us": 20_000,
                "changed_topics": 0,
                "controller_id": 1,
                "suspect": False,
            }
            for number, broker in product(range(120), POLLED)
        ]
        return _table("polls", rows)

    def _brokers(self, hour: datetime) -> pa.Table:
        rows = [
            {
                "cluster_id": self.name,
                "at": hour + timedelta(milliseconds=100 * broker),
                "broker_id": broker,
                "node_id": node,
                "change": "set",
                "host": f"broker-{node}",
                "port": 9092,
            }
            for broker, node in product(POLLED, range(1, BROKERS + 1))
        ]
        return _table("brokers", rows)

    def _partitions(self, numbers: list[int], at: datetime) -> pa.Table:
        import pyarrow as pa

        rows = []
        for number in numbers:
            epoch = self._epochs[number] = self._epochs.get(number, -1) + 1
            topic, partition = divmod(number, PARTITIONS_OF_TOPIC)
            replicas = [(number + step) % BROKERS + 1 for step in (0, 1, 2)]
            rows.append(
                {
                    "cluster_id": self.name,
                    "topic": f"team-{topic % 50}.orders-{topic:05}.events",
                    "topic_id": f"{topic:022}",
                    "partition": partition,
                    "change": "set",
                    "error_code": 0,
                    "leader": replicas[epoch % 3],
                    "leader_epoch": epoch,
                    "replicas": replicas,
                    "isr": replicas[: 3 - epoch % 2],
                    "offline": [],
                }
            )
        states = _table("partitions", rows)
        reports = []
        for broker in POLLED:
            values = {"at": at + timedelta(milliseconds=100 * broker), "broker_id": broker}
            report = states
            for name, value in values.items():
                column = pa.repeat(pa.scalar(value, states.schema.field(name).type), states.num_rows)
                report = report.set_column(report.schema.get_field_index(name), states.schema.field(name), column)
            reports.append(report)
        return pa.concat_tables(reports)


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    from kwire_pipeline.silver.tables import SILVER_SCHEMAS

    return pa.Table.from_pylist(rows, schema=SILVER_SCHEMAS[name].arrow)


class MeasuredStore:
    """A store with the silver of some clusters, and what its builds cost.

    Attributes:
        first: the first hour.
        cpu: the CPU seconds of each build.
        jobs: the number of Spark's jobs of each build.
    """

    def __init__(self, spark: SparkSession, out: Path, *clusters: Cluster, first: datetime = FIRST) -> None:
        from kwire_pipeline import Pipeline
        from kwire_pipeline.store.commits import PipelineStore

        self.spark, self.clusters, self.first = spark, clusters, first
        self.pipeline: Pipeline = Pipeline(spark, str(out))
        self.store = PipelineStore(str(out))
        self.hours = 0
        self.cpu: list[float] = []
        self.jobs: list[int] = []

    def add_hours(self, count: int = 1) -> None:
        """Write the silver of the next hours in one commit."""
        from kwire_pipeline.store.manifest import FileKind
        from kwire_pipeline.store.record import StoreChange
        from kwire_pipeline.store.table_files import Output, TableFile

        output = Output(self.store.location)

        def commit(record: CommitRecord) -> None:
            change = StoreChange("ingest", record.number)
            for number in range(self.hours, self.hours + count):
                hour = self.first + number * HOUR
                for cluster in self.clusters:
                    for name, rows in cluster.silver(hour, first=number == 0).items():
                        folder, partition = f"silver/{name}", {"date": f"{hour:%Y-%m-%d}"}
                        file = TableFile(output, FileKind.SILVER, folder, partition, rows.schema)
                        file.write(rows)
                        change.added.setdefault(folder, []).append(file.close().file)
            firsts = [file.first for file in change.added["silver/polls"] if file.first is not None]
            change.oldest = min(firsts)
            self.store.commit(change)

        self.store.transact(commit)
        self.hours += count

    def build(self) -> None:
        """Build gold, and keep the CPU time and the number of jobs."""
        tracker, group = self.spark.sparkContext, f"build-{id(self)}-{len(self.cpu)}"
        tracker.setJobGroup(group, "")
        before = cpu_of(os.getpid())
        self.pipeline.gold()
        self.cpu.append(cpu_of(os.getpid()) - before)
        self.jobs.append(len(tracker.statusTracker().getJobIdsForGroup(group)))
