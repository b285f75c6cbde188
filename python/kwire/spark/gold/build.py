"""Silver to gold, an hour at a time or a year at once.

A build begins with the hour of the oldest poll that it has not seen (`state`) and goes on to the end: frames that come
late re-open their hour and what follows from it. It continues from the state kept at an hour's beginning, so a new hour
costs an hour of silver and that state, not the history. Long stretches are cut into days, which bounds memory.

All work is done in the executors; the driver sees times and names of files.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark import StorageLevel
from pyspark.sql import functions as f

from kwire.spark.gold import (
    attribution,
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
    tables,
    transitions,
    voting_periods,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from kwire.spark.gold.tables import Table

LOOK_BACK = timedelta(hours=2)
"""How far before a build's beginning polls are read, to know who answered then and how often is polled."""

STRETCH = timedelta(days=1)

MARGIN = timedelta(minutes=5)
"""An incident that ended so shortly before is thought about again with what follows: it may not be over."""

TABLES: tuple[Table, ...] = (
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
    """Brings gold up to date with silver under ``out``.

    ``hours`` are those to build anew (their beginnings, UTC); without, those with frames that gold has not seen. Hours
    after the first of them are built too, since what lasts goes through them.

    Raises:
        ValueError: when the session's time zone is not UTC.
    """
    tables.in_utc(spark)
    files = state.files_of_polls(out)
    first = min(hours) if hours is not None else state.oldest_new_poll(spark, files, out)
    end = _last_poll(spark, out)
    if first is None or end is None:
        return
    since = state.newest(spark, out, state.hour_of(first))
    state.forget_after(spark, out, since)
    oldest = since or state.hour_of(_first_poll(spark, out))
    for start, stop in _stretches(since, oldest, end):
        _build_stretch(spark, out, start, stop, _moment(oldest, stop, end))
    _config_drift(spark, out)
    state.thin_out(spark, out)
    state.remember_inputs(spark, files, out)


def _last_poll(spark: SparkSession, out: str) -> datetime | None:
    """The time of the last poll, from the last day that has one."""
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


def _moment(oldest: datetime, stop: datetime, end: datetime) -> datetime | None:
    """Until when a stretch is certain: the hour of the last poll goes on. None when that is the first hour of all."""
    moment = min(stop, state.hour_of(end))
    return moment if moment > oldest else None


def _stretches(since: datetime | None, oldest: datetime, end: datetime) -> list[tuple[datetime | None, datetime]]:
    """From when to when to build at once; None is the beginning of all."""
    stretches: list[tuple[datetime | None, datetime]] = []
    start, begin = since, since or oldest
    while begin <= end:
        stop = begin + STRETCH
        stretches.append((start, stop))
        start = begin = stop
    return stretches


def _build_stretch(
    spark: SparkSession, out: str, start: datetime | None, stop: datetime, moment: datetime | None
) -> None:
    brokers = days.silver(spark, out, "brokers")
    since = start and start - LOOK_BACK
    onwards = between(days.silver(spark, out, "polls", since), "polled_at", since, None)
    asked = between(onwards, "polled_at", since, stop)
    metadata = voting_periods.metadata_polls(attribution.named(asked, onwards, brokers))
    metadata = metadata.persist(StorageLevel.MEMORY_AND_DISK)
    periods = voting_periods.periods(metadata).persist(StorageLevel.MEMORY_AND_DISK)
    views = transitions.words(between(days.silver(spark, out, "partitions", start, stop), "at", start, stop))
    walked_words, answers = views, config_changes.answers(between(asked, "polled_at", start, None))
    if start is not None:
        views = state.recall(spark, out, start, "views").unionByName(views)
        walked_words = views.unionByName(state.recall(spark, out, start, "beliefs"))
        answers = state.recall(spark, out, start, "answers").unionByName(answers)
    # The one large thing: on disk, or it would push everything else out of memory.
    walked = transitions.walk(walked_words, periods).persist(StorageLevel.DISK_ONLY)
    configs = days.silver(spark, out, "configs")
    changed = config_changes.changes(configs, answers).persist(StorageLevel.MEMORY_AND_DISK)

    intervals.TABLE.replace(intervals.intervals(walked, configs), out, "valid_to", start)
    for table, rows in (
        (leader_moves.TABLE, leader_moves.leader_moves(walked)),
        (isr_events.TABLE, isr_events.isr_events(walked)),
        (broker_load.TABLE, broker_load.broker_load(walked, periods)),
        (propagation.TABLE, propagation.propagation(walked)),
        (config_changes.CHANGES, between(changed, "at", start, stop)),
    ):
        table.replace(rows if start is None else rows.where(f.col("at") >= f.lit(start)), out, "at", start)
    seen = signals.signals(walked, metadata, brokers, changed, first_run=start is None)
    signals.TABLE.replace(between(seen, "at", start, stop), out, "at", start)
    rethought_since = _incidents(spark, out, start)

    if moment is not None and (start is None or moment > start):
        told = views.where(f.col("at") < f.lit(state.micros(moment)))
        state.keep(
            out,
            moment,
            views=transitions.views(told),
            walked=walked,
            answers=answers,
            incidents_since=_lasting_since(spark, out, rethought_since, moment),
        )
    for held in (metadata, periods, walked, changed):
        held.unpersist()


def _incidents(spark: SparkSession, out: str, start: datetime | None) -> datetime | None:
    """Thinks anew about all since the beginning of the oldest incident that was not over at ``start``; says since when,
    None being the beginning of all.
    """
    since = None
    if start is not None:
        # A build that died here may have deleted what lasted: it left word from when on.
        since = min(state.incidents_since(spark, out, start), *state.rethought(spark, out), start)
        state.rethink(spark, out, since)
    seen = between(signals.TABLE.read(spark, out, since), "at", since, None)
    found = incidents.incidents(seen.drop("date", "hour"))
    incidents.TABLE.replace(found, out, "began_at", since)
    state.rethought_all(spark, out)
    return since


def _lasting_since(spark: SparkSession, out: str, since: datetime | None, moment: datetime) -> datetime:
    """The hour in which the oldest incident began that was not over at a moment, or the moment itself. None of them can
    have begun before ``since``, or it would have been thought about.
    """
    known = incidents.TABLE.read(spark, out, since)
    lasting = known.where(f.col("ended_at").isNull() | (f.col("ended_at") >= f.lit(moment - MARGIN)))
    oldest = lasting.where(f.col("began_at") < f.lit(moment)).agg(f.min("began_at").alias("at")).first()
    if oldest is None or oldest["at"] is None:
        return moment
    return state.hour_of(oldest["at"].astimezone(UTC))


def _config_drift(spark: SparkSession, out: str) -> None:
    rows = config_changes.drift(days.silver(spark, out, "configs"))
    config_changes.DRIFT.replace(rows, out, "valid_to", None)


def between(rows: DataFrame, column: str, start: datetime | None, stop: datetime | None) -> DataFrame:
    """Rows of a stretch, reading no other days' folders; None is the beginning or the end of all."""
    if stop is not None:
        if "date" in rows.columns:
            rows = rows.where(f.col("date") <= f.lit(f"{stop:%Y-%m-%d}"))
        rows = rows.where(f.col(column) < f.lit(stop))
    if start is not None:
        if "date" in rows.columns:
            rows = rows.where(f.col("date") >= f.lit(f"{start:%Y-%m-%d}"))
        rows = rows.where(f.col(column) >= f.lit(start))
    return rows
