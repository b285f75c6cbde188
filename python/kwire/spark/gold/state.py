"""What gold remembers between builds, under ``OUT/gold/_state``.

- ``at=<hour>/``: what the time before that hour has left for the time after it. ``views`` is what each broker had told
  last of each partition, ``beliefs`` what was believed, ``answers`` when brokers had told their configurations, and
  ``incidents=<hour>`` from when on incidents must be thought about anew because of what lasts; it is made last, so what
  has none is not whole. A build continues from the last of these before the oldest new frame. Older ones are thinned
  out, and may be deleted at any time: then a late frame costs a longer way.
- ``incidents=<hour>``: a build is thinking anew about all incidents from that hour on. It is there from before they are
  deleted until they are written again.
- ``inputs``: the files of silver's `polls` that are built in. Silver only grows, so a file that is not among them is
  what is new, and its oldest poll says from which hour on gold must be built anew.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pyspark.sql import functions as f

from kwire.spark.gold import config_changes, days, folders, transitions
from kwire.spark.places import literal
from kwire.spark.store import open_file_system, parquet_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STAMP = "%Y-%m-%dT%H"
_AT, _INCIDENTS = "at=", "incidents="

EACH_HOUR = timedelta(days=2)
"""For how long every hour's state is kept; of older days only the first."""


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def _folder(out: str) -> str:
    return f"{out}/gold/_state"


def _at(out: str, moment: datetime) -> str:
    return f"{_folder(out)}/{_AT}{moment.strftime(_STAMP)}"


def _hours(spark: SparkSession, folder: str, prefix: str) -> list[datetime]:
    names = [name for name in folders.children(spark, folder) if name.startswith(prefix)]
    return [datetime.strptime(name.removeprefix(prefix), _STAMP).replace(tzinfo=UTC) for name in names]


# The state at an hour's beginning


def newest(spark: SparkSession, out: str, until: datetime) -> datetime | None:
    """The last hour until then at whose beginning the state is kept; None when there is none."""
    moments = (moment for moment in reversed(_hours(spark, _folder(out), _AT)) if moment <= until)
    return next((moment for moment in moments if _hours(spark, _at(out, moment), _INCIDENTS)), None)


def recall(spark: SparkSession, out: str, moment: datetime, part: Literal["views", "beliefs", "answers"]) -> DataFrame:
    """A part of the state at a moment, as rows to go on from."""
    return spark.read.parquet(f"{literal(_at(out, moment))}/{part}")


def incidents_since(spark: SparkSession, out: str, moment: datetime) -> datetime:
    """From when on incidents must be thought about anew, for what comes after a moment."""
    return min(_hours(spark, _at(out, moment), _INCIDENTS))


def keep(
    out: str, moment: datetime, *, views: DataFrame, walked: DataFrame, answers: DataFrame, incidents_since: datetime
) -> None:
    """Writes down the state at a moment: of views, of a walk, of answers what is older."""
    at = _at(out, moment)
    bound = f.lit(micros(moment))
    views.write.mode("overwrite").parquet(f"{at}/views")
    held = walked.where((f.col("since") < bound) & (f.col("until").isNull() | (f.col("until") >= bound)))
    held = held.withColumn("reports", f.filter("reports", lambda report: report["at"] < bound))
    transitions.carried(held).write.mode("overwrite").parquet(f"{at}/beliefs")
    config_changes.answers_to_keep(answers, moment).coalesce(1).write.mode("overwrite").parquet(f"{at}/answers")
    folders.make(walked.sparkSession, f"{at}/{_INCIDENTS}{incidents_since.strftime(_STAMP)}")


def forget_after(spark: SparkSession, out: str, moment: datetime | None) -> None:
    """Deletes the states after a moment (None: all): frames that came late have made them wrong."""
    for kept in _hours(spark, _folder(out), _AT):
        if moment is None or kept > moment:
            folders.remove(spark, _at(out, kept))


def thin_out(spark: SparkSession, out: str) -> None:
    """Deletes states that are old, but one a day."""
    moments = _hours(spark, _folder(out), _AT)
    for earlier, moment in pairwise(moments):
        if moment.date() == earlier.date() and moment < moments[-1] - EACH_HOUR:
            folders.remove(spark, _at(out, moment))


# Incidents that are being thought about anew


def rethought(spark: SparkSession, out: str) -> list[datetime]:
    """The hours from which on incidents were thought about anew by builds that died of it."""
    return _hours(spark, _folder(out), _INCIDENTS)


def rethink(spark: SparkSession, out: str, since: datetime) -> None:
    """Writes down that incidents are thought about anew from an hour on: by a name, which is there or is not."""
    folders.make(spark, f"{_folder(out)}/{_INCIDENTS}{since.strftime(_STAMP)}")


def rethought_all(spark: SparkSession, out: str) -> None:
    """Writes down that all incidents are there again."""
    for since in rethought(spark, out):
        folders.remove(spark, f"{_folder(out)}/{_INCIDENTS}{since.strftime(_STAMP)}")


# What is built in


def files_of_polls(out: str) -> list[str]:
    """The files of silver's `polls`, relative to ``out``."""
    return parquet_files(*open_file_system(out), "silver/polls")


def oldest_new_poll(spark: SparkSession, files: list[str], out: str) -> datetime | None:
    """The time of the oldest poll in ``files`` that gold has not seen; None when it has seen all."""
    inputs = f"{_folder(out)}/inputs"
    known: set[str] = set()
    if folders.exists(spark, inputs):
        known = {row["file"] for row in spark.read.parquet(literal(inputs)).collect()}
    new = [name for name in files if name not in known]
    if not new:
        return None
    polls = days.silver(spark, out, "polls")
    if known:
        polls = spark.read.schema("polled_at timestamp").parquet(*(literal(f"{out}/{name}") for name in new))
    oldest = polls.agg(f.min("polled_at").alias("at")).first()
    assert oldest is not None
    at: datetime | None = oldest["at"]
    return at.astimezone(UTC) if at is not None else None


def remember_inputs(spark: SparkSession, files: list[str], out: str) -> None:
    """Writes down that these files of polls are built in: a build's last step, so that a broken one is repeated."""
    rows = spark.createDataFrame([(name,) for name in files], "file string")
    rows.coalesce(1).write.mode("overwrite").parquet(f"{_folder(out)}/inputs")
