"""`broker_load`: what each broker carried in each hour, and its share of what would be fair.

Figures are means over time: a broker that led 100 partitions for half an hour and none for the other led 50. They come
from the changes alone: each state that begins or ends adds or takes its part for the rest of the hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

TABLE = Table(
    "broker_load",
    "What each broker carried in each hour.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "the hour's beginning", "UTC"),
        Column("broker_id", "int", "the broker"),
        Column("leaders", "double", "partitions that it led, mean over the polled part of the hour", "partitions"),
        Column("replicas", "double", "partitions that it held, in sync or not, mean", "partitions"),
        Column("leaders_at_end", "long", "partitions that it led at the end of the hour", "partitions"),
        Column("replicas_at_end", "long", "partitions that it held at the end of the hour", "partitions"),
        Column("leader_share", "double", "leaders, of an equal share among brokers that hold anything: 1.0 is fair"),
        Column("replica_share", "double", "replicas, likewise"),
    ),
)

HOUR = 3_600_000_000


def broker_load(transitions: DataFrame, periods: DataFrame) -> DataFrame:
    """Rows of `TABLE` for the hours that were polled; ``transitions`` must contain what held when they began."""
    rows = transitions.where("present")
    bounds = periods.groupBy("cluster_id").agg(f.max("end").alias("end"), f.min("start").alias("start"))
    parts = f.concat(
        f.transform(
            "replicas",
            lambda broker: f.struct(broker.alias("broker_id"), f.lit(0).alias("leads"), f.lit(1).alias("holds")),
        ),
        f.when(
            f.col("leader") >= 0,
            f.array(f.struct(f.col("leader").alias("broker_id"), f.lit(1).alias("leads"), f.lit(0).alias("holds"))),
        ).otherwise(f.array().cast("array<struct<broker_id:int,leads:int,holds:int>>")),
    )
    sides = f.filter(
        f.array(
            f.struct(f.col("since").alias("us"), f.lit(1).alias("sign")),
            f.struct(f.col("until").alias("us"), f.lit(-1).alias("sign")),
        ),
        lambda side: side["us"].isNotNull(),
    )
    deltas = rows.select("cluster_id", f.explode(parts).alias("part"), sides.alias("sides"))
    deltas = (
        deltas.select("cluster_id", "part.*", f.explode("sides").alias("side"))
        .groupBy("cluster_id", "broker_id", "side.us")
        .agg(
            f.sum(f.col("side.sign") * f.col("leads")).alias("leads"),
            f.sum(f.col("side.sign") * f.col("holds")).alias("holds"),
        )
    )
    deltas = deltas.join(f.broadcast(bounds), "cluster_id")
    # What held before the polled time counts from its beginning.
    us = f.greatest("us", "start")
    hour = (f.floor(us / HOUR) * HOUR).cast("long")
    rest = f.least(hour + HOUR, f.col("end")) - us
    hourly = deltas.groupBy("cluster_id", "broker_id", hour.alias("hour")).agg(
        *(f.sum(name).alias(name) for name in ("leads", "holds")),
        *(f.sum(f.col(name) * rest).alias(f"{name}_rest") for name in ("leads", "holds")),
    )
    first, last = (f.floor(f.col(bound) / HOUR) for bound in ("start", "end"))
    hours = bounds.select("cluster_id", "start", "end", f.explode(f.sequence(first, last)).alias("n")).select(
        "cluster_id", "start", "end", (f.col("n") * HOUR).cast("long").alias("hour")
    )
    grid = hours.join(hourly.select("cluster_id", "broker_id").distinct(), "cluster_id")
    filled = grid.join(hourly, ["cluster_id", "broker_id", "hour"], "left").fillna(0)
    before = Window.partitionBy("cluster_id", "broker_id").orderBy("hour").rowsBetween(Window.unboundedPreceding, -1)
    length = f.least(f.col("hour") + HOUR, f.col("end")) - f.greatest("hour", "start")
    for name in ("leads", "holds"):
        held = f.coalesce(f.sum(name).over(before), f.lit(0))
        filled = filled.withColumn(f"{name}_before", held)

    def mean(name: str) -> Expression:
        at_start = f.col(f"{name}_before")
        return f.when(length > 0, at_start + f.col(f"{name}_rest") / length).otherwise(at_start + f.col(name))

    loads = filled.select(
        "cluster_id",
        f.timestamp_micros("hour").alias("at"),
        "broker_id",
        mean("leads").cast("double").alias("leaders"),
        mean("holds").cast("double").alias("replicas"),
        (f.col("leads_before") + f.col("leads")).alias("leaders_at_end"),
        (f.col("holds_before") + f.col("holds")).alias("replicas_at_end"),
    ).where("leaders > 0 or replicas > 0")
    together = Window.partitionBy("cluster_id", "at")
    for name in ("leader", "replica"):
        fair = f.avg(f"{name}s").over(together)
        loads = loads.withColumn(f"{name}_share", f.when(fair > 0, f.col(f"{name}s") / fair))
    return loads
