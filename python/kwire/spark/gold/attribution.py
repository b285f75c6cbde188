"""Attribute unanswered polls to a cluster.

A broker that is down when recording starts has not reported its cluster id, so silver stores its failed polls with
`cluster_id = ''`. Once the same endpoint responds, they are attributed to the cluster that it reports. Failed polls of
endpoints that never respond, or that several clusters claim, are dropped. Clusters without an id (kip4) keep `''`, and
so do the failed polls of a cluster that has never responded, if no other cluster is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def attribute_unanswered(polls: DataFrame, later_polls: DataFrame, brokers: DataFrame) -> DataFrame:
    """Fill in the cluster id of unanswered polls and drop those that cannot be attributed.

    Args:
        polls: the polls of the window to build.
        later_polls: all polls since the window began; the responses that identify an endpoint may come later.
        brokers: the `brokers` table of silver, unrestricted in time.
    """
    unattributed = polls.where("cluster_id = ''")
    if unattributed.isEmpty():
        return polls
    answered = later_polls.where("cluster_id <> '' and endpoint <> '' and kind <> 'error'")
    broker_id = f.when(f.col("broker_id") >= 0, f.col("broker_id"))
    owners = answered.groupBy("endpoint").agg(
        f.min("cluster_id").alias("owner"),
        f.max("cluster_id").alias("other_owner"),
        f.min(broker_id).alias("owner_id"),
        f.max(broker_id).alias("other_owner_id"),
    )
    # Skip endpoints that several clusters or brokers claim.
    owners = owners.where("owner = other_owner and owner_id <=> other_owner_id")
    owners = owners.select("endpoint", "owner", "owner_id")
    rows = unattributed.join(owners, "endpoint", "left")
    same_broker = (f.col("broker_id") < 0) | f.col("broker_id").eqNullSafe(f.col("owner_id"))
    attributed = f.col("owner").isNotNull() & same_broker & (f.col("kind") == "error")
    if brokers.where("cluster_id = ''").isEmpty() and not brokers.isEmpty():
        rows = rows.where(attributed)
    rows = rows.withColumn("cluster_id", f.when(attributed, f.col("owner")).otherwise(f.col("cluster_id")))
    rows = rows.withColumn(
        "broker_id", f.when(attributed, f.coalesce("owner_id", "broker_id")).otherwise(f.col("broker_id"))
    )
    return polls.where("cluster_id <> ''").unionByName(rows.select(*polls.columns))
