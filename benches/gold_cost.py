"""The cost of an hourly build of gold: without changes, with few, and in jobs of Spark.

    python -m benches.gold_cost [--quick]

All stores are built in one session, hour by hour and in turns.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benches.figure import Figure
from benches.gold_store import PARTITIONS_OF_TOPIC, Cluster, MeasuredStore
from benches.program import print_figures
from benches.spark_session import spark_session

WARM_HOURS, HOURS = 3, 8
"""The first hours warm up the session and compute everything. All hours but the first ones are of one day."""


def run(quick: bool) -> list[Figure]:
    """Return the figures."""
    partitions = 10_000 if quick else 100_000
    spark = spark_session("1g")
    try:
        with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
            stores = {
                "empty": MeasuredStore(spark, Path(folder) / "empty", Cluster("c", PARTITIONS_OF_TOPIC)),
                "quiet": MeasuredStore(spark, Path(folder) / "quiet", Cluster("c", partitions)),
                "changed": MeasuredStore(spark, Path(folder) / "changed", Cluster("c", partitions, changed=0.01)),
            }
            for number in range(HOURS):
                for store in stores.values() if number % 2 else reversed(stores.values()):
                    store.add_hours()
                    store.build()
            cpu = {name: store.cpu[WARM_HOURS:] for name, store in stores.items()}
            jobs = max(max(store.jobs[WARM_HOURS:]) for store in stores.values())
    finally:
        spark.stop()
    empty, quiet, changed = (statistics.median(cpu[name]) for name in ("empty", "quiet", "changed"))
    detail = f"{partitions:,} partitions; CPU {empty:.2f} s for an empty cluster's, "
    return [
        Figure(
            "gold: hour without change, over an empty cluster's",
            _ratio(cpu["quiet"], cpu["empty"]),
            "x",
            1.3,
            1.05,
            False,
            f"{detail}{quiet:.2f} s without changes",
        ),
        Figure(
            "gold: hour with 1 % changed, over an empty cluster's",
            _ratio(cpu["changed"], cpu["empty"]),
            "x",
            1.6,
            1.2,
            False,
            f"{detail}{changed:.2f} s with 1 % changed",
        ),
        Figure("gold: jobs of Spark in an hourly build", jobs, "", 10, 5, False),
    ]


def _ratio(cpu: list[float], reference: list[float]) -> float:
    """Return the median of the ratios of builds of the same hour, which ran one after another."""
    return statistics.median(one / other for one, other in zip(cpu, reference, strict=True))


if __name__ == "__main__":
    print_figures(run, "gold_cost", "Measure hourly builds of gold.", "measure a small cluster")
