"""The experiment of docs/design/one-engine.md: two tables of gold on Spark, and as a function of one cluster on DuckDB.

    python -m benches.gold_engine day|clusters|recording [--scale FRACTION] [--rounds ROUNDS] [--groups GROUPS]

`leader_moves` and `consumer_lag` of one window are computed from the same files of silver in two ways, in turns:

- today: as Spark's queries; functions on Arrow data get a group of topics each. Little data runs on DuckDB;
- function: Spark only groups the rows by cluster, and a function (`applyInArrow`) computes both tables of it on DuckDB.
  With `--groups`, the function gets a group of clusters.

Prints CPU seconds of driver, JVM, and workers, and seconds, after a first round that warms up.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from benches.gold_store import FIRST, HOUR, PARTITIONS_OF_TOPIC, Cluster
from benches.process_time import cpu_of
from benches.spark_session import spark_session
from kwire.storage.location import Location
from kwire_pipeline.gold import consumer_lag, leader_moves, transitions
from kwire_pipeline.gold.consensus import Role
from kwire_pipeline.gold.fold_task import FoldTask, fold
from kwire_pipeline.gold.voting_periods import metadata_polls, voting_periods
from kwire_pipeline.in_process import f, run_in_process
from kwire_pipeline.in_process.column import SqlColumn, column_of, functions
from kwire_pipeline.session import sized_queries
from kwire_pipeline.silver.tables import SILVER_SCHEMAS
from kwire_pipeline.tables import ddl_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

COLUMNS = {
    "polls": ("api_key", "kind", "error", "polled_at", "broker_id", "topics", "controller_id", "suspect"),
    "partitions": ("at", "broker_id", "change", *transitions.STATE),
    "group_offsets": ("at", "broker_id", "change", "topic", "partition", "group", "committed_offset"),
    "log_ends": ("at", "broker_id", "change", "topic", "partition", "log_end"),
}
"""The tables of silver that both tables of gold read, and their columns besides `cluster_id`."""

MOVES = f"{leader_moves.TABLE.ddl}, {transitions.FILED_AT} timestamp"
BOTH = ", ".join(
    f"{name} struct<{ddl.replace('`', '').replace(', ', ',').replace(' ', ':')}>"
    for name, ddl in (("moved", MOVES), ("lag", consumer_lag.TABLE.ddl))
)


def two_tables(silver: Mapping[str, DataFrame]) -> list[DataFrame]:
    """Return the rows of `leader_moves` and `consumer_lag`, from the beginning of the history, on either engine."""
    periods = voting_periods(metadata_polls(silver["polls"]))
    reports = transitions.observations(silver["partitions"]).withColumn("as_of", f.lit(""))
    task = FoldTask(Location.parse("/"), {}, everything=True, as_of=None, keeps_all=False)
    agreed = fold(reports, periods, task).where(f.col("role") == int(Role.AGREED))
    folded = consumer_lag.fold_offsets(silver["group_offsets"], silver["log_ends"])
    return [leader_moves.leader_moves(agreed), consumer_lag.by_minute(folded.where("output = 'sample'"))]


def on_spark(silver: Mapping[str, DataFrame]) -> list[pa.Table]:
    return [rows.toArrow() for rows in two_tables(silver)]


def in_process(tables: dict[str, pa.Table]) -> list[pa.Table]:
    """Return both tables of a cluster, computed on DuckDB."""
    with run_in_process() as session:
        silver = {name: cast("DataFrame", session.frame(table)) for name, table in tables.items()}
        return [rows.toArrow() for rows in two_tables(silver)]


def of_cluster(rows: pa.Table) -> pa.Table:
    """Compute both tables of a cluster, or of several. For `applyInArrow` over the rows of all tables of silver."""
    name = rows["table"]
    tables = {
        table: rows.filter(pa.compute.equal(name, table)).select(["cluster_id", *columns])
        for table, columns in COLUMNS.items()
    }
    parts = []
    with patch.object(functions, "xxhash64", own_hash):
        both = in_process(tables)
    for number, found in enumerate(both):
        schema = ddl_schema(MOVES if number == 0 else consumer_lag.TABLE.ddl)
        values = found.select(schema.names).cast(schema).to_struct_array().combine_chunks()
        columns = [values, pa.nulls(len(values), ddl_schema(BOTH).field(1 - number).type)]
        parts.append(pa.table(columns[:: 1 if number == 0 else -1], ddl_schema(BOTH)))
    return pa.concat_tables(parts)


def own_hash(*columns: SqlColumn | str) -> SqlColumn:
    """Return DuckDB's own hash: with one engine, stored hashes need not be Spark's."""
    return SqlColumn(f"CAST(hash({', '.join(str(column_of(column)) for column in columns)}) >> 1 AS BIGINT)")


def by_function(silver: Mapping[str, DataFrame], groups: int) -> list[pa.Table]:
    from pyspark.sql import functions as spark_f

    union: DataFrame | None = None
    for name, rows in silver.items():
        part = rows.select("cluster_id", *COLUMNS[name]).withColumn("table", spark_f.lit(name))
        union = part if union is None else union.unionByName(part, allowMissingColumns=True)
    assert union is not None
    key = spark_f.pmod(spark_f.xxhash64("cluster_id"), spark_f.lit(groups)) if groups else spark_f.col("cluster_id")
    return [union.groupBy(key.alias("key")).applyInArrow(of_cluster, BOTH).toArrow()]


# Silver


def generated(clusters: int, partitions: int, hours: int) -> dict[str, list[pa.Table]]:
    """Return the silver of clusters: 1 % of partitions (or half of few) change in an hour, and a group reads some."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in COLUMNS}
    for number in range(clusters):
        cluster = Cluster(f"cluster-{number:04}", partitions, changed=0.01 if partitions >= 1_000 else 0.5)
        tables["partitions"].append(cluster.silver(FIRST, first=True)["partitions"])
        for hour in range(hours):
            silver = cluster.silver(FIRST + hour * HOUR, first=False) | _offsets(cluster, hour, min(partitions, 200))
            for name in COLUMNS:
                tables[name].append(silver[name])
    return tables


