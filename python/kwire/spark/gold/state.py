"""State of gold between builds, in `OUT/gold/_state`.

- `at=<hour>/`: the state at the beginning of that hour. `last_reports` has each broker's last report about each
  partition, `agreed` the agreed states, `config_polls` the times at which brokers reported configs, and
  `incidents=<hour>` the hour from which incidents must be diagnosed again because some have not ended. The latter is
  created last, so a state without it is incomplete. A build continues from the newest state before the oldest new
  frame. Older states are thinned out, and may be deleted at any time: a late frame then costs more.
- `incidents=<hour>`: a build diagnoses all incidents from that hour on again. It exists from before they are deleted
  until they are written.
- `inputs`: the files of silver's `polls` that are in gold. Silver only grows, so any other file is new, and its oldest
  poll is in the first hour to build.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from kwire.spark.gold import config_changes, days, folders, transitions
from kwire.spark.paths import escape_glob
from kwire.spark.store import open_file_system, parquet_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STAMP = "%Y-%m-%dT%H"
_AT, _INCIDENTS = "at=", "incidents="

EACH_HOUR = timedelta(days=2)
"""How long the state of every hour is kept; of older days, only the first is."""


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def _folder(out: str) -> str:
    return f"{out}/gold/_state"


def _at(out: str, as_of: datetime) -> str:
    return f"{_folder(out)}/{_AT}{as_of.strftime(_STAMP)}"


def _hours(spark: SparkSession, folder: str, prefix: str) -> list[datetime]:
    names = [name for name in folders.children(spark, folder) if name.startswith(prefix)]
    return [datetime.strptime(name.removeprefix(prefix), _STAMP).replace(tzinfo=UTC) for name in names]


# The state at the beginning of an hour


def newest(spark: SparkSession, out: str, until: datetime) -> datetime | None:
    """Return the last hour until then with a complete state; None if there is none."""
    hours = (hour for hour in reversed(_hours(spark, _folder(out), _AT)) if hour <= until)
    return next((hour for hour in hours if _hours(spark, _at(out, hour), _INCIDENTS)), None)


def recall(
    spark: SparkSession, out: str, as_of: datetime, part: Literal["last_reports", "agreed", "config_polls"]
) -> DataFrame:
    """Read a part of a state."""
    return spark.read.parquet(f"{escape_glob(_at(out, as_of))}/{part}")


def incidents_since(spark: SparkSession, out: str, as_of: datetime) -> datetime:
    """Return the hour from which incidents must be diagnosed again in a build that continues from a state."""
    return min(_hours(spark, _at(out, as_of), _INCIDENTS))


def keep(
    out: str,
    as_of: datetime,
    *,
    last_reports: DataFrame,
    agreed: DataFrame,
    config_polls: DataFrame,
    incidents_since: datetime,
) -> None:
    """Write the state at a time, from what is older."""
    at = _at(out, as_of)
    bound = f.lit(micros(as_of))
    last_reports.write.mode("overwrite").parquet(f"{at}/last_reports")
    held = agreed.where((f.col("since") < bound) & (f.col("until").isNull() | (f.col("until") >= bound)))
    held = held.withColumn("reports", f.filter("reports", lambda report: report["at"] < bound))
    transitions.to_resume(held).write.mode("overwrite").parquet(f"{at}/agreed")
    kept_polls = config_changes.polls_to_keep(config_polls, as_of)
    kept_polls.coalesce(1).write.mode("overwrite").parquet(f"{at}/config_polls")
    folders.make(agreed.sparkSession, f"{at}/{_INCIDENTS}{incidents_since.strftime(_STAMP)}")


def forget_after(spark: SparkSession, out: str, as_of: datetime | None) -> None:
    """Delete the states after a time (None: all), which late frames have made wrong."""
    for kept in _hours(spark, _folder(out), _AT):
        if as_of is None or kept > as_of:
            folders.remove(spark, _at(out, kept))


def thin_out(spark: SparkSession, out: str) -> None:
    """Delete old states except one per day."""
    hours = _hours(spark, _folder(out), _AT)
    for earlier, hour in pairwise(hours):
        if hour.date() == earlier.date() and hour < hours[-1] - EACH_HOUR:
            folders.remove(spark, _at(out, hour))


# Incidents that are being diagnosed again


def pending_diagnoses(spark: SparkSession, out: str) -> list[datetime]:
    """Return the hours from which builds that failed were diagnosing incidents again."""
    return _hours(spark, _folder(out), _INCIDENTS)


def begin_diagnosis(spark: SparkSession, out: str, since: datetime) -> None:
    """Record that incidents are being diagnosed again from an hour on. The name of a folder is the record."""
    folders.make(spark, f"{_folder(out)}/{_INCIDENTS}{since.strftime(_STAMP)}")


def end_diagnosis(spark: SparkSession, out: str) -> None:
    """Record that all incidents are written."""
    for since in pending_diagnoses(spark, out):
        folders.remove(spark, f"{_folder(out)}/{_INCIDENTS}{since.strftime(_STAMP)}")


# The inputs of the last build


def files_of_polls(out: str) -> list[str]:
    """Return the files of silver's `polls`, relative to `out`."""
    return parquet_files(*open_file_system(out), "silver/polls")


def oldest_new_poll(spark: SparkSession, files: list[str], out: str) -> datetime | None:
    """Return the time of the oldest poll in the files that are not in gold; None if all are."""
    inputs = f"{_folder(out)}/inputs"
    known: set[str] = set()
    if folders.exists(spark, inputs):
        known = {row["file"] for row in spark.read.parquet(escape_glob(inputs)).collect()}
    new = [name for name in files if name not in known]
    if not new:
        return None
    polls = days.silver(spark, out, "polls")
    if known:
        polls = spark.read.schema("polled_at timestamp").parquet(*(escape_glob(f"{out}/{name}") for name in new))
    oldest = polls.agg(f.min("polled_at").alias("at")).first()
    assert oldest is not None
    at: datetime | None = oldest["at"]
    return at.astimezone(UTC) if at is not None else None


def remember_inputs(spark: SparkSession, files: list[str], out: str) -> None:
    """Record the files that are in gold. This is the last step of a build, so a failed one is repeated."""
    rows = spark.createDataFrame([(name,) for name in files], "file string")
    rows.coalesce(1).write.mode("overwrite").parquet(f"{_folder(out)}/inputs")
