"""Voting periods: when each broker responds and therefore has a vote on the agreed state.

A broker gains its vote with a response and loses it

- with the first failed poll, until it responds again;
- while its responses are suspect: they list no topics or no brokers although the broker has listed some before. A
  restarted Kafka 3.9 responds so, with error 0, before its controller has sent it the metadata. Silver ignores such a
  response until the next one agrees;
- when it is not polled for five of its usual intervals, and at least ten seconds: its last report is old.

Only Metadata polls count; other requests fail for other reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire_pipeline.gold.diagnosis.signal import PollFailure
from kwire_pipeline.in_process import Window, f

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

METADATA = 3
UNREADABLE = "unreadable "
"""Start of the error of a response that cannot be decoded: the broker did respond."""

FAILURE_PATTERNS = {
    PollFailure.REFUSED: r"(?i)refused",
    PollFailure.TIMED_OUT: r"(?i)no (answer|response)|time[ds]?[- ]?out|within [0-9.]+ s",
    PollFailure.CLOSED: r"(?i)closed|reset|broken pipe|eof|disconnect|incomplete",
}
"""Regular expressions that classify errors; the first match counts."""

SHORTEST_PATIENCE = 10.0
"""Seconds without a poll that a vote lasts at least."""


def metadata_polls(polls: DataFrame) -> DataFrame:
    """Return the Metadata polls with what gold needs about the polls before each.

    The columns are cluster_id, broker_id, polled_at, topics, controller_id, failed, failure (a `PollFailure`), suspect,
    and

    - before: polled_at of the poll before; null for the first;
    - failed_before, failed_twice_before: whether the poll before, and the one before that, failed;
    - answered_before: polled_at of the last response before; null if there is none;
    - interval: the broker's usual interval in seconds.
    """
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    failed = f.col("kind") == "error"
    readable = ~f.coalesce(f.col("error").startswith(UNREADABLE), f.lit(False))
    rows = polls.where((f.col("api_key") == METADATA) & readable)
    rows = rows.select(
        "cluster_id",
        "broker_id",
        "polled_at",
        "topics",
        f.when(~failed, f.col("controller_id")).alias("controller_id"),
        failed.alias("failed"),
        f.when(failed, _failure()).alias("failure"),
        f.coalesce("suspect", f.lit(False)).alias("suspect"),
        f.lag("polled_at").over(order).alias("before"),
        f.lag(failed).over(order).alias("failed_before"),
        f.lag(failed, 2).over(order).alias("failed_twice_before"),
        f.last(f.when(~failed, f.col("polled_at")), ignorenulls=True).over(earlier).alias("answered_before"),
    )
    gap = f.unix_micros("polled_at") - f.unix_micros("before")
    of_broker = Window.partitionBy("cluster_id", "broker_id")
    return rows.withColumn("interval", f.percentile_approx(gap, 0.5).over(of_broker) / 1e6)


def _failure() -> Expression:
    text = f.coalesce(f.col("error"), f.lit(""))
    failure = f.lit(PollFailure.OTHER.value)
    for kind, pattern in reversed(FAILURE_PATTERNS.items()):
        failure = f.when(text.rlike(pattern), kind.value).otherwise(failure)
    return failure


def voting_periods(metadata: DataFrame, start: datetime | None = None) -> DataFrame:
    """Return the voting periods: cluster_id, broker_id, start, stop, end, and voted_until, in microseconds since 1970.

    `end` is the time of the cluster's last poll. A period that has not ended has a `stop` after it. `voted_until` is
    the time of the cluster's last poll before the window that begins at `start`; null if there is none.
    """
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("polled_at")
    at = f.unix_micros("polled_at")
    patience = f.greatest(f.lit(SHORTEST_PATIENCE), 5 * f.coalesce("interval", f.lit(0.0)))
    latest = at + f.floor(patience * 1e6)
    good = ~f.col("failed") & ~f.col("suspect")
    of_cluster = Window.partitionBy("cluster_id")
    polls = metadata.select(
        "cluster_id",
        "broker_id",
        at.alias("at"),
        good.alias("good"),
        f.least(latest, f.coalesce(f.lead(at).over(order), latest)).alias("stop"),
        f.max(at).over(of_cluster).alias("end"),
        f.max(f.when(f.col("polled_at") < f.lit(start), at)).over(of_cluster).alias("voted_until"),
    )
    order = Window.partitionBy("cluster_id", "broker_id").orderBy("at")
    reductions = {"start": f.min("at"), "stop": f.max("stop"), "end": f.max("end"), "voted_until": f.max("voted_until")}
    begins = ~f.coalesce(f.lag("good").over(order) & (f.lag("stop").over(order) >= f.col("at")), f.lit(False))
    polls = polls.withColumn("begins", (f.col("good") & begins).cast("int"))
    return (
        polls.withColumn("period", f.sum("begins").over(order))
        .where("good")
        .groupBy("cluster_id", "broker_id", "period")
        .agg(*(reduction.alias(name) for name, reduction in reductions.items()))
        .drop("period")
    )


def attribute_unanswered(polls: DataFrame, later_polls: DataFrame, brokers: DataFrame) -> DataFrame:
    """Fill in the cluster id of unanswered polls, and drop polls that cannot be attributed.

    A broker that is down when recording starts has not reported its cluster id, so silver stores its failed polls with
    `cluster_id = ''`. Once the same endpoint responds, they are attributed to the cluster that it reports. Failed polls
    of endpoints that never respond, or that several clusters claim, are dropped. Clusters without an id (kip4) keep
    `''`, and so do the failed polls of a cluster that has never responded, if no other cluster is known.

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
