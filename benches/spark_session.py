"""The Spark session of the benchmarks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def spark_session(memory: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a local session with Spark's defaults, except for what the machine needs.

    Args:
        memory: the memory of the driver, such as `1g`.
        settings: further settings.
    """
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("kwire bench")
    needed = {
        "spark.driver.memory": memory,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    for name, value in {**needed, **(settings or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
