"""Build gold from silver, one hour at a time or many days at once.

A build starts with the hour of the oldest poll that is not in gold (`state`) and continues to the last poll: late
frames rebuild their hour and all hours after it. It continues from the state at the beginning of an hour, so a new
hour costs that state and an hour of silver, not the history. Long builds run in windows of a day, which bounds memory.

All rows stay in the executors; the driver sees times and file names.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as f

from kwire.spark.gold import (
    broker_load,
    config_changes,
    days,
    incidents,
    intervals,
    isr_events,
    leader_moves,
    propagation,
    signals,
    state,
    transitions,
)
from kwire.spark.gold.attribution import attribute_unanswered
from kwire.spark.gold.voting_periods import metadata_polls, voting_periods
from kwire.spark.session import require_utc

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from kwire.spark.gold.tables import GoldTable

LOOK_BACK = timedelta(hours=2)
"""How far before a window polls are read, to find out which brokers responded then and how often they are polled."""

WINDOW = timedelta(days=1)

MARGIN = timedelta(minutes=5)
"""An incident that ended this shortly before a window is diagnosed again with it: it may continue."""

TABLES: tuple[GoldTable, ...] = (
    intervals.TABLE,
    incidents.TABLE,
    leader_moves.TABLE,
    isr_events.TABLE,
    broker_load.TABLE,
    config_changes.CHANGES,
    config_changes.DRIFT,
    propagation.TABLE,
    signals.TABLE,
)
"""All gold tables."""


def build(spark: SparkSession, out: str, hours: Iterable[datetime] | None = None) -> None:
    """Bring gold up to date with silver.

    Args:
        spark: the session.
        out: the folder of the pipeline.
        hours: the beginnings of the hours to build again, in UTC; by default, those with frames that are not in gold.
            The hours after the first one are built too, since states last across hours.

    Raises:
        ValueError: the session's time zone is not UTC.
    """
    require_utc(spark)
    files = state.files_of_polls(out)
    first = min(hours) if hours is not None else state.oldest_new_poll(spark, files, out)
    end = _last_poll(spark, out)
    if first is None or end is None:
        return
    since = state.newest(spark, out, state.hour_of(first))
    state.forget_after(spark, out, since)
    oldest = since or state.hour_of(_first_poll(spark, out))
    for start, stop in _windows(since, oldest, end):
        _build_window(spark, out, start, stop, _state_time(oldest, stop, end))
    drift = config_changes.drift(days.silver(spark, out, "configs"))
    config_changes.DRIFT.replace(drift, out, None)
    state.thin_out(spark, out)
    state.remember_inputs(spark, files, out)


def _last_poll(spark: SparkSession, out: str) -> datetime | None:
    """Return the time of the last poll; it is in the last day that has one."""
    for day in reversed(days.names(spark, f"{out}/silver/polls")):
        only = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
        last = days.silver(spark, out, "polls", only, only).agg(f.max("polled_at").alias("at")).first()
        if last is not None and last["at"] is not None:
            at: datetime = last["at"]
            return at.astimezone(UTC)
    return None


def _first_poll(spark: SparkSession, out: str) -> datetime:
    row = days.silver(spark, out, "polls").agg(f.min("polled_at").alias("at")).first()
    assert row is not None
    at: datetime = row["at"]
    return at.astimezone(UTC)


def _state_time(oldest: datetime, stop: datetime, end: datetime) -> datetime | None:
    """Return the hour of which a window keeps the state: the last that is complete. None if the first is not."""
    as_of = min(stop, state.hour_of(end))
    return as_of if as_of > oldest else None


def _windows(since: datetime | None, oldest: datetime, end: datetime) -> list[tuple[datetime | None, datetime]]:
    """Return the windows to build; a start of None is the beginning of the history."""
    windows: list[tuple[datetime | None, datetime]] = []
    start, begin = since, since or oldest
    while begin <= end:
        stop = begin + WINDOW
        windows.append((start, stop))
        start = begin = stop
    return windows


def _build_window(
    spark: SparkSession, out: str, start: datetime | None, stop: datetime, as_of: datetime | None
) -> None:
    """Build the tables of a window, and keep the state at `as_of`."""
    brokers = days.silver(spark, out, "brokers")
    since = start and start - LOOK_BACK
    later_polls = days.between(days.silver(spark, out, "polls", since), "polled_at", since, None)
    polls = days.between(later_polls, "polled_at", since, stop)
    metadata = metadata_polls(attribute_unanswered(polls, later_polls, brokers))
    metadata = metadata.persist(StorageLevel.MEMORY_AND_DISK)
    periods = voting_periods(metadata).persist(StorageLevel.MEMORY_AND_DISK)
    partitions = days.between(days.silver(spark, out, "partitions", start, stop), "at", start, stop)
    reports = transitions.observations(partitions)
    observations, config_polls = reports, config_changes.config_polls(days.between(polls, "polled_at", start, None))
    if start is not None:
        reports = state.recall(spark, out, start, "last_reports").unionByName(reports)
        observations = reports.unionByName(state.recall(spark, out, start, "agreed"))
        config_polls = state.recall(spark, out, start, "config_polls").unionByName(config_polls)
    # The only large result: in memory, it would evict everything else.
    agreed = transitions.agreed_states(observations, periods).persist(StorageLevel.DISK_ONLY)
    configs = days.silver(spark, out, "configs")
    changed = config_changes.changes(configs, config_polls).persist(StorageLevel.MEMORY_AND_DISK)

    intervals.TABLE.replace(intervals.intervals(agreed, configs), out, start)
    for table, rows in (
        (leader_moves.TABLE, leader_moves.leader_moves(agreed)),
        (isr_events.TABLE, isr_events.isr_events(agreed)),
        (broker_load.TABLE, broker_load.broker_load(agreed, periods)),
        (propagation.TABLE, propagation.propagation(agreed)),
        (config_changes.CHANGES, days.between(changed, "at", start, stop)),
    ):
        table.replace(rows if start is None else rows.where(f.col("at") >= f.lit(start)), out, start)
    seen = signals.signals(agreed, metadata, brokers, changed, first_window=start is None)
    signals.TABLE.replace(days.between(seen, "at", start, stop), out, start)
    diagnosed_since = _diagnose(spark, out, start)

    if as_of is not None and (start is None or as_of > start):
        state.keep(
            out,
            as_of,
            last_reports=transitions.last_reports(reports.where(f.col("at") < f.lit(state.micros(as_of)))),
            agreed=agreed,
            config_polls=config_polls,
            incidents_since=_oldest_open_incident(spark, out, diagnosed_since, as_of),
        )
    for persisted in (metadata, periods, agreed, changed):
        persisted.unpersist()


def _diagnose(spark: SparkSession, out: str, start: datetime | None) -> datetime | None:
    """Diagnose everything since the beginning of the oldest incident that had not ended at `start`.

    Returns:
        That beginning; None is the beginning of the history.
    """
    since = None
    if start is not None:
        # A build that failed here may have deleted incidents; it left a record from when on.
        since = min(state.incidents_since(spark, out, start), *state.pending_diagnoses(spark, out), start)
        state.begin_diagnosis(spark, out, since)
    seen = days.between(signals.TABLE.read(spark, out, since), "at", since, None)
    found = incidents.incidents(seen.drop("date", "hour"))
    incidents.TABLE.replace(found, out, since)
    state.end_diagnosis(spark, out)
    return since


def _oldest_open_incident(spark: SparkSession, out: str, since: datetime | None, as_of: datetime) -> datetime:
    """Return the hour in which the oldest incident began that has not ended at `as_of`, or `as_of` without any.

    An incident that began before `since` has ended, or it would have been diagnosed again.
    """
    known = incidents.TABLE.read(spark, out, since)
    lasting = known.where(f.col("ended_at").isNull() | (f.col("ended_at") >= f.lit(as_of - MARGIN)))
    oldest = lasting.where(f.col("began_at") < f.lit(as_of)).agg(f.min("began_at").alias("at")).first()
    if oldest is None or oldest["at"] is None:
        return as_of
    return state.hour_of(oldest["at"].astimezone(UTC))
