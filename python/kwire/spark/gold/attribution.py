"""Whose polls are those that nobody answered: silver has them under the cluster ''.

A broker that is down when recording begins has told no cluster. Its silence belongs to the cluster that its endpoint
tells once it is back; where no endpoint ever did, it is nobody's, and gold says nothing of it. Clusters that tell no
name are '' too: they are where a broker under '' has answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def named(polls: DataFrame, onwards: DataFrame, brokers: DataFrame) -> DataFrame:
    """Polls of a time, those without a cluster given to the one that their endpoint tells then or later, or left out.

    ``onwards``: all polls since that time began; ``brokers``: what was told of brokers in all time.
    """
    nameless = polls.where("cluster_id = ''")
    if nameless.isEmpty():
        return polls
    told = onwards.where("cluster_id <> '' and endpoint <> '' and kind <> 'error'").groupBy("endpoint")
    known = f.when(f.col("broker_id") >= 0, f.col("broker_id"))
    owners = told.agg(
        f.min("cluster_id").alias("owner"),
        f.max("cluster_id").alias("other_owner"),
        f.min(known).alias("node"),
        f.max(known).alias("other_node"),
    )
    # An endpoint that several have told of is of none of them.
    owners = owners.where("owner = other_owner and node <=> other_node").select("endpoint", "owner", "node")
    rows = nameless.join(f.broadcast(owners), "endpoint", "left")
    same = (f.col("broker_id") < 0) | f.col("broker_id").eqNullSafe(f.col("node"))
    owned = f.col("owner").isNotNull() & same & (f.col("kind") == "error")
    if brokers.where("cluster_id = ''").isEmpty():
        rows = rows.where(owned)
    rows = rows.withColumn("cluster_id", f.when(owned, f.col("owner")).otherwise(f.col("cluster_id")))
    rows = rows.withColumn("broker_id", f.when(owned, f.coalesce("node", "broker_id")).otherwise(f.col("broker_id")))
    return polls.where("cluster_id <> ''").unionByName(rows.select(*polls.columns))
