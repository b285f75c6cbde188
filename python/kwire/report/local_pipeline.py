"""Silver and gold of a capture or of a tape, made on this machine: what `kwire report --capture` runs.

Rules of this file: Spark is started for this alone, on two workers and the loopback interface, says nothing, and is
stopped again; a session that runs already is used and left running. What is made goes where the caller says.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kwire.spark import Pipeline

__all__ = ["NoJava", "build_gold", "local_spark"]


class NoJava(KwireError):
    """Spark needs Java 17 or newer, and there is none."""

    def __str__(self) -> str:
        return "Spark needs Java 17 or newer: there is no java on the PATH, and JAVA_HOME is not set"


def build_gold(source: Path, out: Path) -> Pipeline:
    """Silver and gold under ``out`` of a capture's folder, or of a parquet file of frames (docs/capture.md).

    Raises `NoJava`, and what reading the source raises.
    """
    with local_spark(out / "_spark") as spark:
        from kwire.spark import Pipeline

        pipeline = Pipeline(spark, str(out))
        if source.is_dir():
            pipeline.ingest_capture(str(source.absolute()))
        else:
            pipeline.ingest(_timed(spark, source))
        pipeline.gold()
        return pipeline


def _timed(spark: SparkSession, tape: Path) -> DataFrame:
    """The rows of a tape; one that tells when it asked tells how long answers took."""
    from pyspark.sql import functions as f

    rows = spark.read.parquet(str(tape.absolute()))
    if "sent_at" in rows.columns and "duration_us" not in rows.columns:
        rows = rows.withColumn("duration_us", f.unix_micros("polled_at") - f.unix_micros("sent_at"))
    return rows


@contextmanager
def local_spark(scratch: Path) -> Iterator[SparkSession]:
    """A quiet session of this machine's; ``scratch`` is its folder, and is deleted afterwards. Raises `NoJava`."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise NoJava
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "log4j2.properties").write_text(LOG, encoding="ascii")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # A run is short: compiling queries and their code thoroughly would take longer than running them.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        f"-Dlog4j2.configurationFile={(scratch / 'log4j2.properties').as_uri()}",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("kwire report")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings(), _quiet_start(scratch / "said"):
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            shutil.rmtree(scratch, ignore_errors=True)


LOG = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


@contextmanager
def _quiet_start(said: Path) -> Iterator[None]:
    """Java and Spark greet on stderr before they can be told not to; it is kept, and told when the run fails."""
    sys.stderr.flush()
    kept = os.dup(2)
    with said.open("w+b") as file:
        os.dup2(file.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            if failed:
                file.seek(0)
                os.write(2, file.read()[-8000:])
