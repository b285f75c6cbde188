"""``python -m kwire.spark.pipeline``: a thin face over `Pipeline`, also for ``spark-submit``.

Rules of this file: options in, reports out; what happens is the pipeline's.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kwire.spark.pipeline import Pipeline, Report


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the job. Exits with 2 for options that make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m kwire.spark.pipeline", description="Polled Kafka metadata: bronze, silver and gold."
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tape", action="append", metavar="FILE", help="parquet with frames that somebody recorded")
    source.add_argument("--capture", action="append", metavar="DIR", help="a folder that kwire captures into")
    source.add_argument("--bootstrap", metavar="HOST:PORT,...", help="a cluster: captured first, into OUT/capture")
    parser.add_argument("--out", required=True, help="folder or URI of the tables")
    parser.add_argument("--stream", action="store_true", help="go on until interrupted")
    parser.add_argument("--every", type=float, default=10.0, metavar="SECONDS", help="between batches of a stream (10)")
    parser.add_argument("--interval", type=float, default=1.0, metavar="SECONDS", help="between polls (1)")
    parser.add_argument("--seconds", type=float, metavar="SECONDS", help="end a stream, or a capture, after so long")
    parser.add_argument("--gold", action="store_true", help="bring gold up to date too")
    given = parser.parse_args(arguments)
    if given.tape and given.stream:
        parser.error("--stream needs --capture or --bootstrap: a tape does not grow")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # unused here
    from kwire.spark.pipeline import Pipeline

    spark = session()
    try:
        run(Pipeline(spark, given.out), given)
    finally:
        spark.stop()


def session() -> SparkSession:
    """The session that spark-submit configured, or a local one."""
    from pyspark.sql import SparkSession

    if "SPARK_ENV_LOADED" not in os.environ:  # not by spark-submit: workers are this very Python
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kwire").config("spark.sql.session.timeZone", "UTC")
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def run(pipeline: Pipeline, given: argparse.Namespace) -> None:
    """What the options ask for."""
    begun = time.monotonic()
    if given.bootstrap:
        poll(pipeline, given)
    elif given.stream:
        follow(pipeline, given.capture[0], given, lambda: None).stop()
    elif given.capture:
        say("silver", pipeline.ingest_capture(*given.capture))
    else:
        for path in given.tape:
            say(path, pipeline.ingest(pipeline.spark.read.parquet(path)))
    if given.gold:
        pipeline.gold()
        say("gold", "up to date")
    say("done", f"{time.monotonic() - begun:.1f} s in all")


def poll(pipeline: Pipeline, given: argparse.Namespace) -> None:
    """A cluster: what was polled when it ends is in silver then."""
    from kwire.spark.live import capturing

    folder = f"{given.out}/capture"
    with capturing(given.bootstrap, folder, given.interval) as capture:
        if not given.stream:
            capture.wait(given.seconds or 10.0)
        query = follow(pipeline, folder, given, capture.check) if given.stream else None
    if query is None:
        say("silver", pipeline.ingest_capture(folder))
    else:
        query.processAllAvailable()
        query.stop()


def follow(pipeline: Pipeline, folder: str, given: argparse.Namespace, check: Callable[[], object]) -> StreamingQuery:
    """A stream that ran until it was interrupted, or for so many seconds, and runs still. ``check``: called now and
    then, raises when it makes no sense to go on.
    """
    frames = pipeline.spark.readStream.format("kwire").load(folder)
    query = pipeline.stream(frames, processingTime=f"{given.every} seconds", heard=told)
    until = math.inf if given.seconds is None else time.monotonic() + given.seconds
    try:
        while time.monotonic() < until and not query.awaitTermination(1):
            check()
    except KeyboardInterrupt:
        say("stream", "interrupted")
    return query


def told(report: Report) -> None:
    if report.rows:
        say("silver", report)


def say(what: str, how: object) -> None:
    print(f"{what}: {how}", file=sys.stdout, flush=True)  # noqa: T201 - the job's report
