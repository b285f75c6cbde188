"""The metadata of a cluster at a point in time, as one broker reported it or as the brokers agreed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kwire_pipeline.gold import days, intervals, transitions, voting_periods
from kwire_pipeline.gold.consensus import Role
from kwire_pipeline.in_process import f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.view import GoldView

COLUMNS = ["topic", "partition", "leader", "leader_epoch", "replicas", "isr", "offline", "error_code"]


def cluster_at(view: GoldView, ts: datetime, broker_id: int | None = None, cluster_id: str | None = None) -> DataFrame:
    """Return all partitions at a point in time, one row each, with the columns `COLUMNS`.

    Args:
        view: the tables.
        ts: the time, up to the last poll; UTC if it has no zone.
        broker_id: return what this broker reported: its last Metadata response at or before `ts`, nothing before its
            first. This needs silver only. None returns the agreed state (`intervals`); this needs gold up to `ts`.
        cluster_id: the cluster, where there are several in `out`: the result does not contain it.
    """
    as_of = ts.replace(tzinfo=UTC) if ts.tzinfo is None else ts.astimezone(UTC)
    rows = _agreed(view, as_of) if broker_id is None else _reported(view, as_of, broker_id)
    if cluster_id is not None:
        rows = rows.where(f.col("cluster_id") == cluster_id)
    return rows.select(*COLUMNS)


def _agreed(view: GoldView, as_of: datetime) -> DataFrame:
    # States of that time ended in its hour or later, or still last: no older folders are read.
    states = view.table(intervals.TABLE, since=as_of)
    states = states.where((f.col("date") != f"{as_of:%Y-%m-%d}") | (f.col("hour") >= as_of.hour))
    states = states.where(
        (f.col("valid_from") <= f.lit(as_of)) & (f.col("valid_to").isNull() | (f.col("valid_to") > f.lit(as_of)))
    )
    return states.withColumnRenamed("offline", "without_leader").withColumnRenamed("offline_replicas", "offline")


def _reported(view: GoldView, as_of: datetime, broker_id: int) -> DataFrame:
    saved_hour = max((hour for hour in view.savepoints() if hour <= as_of), default=None)
    partitions = view.silver("partitions", saved_hour, as_of).where(f.col("broker_id") == broker_id)
    before, exactly = days.between(partitions, "at", saved_hour, as_of), partitions.where(f.col("at") == f.lit(as_of))
    observations = transitions.observations(before.unionByName(exactly))
    if saved_hour is not None:
        is_report = (f.col("role") == int(Role.LAST_REPORT)) & (f.col("broker_id") == broker_id)
        last_reports = view.saved_partitions(view.savepoints(), saved_hour, with_first=True).where(is_report)
        observations = last_reports.drop("as_of").unionByName(observations)
    rows = transitions.last_reports(observations).where("present")
    # Silver ignores a first empty response, but it is what the broker reported.
    polls = view.silver("polls", None, as_of).where(
        (f.col("broker_id") == broker_id)
        & (f.col("api_key") == voting_periods.METADATA)
        & (f.col("kind") != "error")
        & (f.col("polled_at") <= f.lit(as_of))
    )
    last = polls.groupBy("cluster_id").agg(f.max_by(f.struct("suspect", "partitions"), "polled_at").alias("last"))
    empty = last.where("last.suspect and last.partitions = 0")
    return rows.join(f.broadcast(empty), "cluster_id", "left_anti")
