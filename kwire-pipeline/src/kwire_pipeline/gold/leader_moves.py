"""`leader_moves`: each change of a partition's leader, with the reason as far as metadata shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, is_same_topic
from kwire_pipeline.in_process import f
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "leader_moves",
    "Each change of a partition's leader.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("at", "timestamp", "when the first broker reported it", "UTC"),
        Column("topic", "string", "the topic's name"),
        Column("topic_id", "string", "the topic's id; null in a cluster without topic ids"),
        Column("partition", "int", "the partition's number"),
        Column("previous_leader", "int", "the last leader before; -1 if there was none"),
        Column("leader", "int", "the leader now; -1 without a leader"),
        Column("leader_epoch", "int", "the new leader's epoch; -1 where brokers do not report epochs"),
        Column(
            "reason",
            "string",
            "'preferred': to the preferred replica, while the previous leader is in sync; 'lost': the previous leader "
            "is out of sync; 'reassigned': the replicas changed; 'offline': no replica can lead; 'returned': the same "
            "leader as before, after an outage; 'other'",
        ),
    ),
)


def leader_moves(transitions: DataFrame) -> DataFrame:
    """Return the rows of `TABLE`. A partition that is electing has not moved yet; the state after it counts."""
    same = is_same_topic()
    before, leader = f.col("previous_leader"), f.col("leader")
    was_offline = (f.col("was_leader") < 0) & ~f.col("was_electing")
    rows = transitions.where(~f.col("carried") & same & ~f.col("electing"))
    rows = rows.where((leader != f.col("was_leader")) | (f.col("was_electing") & (leader < 0)))
    rows = rows.where((leader != before) | was_offline)
    reason = (
        f.when(leader < 0, "offline")
        .when(leader == before, "returned")
        .when((f.col("was_replicas") != f.col("replicas")) | ~f.array_contains("replicas", before), "reassigned")
        .when(~f.array_contains("isr", before), "lost")
        .when((f.size("adding") > 0) | (f.size("was_adding") > 0), "reassigned")
        .when(leader == f.try_element_at("replicas", f.lit(1)), "preferred")
        .otherwise("other")
    )
    return rows.select(
        "cluster_id",
        f.timestamp_micros("first_reported_at").alias("at"),
        "topic",
        "topic_id",
        "partition",
        before.alias("previous_leader"),
        "leader",
        "leader_epoch",
        reason.alias("reason"),
        f.timestamp_micros("since").alias(FILED_AT),
    )
