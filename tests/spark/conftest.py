"""One local Spark session for all tests of this folder, with two threads, little memory, and the loopback interface."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.eventually import eventually_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session in which `format("kwire")` is not registered explicitly."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    logging.getLogger("py4j").setLevel(logging.WARNING)
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "768m",
        # With little data, optimizing and compiling queries takes longer than running them.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def recorded_gold(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with silver and gold of the recordings, of worse polls of them, and of the documented example.

    It is built once and shared by the worker processes of pytest-xdist. Tests only read it.
    """
    from kwire.folder_lock import FolderInUse, FolderLock
    from kwire.spark import gold
    from kwire.spark.store import Store
    from tests.spark import gold_example, recorded

    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recorded-gold"
    shared.mkdir(exist_ok=True)
    out, complete = shared / "out", shared / "complete"

    def lock() -> FolderLock | None:
        try:
            return FolderLock(shared)
        except FolderInUse:
            return None

    held = eventually_sync(lock, "the build in another process", within=500)
    assert held is not None
    try:
        if not complete.exists():
            recorded.write_silver([*recorded.versions(), *gold_example.rows()], out)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
                gold.build(spark, Store(str(out)))
            complete.touch()
    finally:
        held.release()
    return str(out)


@pytest.fixture
def one_shuffle_partition(spark: SparkSession) -> Iterator[None]:
    """Run the queries of a test with one shuffle partition, which is faster for a handful of rows."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield
    spark.conf.set("spark.sql.shuffle.partitions", str(before))


@pytest.fixture(autouse=True)
def _spark_and_pandas() -> Iterator[None]:
    """Ignore PySpark's warning about the pandas version, which the tests do not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield
