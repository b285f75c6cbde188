"""Tables by days: silver lies in a folder a day, gold in one an hour below it, and a year has many.

Rules of this file: what is wanted is chosen by the names of folders, before Spark is asked, which would look into every
folder before it left any out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.spark.gold import folders
from kwire.spark.places import literal
from kwire.spark.silver_tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

OPEN = "open"
"""The date under which lies what has not ended."""

_DATE, _HOUR = "date=", "hour="


def names(spark: SparkSession, folder: str) -> list[str]:
    """The days of which a table has a folder, ``YYYY-MM-DD``, ascending; `OPEN` comes last."""
    return [name.removeprefix(_DATE) for name in folders.children(spark, folder) if name.startswith(_DATE)]


def read(spark: SparkSession, folder: str, schema: str, wanted: Callable[[str], bool] | None = None) -> DataFrame:
    """A table by its folder: the days that are ``wanted``, or all. Empty where there is none."""
    if wanted is not None:
        paths = [f"{literal(folder)}/{_DATE}{name}" for name in names(spark, folder) if wanted(name)]
    else:
        paths = [literal(folder)] if folders.exists(spark, folder) else []
    if not paths:
        return spark.createDataFrame([], schema)
    return spark.read.schema(schema).option("basePath", folder).parquet(*paths)


def silver(
    spark: SparkSession, out: str, name: str, start: datetime | None = None, stop: datetime | None = None
) -> DataFrame:
    """A table of silver with its folder as column ``date``: the days from ``start`` to ``stop``, both included; None is
    the beginning or the end of all. Empty where nothing of the kind was told.
    """
    schema = f"{SILVER_SCHEMAS[name].ddl}, `date` string"
    return read(spark, f"{out}/silver/{name}", schema, None if start is stop is None else _between(start, stop))


def _between(start: datetime | None, stop: datetime | None) -> Callable[[str], bool]:
    first = None if start is None else f"{start:%Y-%m-%d}"
    last = None if stop is None else f"{stop:%Y-%m-%d}"
    return lambda day: (first is None or first <= day) and (last is None or day <= last)


def since(start: datetime) -> Callable[[str], bool]:
    """Wants the days from one on, and what is open."""
    return _between(start, None)


def forget(spark: SparkSession, folder: str, start: datetime | None) -> None:
    """Deletes the hours from ``start`` on (None: all), and what is open."""
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
