"""Folders on any file system that Spark can reach, through Hadoop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def exists(spark: SparkSession, folder: str) -> bool:
    path, system = _hadoop(spark, folder)
    return bool(system.exists(path))


def make(spark: SparkSession, folder: str) -> None:
    """Create an empty folder."""
    path, system = _hadoop(spark, folder)
    system.mkdirs(path)


def remove(spark: SparkSession, folder: str) -> None:
    """Delete a folder with its content, if it exists."""
    path, system = _hadoop(spark, folder)
    system.delete(path, True)


def children(spark: SparkSession, folder: str) -> list[str]:
    """Return the sorted names in a folder; empty if it does not exist."""
    path, system = _hadoop(spark, folder)
    return sorted(entry.getPath().getName() for entry in system.listStatus(path)) if system.exists(path) else []


def _hadoop(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    context = spark.sparkContext
    assert context._jvm is not None  # noqa: SLF001  # the public API of PySpark has no file system
    path = context._jvm.org.apache.hadoop.fs.Path(folder)  # noqa: SLF001  # the public API of PySpark has no file system
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001  # the public API of PySpark has no file system
