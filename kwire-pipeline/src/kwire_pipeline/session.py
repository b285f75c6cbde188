"""Spark sessions: creating one, and what a session needs before kwire can use it."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kwire.codec import uses_engine
from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

PYTHON_VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""Environment variables that choose the workers' Python. spark-submit sets the first for `spark.pyspark.python`."""

SPARK_SUBMIT_VARIABLE = "SPARK_ENV_LOADED"
"""Set by spark-submit in the driver's environment."""

MASTER_VARIABLES = ("MASTER", "SPARK_REMOTE")
"""Environment variables that name a master of Spark, or a server of Spark Connect."""

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"

TIME_ZONE = "spark.sql.session.timeZone"

TIMESTAMP_TYPE = "spark.sql.timestampType"
"""The type that `timestamp` means in DDL; platforms set it to TIMESTAMP_NTZ."""

MEANING = {
    TIME_ZONE: "UTC",
    TIMESTAMP_TYPE: "TIMESTAMP_LTZ",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""Settings on which the meaning of DDL and of expressions depends, as kwire's own queries need them."""

CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"
"""Lets PySpark send the call site of each expression to the JVM: half of the 27,000 calls of a build."""

LISTING = "spark.sql.sources.parallelPartitionDiscovery.parallelism"

LISTING_TASKS = 8
"""Maximum number of tasks that list files. Chosen, not measured: each costs 25 ms of CPU time."""

SINGLE_PARTITION_BYTES = "spark.sql.maxSinglePartitionBytes"

FEWEST_PARTITIONS = 2
"""A build has about 50 stages, so each partition is 50 tasks, which cost 25 ms of CPU time each."""

COMPILED_BYTES = 16 << 20
"""Compressed silver from which on generated code pays off."""

PARTITION_BYTES = 4 << 20
"""Compressed silver for one shuffle partition: about 50 MB of rows."""


class EngineMissing(KwireError, RuntimeError):
    """A worker would decode with the reference codec, because kwire's compiled module cannot be imported there."""

    def __str__(self) -> str:
        return (
            f"the Python worker on {platform.node()} has kwire without its compiled module, and the reference codec is"
            " about 40x slower: install the wheel on the executors (docs/deployment.md), or allow it with"
            " Pipeline(..., reference_codec=True)"
        )


def require_engine() -> None:
    """Check in a worker that kwire has its compiled module.

    Raises:
        EngineMissing: it would use the reference codec, as a copy of kwire from a zip file does.
    """
    if not uses_engine():
        raise EngineMissing


def started_by_spark_submit() -> bool:
    """Return whether spark-submit started this process."""
    return SPARK_SUBMIT_VARIABLE in os.environ


def names_master() -> bool:
    """Return whether the environment or the configuration of Spark names a master or a server of Spark Connect."""
    folder = os.environ.get("SPARK_CONF_DIR") or Path(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        defaults = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8")
    except OSError:
        defaults = ""
    submitted = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    return (
        started_by_spark_submit()
        or any(os.environ.get(name) for name in MASTER_VARIABLES)
        or "--master" in submitted
        or re.search(r"^\s*spark\.(master|remote)\b", defaults, re.MULTILINE) is not None
    )


def get_session(master: str | None = None) -> SparkSession:
    """Return the session that spark-submit configured, or a new one with this Python, by default a local one."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kwire").config(TIME_ZONE, "UTC").config(CALL_SITES, "false")
    if not started_by_spark_submit():
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = builder.config("spark.log.level", "ERROR")  # its warnings are about Spark, not about the data
    if master is not None:
        builder = builder.master(master)
    return builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()


def use_driver_python(spark: SparkSession) -> None:
    """Let the workers of a local session run the driver's Python, which has kwire.

    PySpark otherwise starts the first `python3` on the path. An interpreter that the user chose is kept, and nothing
    changes on a cluster or behind Spark Connect, where workers run on other machines.
    """
    from pyspark.sql.utils import is_remote

    if is_remote() or any(os.environ.get(name) for name in PYTHON_VARIABLES):
        return
    context = spark.sparkContext
    if (context.master or "").startswith("local") and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable


@contextmanager
def sized_queries(spark: SparkSession, size: int) -> Iterator[None]:
    """Run queries with settings that suit the size of their input, and restore the settings of the session at the end.

    - Few shuffle partitions for little data: a session has 200 by default, and each costs more than the rows of a small
      build. The setting of the session is an upper bound.
    - No adaptive execution and no broadcasts: each shuffle and each broadcast would be a job of its own, and the sizes
      are known.
    - Few tasks that list files: Spark lists each of more than 32 files in a task of its own by default.
    - No shuffle of single partitions in joins: Spark knows no sizes of checkpoints, and takes them for large.
    - The time zone of gold, which is partitioned into hours of UTC, and the parser that the queries are written for.
    - No generated code for little data: compiling it takes longer than running the queries.

    Args:
        spark: the session.
        size: bytes of the compressed files that the queries read.
    """
    configured = str(spark.conf.get(SHUFFLE_PARTITIONS))
    needed = max(FEWEST_PARTITIONS, -(-size // PARTITION_BYTES))
    settings = {
        SHUFFLE_PARTITIONS: str(min(int(configured), needed)),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        LISTING: str(LISTING_TASKS),
        SINGLE_PARTITION_BYTES: str(2**62),
        **MEANING,
    }
    if size < COMPILED_BYTES:
        settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: str(spark.conf.get(name)) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def own_meaning(*sessions: SparkSession) -> Iterator[None]:
    """Let DDL and expressions mean what kwire's queries mean, and times of text be in UTC, in spite of the sessions."""
    before = [{name: str(spark.conf.get(name)) for name in MEANING} for spark in sessions]
    try:
        for spark in sessions:
            for name, value in MEANING.items():
                spark.conf.set(name, value)
        yield
    finally:
        for spark, values in zip(sessions, before, strict=True):
            for name, value in values.items():
                spark.conf.set(name, value)
