"""One local Spark session for all tests of this folder, with two threads, little memory, and the loopback interface."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import pytest

from tests.eventually import eventually_sync
from tests.pipeline.session import start_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session in which `format("kwire")` is not registered explicitly."""
    session = start_session(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def recorded_gold(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with silver and gold of the recordings, of worse polls of them, and of the documented example.

    It is built once and shared by the worker processes of pytest-xdist. Tests only read it.
    """
    from kwire._util.folder_lock import FolderInUse, FolderLock
    from kwire_pipeline import gold
    from kwire_pipeline.store.commits import PipelineStore
    from tests.pipeline import gold_example, recorded

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
                gold.build(spark, PipelineStore(str(out)))
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
