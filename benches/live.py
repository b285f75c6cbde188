"""A small build of gold: on a session with Spark's defaults, over one with tuned shuffle partitions.

Both build the same recording in one session, in turns, each from an empty gold.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benches.figure import Figure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDING = Path(__file__).parents[1] / "tests" / "data" / "tapes" / "kraft44-public.parquet"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT, TUNED = "200", "4"


def run(quick: bool) -> list[Figure]:
    """Return the ratio of the durations."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benches").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "1g")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    durations: dict[str, list[float]] = {DEFAULT: [], TUNED: []}
    try:
        for number in range(2 if quick else 4):  # the first build of each warms up
            for setting in (DEFAULT, TUNED) if number % 2 else (TUNED, DEFAULT):
                spark.conf.set(SHUFFLE_PARTITIONS, setting)
                durations[setting].append(_build(spark))
    finally:
        spark.stop()
    default, tuned = (statistics.median(durations[setting][1:]) for setting in (DEFAULT, TUNED))
    detail = f"{default:.1f} s with {DEFAULT} shuffle partitions in the session, {tuned:.1f} s with {TUNED}"
    return [
        Figure("small build, default session", default / tuned, "x", 1.3, 1.1, higher_is_better=False, detail=detail)
    ]


def _build(spark: SparkSession) -> float:
    from kwire.spark import Pipeline

    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        pipeline = Pipeline(spark, folder)
        pipeline.ingest(spark.read.parquet(str(RECORDING)))
        started = time.perf_counter()
        pipeline.gold()
        return time.perf_counter() - started
