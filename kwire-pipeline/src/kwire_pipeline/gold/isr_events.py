"""`isr_events`: each change of a partition's ISR, and how often the partition's ISR changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, IS_SAME_TOPIC
from kwire_pipeline.in_process import select
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
    rows = select(
        transitions.where(f"NOT carried AND {IS_SAME_TOPIC}"),
        f"""cluster_id, timestamp_micros(first_reported_at) AS at, topic, topic_id, partition,
        array_except(was_isr, isr) AS removed, array_except(isr, was_isr) AS added, size(isr) AS isr_size, leader,
        size(adding) > 0 OR size(was_adding) > 0 OR was_replicas <> replicas AS moving,
        timestamp_micros(since) AS {FILED_AT}""",
    )
    return select(
        rows.where("size(removed) > 0 OR size(added) > 0"),
        f"""*,
        CASE WHEN size(added) = 0 THEN 'shrink' WHEN size(removed) = 0 THEN 'expand' ELSE 'swap' END AS event,
        CAST(count(*) OVER (
            PARTITION BY cluster_id, topic, topic_id, partition, date_trunc('hour', {FILED_AT})
        ) AS int) AS events_in_hour""",
    )
