"""The metadata of a cluster at a point in time, as one broker reported it or as the brokers agreed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kwire_pipeline.gold import days, intervals, transitions, voting_periods
from kwire_pipeline.gold.consensus import Role
from kwire_pipeline.in_process import aggregate, broadcast, time_literal, with_columns

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
        rows = rows.where(rows["cluster_id"] == cluster_id)
    return rows.select(*COLUMNS)


def _agreed(view: GoldView, as_of: datetime) -> DataFrame:
    # States of that time ended in its hour or later, or still last: no older folders are read.
    states = view.table(intervals.TABLE, since=as_of)
    states = states.where(f"date <> '{as_of:%Y-%m-%d}' OR hour >= {as_of.hour}")
    time = time_literal(as_of)
    states = states.where(f"valid_from <= {time} AND (valid_to IS NULL OR valid_to > {time})")
    return with_columns(states, offline="offline_replicas")


def _reported(view: GoldView, as_of: datetime, broker_id: int) -> DataFrame:
    saved_hour = max((hour for hour in view.savepoints() if hour <= as_of), default=None)
    partitions = view.silver("partitions", saved_hour, as_of).where(f"broker_id = {broker_id}")
    before, exactly = days.between(partitions, "at", saved_hour, as_of), partitions.where(f"at = {time_literal(as_of)}")
    observations = transitions.observations(before.unionByName(exactly))
    if saved_hour is not None:
        is_report = f"role = {int(Role.LAST_REPORT)} AND broker_id = {broker_id}"
        last_reports = view.saved_partitions(view.savepoints(), saved_hour, with_first=True).where(is_report)
        observations = last_reports.drop("as_of").unionByName(observations)
    rows = transitions.last_reports(observations).where("present")
    # Silver ignores a first empty response, but it is what the broker reported.
    polls = view.silver("polls", None, as_of).where(
        f"""broker_id = {broker_id} AND api_key = {voting_periods.METADATA} AND kind <> 'error'
        AND polled_at <= {time_literal(as_of)}"""
    )
    last = aggregate(
        polls, "cluster_id", "max_by(suspect, polled_at) AS suspect, max_by(partitions, polled_at) AS partitions"
    )
    return rows.join(broadcast(last.where("suspect AND partitions = 0")), ["cluster_id"], "left_anti")
