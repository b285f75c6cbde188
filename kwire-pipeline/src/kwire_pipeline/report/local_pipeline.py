"""Builds silver and gold from a capture on this machine, for `kwire report --capture`.

A small capture is processed in this process. For others, Spark runs with two workers on the loopback interface, prints
nothing, and is stopped afterwards.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.errors import KwireError
from kwire.storage.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kwire_pipeline import Pipeline

__all__ = ["JavaNotFound", "build_gold"]


class JavaNotFound(KwireError):
    """Java 17 or newer is needed by Spark and was not found."""

    def __str__(self) -> str:
        return "Spark needs Java 17 or newer: there is no java on the PATH, and JAVA_HOME is not set"


def build_gold(source: Path | str, out: Path) -> Pipeline:
    """Build silver and gold from a capture or a Parquet file of frames (docs/capture.md).

    Spark starts only for more rows than `kwire_pipeline.engine.IN_PROCESS_ROWS`.

    Args:
        source: the capture or the file: a path or a URI.
        out: the folder of the pipeline.

    Raises:
        JavaNotFound: Spark is needed and cannot start.
    """
    from kwire_pipeline import Pipeline
    from kwire_pipeline.source.recording import read_recording

    location = Location.parse(source, any_name=True)
    with ExitStack() as started:
        pipeline = Pipeline(lambda: started.enter_context(_local_spark(out / "_spark")), str(out))
        if location.kind() == "file":
            with _local_copy(location) as path:
                pipeline.ingest(_with_durations(read_recording(pipeline.engine, str(path.absolute()))))
        else:
            pipeline.ingest_capture(location.native)
        pipeline.gold()
        return pipeline


@contextmanager
def _local_copy(source: Location) -> Iterator[Path]:
    """Return the path of a file, which is copied to this machine while the block runs if it is elsewhere."""
    if source.is_path:
        yield Path(source.native)
        return
    with tempfile.TemporaryDirectory(prefix="kwire-frames-") as folder, source.open() as file:
        copy = Path(folder) / "frames.parquet"
        with copy.open("wb") as written:
            shutil.copyfileobj(file, written)
        yield copy


def _with_durations(frames: DataFrame | pa.Table) -> DataFrame | pa.Table:
    """Derive the duration of polls from `sent_at` where it is recorded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = frames.column_names if isinstance(frames, pa.Table) else frames.columns
    if "sent_at" not in names or "duration_us" in names:
        return frames
    if isinstance(frames, pa.Table):
        duration = pc.subtract(frames["polled_at"].cast(pa.int64()), frames["sent_at"].cast(pa.int64()))
        return frames.append_column("duration_us", duration)
    from pyspark.sql import functions as f

    return frames.withColumn("duration_us", f.unix_micros("polled_at") - f.unix_micros("sent_at"))


@contextmanager
def _local_spark(scratch: Path) -> Iterator[SparkSession]:
    """Run a quiet Spark session on this machine.

    Args:
        scratch: the folder for Spark's files, which is deleted afterwards.

    Raises:
        JavaNotFound: Spark cannot start.
    """
    from pyspark.sql import SparkSession

    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise JavaNotFound
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging.getLogger("py4j").setLevel(logging.WARNING)
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "log4j2.properties").write_text(LOGGING, encoding="ascii")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Short runs: optimizing compilers would take longer than the queries.
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
    with warnings.catch_warnings(), _quiet_start(scratch / "startup-messages"):
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
            shutil.rmtree(scratch, ignore_errors=True)


LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


@contextmanager
def _quiet_start(path: Path) -> Iterator[None]:
    """Hide what Java and Spark print to stderr before logging is configured; show it if the block fails."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with path.open("w+b") as file:
        os.dup2(file.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(stderr, 2)
            os.close(stderr)
            if failed:
                file.seek(0)
                os.write(2, file.read()[-8000:])
