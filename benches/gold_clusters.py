"""The cost of a day of hourly gold for many clusters in one store.

    python -m benches.gold_clusters [--quick]

Stores with different numbers of clusters are built hour by hour, in turns in one session. A line through the CPU times
of their builds gives the cost of a build, which all clusters share, and the cost of each cluster. One build of a day
keeps the state of all partitions and has a line of its own.

    a day of N clusters = 23 x (build + N x cluster) + (first build + N x cluster in the first build)

The time of a cluster includes the start of its tasks in the workers, reading its states, and writing its rows; the
shared time is spent on planning, scheduling, and the commit.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benches.figure import Figure
from benches.gold_store import Cluster, MeasuredStore
from benches.program import print_figures
from benches.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTERS, PARTITIONS = 1_000, 100_000
"""The size for which the cost of a day is computed."""

FIRST = datetime(2026, 10, 1, 17, tzinfo=UTC)
WARM, QUIET, CHANGED = 2, 4, 7
"""The first hours compute everything, those until `QUIET` are without changes, and those until `CHANGED` are with
changes. The hour after them begins a day.
"""
CHANGED_SHARE = 0.01


class Line(NamedTuple):
    """The CPU seconds of a build by the number of clusters."""

    shared: float
    each: float

    @classmethod
    def through(cls, points: dict[int, float]) -> Line:
        """Return the line with the smallest squares of relative errors."""
        weights = {count: 1 / seconds**2 for count, seconds in points.items()}
        total = sum(weights.values())
        x = sum(weights[count] * count for count in points) / total
        y = sum(weights[count] * seconds for count, seconds in points.items()) / total
        slope = sum(weights[count] * (count - x) * (seconds - y) for count, seconds in points.items())
        each = slope / sum(weights[count] * (count - x) ** 2 for count in points)
        return cls(y - each * x, each)

    def of(self, clusters: int) -> float:
        """Return the CPU seconds of a build; a slope below zero is the noise of a slope of zero."""
        return self.shared + clusters * max(self.each, 0.0)


def run(quick: bool) -> list[Figure]:
    """Return the figures of clusters without changes, and of those in which 1 % of partitions change in each hour."""
    counts = (1, 4) if quick else (1, 2, 6)
    partitions = 10_000 if quick else PARTITIONS
    spark = spark_session("3g")
    try:
        with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
            names = _names_of_one_group(spark, max(counts))
            stores = {
                count: MeasuredStore(
                    spark,
                    Path(folder) / str(count),
                    *(Cluster(name, partitions) for name in names[:count]),
                    first=FIRST,
                )
                for count in counts
            }
            for number in range(CHANGED + 1):
                for count, store in stores.items():
                    for cluster in store.clusters:
                        cluster.changed = 0.0 if number < QUIET else CHANGED_SHARE
                    store.add_hours()
                    store.build()
                    print(f"hour {number} of {count} clusters: {store.cpu[-1]:.2f} s", file=sys.stderr, flush=True)
    finally:
        spark.stop()
    cpu = {count: store.cpu for count, store in stores.items()}
    return [
        _figure("without changes", cpu, slice(WARM, QUIET), partitions),
        _figure(f"{CHANGED_SHARE:.0%} of partitions changed in each hour", cpu, slice(QUIET, CHANGED), partitions),
    ]


def _names_of_one_group(spark: SparkSession, count: int) -> list[str]:
    """Return names of clusters that share their buckets, as clusters in a large store do."""
    from pyspark.sql import functions as f

    from kwire_pipeline.gold.transitions import first_bucket

    names = spark.range(100 * count).select(f.format_string("cluster-%04d", "id").alias("cluster_id"))
    return [row[0] for row in names.where(first_bucket() == 0).limit(count).collect()]


def _figure(what: str, cpu: dict[int, list[float]], hours: slice, partitions: int) -> Figure:
    hourly = {count: statistics.median(seconds[hours]) for count, seconds in cpu.items()}
    of_hour = Line.through(hourly)
    of_first = Line.through({count: seconds[CHANGED] for count, seconds in cpu.items()})
    day = 23 * of_hour.of(CLUSTERS) + of_first.of(CLUSTERS)
    measured = ", ".join(f"{seconds:.2f} s for {count}" for count, seconds in hourly.items())
    detail = (
        f"CPU of an hour with clusters of {partitions:,} partitions: {measured}; so {of_hour.shared:.2f} s, and "
        f"{of_hour.each:.3f} s for each; in the first build of a day {of_first.shared:.2f} s, and {of_first.each:.3f} s"
    )
    name = f"gold: a day of {CLUSTERS:,} clusters with {PARTITIONS:,} partitions, hourly, {what}"
    return Figure(name, day / 3600, " core hours", 60, 20, False, detail)


if __name__ == "__main__":
    print_figures(
        run, "gold_clusters", "Measure a day of hourly gold by the number of clusters.", "measure few small clusters"
    )
