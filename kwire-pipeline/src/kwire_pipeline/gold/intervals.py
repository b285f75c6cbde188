"""`intervals`: every agreed state of every partition, with the time in which it held.

`consensus` has the rules by which brokers agree. A row is stored under the hour of its end, or under `date=open` while
the state lasts, with its bucket as the hour. A build replaces the files of the buckets in which states have changed. So
a new hour adds only what changed in it, and a state that never changes costs nothing more.

Times are times of polls: a state holds from the response that made it the majority's. `first_reported_at` is when the
first broker reported it; the change itself happened between that and the same broker's response before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.tables import GoldTable
from kwire_pipeline.gold.transitions import BUCKET_OF_TOPIC
from kwire_pipeline.in_process import left_join, select
from kwire_pipeline.tables import Column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = GoldTable(
    "intervals",
    "Every agreed state of every partition, and when it held.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("topic", "string", "the topic's name"),
        Column("topic_id", "string", "the topic's id, 22 characters; null in a cluster without topic ids"),
        Column("partition", "int", "the partition's number"),
        Column("leader", "int", "the leader; -1 without a leader"),
        Column("leader_epoch", "int", "the leader epoch; -1 where brokers do not report epochs"),
        Column("replicas", "array<int>", "brokers that have a replica, the preferred leader first"),
        Column("isr", "array<int>", "replicas in sync"),
        Column("offline_replicas", "array<int>", "replicas that brokers report as offline"),
        Column("error_code", "int", "Kafka's error code: 0 none, 5 no leader, 72 leader without this listener"),
        Column("valid_from", "timestamp", "when the brokers agreed on the state", "UTC"),
        Column("valid_to", "timestamp", "when the state ended; null while it lasts", "UTC"),
        Column("first_reported_at", "timestamp", "when the first broker reported it", "UTC"),
        Column("reported_by", "int", "the first broker to report it"),
        Column("reports", "array<struct<broker_id:int,at:timestamp>>", "when each broker reported it, earliest first"),
        Column("under_replicated", "boolean", "a replica is out of sync, and no reassignment adds it"),
        Column("moving", "boolean", "a reassignment adds replicas that are not in sync yet"),
        Column("leaderless", "boolean", "the partition has no leader"),
        Column("electing", "boolean", "no leader, but the epoch of the last one: an election is in progress"),
        Column("offline", "boolean", "no leader, and no election in progress"),
        Column("not_preferred", "boolean", "the leader is not the preferred (first) replica"),
        Column("under_min_isr", "boolean", "the ISR is smaller than min.insync.replicas; null where that is not known"),
        Column(
            "min_isr",
            "int",
            "min.insync.replicas of the topic when the state began, or the first value reported while it lasted; null "
            "where configs were not polled",
        ),
    ),
    time="valid_to",
)


def intervals(transitions: DataFrame, configs: DataFrame | None) -> DataFrame:
    """Return the rows of `TABLE` for the agreed states of a window, with columns `present` and `bucket`.

    `configs` is the `configs` table of silver; None if it has no rows.
    """
    rows = transitions
    if configs is None:
        rows = select(rows, "*, CAST(NULL AS int) AS min_isr")
    else:
        # Values that are known only after the end of a state do not count: its row is final by then.
        rows = left_join(
            rows,
            _min_isr(configs),
            """cluster_id = of_cluster AND topic = of_topic AND since >= from_us AND since < to_us
            AND known_us < coalesce(until, to_us)""",
        )
    return select(
        rows,
        f"""cluster_id, topic, topic_id, partition, leader, leader_epoch, replicas, isr, offline AS offline_replicas,
        error_code, timestamp_micros(since) AS valid_from, timestamp_micros(until) AS valid_to,
        timestamp_micros(first_reported_at) AS first_reported_at, reported_by,
        transform(
            reports, r -> CAST(struct(r.broker_id, timestamp_micros(r.at)) AS struct<broker_id:int,at:timestamp>)
        ) AS reports,
        size(array_except(array_except(replicas, isr), adding)) > 0 AS under_replicated,
        size(adding) > 0 AS moving,
        leader < 0 AS leaderless,
        electing,
        leader < 0 AND NOT electing AS offline,
        leader >= 0 AND size(replicas) > 0 AND leader <> try_element_at(replicas, 1) AS not_preferred,
        size(isr) < min_isr AS under_min_isr, min_isr, present, {BUCKET_OF_TOPIC} AS bucket""",
    )


def _min_isr(configs: DataFrame) -> DataFrame:
    """Return min.insync.replicas of each topic over time.

    The first known value, reported at `known_us`, also counts for the time before.
    """
    rows = configs.where("resource_type = 'topic' AND key = 'min.insync.replicas' AND change = 'set'")
    window = "(PARTITION BY cluster_id, resource ORDER BY known_us, broker_id, min_isr)"
    values = select(rows, "cluster_id, resource, broker_id, unix_micros(at) AS known_us, CAST(value AS int) AS min_isr")
    values = select(values, f"*, row_number() OVER {window} AS number, lag(min_isr) OVER {window} AS min_isr_before")
    # Each broker reports the value in turn: only a value that differs from the one before counts.
    changes = values.where("number = 1 OR NOT min_isr <=> min_isr_before")
    return select(
        changes,
        f"""cluster_id AS of_cluster, resource AS of_topic, known_us, min_isr,
        CASE WHEN number = 1 THEN {-(2**62)} ELSE known_us END AS from_us,
        coalesce(lead(known_us) OVER {window}, {2**62}) AS to_us""",
    )
