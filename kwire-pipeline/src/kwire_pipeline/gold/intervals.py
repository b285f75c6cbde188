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
from kwire_pipeline.gold.transitions import bucket
from kwire_pipeline.in_process import f
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
        rows = rows.withColumn("min_isr", f.lit(None).cast("int"))
    else:
        needed = _min_isr(configs)
        # Values that are known only after the end of a state do not count: its row is final by then.
        is_known = needed["known_us"] < f.coalesce(rows["until"], f.lit(2**62))
        rows = rows.join(
            needed,
            (rows["cluster_id"] == needed["of_cluster"])
            & (rows["topic"] == needed["of_topic"])
            & (rows["since"] >= needed["from_us"])
            & (rows["since"] < needed["to_us"])
            & is_known,
            "left",
        )
    missing = f.array_except(f.array_except("replicas", "isr"), f.col("adding"))
    leaderless = f.col("leader") < 0
    return rows.select(
        "cluster_id",
        "topic",
        "topic_id",
        "partition",
        "leader",
        "leader_epoch",
        "replicas",
        "isr",
        f.col("offline").alias("offline_replicas"),
        "error_code",
        f.timestamp_micros("since").alias("valid_from"),
        f.timestamp_micros("until").alias("valid_to"),
        f.timestamp_micros("first_reported_at").alias("first_reported_at"),
        "reported_by",
        f.transform(
            "reports", lambda t: f.struct(t["broker_id"].alias("broker_id"), f.timestamp_micros(t["at"]).alias("at"))
        ).alias("reports"),
        (f.size(missing) > 0).alias("under_replicated"),
        (f.size("adding") > 0).alias("moving"),
        leaderless.alias("leaderless"),
        f.col("electing"),
        (leaderless & ~f.col("electing")).alias("offline"),
        (~leaderless & (f.size("replicas") > 0) & (f.col("leader") != f.try_element_at("replicas", f.lit(1)))).alias(
            "not_preferred"
        ),
        (f.size("isr") < f.col("min_isr")).alias("under_min_isr"),
        "min_isr",
        "present",
        bucket().alias("bucket"),
    )


def _min_isr(configs: DataFrame) -> DataFrame:
    """Return min.insync.replicas of each topic over time.

    The first known value, reported at `known_us`, also counts for the time before.
    """
    rows = configs.where("resource_type = 'topic' and key = 'min.insync.replicas' and change = 'set'")
    at = f.unix_micros("at")
    values = rows.groupBy("cluster_id", "resource").agg(
        f.sort_array(
            f.collect_list(f.struct(at.alias("at"), "broker_id", f.col("value").cast("int").alias("value")))
        ).alias("reports")
    )
    # Each broker reports the value in turn: only a value that differs from the one before counts.
    changes = f.filter(
        "reports", lambda entry, i: (i == 0) | ~entry["value"].eqNullSafe(f.get("reports", i - 1)["value"])
    )
    numbered = f.transform("changes", lambda change, i: f.struct(i.alias("i"), change.alias("new")))
    values = values.withColumn("changes", changes).select(
        "cluster_id", "resource", "changes", f.explode(numbered).alias("numbered")
    )
    values = values.select("cluster_id", "resource", "changes", "numbered.*")
    return values.select(
        f.col("cluster_id").alias("of_cluster"),
        f.col("resource").alias("of_topic"),
        f.when(f.col("i") == 0, f.lit(-(2**62))).otherwise(f.col("new.at")).alias("from_us"),
        f.coalesce(f.get("changes", f.col("i") + 1)["at"], f.lit(2**62)).alias("to_us"),
        f.col("new.at").alias("known_us"),
        f.col("new.value").alias("min_isr"),
    )
