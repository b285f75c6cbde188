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
    pollers,
    propagation,
    signals,
    state,
    transitions,
)
from kwire.spark.gold.attribution import attribute_unanswered
from kwire.spark.gold.clock_skew import Clocks
from kwire.spark.gold.consensus import Role
from kwire.spark.gold.fold_task import FoldTask
from kwire.spark.gold.transitions import FILED_AT
from kwire.spark.gold.view import GoldBuild
from kwire.spark.gold.voting_periods import metadata_polls, voting_periods
from kwire.spark.session import require_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kwire.spark.gold.clock_skew import PollerClock
    from kwire.spark.gold.tables import GoldTable
    from kwire.spark.store.commits import Store
    from kwire.spark.store.record import Record

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
    everything = wanted is not None or store.has_replaced_rows(known.get("commit", 0), record.number)
    incidents_since = {hour: at for hour, at in incidents_since.items() if since is not None and hour <= since}
    oldest = since or state.hour_of(_first_poll(build))
    if everything or known.get("configs") != record.progress.versions.get("silver/configs"):
        build.replace(config_changes.DRIFT, config_changes.drift(build.silver("configs")), None)
    skew = {} if since is None else skew_by_hour.get(since, {})
    for start, stop in _windows(since, oldest, end):
        build.clocks = _clocks(build, skew, start, stop, max_clock_skew)
        skew = build.clocks.skew
        _replace_skew(build, min(stop, end))
        as_of = _state_time(oldest, stop, end)
        if as_of is not None:
            skew_by_hour[as_of] = skew
        _build_window(build, start, stop, as_of, incidents_since, everything or start is None)
    build.clocks.warn()
    for hour in state.superfluous(incidents_since):
        del incidents_since[hour]
    build.forget_states(set(build.states()) - incidents_since.keys())
    build.commit(state.to_progress(record, incidents_since, skew_by_hour))


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
    build: GoldBuild, skew: Mapping[PollerClock, int], start: datetime | None, stop: datetime, bound: timedelta
) -> Clocks:
    """Return the clocks of a window: the skew before it, and what the changes of the window say about it."""
    build.clocks, build.leaders = Clocks(), None
    files = build.files("silver/partitions")
    changes = [file for file in files if start is None or (file.last is not None and file.last >= state.micros(start))]
    now = skew
    if changes:
        partitions = days.between(build.silver("partitions", start, stop), "at", start, stop)
        polls = days.between(build.silver("polls", start, stop), "polled_at", start, stop)
        measured = clock_skew.differences(partitions, polls).collect()
        now = clock_skew.corrections((clock_skew.Difference.of(row) for row in measured), skew)
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
    everything: bool,
) -> None:
    """Build the tables of a window, and keep the state at `as_of`, of which `incidents_since` gets an entry.

    Only partitions that have changed are computed, unless `everything` is set.
    """
    if as_of is not None and start is not None and as_of <= start:
        as_of = None
    since = start and start - LOOK_BACK
    later_polls = days.between(build.silver("polls", since), "polled_at", since, None)
    polls = days.between(later_polls, "polled_at", since, stop)
    attributed = attribute_unanswered(polls, later_polls, build.silver("brokers"))
    if build.shared_clusters:
        of_shared_clusters = attributed.where(f.col("cluster_id").isin(*sorted(build.shared_clusters)))
        build.leaders = pollers.leaders(of_shared_clusters).persist(StorageLevel.MEMORY_AND_DISK)
        build.keep_until_written(build.leaders)
    attributed, polls = build.of_leaders(attributed, "polls"), build.of_leaders(polls, "polls")
    brokers = build.silver("brokers")
    metadata = metadata_polls(attributed)
    metadata = metadata.persist(StorageLevel.MEMORY_AND_DISK)
    periods = voting_periods(metadata, start).persist(StorageLevel.MEMORY_AND_DISK)
    configs = build.silver("configs") if build.files("silver/configs") else None
    complete = as_of is not None and state.is_first_of_day(as_of, incidents_since)
    folded = _fold(build, start, stop, periods, incidents_since, everything, as_of, complete)
    folded = folded.persist(StorageLevel.DISK_ONLY)
    agreed = folded.where(f.col("role") == int(Role.AGREED))
    config_polls = config_changes.config_polls(days.between(polls, "polled_at", start, None))
    loads = broker_load.load_steps(agreed)
    if start is not None:
        config_polls = build.state("config_polls", start).unionByName(config_polls)
        loads = build.state("broker_loads", start).unionByName(loads)
    changed = config_changes.changes(build.silver("configs"), config_polls).persist(StorageLevel.MEMORY_AND_DISK)

    states = intervals.intervals(agreed, configs)
    build.replace(intervals.TABLE, states.where("present and valid_to is not null"), start)
    build.replace_open(intervals.TABLE, states.where("valid_to is null"), start, everything=everything)
    for table, rows in (
        (leader_moves.TABLE, leader_moves.leader_moves(agreed)),
        (isr_events.TABLE, isr_events.isr_events(agreed)),
        (broker_load.TABLE, days.between(broker_load.broker_load(loads, periods), "at", start, None)),
        (propagation.TABLE, propagation.propagation(agreed, start)),
        (config_changes.CHANGES, days.between(changed, "at", start, stop)),
    ):
        build.replace(table, rows, start)
    seen = signals.signals(agreed, metadata, brokers, changed, start)
    for each in inputs.plan(build, start, stop, as_of):
        seen = seen.unionByName(days.between(each, "at", start, None).withColumn(FILED_AT, f.col("at")))
    seen = days.between(seen, "at", None, stop)
    seen = seen.select(*(f.col(column.name).cast(column.type) for column in signals.TABLE.columns), FILED_AT)
    seen = seen.persist(StorageLevel.MEMORY_AND_DISK)
    build.replace(signals.TABLE, seen, start)
    diagnosed_since = _diagnose(build, start, seen, incidents_since)
    if as_of is not None:
        state.keep(build, as_of, partitions=folded, complete=complete, loads=loads, polls=config_polls)
    folded.count()  # computed once, before the tasks that write tables from it run side by side
    build.write()
    if as_of is not None:
        incidents_since[as_of] = _oldest_open_incident(build, diagnosed_since, as_of)
    for persisted in (metadata, periods, folded, changed, seen):
        persisted.unpersist()


