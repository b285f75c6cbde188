"""`config_changes` and `config_drift`: changed configs of topics, brokers, and clusters, and topics that deviate.

A broker's first description of a resource is not a change, and neither are the configs of a new topic. Brokers are
polled one after the other, so several of them report each change: only the first report counts.

`origin` is 'own' if the resource itself gained or lost the value, and 'inherited' if a default changed that it does not
override.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.in_process import Window, f
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

DESCRIBE_CONFIGS = 32

ROUND = timedelta(seconds=1)
"""Longest time between two polls of one round."""

CHANGES = GoldTable(
    "config_changes",
    "Changes of configs.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the response that reported the change first", "UTC"),
        Column(
            "not_before",
            "timestamp",
            "the same broker's response before, which reported the old value; null if there is none",
            "UTC",
        ),
        Column("reported_by", "int", "the broker that reported it first"),
        Column("resource_type", "string", "'topic', 'broker' or 'cluster' (the default of all brokers)"),
        Column("resource", "string", "the topic or broker; empty for the cluster"),
        Column("key", "string", "the name of the config"),
        Column("old_value", "string", "the value before; null if it was not set"),
        Column("value", "string", "the value after; null if it is not set"),
        Column(
            "old_source",
            "int",
            "Kafka's config source of the old value: 1 topic, 2 broker, 3 cluster default, 4 file, 5 Kafka's default",
        ),
        Column("source", "int", "Kafka's config source of the new value"),
        Column(
            "origin", "string", "'own': the resource itself gained or lost the value; 'inherited': a default changed"
        ),
    ),
)

DRIFT = GoldTable(
    "config_drift",
    "Topics that override a config with another value than topics without an override have.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("topic", "string", "the topic's name"),
        Column("key", "string", "the name of the config"),
        Column("value", "string", "the topic's value"),
        Column(
            "inherited_value", "string", "the value of most topics without an override; null if every topic has one"
        ),
        Column("valid_from", "timestamp", "when it was reported first", "UTC"),
        Column("valid_to", "timestamp", "when it ended; null while it lasts", "UTC"),
    ),
    time="valid_to",
)

POLLS = "cluster_id string, broker_id int, polled_at timestamp"
"""Schema of config polls."""

_KEY = ["cluster_id", "resource_type", "resource", "key"]


def config_polls(polls: DataFrame) -> DataFrame:
    """Return when each broker reported configs: cluster_id, broker_id, polled_at."""
    answered = polls.where((f.col("api_key") == DESCRIBE_CONFIGS) & (f.col("kind") != "error"))
    return answered.select("cluster_id", "broker_id", "polled_at")


def polls_for_next_window(config_polls: DataFrame, as_of: datetime) -> DataFrame:
    """Return the config polls before `as_of` that later ones are compared with.

    They are the first poll of each broker, the polls of the round in progress, and the last poll before that round.
    """
    by_broker = Window.partitionBy("cluster_id", "broker_id")
    in_progress = f.col("polled_at") > f.lit(as_of - ROUND)
    rows = config_polls.where(f.col("polled_at") < f.lit(as_of)).select(
        "*",
        f.min("polled_at").over(by_broker).alias("first"),
        f.max(f.when(~in_progress, f.col("polled_at"))).over(by_broker).alias("before"),
    )
    is_needed = in_progress | (f.col("polled_at") == f.col("first")) | f.col("polled_at").eqNullSafe(f.col("before"))
    return rows.where(is_needed).drop("first", "before").distinct()


def changes(configs: DataFrame, config_polls: DataFrame) -> DataFrame:
    """Return all changes of configs (`CHANGES`).

    Args:
        configs: the `configs` table of silver, unrestricted in time.
        config_polls: the config polls of the window of interest, and `polls_for_next_window` of its start.
    """
    first = config_polls.groupBy("cluster_id", "broker_id").agg(f.min("polled_at").alias("first"))
    by_resource = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource").orderBy("at")
    rows = configs.withColumn("gone", f.col("change") == "gone")
    # All keys of a resource leave together when the topic is deleted.
    whole = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource", "at")
    rows = rows.withColumn("leaving", f.min(f.col("gone").cast("int")).over(whole) == 1)
    # The first description after that is the first one of a new resource.
    left = f.max(f.when(f.col("leaving"), f.col("at"))).over(
        by_resource.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    rows = rows.withColumn("left_at", left)
    incarnation = Window.partitionBy("cluster_id", "broker_id", "resource_type", "resource", "left_at")
    rows = rows.withColumn("known_since", f.min(f.when(~f.col("leaving"), f.col("at"))).over(incarnation))
    rows = rows.join(first, ["cluster_id", "broker_id"], "left")
    settling = f.expr("interval 3 seconds")
    defaults = f.col("resource_type") == "cluster"
    described = f.when(defaults, f.col("at") > f.col("first") + settling).otherwise(f.col("at") > f.col("known_since"))
    rows = rows.withColumn("described", described & ~f.col("leaving"))
    return _first_reports(rows, config_polls)


def _first_reports(rows: DataFrame, config_polls: DataFrame) -> DataFrame:
    """Return the first report of each change."""
    order = Window.partitionBy(*_KEY).orderBy("at", "broker_id")
    value = f.when(~f.col("gone"), f.struct("value", "source"))
    rows = (
        rows.withColumn("now", value)
        .withColumn("before", f.lag(value).over(order))
        .withColumn("reported_before", f.lag("at").over(order))
    )
    was_known = f.col("reported_before").isNotNull() | (f.col("resource_type") == "cluster") | f.col("described")
    changed = rows.where(f.col("described") & was_known & ~f.col("now").eqNullSafe(f.col("before")))
    by_broker = Window.partitionBy("cluster_id", "broker_id").orderBy(f.unix_micros("polled_at"))
    # The round before reported the old value.
    earlier = config_polls.select(
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
    return changed.join(earlier, ["cluster_id", "broker_id", "at"], "left").select(
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
    """Return the rows of `DRIFT`: overrides, compared with the value of topics without one.

    The inherited value is the latest one of most topics without an override. Brokers report the default with each
    topic, so a mapping from topic configs to broker configs is not necessary.
    """
    topics = configs.where("resource_type = 'topic'")
    order = Window.partitionBy("cluster_id", "resource", "key").orderBy("at", "broker_id")
    now = f.when(f.col("change") == "set", f.struct("value", "source"))
    values = topics.withColumn("now", now).withColumn("before", f.lag(now).over(order))
    values = values.where(~f.col("now").eqNullSafe(f.col("before"))).withColumn("valid_to", f.lead("at").over(order))
    own = values.where("now.source = 1")
    without_override = values.where("valid_to is null and now.source <> 1")
    counts = without_override.groupBy("cluster_id", "key", "value").agg(f.count("*").alias("topics"))
    inherited = counts.groupBy("cluster_id", "key").agg(
        f.max_by("value", f.struct("topics", "value")).alias("inherited_value")
    )
    rows = own.join(inherited, ["cluster_id", "key"], "left").where(
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
