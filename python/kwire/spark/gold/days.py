"""Reading tables by date: silver has a folder per day, gold one per hour below it.

Folders are chosen by name before Spark reads: Spark would list every folder of a table before it skips any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import folders
from kwire.spark.paths import escape_glob
from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

OPEN = "open"
"""The date of rows without an end."""

_DATE, _HOUR = "date=", "hour="


def names(spark: SparkSession, folder: str) -> list[str]:
    """Return the days of which a table has a folder, as `YYYY-MM-DD`, ascending; `OPEN` is last."""
    return [name.removeprefix(_DATE) for name in folders.children(spark, folder) if name.startswith(_DATE)]


def read(spark: SparkSession, folder: str, schema: str, wanted: Callable[[str], bool] | None = None) -> DataFrame:
    """Read the days of a table that are `wanted`, or all; the result is empty if there is no folder."""
    if wanted is not None:
        paths = [f"{escape_glob(folder)}/{_DATE}{name}" for name in names(spark, folder) if wanted(name)]
    else:
        paths = [escape_glob(folder)] if folders.exists(spark, folder) else []
    if not paths:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).option("basePath", folder).parquet(*paths)


def silver(
    spark: SparkSession, out: str, name: str, start: datetime | None = None, stop: datetime | None = None
) -> DataFrame:
    """Read a table of silver with its partition column `date`, from the day of `start` to that of `stop`, inclusive.

    None means the first or the last day.
    """
    schema = f"{SILVER_SCHEMAS[name].ddl}, `date` string"
    return read(spark, f"{out}/silver/{name}", schema, None if start is stop is None else _days_between(start, stop))


def between(rows: DataFrame, column: str, start: datetime | None, stop: datetime | None) -> DataFrame:
    """Return the rows of a window, without reading other days; None means unbounded."""
    if stop is not None:
        if "date" in rows.columns:
            rows = rows.where(f.col("date") <= f.lit(f"{stop:%Y-%m-%d}"))
        rows = rows.where(f.col(column) < f.lit(stop))
    if start is not None:
        if "date" in rows.columns:
            rows = rows.where(f.col("date") >= f.lit(f"{start:%Y-%m-%d}"))
        rows = rows.where(f.col(column) >= f.lit(start))
    return rows


def _days_between(start: datetime | None, stop: datetime | None) -> Callable[[str], bool]:
    first = None if start is None else f"{start:%Y-%m-%d}"
    last = None if stop is None else f"{stop:%Y-%m-%d}"
    return lambda day: (first is None or first <= day) and (last is None or day <= last)


def since(start: datetime) -> Callable[[str], bool]:
    """Return a filter for the days from one on, and `OPEN`."""
    return _days_between(start, None)


def forget(spark: SparkSession, folder: str, start: datetime | None) -> None:
    """Delete the hours from `start` on (None: all), and `OPEN`."""
    if start is None:
        folders.remove(spark, folder)
        return
    first = (f"{start:%Y-%m-%d}", start.hour)
    for day in names(spark, folder):
        place = f"{folder}/{_DATE}{day}"
        if day == OPEN:
            folders.remove(spark, place)
        elif day >= first[0]:
            for name in folders.children(spark, place):
                hour = name.removeprefix(_HOUR)
                if hour.isdigit() and (day, int(hour)) >= first:
                    folders.remove(spark, f"{place}/{name}")
