"""Dates of files: tables of silver have a partition per day, gold one per hour of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.in_process import f

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from kwire_pipeline.store.record import DataFile

OPEN = "open"
"""The date of rows without an end."""


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


def is_between(date: str, start: datetime | None, stop: datetime | None) -> bool:
    """Return whether a date is between two days, inclusive; None means unbounded. `OPEN` is after all days."""
    return (start is None or f"{start:%Y-%m-%d}" <= date) and (stop is None or date <= f"{stop:%Y-%m-%d}")


def is_before(file: DataFile, hour: datetime) -> bool:
    """Return whether a file of gold belongs to an hour before this one; rows without an end do not."""
    return (file.partition["date"], int(file.partition["hour"])) < (f"{hour:%Y-%m-%d}", hour.hour)
