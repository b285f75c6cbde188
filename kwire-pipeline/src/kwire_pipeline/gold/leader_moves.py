"""`leader_moves`: each change of a partition's leader, with the reason as far as metadata shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, IS_SAME_TOPIC
from kwire_pipeline.in_process import select
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
    rows = transitions.where(
        f"""NOT carried AND {IS_SAME_TOPIC} AND NOT electing
        AND (leader <> was_leader OR (was_electing AND leader < 0))
        AND (leader <> previous_leader OR (was_leader < 0 AND NOT was_electing))"""
    )
    return select(
        rows,
        f"""cluster_id, timestamp_micros(first_reported_at) AS at, topic, topic_id, partition, previous_leader, leader,
        leader_epoch,
        CASE WHEN leader < 0 THEN 'offline'
            WHEN leader = previous_leader THEN 'returned'
            WHEN was_replicas <> replicas OR NOT array_contains(replicas, previous_leader) THEN 'reassigned'
            WHEN NOT array_contains(isr, previous_leader) THEN 'lost'
            WHEN size(adding) > 0 OR size(was_adding) > 0 THEN 'reassigned'
            WHEN leader = try_element_at(replicas, 1) THEN 'preferred'
            ELSE 'other' END AS reason,
        timestamp_micros(since) AS {FILED_AT}""",
    )
