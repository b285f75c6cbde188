"""The engine of queries on DataFrames: Spark, or this process for little data.

Planning a build of gold takes Spark seconds, however few rows there are. DuckDB runs the same queries in this process
in a fraction of a second. Code that runs on both is written for PySpark's DataFrames, and its expressions are text in
Spark's SQL. The DataFrames that it receives decide what it runs on:

    with run_in_process() as session:
        rows = session.read_files(...)  # an `InProcessFrame` instead of a DataFrame
        failures = aggregate(rows.where("kind = 'error'"), "cluster_id", "count(*) AS failures")

The functions of this module take lists of expressions as text, where PySpark has an argument for each.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TypeGuard, cast

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.in_process.data_frame import InProcessFrame, InProcessSession
from kwire_pipeline.in_process.dialect import split, text_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from pyspark.sql import DataFrame


@contextmanager
def run_in_process() -> Iterator[InProcessSession]:
    """Return a session of this process, which is closed at the end of the block."""
    with closing(InProcessSession()) as session:
        yield session


def _is_in_process(rows: DataFrame) -> TypeGuard[InProcessFrame]:
    return isinstance(rows, InProcessFrame)


def select(rows: DataFrame, columns: str) -> DataFrame:
    """Return the rows with these columns."""
    return rows.selectExpr(*split(columns))


def with_columns(rows: DataFrame, **expressions: str) -> DataFrame:
    """Return the rows with columns added or replaced."""
    columns = {name: f"`{name}`" for name in rows.columns} | expressions
    return rows.selectExpr(*(f"{expression} AS `{name}`" for name, expression in columns.items()))


def aggregate(rows: DataFrame, keys: str, aggregates: str) -> DataFrame:
    """Return a row for each group of rows with equal keys: the keys, and the aggregates."""
    if _is_in_process(rows):
        return cast("DataFrame", rows.aggregate(split(keys), split(aggregates)))
    from pyspark.sql import functions as f

    return rows.groupBy(*map(f.expr, split(keys))).agg(*map(f.expr, split(aggregates)))


def left_join(left: DataFrame, right: DataFrame, condition: str) -> DataFrame:
    """Return the rows of `left` with the rows of `right` for which a condition on the columns of both is true."""
    if _is_in_process(left):
        return cast("DataFrame", left.left_join(cast("InProcessFrame", right), condition))
    from pyspark.sql import functions as f

    return left.join(right, f.expr(condition), "left")


def distribute(rows: DataFrame, keys: str, order: str) -> DataFrame:
    """Return the rows with equal keys in one partition, and each partition sorted by the keys and an order."""
    if _is_in_process(rows):
        return cast("DataFrame", rows.sortWithinPartitions(*split(keys), *split(order)))
    from pyspark.sql import functions as f

    expressions = [f.expr(key) for key in split(keys)]
    return rows.repartition(*expressions).sortWithinPartitions(*expressions, *split(order))


def divide(rows: DataFrame, column: str, values: Iterable[str]) -> tuple[DataFrame, DataFrame]:
    """Return the rows with one of some texts in a column, and the others. Nulls are in neither."""
    if _is_in_process(rows):
        condition = f"{column} IN ({', '.join(map(text_literal, sorted(values)))})"
        return cast("DataFrame", rows.where(condition)), cast("DataFrame", rows.where(f"NOT {condition}"))
    is_one = rows[column].isin(*values)
    return rows.where(is_one), rows.where(~is_one)


def broadcast(rows: DataFrame) -> DataFrame:
    """Mark rows as few, so that Spark joins them without a shuffle."""
    return cast("DataFrame", rows) if _is_in_process(rows) else rows.hint("broadcast")


def time_literal(time: datetime) -> str:
    """Return a time as an expression."""
    return f"timestamp_micros({microseconds(time)})"
