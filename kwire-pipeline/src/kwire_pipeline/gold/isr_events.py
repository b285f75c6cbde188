"""`isr_events`: each change of a partition's ISR, and how often the partition's ISR changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, is_same_topic
from kwire_pipeline.in_process import Window, f
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "isr_events",
    "Each change of a partition's ISR.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker reported it", "UTC"),
        Column("topic", "string", "the topic's name"),
        Column("topic_id", "string", "the topic's id; null in a cluster without topic ids"),
        Column("partition", "int", "the partition's number"),
        Column("event", "string", "'shrink', 'expand', or 'swap' if some replicas left and others joined"),
        Column("removed", "array<int>", "replicas that left the ISR"),
        Column("added", "array<int>", "replicas that joined the ISR"),
        Column("isr_size", "int", "size of the ISR after the change", "replicas"),
        Column("leader", "int", "the leader, which decides about the ISR; -1 without a leader"),
        Column("moving", "boolean", "whether a reassignment is in progress or ends with this change"),
        Column(
            "events_in_hour",
            "int",
            "changes of this partition's ISR on which brokers agreed in the same hour of UTC",
            "events",
        ),
    ),
)


def isr_events(transitions: DataFrame) -> DataFrame:
    """Return the rows of `TABLE`."""
    same = is_same_topic()
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
        f.timestamp_micros("since").alias(FILED_AT),
    )
    rows = rows.where((f.size("removed") > 0) | (f.size("added") > 0))
    event = f.when(f.size("added") == 0, "shrink").when(f.size("removed") == 0, "expand").otherwise("swap")
    hour = Window.partitionBy("cluster_id", "topic", "topic_id", "partition", f.date_trunc("hour", FILED_AT))
    return rows.withColumn("event", event).withColumn("events_in_hour", f.count("*").over(hour).cast("int"))
