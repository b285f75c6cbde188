"""Which Python the workers run.

Rules of this file: who said something is obeyed. PySpark starts ``python3``, whatever that is on the path, where nobody
said anything; on the machine of the driver that had better be the driver's own, which has kwire.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql.utils import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHOSEN_BY = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
"""Variables of the environment by which one says it. spark-submit sets the first for ``spark.pyspark.python``."""


def own_python(spark: SparkSession) -> None:
    """Let the workers of a local session run the driver's Python, unless another was chosen.

    On a cluster, and behind Spark Connect, workers live elsewhere and nothing is changed.
    """
    if is_remote() or any(os.environ.get(name) for name in CHOSEN_BY):
        return
    context = spark.sparkContext
    if (context.master or "").startswith("local") and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
