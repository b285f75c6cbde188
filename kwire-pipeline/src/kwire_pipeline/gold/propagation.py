"""`propagation`: how long each broker takes to report a change after the first one, summed up by change.

The poll interval bounds the resolution: with a poll every half second, smaller differences come from the polls and not
from the brokers. Only states that a broker reported while they lasted count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.in_process import f
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "propagation",
    "How long each broker takes to report a change after the first broker.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker reported the change", "UTC"),
        Column("reported_by", "int", "the first broker"),
        Column("broker_id", "int", "the broker that reported it later"),
        Column("partitions", "bigint", "partitions whose change both reported", "partitions"),
        Column("lag_ms_min", "double", "the shortest time between the two reports", "ms"),
        Column("lag_ms_mean", "double", "the mean time", "ms"),
        Column("lag_ms_max", "double", "the longest time", "ms"),
    ),
)


def propagation(transitions: DataFrame, start: datetime | None) -> DataFrame:
    """Return the rows of `TABLE` for a window. Reports about one change in different hours give several rows.

    Args:
        transitions: the agreed states of the window.
        start: its beginning; None is the beginning of the history.
    """
    found_at = f.greatest("since", "report.at")
    rows = transitions.where("present and size(reports) > 1").select(
        "cluster_id", "first_reported_at", "reported_by", "since", "carried", f.explode("reports").alias("report")
    )
    rows = rows.where("report.broker_id <> reported_by")
    if start is not None:
        rows = rows.where(~f.col("carried") | (found_at >= f.unix_micros(f.lit(start))))
    hour = f.date_trunc("hour", f.timestamp_micros(found_at)).alias(FILED_AT)
    lag = f.col("report.at") - f.col("first_reported_at")  # in integers, whose mean does not depend on their order
    return (
        rows.groupBy(
            "cluster_id", "first_reported_at", "reported_by", f.col("report.broker_id").alias("broker_id"), hour
        )
        .agg(
            f.count("*").alias("partitions"),
            (f.min(lag) / 1000.0).alias("lag_ms_min"),
            (f.avg(lag) / 1000.0).alias("lag_ms_mean"),
            (f.max(lag) / 1000.0).alias("lag_ms_max"),
        )
        .withColumn("at", f.timestamp_micros("first_reported_at"))
    )