def _offsets(cluster: Cluster, hour: int, partitions: int) -> dict[str, pa.Table]:
    rows: dict[str, list[dict[str, Any]]] = {"group_offsets": [], "log_ends": []}
    for minute in range(0, 60, 5):
        at = FIRST + hour * HOUR + timedelta(minutes=minute)
        grown = 1_000 * (60 * hour + minute)
        for number in range(partitions):
            topic, partition = divmod(number, PARTITIONS_OF_TOPIC)
            key = {"cluster_id": cluster.name, "broker_id": 1, "topic": f"t{topic}", "partition": partition}
            rows["log_ends"].append({**key, "at": at, "change": "set", "log_end": grown})
            commit = {"group": "g", "committed_offset": max(grown - 10, 0)}
            rows["group_offsets"].append({**key, "at": at + timedelta(seconds=1), "change": "set", **commit})
    return {name: pa.Table.from_pylist(some, schema=SILVER_SCHEMAS[name].arrow) for name, some in rows.items()}


def recorded_silver() -> dict[str, list[pa.Table]]:
    from tests.pipeline import recorded

    silver = recorded.silver(recorded.bronze("kraft44-public"))
    return {name: [silver[name]] for name in COLUMNS}


def written(tables: dict[str, list[pa.Table]], folder: Path) -> int:
    """Write the tables as files, and return their bytes."""
    for name, rows in tables.items():
        (folder / name).mkdir()
        pq.write_table(pa.concat_tables(rows), folder / name / "part.parquet", compression="zstd")
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def measure(ways: dict[str, Callable[[], Iterable[pa.Table]]], rounds: int) -> None:
    """Print the costs of each way; the first round is not counted."""
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            cpu, started = cpu_of(os.getpid()), time.monotonic()
            found = [table.num_rows for table in way()]
            cost = cpu_of(os.getpid()) - cpu, time.monotonic() - started
            if number:
                costs[name].append(cost)
            print(f"{name}: {found} rows, {cost[0]:.1f} s of CPU, {cost[1]:.1f} s", flush=True)
    medians = {name: [statistics.median(part) for part in zip(*of_way, strict=True)] for name, of_way in costs.items()}
    for name, (cpu, seconds) in medians.items():
        print(f"median of {name}: {cpu:.2f} s of CPU, {seconds:.1f} s")
    today, other = medians.values()
    print(f"function over today: {other[0] / today[0]:.2f} in CPU, {other[1] / today[1]:.2f} in time")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.gold_engine", description="Compare two engines for gold.")
    parser.add_argument("data", choices=("day", "clusters", "recording"))
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the size")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groups", type=int, default=0, help="number of groups of clusters; 0 is one for each cluster")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as name:
        folder = Path(name)
        match given.data:
            case "day":
                size = written(generated(1, int(100_000 * given.scale), 24), folder)
            case "clusters":
                size = written(generated(int(1_000 * given.scale), 20, 1), folder)
            case _:
                size = written(recorded_silver(), folder)
        if given.data == "recording":  # today's in-process engine, and the same function with its own hash
            tables = {name: pq.read_table(folder / name).select(["cluster_id", *COLUMNS[name]]) for name in COLUMNS}
            wide = pa.concat_tables(
                [rows.append_column("table", pa.repeat(name, rows.num_rows)) for name, rows in tables.items()],
                promote_options="permissive",
            )
            measure({"today": lambda: in_process(tables), "function": lambda: [of_cluster(wide)]}, given.rounds)
            return
        with spark(folder) as (session, silver), sized_queries(session, size):
            measure(
                {"today": lambda: on_spark(silver), "function": lambda: by_function(silver, given.groups)}, given.rounds
            )


class spark:
    """A session, and the files of a folder as its tables of silver."""

    def __init__(self, folder: Path) -> None:
        self.session: SparkSession = spark_session("2g")
        tables = {name: self.session.read.parquet(str(folder / name)) for name in COLUMNS}
        self.silver = tables

    def __enter__(self) -> tuple[SparkSession, Mapping[str, DataFrame]]:
        return self.session, self.silver

    def __exit__(self, *_: object) -> None:
        self.session.stop()


if __name__ == "__main__":
    main()
