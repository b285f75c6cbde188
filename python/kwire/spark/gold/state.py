"""What gold remembers between builds, under ``OUT/gold/_state``.

- ``at=<hour>/views`` and ``at=<hour>/beliefs``: what each broker had told last of each partition when that hour began,
  and what was believed. A build continues from the last such point before the oldest new frame. Old ones may be
  deleted at any time: then a late frame costs a longer way.
- ``incidents=<hour>``: a build is thinking anew about all incidents from that hour on. It is there from before they are
  deleted until they are written again.
- ``inputs``: the files of silver's `polls` that are built in. Silver only grows, so a file that is not among them is
  what is new, and its oldest poll says from which hour on gold must be built anew.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import tables, transitions
from kwire.spark.places import literal, path_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STAMP = "%Y-%m-%dT%H"


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def _folder(out: str) -> str:
    return f"{out}/gold/_state"


def moments(spark: SparkSession, out: str) -> list[datetime]:
    """The hours at whose beginning the state is kept, ascending."""
    return _hours(spark, out, "at=")


def rethought(spark: SparkSession, out: str) -> list[datetime]:
    """The hours from which on incidents were thought about anew by builds that died of it."""
    return _hours(spark, out, "incidents=")


def rethink(spark: SparkSession, out: str, since: datetime) -> None:
    """Writes down that incidents are thought about anew from an hour on: by a name, which is there or is not."""
    tables.make(spark, f"{_folder(out)}/incidents={since.strftime(_STAMP)}")


def rethought_all(spark: SparkSession, out: str) -> None:
    """Writes down that all incidents are there again."""
    for since in rethought(spark, out):
        tables.forget(spark, f"{_folder(out)}/incidents={since.strftime(_STAMP)}", None)


def _hours(spark: SparkSession, out: str, prefix: str) -> list[datetime]:
    names = [name for name in tables.children(spark, _folder(out)) if name.startswith(prefix)]
    return [datetime.strptime(name.removeprefix(prefix), _STAMP).replace(tzinfo=UTC) for name in names]


def recall(spark: SparkSession, out: str, moment: datetime) -> tuple[DataFrame, DataFrame]:
    """The views and the beliefs at a moment, as rows to go on walking from."""
    at = literal(f"{_folder(out)}/at={moment.strftime(_STAMP)}")
    return spark.read.parquet(f"{at}/views"), spark.read.parquet(f"{at}/beliefs")


def keep(views: DataFrame, walked: DataFrame, out: str, moment: datetime) -> None:
    """Writes down the state at a moment: of views and of a walk, what is older."""
    at = f"{_folder(out)}/at={moment.strftime(_STAMP)}"
    bound = f.lit(micros(moment))
    views.write.mode("overwrite").parquet(f"{at}/views")
    held = walked.where((f.col("since") < bound) & (f.col("until").isNull() | (f.col("until") >= bound)))
    held = held.withColumn("told", f.filter("told", lambda telling: telling["at"] < bound))
    transitions.carried(held).write.mode("overwrite").parquet(f"{at}/beliefs")


def forget_after(spark: SparkSession, out: str, moment: datetime | None) -> None:
    """Deletes the states after a moment (None: all): frames that came late have made them wrong."""
    for kept in moments(spark, out):
        if moment is None or kept > moment:
            tables.forget(spark, f"{_folder(out)}/at={kept.strftime(_STAMP)}", None)


def oldest_new_poll(spark: SparkSession, polls: DataFrame, out: str) -> datetime | None:
    """The time of the oldest poll that gold has not seen; None when it has seen all."""
    inputs = f"{_folder(out)}/inputs"
    files = set(polls.inputFiles())
    if tables.exists(spark, inputs):
        files -= {row["file"] for row in spark.read.parquet(literal(inputs)).collect()}
    if not files:
        return None
    paths = [literal(path_of(file)) for file in sorted(files)]
    oldest = spark.read.schema(polls.drop("date").schema).parquet(*paths).agg(f.min("polled_at").alias("at")).first()
    assert oldest is not None
    at: datetime | None = oldest["at"]
    return at.astimezone(UTC) if at is not None else None


def remember_inputs(spark: SparkSession, files: list[str], out: str) -> None:
    """Writes down that these files of polls are built in: a build's last step, so that a broken one is repeated."""
    rows = spark.createDataFrame([(name,) for name in sorted(files)], "file string")
    rows.coalesce(1).write.mode("overwrite").parquet(f"{_folder(out)}/inputs")
