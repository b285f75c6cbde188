"""Little data in a session that has started: a recording to gold, and the same recording again.

    python -m benches.gold_small [--quick]

Each round ingests a recording of three minutes into a new store, builds gold, and does both again.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benches.figure import Figure
from benches.process_time import cpu_of
from benches.program import print_figures
from benches.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDING = Path(__file__).parents[1] / "tests" / "data" / "tapes" / "kraft44-public.parquet"


class Cost(NamedTuple):
    """The cost of an ingest and a build: seconds of each, CPU seconds of driver, JVM, and workers, and Spark's jobs."""

    ingest_s: float
    gold_s: float
    cpu_s: float
    jobs: int
    gold_jobs: int

    @property
    def seconds(self) -> float:
        return self.ingest_s + self.gold_s


def run(quick: bool) -> list[Figure]:
    """Return the figures."""
    spark = spark_session("1g")
    try:
        rounds = [_round(spark) for _ in range(3 if quick else 7)]
    finally:
        spark.stop()
    new, again = zip(*rounds[1:], strict=True)  # the first round warms up
    took = statistics.median(cost.seconds for cost in new)
    detail = (
        f"ingest {statistics.median(cost.ingest_s for cost in new):.1f} s, "
        f"gold {statistics.median(cost.gold_s for cost in new):.1f} s, {new[0].jobs} jobs, "
        f"CPU {statistics.median(cost.cpu_s for cost in new):.1f} s; the first round of the session "
        f"{rounds[0][0].seconds:.1f} s; again {statistics.median(cost.seconds for cost in again):.1f} s"
    )
    jobs = max(cost.gold_jobs for cost in again)
    all_jobs = f"with the ingest {max(cost.jobs for cost in again)}"
    return [
        Figure("recording of 1,268 polls to gold", took, " s", 6, 3, False, detail),
        Figure("jobs of gold after a repeated ingest", jobs, "", 2, 0, False, all_jobs),
    ]


def _round(spark: SparkSession) -> tuple[Cost, Cost]:
    """Return the costs of a recording in a new store, and of the same one again."""
    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        return _cost(spark, folder), _cost(spark, folder)


def _cost(spark: SparkSession, folder: str) -> Cost:
    from kwire.spark import Pipeline

    pipeline = Pipeline(spark, folder)
    tracker = spark.sparkContext.statusTracker()
    groups = [f"{step}-{time.monotonic_ns()}" for step in ("ingest", "gold")]
    cpu, times = cpu_of(os.getpid()), [time.monotonic()]
    spark.sparkContext.setJobGroup(groups[0], "")
    pipeline.ingest(spark.read.parquet(str(RECORDING)))
    times.append(time.monotonic())
    spark.sparkContext.setJobGroup(groups[1], "")
    pipeline.gold()
    times.append(time.monotonic())
    jobs = [len(tracker.getJobIdsForGroup(group)) for group in groups]
    return Cost(times[1] - times[0], times[2] - times[1], cpu_of(os.getpid()) - cpu, sum(jobs), jobs[1])


if __name__ == "__main__":
    print_figures(run, "gold_small", "Measure a recording to gold in a started session.", "measure few rounds")
