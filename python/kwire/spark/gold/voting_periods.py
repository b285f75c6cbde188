"""When which broker answered: who has a vote at a time, and who fell silent.

A broker answers from a good answer on until its next failure. What it says counts as nothing

- from the first failure on, until it answers again;
- while its answers are suspect: no topics or no brokers, where it knew some before. A restarted Kafka 3.9 says that,
  with error 0, before its controller has told it anything. Silver leaves such an answer out until the next agrees;
- when nobody asked it for long (five of its usual intervals and at least ten seconds): its last word is old.

Only Metadata polls are looked at; other requests fail for reasons of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

METADATA = 3
UNREADABLE = "unreadable answer"
"""How the error of an answer that could not be decoded begins: whoever sent it was there."""

REFUSED = r"(?i)refused"
CLOSED = r"(?i)closed|reset|broken pipe|eof|disconnect|incomplete"
UNANSWERED = r"(?i)no answer|time[ds]?[- ]?out|within [0-9.]+ s"


def metadata_polls(polls: DataFrame) -> DataFrame:
    """Metadata polls with what gold asks of them.

    Columns: cluster_id, broker_id, polled_at, topics, controller_id, failed, failure ('refused' nobody listens there,
    'closed' the connection ended, 'unanswered' it is open and nothing comes, 'other'), suspect, before (polled_at
    of the poll before, null for the first), failed_before and failed_twice_before (of the two polls before),
    answered_before (polled_at of the last answer before, null for none), interval (seconds, the broker's usual).
    """
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    failed = f.col("kind") == "error"
    text = f.coalesce(f.col("error"), f.lit(""))
    readable = ~f.coalesce(f.col("error").startswith(UNREADABLE), f.lit(False))
    rows = polls.where((f.col("api_key") == METADATA) & readable)
    rows = rows.select(
        "cluster_id",
        "broker_id",
        "polled_at",
        "topics",
        f.when(~failed, f.col("controller_id")).alias("controller_id"),
        failed.alias("failed"),
        f.when(
            failed,
            f.when(text.rlike(REFUSED), "refused")
            .when(text.rlike(UNANSWERED), "unanswered")
            .when(text.rlike(CLOSED), "closed")
            .otherwise("other"),
        ).alias("failure"),
        f.coalesce("suspect", f.lit(False)).alias("suspect"),
        f.lag("polled_at").over(order).alias("before"),
        f.lag(failed).over(order).alias("failed_before"),
        f.lag(failed, 2).over(order).alias("failed_twice_before"),
        f.last(f.when(~failed, f.col("polled_at")), ignorenulls=True).over(earlier).alias("answered_before"),
    )
    gap = f.unix_micros("polled_at") - f.unix_micros("before")
    usual = rows.groupBy("cluster_id", "broker_id").agg((f.percentile_approx(gap, 0.5) / 1e6).alias("interval"))
    return rows.join(f.broadcast(usual), ["cluster_id", "broker_id"])


def periods(metadata: DataFrame) -> DataFrame:
    """From when until when a broker's word counts: cluster_id, broker_id, start, stop (microseconds since 1970), end.

    ``end`` is the time of the cluster's last poll. A period that lasts has a stop after it.
    """
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    at = f.unix_micros("polled_at")
    patience = (f.greatest(f.lit(10.0), 5 * f.coalesce("interval", f.lit(0.0))) * 1e6).cast("long")
    good = ~f.col("failed") & ~f.col("suspect")
    polls = metadata.select(
        "cluster_id",
        "broker_id",
        at.alias("at"),
        good.alias("good"),
        f.least(at + patience, f.coalesce(f.lead(at).over(order), at + patience)).alias("stop"),
        f.max(at).over(Window.partitionBy("cluster_id")).alias("end"),
    )
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("at")
    begins = ~f.coalesce(f.lag("good").over(order) & (f.lag("stop").over(order) >= f.col("at")), f.lit(False))
    polls = polls.withColumn("begins", (f.col("good") & begins).cast("int"))
    return (
        polls.withColumn("period", f.sum("begins").over(order))
        .where("good")
        .groupBy("cluster_id", "broker_id", "period")
        .agg(f.min("at").alias("start"), f.max("stop").alias("stop"), f.max("end").alias("end"))
        .drop("period")
    )
