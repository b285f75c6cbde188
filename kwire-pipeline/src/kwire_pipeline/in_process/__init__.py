"""The engine of queries on DataFrames: Spark, or this process for little data.

Planning a build of gold takes Spark seconds, however few rows there are. DuckDB runs the same queries in this process
in a fraction of a second. Code that runs on both is written for PySpark, but imports `f` (the functions) and `Window`
from here; the DataFrames that it receives decide what it runs on:

    with run_in_process() as session:
        rows = session.read_files(...)  # an `InProcessFrame` instead of a DataFrame
        rows.where(f.col("kind") == "error").groupBy("cluster_id").agg(f.count("*").alias("failures"))
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from kwire_pipeline.in_process import column
from kwire_pipeline.in_process.data_frame import InProcessSession

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Window
    from pyspark.sql import functions as f

__all__ = ["Window", "f", "run_in_process"]

_is_in_process: ContextVar[bool] = ContextVar("is_in_process", default=False)


@contextmanager
def run_in_process() -> Iterator[InProcessSession]:
    """Let `f` and `Window` build expressions for frames of this process, inside of the block and in this thread."""
    token = _is_in_process.set(True)
    try:
        with closing(InProcessSession()) as session:
            yield session
    finally:
        _is_in_process.reset(token)


if not TYPE_CHECKING:

    class _Functions:
        def __getattr__(self, name: str) -> Any:
            if _is_in_process.get():
                return getattr(column.functions, name)
            from pyspark.sql import functions

            return getattr(functions, name)

    class _Window:
        def __getattr__(self, name: str) -> Any:
            if _is_in_process.get():
                return getattr(column.SqlWindow, name)
            from pyspark.sql import Window

            return getattr(Window, name)

    f, Window = _Functions(), _Window()
