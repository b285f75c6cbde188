"""The cost of a new hour of gold after many stored days, relative to the same hour after one stored day.

    python -m benches.gold_history [--quick]

Both stores have the same cluster, and as many changes in each hour. The stored days are built at once, but for the last
hours.
"""

from __future__ import annotations

import statistics
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from benches.figure import Figure
from benches.gold_store import Cluster, MeasuredStore
from benches.program import print_figures
from benches.spark_session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS, CHANGED = 10_000, 0.01
MEASURED = datetime(2026, 10, 31, tzinfo=UTC)
"""The hours before it are stored, and those after it are measured."""
HOURLY = 6
"""Number of preceding hours that are built hour by hour."""


def run(quick: bool) -> list[Figure]:
    """Return the figure."""
    days, hours = (5, 4) if quick else (30, 7)
    spark = spark_session("1g")
    try:
        with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
            stores = [_stored(spark, Path(folder) / str(count), count) for count in (days, 1)]
            for number in range(hours):
                for store in stores if number % 2 else reversed(stores):
                    store.add_hours()
                    store.build()
            many, one = (store.cpu[-hours + 1 :] for store in stores)  # without the first hour of the day
            files = len(stores[0].store.snapshot().files("gold/signals"))
    finally:
        spark.stop()
    ratio = statistics.median(duration / other for duration, other in zip(many, one, strict=True))
    detail = (
        f"{PARTITIONS:,} partitions, {CHANGED:.0%} changed in each hour; CPU {statistics.median(many):.2f} s and "
        f"{statistics.median(one):.2f} s; {files:,} files of signals"
    )
    name = f"gold: new hour after {days} stored days, over after one"
    return [Figure(name, ratio, "x", 1.1, 1.02, False, detail)]


def _stored(spark: SparkSession, out: Path, days: int) -> MeasuredStore:
    """Return a store with the days before `MEASURED`."""
    store = MeasuredStore(
        spark, out, Cluster("c", PARTITIONS, CHANGED, heals=True), first=MEASURED - timedelta(days=days)
    )
    store.add_hours(24 * days - HOURLY)
    store.build()
    for _ in range(HOURLY):
        store.add_hours()
        store.build()
    return store


if __name__ == "__main__":
    print_figures(run, "gold_history", "Measure a new hour of gold after many stored days.", "store few days")
