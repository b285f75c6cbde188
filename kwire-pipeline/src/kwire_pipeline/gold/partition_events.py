"""`leader_moves`, `isr_events`, and `propagation`: what follows from one agreed state and the one before it.

`propagation` says how long each broker takes to report a change after the first one, summed up by change. The poll
interval bounds the resolution: with a poll every half second, smaller differences come from the polls and not from the
brokers. Only states that a broker reported while they lasted count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import FILED_AT, IS_SAME_TOPIC
from kwire_pipeline.in_process import aggregate, select
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame

_PARTITION = (
    Column("cluster_id", "string", "the cluster"),
    Column("at", "timestamp", "when the first broker reported it", "UTC"),
    Column("topic", "string", "the topic's name"),
    Column("topic_id", "string", "the topic's id; null in a cluster without topic ids"),
    Column("partition", "int", "the partition's number"),
)

LEADER_MOVES = GoldTable(
    "leader_moves",
    "Each change of a partition's leader.",
    (
        *_PARTITION,
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

ISR_EVENTS = GoldTable(
    "isr_events",
    "Each change of a partition's ISR.",
    (
        *_PARTITION,
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

PROPAGATION = GoldTable(
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


def leader_moves(transitions: DataFrame) -> DataFrame:
    """Return the rows of `LEADER_MOVES`. A partition that is electing has not moved yet; the state after it counts."""
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


def isr_events(transitions: DataFrame) -> DataFrame:
    """Return the rows of `ISR_EVENTS`."""
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


def propagation(transitions: DataFrame, start: datetime | None) -> DataFrame:
    """Return the rows of `PROPAGATION` for a window. Reports about one change in different hours give several rows.

    Args:
        transitions: the agreed states of the window.
        start: its beginning; None is the beginning of the history.
    """
    rows = select(
        transitions.where("present AND size(reports) > 1"),
        "cluster_id, first_reported_at, reported_by, since, carried, explode(reports) AS report",
    )
    is_new = "true" if start is None else f"(NOT carried OR greatest(since, report.at) >= {microseconds(start)})"
    rows = rows.where(f"report.broker_id <> reported_by AND {is_new}")
    sums = aggregate(
        rows,
        f"""cluster_id, first_reported_at, reported_by, report.broker_id AS broker_id,
        date_trunc('hour', timestamp_micros(greatest(since, report.at))) AS {FILED_AT}""",
        # In integers, whose mean does not depend on their order.
        """count(*) AS partitions, min(report.at - first_reported_at) AS lag_min,
        avg(report.at - first_reported_at) AS lag_mean, max(report.at - first_reported_at) AS lag_max""",
    )
    return select(
        sums,
        """*, timestamp_micros(first_reported_at) AS at, CAST(lag_min AS double) / 1000 AS lag_ms_min,
        lag_mean / 1000 AS lag_ms_mean, CAST(lag_max AS double) / 1000 AS lag_ms_max""",
    )
