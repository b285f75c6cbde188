"""`propagation`: how long after the first broker each other one told the same, summed up by change.

Polls bound it: with a poll each half second, differences below that are the polls' phase and not the brokers' lag.
Only states that a broker told while they held are counted; who slept through one did not tell it late but never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = Table(
    "propagation",
    "How long after the first broker each other one told the same.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker told it", "UTC"),
        Column("reported_by", "int", "which broker that was"),
        Column("broker_id", "int", "who told it later"),
        Column("partitions", "long", "partitions whose change both told", "partitions"),
        Column("lag_ms_min", "double", "the shortest time between the two", "ms"),
        Column("lag_ms_mean", "double", "the mean", "ms"),
        Column("lag_ms_max", "double", "the longest", "ms"),
    ),
)


def propagation(transitions: DataFrame) -> DataFrame:
    """Rows of `TABLE`."""
    rows = transitions.where("present and not carried and size(reports) > 1").select(
        "cluster_id", "first_reported_at", "reported_by", f.explode("reports").alias("telling")
    )
    rows = rows.where("telling.broker_id <> reported_by")
    lag = (f.col("telling.at") - f.col("first_reported_at")) / 1000.0
    return (
        rows.groupBy("cluster_id", "first_reported_at", "reported_by", f.col("telling.broker_id").alias("broker_id"))
        .agg(
            f.count("*").alias("partitions"),
            f.min(lag).alias("lag_ms_min"),
            f.avg(lag).alias("lag_ms_mean"),
            f.max(lag).alias("lag_ms_max"),
        )
        .withColumn("at", f.timestamp_micros("first_reported_at"))
    )
