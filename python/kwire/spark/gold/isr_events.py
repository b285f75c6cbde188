"""`isr_events`: each time that replicas left a partition's ISR or joined it, and how restless that partition is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = Table(
    "isr_events",
    "Each change of a partition's ISR.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker told it", "UTC"),
        Column("topic", "string", "the topic"),
        Column("topic_id", "string", "its id; null where brokers tell none"),
        Column("partition", "int", "the partition"),
        Column("event", "string", "'shrink', 'expand', or 'swap' when some left and others joined"),
        Column("removed", "array<int>", "brokers that left it"),
        Column("added", "array<int>", "brokers that joined it"),
        Column("isr_size", "int", "how many are in it now", "brokers"),
        Column("leader", "int", "who decides about it; -1 for nobody"),
        Column("moving", "boolean", "a reassignment is under way or ends here"),
        Column("events_in_hour", "int", "how many such events this partition had in this hour of the clock", "events"),
    ),
)


def isr_events(transitions: DataFrame) -> DataFrame:
    """Rows of `TABLE`."""
    same = f.col("present") & f.col("was_present") & f.col("topic_id").eqNullSafe(f.col("was_topic_id"))
    rows = transitions.where(~f.col("carried") & same).select(
        "cluster_id",
        f.timestamp_micros("first_reported_at").alias("at"),
        "topic",
        "topic_id",
        "partition",
        f.array_except("was_isr", "isr").alias("removed"),
        f.array_except("isr", "was_isr").alias("added"),
        f.size("isr").alias("isr_size"),
        "leader",
        ((f.size("adding") > 0) | (f.size("was_adding") > 0) | (f.col("was_replicas") != f.col("replicas"))).alias(
            "moving"
        ),
    )
    rows = rows.where((f.size("removed") > 0) | (f.size("added") > 0))
    event = f.when(f.size("added") == 0, "shrink").when(f.size("removed") == 0, "expand").otherwise("swap")
    hour = Window.partitionBy("cluster_id", "topic", "topic_id", "partition", f.date_trunc("hour", "at"))
    return rows.withColumn("event", event).withColumn("events_in_hour", f.count("*").over(hour).cast("int"))