def _fold(
    build: GoldBuild,
    start: datetime | None,
    stop: datetime,
    periods: DataFrame,
    hours: Iterable[datetime],
    everything: bool,
    as_of: datetime | None,
    complete: bool,
) -> DataFrame:
    """Return the agreed states of the partitions that have changed in a window, and the state to keep.

    Args:
        build: the build.
        start: the beginning of the window.
        stop: its end.
        periods: the voting periods.
        hours: the hours of which the state is kept.
        everything: whether to fold all partitions.
        as_of: the time of which the state is kept; None keeps none.
        complete: whether the state to keep has all partitions.
    """
    reports = transitions.observations(days.between(build.silver("partitions", start, stop), "at", start, stop))
    rows = reports.withColumn("as_of", f.lit(""))
    if start is not None:
        rows = rows.unionByName(build.partition_states(hours, start, with_first=False))
        configs = build.silver("configs", start, stop) if _has_rows_since(build, "configs", start) else None
        if configs is not None:
            topics = transitions.changed_topics(days.between(configs, "at", start, stop))
            rows = rows.unionByName(topics.withColumn("as_of", f.lit("")))
    task = FoldTask(
        build.snapshot.location,
        {} if start is None else build.first_states(hours, start),
        everything,
        None if as_of is None else state.micros(as_of),
        complete,
    )
    return transitions.fold(rows, periods, task)


def _has_rows_since(build: GoldBuild, table: str, start: datetime) -> bool:
    oldest = state.micros(start - build.clocks.bound)
    return any(file.last is None or file.last >= oldest for file in build.files(f"silver/{table}"))


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
        build.replace(incidents.TABLE, incidents.incidents(seen.drop(FILED_AT)), None)
        return None
    since = min(incidents_since.get(start, start), start)
    earlier = build.between(signals.TABLE, since, start)
    build.replace(incidents.TABLE, incidents.incidents(earlier.unionByName(seen.drop(FILED_AT))), since)
    return since


def _oldest_open_incident(build: GoldBuild, since: datetime | None, as_of: datetime) -> datetime:
    """Return the hour in which the oldest incident began that has not ended at `as_of`, or `as_of` without any.

    No incident lasts across that hour's beginning: the signals since then say all about the incidents since then. An
    incident that began before `since` has ended, or it would have been diagnosed again.
    """
    known = build.arrow(incidents.TABLE, since, ("began_at", "ended_at"))
    while True:
        ended_at, lasts_until = known["ended_at"], pa.scalar(as_of - MARGIN, known.schema.field("ended_at").type)
        lasting = known.filter(pc.or_kleene(ended_at.is_null(), pc.greater_equal(ended_at, lasts_until)))["began_at"]
        oldest = pc.min(lasting.filter(pc.less(lasting, pa.scalar(as_of, lasting.type)))).as_py()
        if oldest is None:
            return as_of
        as_of = state.hour_of(oldest.astimezone(UTC))
