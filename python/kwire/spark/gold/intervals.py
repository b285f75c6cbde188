"""`intervals`: every state of every partition, with the time in which it held, as the brokers' majority told it.

Under what rules the brokers are believed: `belief`. A row lies under the hour in which it ended; what holds still lies
under ``date=open``. So a new hour adds what changed in it, and states that never change cost nothing more.

Bounds are those of the polls: a state is believed from the answer on that made it the majority's; `first_reported_at` is
when the first broker told it, and the change itself lies between that and the same broker's answer before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from kwire.spark.gold.tables import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE = Table(
    "intervals",
    "Every state of every partition, and when it held.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("topic", "string", "the topic"),
        Column("topic_id", "string", "its id, 22 characters; null where brokers tell none"),
        Column("partition", "int", "the partition"),
        Column("leader", "int", "its leader; -1 for none"),
        Column("leader_epoch", "int", "how many leaders it had; -1 where brokers do not tell"),
        Column("replicas", "array<int>", "brokers that hold it, the preferred leader first"),
        Column("isr", "array<int>", "those in sync"),
        Column("offline_replicas", "array<int>", "those called offline"),
        Column("error_code", "int", "Kafka's error code: 0 none, 5 no leader, 72 leader without this listener"),
        Column("valid_from", "timestamp", "when it was believed first", "UTC"),
        Column("valid_to", "timestamp", "when something else was; null while it holds", "UTC"),
        Column("first_reported_at", "timestamp", "when the first broker told it", "UTC"),
        Column("reported_by", "int", "which broker that was"),
        Column("reports", "array<struct<broker_id:int,at:timestamp>>", "when each broker told it, the first first"),
        Column("under_replicated", "boolean", "a replica is out of sync, other than those that a reassignment adds"),
        Column("moving", "boolean", "a reassignment adds replicas that are not in sync yet"),
        Column("leaderless", "boolean", "it has no leader"),
        Column(
            "electing", "boolean", "no leader under the epoch of the last one: an election is on its way, not an outage"
        ),
        Column("offline", "boolean", "no leader, and none on its way"),
        Column("not_preferred", "boolean", "another than its first replica leads"),
        Column("under_min_isr", "boolean", "fewer in sync than min.insync.replicas; null where that is not known"),
        Column(
            "min_isr", "int", "min.insync.replicas of the topic when the state began; null where it was not asked for"
        ),
    ),
)


def intervals(transitions: DataFrame, configs: DataFrame) -> DataFrame:
    """Rows of `TABLE`, from all states that were believed in a time."""
    rows = transitions.where("present")
    needed = _min_isr(configs)
    rows = rows.join(
        f.broadcast(needed),
        (rows["cluster_id"] == needed["of_cluster"])
        & (rows["topic"] == needed["of_topic"])
        & (rows["since"] >= needed["from_us"])
        & (rows["since"] < needed["to_us"]),
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
    )


def _min_isr(configs: DataFrame) -> DataFrame:
    """min.insync.replicas of each topic by time; the first known value also speaks for the time before."""
    rows = configs.where("resource_type = 'topic' and key = 'min.insync.replicas' and change = 'set'")
    at = f.unix_micros("at")
    values = rows.groupBy("cluster_id", "resource").agg(
        f.sort_array(
            f.collect_list(f.struct(at.alias("at"), "broker_id", f.col("value").cast("int").alias("value")))
        ).alias("reports")
    )
    # Brokers are asked one after the other and each tells it: only what differs from the one before counts.
    news = f.filter("reports", lambda entry, i: (i == 0) | ~entry["value"].eqNullSafe(f.get("reports", i - 1)["value"]))
    values = values.withColumn("news", news).select(
        "cluster_id", "resource", "news", f.posexplode("news").alias("i", "new")
    )
    return values.select(
        f.col("cluster_id").alias("of_cluster"),
        f.col("resource").alias("of_topic"),
        f.when(f.col("i") == 0, f.lit(-(2**62))).otherwise(f.col("new.at")).alias("from_us"),
        f.coalesce(f.get("news", f.col("i") + 1)["at"], f.lit(2**62)).alias("to_us"),
        f.col("new.value").alias("min_isr"),
    )
