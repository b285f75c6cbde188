"""The cost of a new hour of gold after many stored days, relative to the same hour after one stored day.

    python -m benches.gold_history [--quick]

Stores have the same cluster, and as many changes in each hour. The stored days are built at once, but for the last
hours. In two more stores, some partition is under-replicated at any time, so one incident lasts for all days.
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
            figures = []
            for heals, name, at_least, goal in (
                (True, f"gold: new hour after {days} stored days, over after one", 1.1, 1.02),
                (False, f"gold: new hour of an incident that lasts {days} days, over one day", 1.3, 1.1),
            ):
                stores = [_stored(spark, Path(folder) / f"{count}-{heals}", count, heals=heals) for count in (days, 1)]
                figures.append(_figure(name, stores, hours, at_least, goal))
    finally:
        spark.stop()
    return figures


def _figure(name: str, stores: list[MeasuredStore], hours: int, at_least: float, goal: float) -> Figure:
    """Build the next hours of a store with many days and of one with one day, in turns."""
    for number in range(hours):
        for store in stores if number % 2 else reversed(stores):
            store.add_hours()
            store.build()
    many, one = (store.cpu[-hours + 1 :] for store in stores)  # without the first hour of the day
    ratio = statistics.median(long / short for long, short in zip(many, one, strict=True))
    files = len(stores[0].store.snapshot().files("gold/signals"))
    detail = (
        f"{PARTITIONS:,} partitions, {CHANGED:.0%} changed in each hour; CPU {statistics.median(many):.2f} s and "
        f"{statistics.median(one):.2f} s; {files:,} files of signals"
    )
    return Figure(name, ratio, "x", at_least, goal, False, detail)


def _stored(spark: SparkSession, out: Path, days: int, *, heals: bool) -> MeasuredStore:
    """Return a store with the days before `MEASURED`."""
    store = MeasuredStore(
        spark, out, Cluster("c", PARTITIONS, CHANGED, heals=heals), first=MEASURED - timedelta(days=days)
    )
    store.add_hours(24 * days - HOURLY)
    store.build()
    for _ in range(HOURLY):
        store.add_hours()
        store.build()
    return store


if __name__ == "__main__":
    print_figures(run, "gold_history", "Measure a new hour of gold after many stored days.", "store few days")
