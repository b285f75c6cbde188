"""Dates of files: tables of silver have a partition per day, gold one per hour of a day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.in_process import time_literal

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

    from kwire_pipeline.store.record import DataFile

OPEN = "open"
"""The date of rows without an end."""


def between(rows: DataFrame, column: str, start: datetime | None, stop: datetime | None) -> DataFrame:
    """Return the rows of a window, without reading other days; None means unbounded."""
    has_date = "date" in rows.columns
    for operator, date_operator, bound in (("<", "<=", stop), (">=", ">=", start)):
        if bound is not None:
            of_day = f" AND date {date_operator} '{bound:%Y-%m-%d}'" if has_date else ""
            rows = rows.where(f"{column} {operator} {time_literal(bound)}{of_day}")
    return rows


def is_between(date: str, start: datetime | None, stop: datetime | None) -> bool:
    """Return whether a date is between two days, inclusive; None means unbounded. `OPEN` is after all days."""
    return (start is None or f"{start:%Y-%m-%d}" <= date) and (stop is None or date <= f"{stop:%Y-%m-%d}")


def is_before(file: DataFile, hour: datetime) -> bool:
    """Return whether a file of gold belongs to an hour before this one; rows without an end do not."""
    return (file.partition["date"], int(file.partition["hour"])) < (f"{hour:%Y-%m-%d}", hour.hour)
