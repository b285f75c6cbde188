"""Live pipelines: a small build of gold, and the time from a broker's end to its incident in a sink.

The build of one recording takes turns in one session, with Spark's default number of shuffle partitions and with few,
each from an empty gold. For the time to a sink, gold is built every 30 seconds, and one of three brokers stops; the
others keep listing it, so that its silence is the only sign.
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
from benches.spark import cpu_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDING = Path(__file__).parents[1] / "tests" / "data" / "tapes" / "kraft44-public.parquet"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
DEFAULT, TUNED = "200", "4"
INTERVAL = 0.5
"""Seconds between polls."""
GOLD_EVERY = 30.0
"""Seconds between builds of gold, as in docs/live.md; captures are ingested all the time."""
LONGEST_WAIT = 300.0


def run(quick: bool) -> list[Figure]:
    """Return the ratio of CPU times, and the time to a sink."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("benches").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "1g")
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    cpu: dict[str, list[float]] = {DEFAULT: [], TUNED: []}
    try:
        for number in range(2 if quick else 4):  # the first build of each warms up
            for setting in (DEFAULT, TUNED) if number % 2 else (TUNED, DEFAULT):
                spark.conf.set(SHUFFLE_PARTITIONS, setting)
                cpu[setting].append(_build(spark))
        spark.conf.unset(SHUFFLE_PARTITIONS)
        delays = _delays_of_incidents(spark, 1 if quick else 5)
    finally:
        spark.stop()
    default, tuned = (statistics.median(cpu[setting][1:]) for setting in (DEFAULT, TUNED))
    detail = f"CPU {default:.1f} s with {DEFAULT} shuffle partitions in the session, {tuned:.1f} s with {TUNED}"
    delay = statistics.median(delays) - INTERVAL
    delay_detail = f"median of {len(delays)} beyond a poll interval of {INTERVAL} s: {_seconds(delays)}"
    return [
        Figure("small build, default session", default / tuned, "x", 1.3, 1.1, higher_is_better=False, detail=detail),
        Figure("killed broker to incident in a sink", delay, "s", 60, 10, higher_is_better=False, detail=delay_detail),
    ]


def _seconds(durations: list[float]) -> str:
    return ", ".join(f"{duration:.1f} s" for duration in sorted(durations))


def _build(spark: SparkSession) -> float:
    from kwire.spark import Pipeline

    with tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder:
        pipeline = Pipeline(spark, folder)
        pipeline.ingest(spark.read.parquet(str(RECORDING)))
        before = cpu_of(os.getpid())
        pipeline.gold()
        return cpu_of(os.getpid()) - before


def _delays_of_incidents(spark: SparkSession, count: int) -> list[float]:
    """Return the seconds from the end of a broker to its incident in a sink, of several ends one after another."""
    from kwire.spark import Pipeline
    from kwire.spark.live.live_gold import LiveGold
    from kwire.spark.sinks import IncidentNotice, IncidentPublisher
    from kwire.spark.sinks.sink import CallableSink
    from kwire.spark.source.live_source import capturing
    from kwire.testing import FakeCluster

    received: dict[tuple[str, int | None], float] = {}

    def receive(notice: IncidentNotice) -> None:
        received.setdefault((str(notice.status), notice.incident["broker_id"]), time.perf_counter())

    with (
        tempfile.TemporaryDirectory(prefix="kwire-bench-") as folder,
        FakeCluster(brokers=3, topics=20) as cluster,
        capturing(cluster.bootstrap, f"{folder}/capture", INTERVAL) as polling,
    ):
        pipeline = Pipeline(spark, f"{folder}/out")
        live = LiveGold(pipeline, GOLD_EVERY, IncidentPublisher(pipeline, [CallableSink(receive)]))

        def wait_for(status: str, broker: int) -> float:
            deadline = time.monotonic() + LONGEST_WAIT
            while (status, broker) not in received:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no notice of broker {broker} with status {status} in {LONGEST_WAIT:.0f} s")
                live.add_report(pipeline.ingest_capture(f"{folder}/capture"))
                live.build_if_due()
            return received[status, broker]

        polling.wait(4 * INTERVAL)
        pipeline.ingest_capture(f"{folder}/capture")
        live.build()
        delays = []
        for number in range(count):
            broker = 2 + number % 2
            received.clear()
            cluster.stop_broker(broker, fence=False)
            stopped = time.perf_counter()
            delays.append(wait_for("firing", broker) - stopped)
            cluster.start_broker(broker)
            wait_for("resolved", broker)
        live.close()
        return delays
