"""What the cluster looked like at an instant: as one broker told it, or as the majority did."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold import build, days, intervals, state, tables, transitions, voting_periods

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = ["topic", "partition", "leader", "leader_epoch", "replicas", "isr", "offline", "error_code"]


def cluster_at(
    spark: SparkSession, out: str, ts: datetime, broker_id: int | None = None, cluster_id: str | None = None
) -> DataFrame:
    """All partitions at ``ts``, one row each, with the columns `COLUMNS`.

    With ``broker_id`` it is that broker's own word: equal to its last Metadata answer at or before ``ts``, empty before
    its first. It needs silver only. Without, it is what `intervals` believes: the majority of those who answered then,
    by leader epochs; it needs gold built up to ``ts``, and any instant up to the last poll may be asked for.

    ``ts`` without a zone is taken for UTC. Where several clusters are under ``out``, name one by ``cluster_id``: rows
    do not say whose they are.
    """
    tables.in_utc(spark)
    at = ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts.astimezone(UTC)
    rows = _majority(spark, out, at) if broker_id is None else _told(spark, out, at, broker_id)
    if cluster_id is not None:
        rows = rows.where(f.col("cluster_id") == cluster_id)
    return rows.select(*COLUMNS)


def _majority(spark: SparkSession, out: str, at: datetime) -> DataFrame:
    # What held then ended in its hour or later, or not at all: no older folders are read.
    held = intervals.TABLE.read(spark, out, since=at)
    held = held.where((f.col("date") != f"{at:%Y-%m-%d}") | (f.col("hour") >= at.hour))
    held = held.where(
        (f.col("valid_from") <= f.lit(at)) & (f.col("valid_to").isNull() | (f.col("valid_to") > f.lit(at)))
    )
    return held.withColumnRenamed("offline", "without_leader").withColumnRenamed("offline_replicas", "offline")


def _told(spark: SparkSession, out: str, at: datetime, broker_id: int) -> DataFrame:
    kept = state.newest(spark, out, at)
    partitions = days.silver(spark, out, "partitions", kept, at).where(f.col("broker_id") == broker_id)
    words = transitions.words(
        build.between(partitions, "at", kept, at).unionByName(partitions.where(f.col("at") == f.lit(at)))
    )
    if kept is not None:
        views = state.recall(spark, out, kept, "views")
        words = views.where(f.col("broker_id") == broker_id).unionByName(words)
    rows = transitions.views(words).where("present")
    # Silver does not believe an empty answer at once; but it is what the broker said.
    polls = days.silver(spark, out, "polls", None, at).where(
        (f.col("broker_id") == broker_id)
        & (f.col("api_key") == voting_periods.METADATA)
        & (f.col("kind") != "error")
        & (f.col("polled_at") <= f.lit(at))
    )
    last = polls.groupBy("cluster_id").agg(f.max_by(f.struct("suspect", "partitions"), "polled_at").alias("last"))
    said_nothing = last.where("last.suspect and last.partitions = 0")
    return rows.join(f.broadcast(said_nothing), "cluster_id", "left_anti")
