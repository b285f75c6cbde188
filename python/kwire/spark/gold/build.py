"""Build gold from silver, one hour at a time or many days at once.

A build starts with the hour of the oldest poll that is not in gold (`state`) and continues to the last poll: late
frames rebuild their hour and all hours after it. It continues from the state at the beginning of an hour, so a new
hour costs that state and an hour of silver, not the history. Long builds run in windows of a day, which bounds memory.
A build reads one snapshot and is one commit: a build that fails changes nothing.

All rows stay in the executors; the driver sees times and file names.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import functions as f

from kwire.spark.gold import (
    broker_load,
    clock_skew,
    config_changes,
    days,
    incidents,
    inputs,
    intervals,
    isr_events,
    leader_moves,
    propagation,
    signals,
    state,
    transitions,
)
from kwire.spark.gold.attribution import attribute_unanswered
from kwire.spark.gold.clock_skew import Clocks
from kwire.spark.gold.view import GoldBuild
from kwire.spark.gold.voting_periods import metadata_polls, voting_periods
from kwire.spark.session import require_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kwire.spark.gold.clock_skew import Broker
    from kwire.spark.gold.tables import GoldTable
    from kwire.spark.record import Record
    from kwire.spark.store import Store

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
    clock_skew.TABLE,
    *inputs.TABLES,
)
"""All gold tables."""


def build(
    spark: SparkSession,
    store: Store,
    hours: Iterable[datetime] | None = None,
    *,
    max_clock_skew: timedelta = clock_skew.MAX_SKEW,
) -> None:
    """Bring gold up to date with silver.

    Args:
        spark: the session.
        store: the store of the pipeline.
        hours: the beginnings of the hours to build again, in UTC; by default, those with frames that are not in gold.
            The hours after the first one are built too, since states last across hours.
        max_clock_skew: up to which skew the clocks of pollers are corrected (`clock_skew`).

    Raises:
        ValueError: the session's time zone is not UTC.
        StoreInUse: other processes build gold all the time.
    """
    require_utc(spark)
    wanted = None if hours is None else min(hours)
    store.create({table.folder: table.layout for table in TABLES})
    store.transact(lambda record: _build(spark, store, record, wanted, max_clock_skew))


def _build(
    spark: SparkSession, store: Store, record: Record, wanted: datetime | None, max_clock_skew: timedelta
) -> None:
    build = GoldBuild(spark, store, record)
    known = record.progress.gold
    first = wanted or _oldest_new_poll(store, record)
    end = _last_poll(build)
    if first is None or end is None:
        return
    incidents_since = state.incidents_by_hour(known)
    skew_by_hour = state.skew_by_hour(known)
    build.clocks = Clocks(skew_by_hour[max(skew_by_hour)] if skew_by_hour else {}, bound=max_clock_skew)
    first, end = build.clocks.range_of(first, end)
    since = max((hour for hour in incidents_since if hour <= state.hour_of(first)), default=None)
    incidents_since = {hour: at for hour, at in incidents_since.items() if since is not None and hour <= since}
    oldest = since or state.hour_of(_first_poll(build))
    build.replace(config_changes.DRIFT, config_changes.drift(build.silver("configs")), None)
    skew = {} if since is None else skew_by_hour.get(since, {})
    for start, stop in _windows(since, oldest, end):
        build.clocks = _clocks(build, skew, start, stop, max_clock_skew)
        skew = build.clocks.skew
        _replace_skew(build, min(stop, end))
        as_of = _state_time(oldest, stop, end)
        if as_of is not None:
            skew_by_hour[as_of] = skew
        _build_window(build, start, stop, as_of, incidents_since)
    build.clocks.warn()
    for hour in state.superfluous(incidents_since):
        del incidents_since[hour]
    build.forget_states(set(build.states()) - incidents_since.keys())
    build.commit(state.to_progress(record.number, incidents_since, skew_by_hour))


def _oldest_new_poll(store: Store, record: Record) -> datetime | None:
    """Return the time of the oldest poll that is not in gold; None if all are."""
    return store.oldest_poll_since(record.progress.gold.get("commit", 0), record.number)


def _last_poll(build: GoldBuild) -> datetime | None:
    """Return the time of the last poll."""
    last = max((file.last for file in build.files("silver/polls") if file.last is not None), default=None)
    return None if last is None else state.to_time(last)


def _first_poll(build: GoldBuild) -> datetime:
    return state.to_time(min(file.first for file in build.files("silver/polls") if file.first is not None))


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


def _clocks(
    build: GoldBuild, skew: Mapping[Broker, int], start: datetime | None, stop: datetime, bound: timedelta
) -> Clocks:
    """Return the clocks of a window: the skew before it, and what the changes of the window say about it."""
    build.clocks = Clocks()
    files = build.files("silver/partitions")
    changes = [file for file in files if start is None or (file.last is not None and file.last >= state.micros(start))]
    now = skew
    if changes:
        partitions = days.between(build.silver("partitions", start, stop), "at", start, stop)
        polls = days.between(build.silver("polls", start, stop), "polled_at", start, stop)
        found = clock_skew.differences(partitions, polls).collect()
        now = clock_skew.settle((clock_skew.Difference(*row) for row in found), skew)
    return Clocks(now, skew, start, bound)


def _replace_skew(build: GoldBuild, at: datetime) -> None:
    """Write the skew of the clocks, if there is or was any."""
    rows = build.clocks.rows(at)
    if rows or build.files(clock_skew.TABLE.folder):
        build.replace(clock_skew.TABLE, build.spark.createDataFrame(rows, clock_skew.TABLE.ddl), None)


def _build_window(
    build: GoldBuild,
    start: datetime | None,
    stop: datetime,
    as_of: datetime | None,
    incidents_since: dict[datetime, datetime],
) -> None:
    """Build the tables of a window, and keep the state at `as_of`, of which `incidents_since` gets an entry."""
    brokers = build.silver("brokers")
    since = start and start - LOOK_BACK
    later_polls = days.between(build.silver("polls", since), "polled_at", since, None)
    polls = days.between(later_polls, "polled_at", since, stop)
    metadata = metadata_polls(attribute_unanswered(polls, later_polls, brokers))
    metadata = metadata.persist(StorageLevel.MEMORY_AND_DISK)
    periods = voting_periods(metadata).persist(StorageLevel.MEMORY_AND_DISK)
    partitions = days.between(build.silver("partitions", start, stop), "at", start, stop)
    reports = transitions.observations(partitions)
    observations, config_polls = reports, config_changes.config_polls(days.between(polls, "polled_at", start, None))
    if start is not None:
        reports = build.state("last_reports", start).unionByName(reports)
        observations = reports.unionByName(build.state("agreed", start))
        config_polls = build.state("config_polls", start).unionByName(config_polls)
    # The only large result: in memory, it would evict everything else.
    agreed = transitions.agreed_states(observations, periods).persist(StorageLevel.DISK_ONLY)
    configs = build.silver("configs")
    changed = config_changes.changes(configs, config_polls).persist(StorageLevel.MEMORY_AND_DISK)

    build.replace(intervals.TABLE, intervals.intervals(agreed, configs), start)
    for table, rows in (
        (leader_moves.TABLE, leader_moves.leader_moves(agreed)),
        (isr_events.TABLE, isr_events.isr_events(agreed)),
        (broker_load.TABLE, broker_load.broker_load(agreed, periods)),
        (propagation.TABLE, propagation.propagation(agreed)),
        (config_changes.CHANGES, days.between(changed, "at", start, stop)),
    ):
        build.replace(table, rows if start is None else rows.where(f.col("at") >= f.lit(start)), start)
    kept_at = as_of if as_of is not None and (start is None or as_of > start) else None
    seen = signals.signals(agreed, metadata, brokers, changed, first_window=start is None)
    for each in inputs.plan(build, start, stop, kept_at):
        seen = seen.unionByName(each)
    seen = days.between(seen, "at", start, stop)
    seen = seen.select(*(f.col(column.name).cast(column.type) for column in signals.TABLE.columns))
    seen = seen.persist(StorageLevel.MEMORY_AND_DISK)
    build.replace(signals.TABLE, seen, start)
    diagnosed_since = _diagnose(build, start, seen, incidents_since)
    if kept_at is not None:
        state.keep(
            build,
            kept_at,
            last_reports=transitions.last_reports(reports.where(f.col("at") < f.lit(state.micros(kept_at)))),
            agreed=agreed,
            config_polls=config_polls,
        )
    agreed.count()  # computed once, before the tasks that write tables from it run side by side
    build.write()
    if kept_at is not None:
        incidents_since[kept_at] = _oldest_open_incident(build, diagnosed_since, kept_at)
    for persisted in (metadata, periods, agreed, changed, seen):
        persisted.unpersist()


def _diagnose(
    build: GoldBuild, start: datetime | None, seen: DataFrame, incidents_since: dict[datetime, datetime]
) -> datetime | None:
    """Diagnose everything since the beginning of the oldest incident that had not ended at `start`.

    Args:
        build: the build.
        start: the beginning of the window.
        seen: the signals of the window.
        incidents_since: for each hour with a state, from when on incidents are diagnosed again.

    Returns:
        That beginning; None is the beginning of the history.
    """
    if start is None:
        build.replace(incidents.TABLE, incidents.incidents(seen), None)
        return None
    since = min(incidents_since.get(start, start), start)
    earlier = days.between(build.table(signals.TABLE, since), "at", since, start).drop("date", "hour")
    build.replace(incidents.TABLE, incidents.incidents(earlier.unionByName(seen)), since)
    return since


def _oldest_open_incident(build: GoldBuild, since: datetime | None, as_of: datetime) -> datetime:
    """Return the hour in which the oldest incident began that has not ended at `as_of`, or `as_of` without any.

    An incident that began before `since` has ended, or it would have been diagnosed again.
    """
    known = build.arrow(incidents.TABLE, since, ("began_at", "ended_at"))
    lasting = pc.or_kleene(known["ended_at"].is_null(), pc.greater_equal(known["ended_at"], pa.scalar(as_of - MARGIN)))
    began = known.filter(lasting)["began_at"]
    oldest = pc.min(began.filter(pc.less(began, pa.scalar(as_of)))).as_py()
    return as_of if oldest is None else state.hour_of(oldest.astimezone(UTC))
