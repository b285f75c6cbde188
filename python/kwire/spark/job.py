"""``python -m kwire.spark.pipeline``: a thin face over `Pipeline`, also for ``spark-submit``.

Rules of this file: options in, reports out; what happens is the pipeline's.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import TYPE_CHECKING

from kwire.spark.options import options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kwire.spark.live_source import Polling
    from kwire.spark.pipeline import Pipeline, Report


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the job. Exits with 2 for options that make no sense, with 1 when nothing could be asked."""
    given = options(arguments)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)  # unused here
    from kwire.errors import KwireError
    from kwire.spark.pipeline import Pipeline

    spark = session()
    try:
        run(Pipeline(spark, given.out), given)
    except KwireError as error:
        sys.exit(f"python -m kwire.spark.pipeline: {error}")
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
        follow(pipeline, given.capture, given)
    elif given.capture:
        say("silver", pipeline.ingest_capture(*given.capture))
    else:
        for path in given.tape:
            say(path, pipeline.ingest(read_tape(pipeline.spark, path)))
    if given.gold:
        pipeline.gold()
        say("gold", "up to date")
    say("done", f"{time.monotonic() - begun:.1f} s in all")


def read_tape(spark: SparkSession, path: str) -> DataFrame:
    """A tape, wherever Spark finds it. Exits with 2 when it finds none."""
    from pyspark.errors import AnalysisException

    try:
        return spark.read.parquet(path)
    except AnalysisException as error:
        sys.stderr.write(f"python -m kwire.spark.pipeline: {str(error).splitlines()[0]}\n")
        sys.exit(2)


def poll(pipeline: Pipeline, given: argparse.Namespace) -> None:
    """A cluster: what was polled when it ends is in silver then. Raises NoBrokerAnswered."""
    from kwire.spark.datasource import local_path
    from kwire.spark.live_source import capturing

    folder = f"{local_path(given.out)}/capture"
    with capturing(given.bootstrap, folder, given.interval) as capture:
        if given.stream:
            follow(pipeline, [folder], given, capture)
        else:
            capture.wait(given.seconds or 10.0)
    if not given.stream:
        say("silver", pipeline.ingest_capture(folder))
        capture.check_answered()


def follow(pipeline: Pipeline, folders: list[str], given: argparse.Namespace, capture: Polling | None = None) -> None:
    """Captures, until interrupted or for so many seconds; the one that this job polls into is closed then."""
    from kwire.spark.streaming import Streams

    streams = Streams(pipeline, folders, given.every, told)
    try:
        streams.go_on(given.seconds, capture.check if capture is not None else lambda: None)
    except KeyboardInterrupt:
        say("stream", "interrupted")
    if capture is not None:
        capture.stop()
    streams.finish()


def told(report: Report) -> None:
    if report.rows:
        say("silver", report)


def say(what: str, how: object) -> None:
    print(f"{what}: {how}", file=sys.stdout, flush=True)  # noqa: T201 - the job's report
