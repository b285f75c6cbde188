"""`config_changes`: what was configured otherwise than before, of topics, brokers, cluster; and what has drifted.

A broker's first description of a resource is no change, nor is what a new topic comes with. Brokers are asked one after
the other, so each change is told several times: the first counts, the others only agree.

``origin`` is 'own' when the resource itself was given the value or lost it, and 'inherited' when a default that it does
not override changed above it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

DESCRIBE_CONFIGS = 32

ROUND = timedelta(seconds=1)
"""Requests of one round follow one another within it."""

CHANGES = Table(
    "config_changes",
    "What was configured otherwise than before.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the answer that told it first", "UTC"),
        Column(
            "not_before", "timestamp", "the same broker's answer before, which told the old value; null for none", "UTC"
        ),
        Column("reported_by", "int", "who told it first"),
        Column("resource_type", "string", "'topic', 'broker' or 'cluster' (the default of all brokers)"),
        Column("resource", "string", "the topic or broker; empty for the cluster"),
        Column("key", "string", "the configuration's name"),
        Column("old_value", "string", "its value before; null when it had none"),
        Column("value", "string", "its value now; null when it has none"),
        Column(
            "old_source",
            "int",
            "where the value came from: 1 topic, 2 broker, 3 cluster default, 4 file, 5 Kafka's default",
        ),
        Column("source", "int", "where it comes from now"),
        Column("origin", "string", "'own' or 'inherited'"),
    ),
)

DRIFT = Table(
    "config_drift",
    "Topics with a value of their own that differs from what topics without one have.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("topic", "string", "the topic"),
        Column("key", "string", "the configuration's name"),
        Column("value", "string", "its own value"),
        Column("inherited_value", "string", "the value at topics that have none of their own; null when each has"),
        Column("valid_from", "timestamp", "when it was told first", "UTC"),
        Column("valid_to", "timestamp", "when it was no more; null while it is", "UTC"),
    ),
)

_KEY = ["cluster_id", "resource_type", "resource", "key"]


def answers(polls: DataFrame) -> DataFrame:
    """When configurations were told: cluster_id, broker_id, polled_at."""
    told = polls.where((f.col("api_key") == DESCRIBE_CONFIGS) & (f.col("kind") != "error"))
    return told.select("cluster_id", "broker_id", "polled_at")


def answers_to_keep(answers: DataFrame, moment: datetime) -> DataFrame:
    """Of the answers before a moment those that what comes later is compared with: each broker's first, those of the
    round under way, and the one before that round.
    """
    by_broker = Window.partitionBy("cluster_id", "broker_id")
    under_way = f.col("polled_at") > f.lit(moment - ROUND)
    rows = answers.where(f.col("polled_at") < f.lit(moment)).select(
        "*",
        f.min("polled_at").over(by_broker).alias("first"),
        f.max(f.when(~under_way, f.col("polled_at"))).over(by_broker).alias("before"),
    )
    wanted = under_way | (f.col("polled_at") == f.col("first")) | f.col("polled_at").eqNullSafe(f.col("before"))
    return rows.where(wanted).drop("first", "before").distinct()


def changes(configs: DataFrame, answers: DataFrame) -> DataFrame:
    """All changes ever told (`CHANGES`); ``answers``: at least those of the time that is of interest, and of the time
    before it those to keep.
    """
    first = answers.groupBy("cluster_id", "broker_id").agg(f.min("polled_at").alias("first"))
    by_resource = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource").orderBy("at")
    rows = configs.withColumn("gone", f.col("change") == "gone")
    # All keys of a resource go together when the resource goes: a topic was deleted.
    whole = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource", "at")
    rows = rows.withColumn("leaving", f.min(f.col("gone").cast("int")).over(whole) == 1)
    # A resource described anew after it left is described for the first time.
    left = f.max(f.when(f.col("leaving"), f.col("at"))).over(
        by_resource.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    rows = rows.withColumn("left_at", left)
    incarnation = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource", "left_at")
    rows = rows.withColumn("known_since", f.min(f.when(~f.col("leaving"), f.col("at"))).over(incarnation))
    rows = rows.join(f.broadcast(first), ["cluster_id", "broker_id"], "left")
    settling = f.expr("interval 3 seconds")
    defaults = f.col("resource_type") == "cluster"
    described = f.when(defaults, f.col("at") > f.col("first") + settling).otherwise(f.col("at") > f.col("known_since"))
    rows = rows.withColumn("described", described & ~f.col("leaving"))
    return _believed(rows, answers)


def _believed(rows: DataFrame, answers: DataFrame) -> DataFrame:
    """Of what the brokers tell one after the other, the news."""
    order = Window.partitionBy(*_KEY).orderBy("at", "broker_id")
    value = f.when(~f.col("gone"), f.struct("value", "source"))
    rows = (
        rows.withColumn("now", value)
        .withColumn("before", f.lag(value).over(order))
        .withColumn("told_before", f.lag("at").over(order))
    )
    known = f.col("told_before").isNotNull() | (f.col("resource_type") == "cluster") | f.col("described")
    news = rows.where(f.col("described") & known & ~f.col("now").eqNullSafe(f.col("before")))
    by_broker = Window.partitionBy("cluster_id", "broker_id").orderBy(f.unix_micros("polled_at"))
    # The round before is what told the old value.
    earlier = answers.select(
        "cluster_id",
        "broker_id",
        f.col("polled_at").alias("at"),
        f.max("polled_at")
        .over(by_broker.rangeBetween(Window.unboundedPreceding, -ROUND // timedelta(microseconds=1)))
        .alias("not_before"),
    )
    own = (f.col("resource_type") == "topic") & ((f.col("now.source") == 1) | (f.col("before.source") == 1))
    own = (
        own
        | (f.col("resource_type") == "cluster")
        | ((f.col("resource_type") == "broker") & ((f.col("now.source") == 2) | (f.col("before.source") == 2)))
    )
    return news.join(earlier, ["cluster_id", "broker_id", "at"], "left").select(
        "cluster_id",
        "at",
        "not_before",
        f.col("broker_id").alias("reported_by"),
        "resource_type",
        "resource",
        "key",
        f.col("before.value").alias("old_value"),
        f.col("now.value").alias("value"),
        f.col("before.source").alias("old_source"),
        f.col("now.source").alias("source"),
        f.when(f.coalesce(own, f.lit(False)), "own").otherwise("inherited").alias("origin"),
    )


def drift(configs: DataFrame) -> DataFrame:
    """Rows of `DRIFT`: overrides now and before, against what is usual among topics without one.

    The usual value is the latest that most topics without an own value had: brokers tell the default with each topic,
    so that no table of which broker setting stands behind which topic setting is needed.
    """
    topics = configs.where("resource_type = 'topic'")
    order = Window.partitionBy("cluster_id", "resource", "key").orderBy("at", "broker_id")
    now = f.when(f.col("change") == "set", f.struct("value", "source"))
    states = topics.withColumn("now", now).withColumn("before", f.lag(now).over(order))
    states = states.where(~f.col("now").eqNullSafe(f.col("before"))).withColumn("valid_to", f.lead("at").over(order))
    own = states.where("now.source = 1")
    standing = states.where("valid_to is null and now.source <> 1")
    counts = standing.groupBy("cluster_id", "key", "value").agg(f.count("*").alias("topics"))
    usual = counts.groupBy("cluster_id", "key").agg(
        f.max_by("value", f.struct("topics", "value")).alias("inherited_value")
    )
    rows = own.join(f.broadcast(usual), ["cluster_id", "key"], "left").where(
        ~f.col("value").eqNullSafe(f.col("inherited_value"))
    )
    return rows.select(
        "cluster_id",
        f.col("resource").alias("topic"),
        "key",
        "value",
        "inherited_value",
        f.col("at").alias("valid_from"),
        "valid_to",
    )
