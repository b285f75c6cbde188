"""Build gold from silver, one hour at a time or many days at once.

A build has these steps:

1. *Where to begin.* The hour of the oldest poll that is not in gold. Late frames rebuild their hour and all hours after
   it, because each state of a partition depends on the one before. The build continues from the newest `savepoint` at
   or before that hour, so a new hour costs that savepoint and an hour of silver, not the history.
2. *Windows* of a day from there to the last poll, which bounds memory. For each window:
   a. the clocks of pollers, because every later step compares times (`clock_skew`);
   b. the poller that counts for each broker (`pollers`), from corrected times;
   c. the agreed states of partitions (`fold_task`), and the tables that follow from them;
   d. the incidents, which need earlier signals or their summary (`incidents`);
   e. the savepoint of the last complete hour, from which later builds continue, and one job that writes all files.
   A window that reads at most `Engine.limit` rows is built in this process: the same queries
   run on DuckDB instead of Spark (`kwire_pipeline.in_process`), and no job of Spark is started.
3. *One commit* of all windows. A build reads one snapshot: what others commit meanwhile belongs to the next build.

Invariants:

- A row of gold belongs to one hour. A build replaces whole hours from `Window.start` on, so building an hour twice
  gives the same rows, and a build that fails changes nothing.
- Building hour by hour and building everything at once give equal tables (`gold/test_incremental.py`).
  So nothing may depend on where a window begins, except through the savepoint.
- Rows of larger windows stay in the executors; the driver sees times and file names.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.engine import Engine
from kwire_pipeline.gold import (
    broker_disk,
    broker_load,
    clock_skew,
    config_changes,
    config_deviations,
    consumer_lag,
    days,
    incidents,
    intervals,
    partition_events,
    poller_clocks,
    pollers,
    savepoint,
    signals,
    transitions,
)
from kwire_pipeline.gold.consensus import Role
from kwire_pipeline.gold.fold_task import FoldTask, fold
from kwire_pipeline.gold.poller_clocks import Clocks
from kwire_pipeline.gold.transitions import FILED_AT
from kwire_pipeline.gold.view import AS_OF, SAVED_PARTITIONS, GoldBuild
from kwire_pipeline.gold.voting_periods import attribute_unanswered, metadata_polls, voting_periods
from kwire_pipeline.in_process import divide, select, with_columns
from kwire_pipeline.silver.tables import SILVER_SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from kwire_pipeline.engine import SparkSource
    from kwire_pipeline.gold.poller_clocks import PollerClock
    from kwire_pipeline.gold.tables import GoldTable
    from kwire_pipeline.store.commits import PipelineStore
    from kwire_pipeline.store.record import CommitRecord

LOOK_BACK = timedelta(hours=2)
"""Time before a window from which polls are read, to find the brokers that responded and their usual interval. Chosen,
not measured: longer than any pause of kwire's poller."""

WINDOW = timedelta(days=1)
"""Length of a window; the day is also the unit of silver's files."""

IN_PROCESS_REPORTERS = 100
"""Maximum number of brokers and pollers of a window that is built in this process. Chosen, not measured: functions on
Arrow data are called for each cluster and group of topics, one after the other."""

WHOLE_TABLES = ("brokers", "configs", "groups")
"""Tables of silver that every window reads from their beginning."""

TABLES: tuple[GoldTable, ...] = (
    intervals.TABLE,
    incidents.TABLE,
    partition_events.LEADER_MOVES,
    partition_events.ISR_EVENTS,
    broker_load.TABLE,
    config_changes.CHANGES,
    config_changes.DRIFT,
    partition_events.PROPAGATION,
    signals.TABLE,
    poller_clocks.TABLE,
    consumer_lag.TABLE,
    broker_disk.USAGE,
    broker_disk.TOPIC_USAGE,
    config_deviations.DESIRED,
    config_deviations.TABLE,
)
"""All gold tables."""


class Window(NamedTuple):
    """A part of a build.

    Attributes:
        start: its beginning; None is the beginning of the history.
        stop: its end.
        as_of: the hour whose beginning is the time of the savepoint; None writes none.
        is_complete: True if the savepoint has all partitions, and not only changed ones.
        incidents_since: by hour with a savepoint, the oldest hour whose signals or incidents a build from it needs.
        full_rebuild: True if all partitions are computed; otherwise only changed ones are.
        replaced_topics: the clusters and topics whose reports late frames have removed; they are computed as well.
    """

    start: datetime | None
    stop: datetime
    as_of: datetime | None
    is_complete: bool
    incidents_since: dict[datetime, datetime]
    full_rebuild: bool
    replaced_topics: frozenset[tuple[str, str]]


def build(
    spark: SparkSource | Engine,
    store: PipelineStore,
    hours: Iterable[datetime] | None = None,
    *,
    max_clock_skew: timedelta = poller_clocks.MAX_SKEW,
) -> None:
    """Bring gold up to date with silver.

    Args:
        spark: the session; a window with few rows does not use it (`Engine`).
        store: the store of the pipeline.
        hours: the beginnings of the hours to build again, in UTC; by default, those with frames that are not in gold.
            The hours after the first one are built too, since states last across hours.
        max_clock_skew: the maximum skew of clocks of pollers that is corrected (`clock_skew`).

    Raises:
        StoreInUse: other processes build gold all the time.
    """
    first_hour = None if hours is None else min(hours)
    store.create({table.folder: table.layout for table in TABLES})
    engine = Engine.of(spark)

    def run(record: CommitRecord) -> None:
        _build(GoldBuild(engine, store, record), store, record, first_hour, max_clock_skew)

    store.transact(run)


def _build(
    build: GoldBuild,
    store: PipelineStore,
    record: CommitRecord,
    first_hour: datetime | None,
    max_clock_skew: timedelta,
) -> None:
    progress = record.progress.gold
    first = first_hour or _oldest_new_poll(store, record)
    end = _last_poll(build)
    if first is None or end is None:
        return
    # These are times of pollers' clocks: the last known skew gives the true hours.
    incidents_since = savepoint.incidents_by_hour(progress)
    skew_by_hour = savepoint.skew_by_hour(progress)
    build.clocks = Clocks(skew_by_hour[max(skew_by_hour)] if skew_by_hour else {}, bound=max_clock_skew)
    first, end = build.clocks.range_of(first, end)
    # Continue from the newest savepoint before the first poll; those after it are built again.
    since = max((hour for hour in incidents_since if hour <= savepoint.hour_of(first)), default=None)
    incidents_since = {hour: at for hour, at in incidents_since.items() if since is not None and hour <= since}
    oldest = since or savepoint.hour_of(_first_poll(build))
    # A build cannot see that late frames have removed reports from its window, so their commits name the topics.
    replaced_topics = store.replaced_topics(progress.get("commit", 0), record)
    full_rebuild = first_hour is not None or replaced_topics is None
    has_new_configs = full_rebuild or progress.get("configs") != record.progress.versions.get("silver/configs")
    skew = {} if since is None else skew_by_hour.get(since, {})
    polled = _polled_times(build, max_clock_skew)
    for start, stop in _windows(since, oldest, end, polled):
        with build.queries(in_process=_is_small(build, start, stop, max_clock_skew)):
            if has_new_configs:
                build.replace(config_changes.DRIFT, config_changes.drift(build.silver("configs")), None)
                has_new_configs = False
            build.clocks = _clocks(build, skew, start, stop, max_clock_skew)
            skew = build.clocks.skew
            _replace_skew(build, min(stop, end))
            as_of = _savepoint_time(oldest, stop, end)
            if as_of is not None:
                skew_by_hour[as_of] = skew
                if start is not None and as_of <= start:
                    as_of = None  # the window has no complete hour
            is_complete = as_of is not None and savepoint.is_first_of_day(as_of, incidents_since)
            everything = full_rebuild or start is None
            replaced = frozenset(replaced_topics or ())
            _build_window(build, Window(start, stop, as_of, is_complete, incidents_since, everything, replaced))
    build.clocks.warn()
    for hour in savepoint.expired_hours(incidents_since):
        del incidents_since[hour]
    build.forget_savepoints(set(build.savepoints()) - incidents_since.keys())
    build.commit(savepoint.to_progress(record, incidents_since, skew_by_hour))


def _oldest_new_poll(store: PipelineStore, record: CommitRecord) -> datetime | None:
    """Return the time of the oldest poll that is not in gold; None if all are."""
    return store.oldest_poll_since(record.progress.gold.get("commit", 0), record.number)


def _last_poll(build: GoldBuild) -> datetime | None:
    last = build.snapshot.newest_time("silver/polls")
    return None if last is None else savepoint.to_time(last)


def _first_poll(build: GoldBuild) -> datetime:
    return savepoint.to_time(min(file.first for file in build.files("silver/polls") if file.first is not None))


def _savepoint_time(oldest: datetime, stop: datetime, end: datetime) -> datetime | None:
    """Return the time of the savepoint of a window: the end of its last complete hour. None without any."""
    as_of = min(stop, savepoint.hour_of(end))
    return as_of if as_of > oldest else None


def _polled_times(build: GoldBuild, margin: timedelta) -> list[tuple[datetime, datetime]]:
    """Return the times of the first and the last poll of each file, sorted, with a margin for the clocks of pollers."""
    return sorted(
        (savepoint.to_time(file.first) - margin, savepoint.to_time(file.last) + margin)
        for file in build.files("silver/polls")
        if file.first is not None and file.last is not None
    )


def _windows(
    since: datetime | None, oldest: datetime, end: datetime, polled: Sequence[tuple[datetime, datetime]] = ()
) -> list[tuple[datetime | None, datetime]]:
    """Return the windows to build; a start of None is the beginning of the history.

    A window includes the time without polls after it, so that the costs of a build depend on the polls and not on the
    time between them.
    """
    windows: list[tuple[datetime | None, datetime]] = []
    start, begin = since, since or oldest
    while begin <= end:
        stop = begin + WINDOW
        if (following := min((max(first, stop) for first, last in polled if last >= stop), default=stop)) > stop:
            stop = max(savepoint.hour_of(following), stop)
        windows.append((start, stop))
        start = begin = stop
    return windows


def _is_small(build: GoldBuild, start: datetime | None, stop: datetime, margin: timedelta) -> bool:
    """Return whether a window is built in this process, from the numbers of rows that Delta has for each file.

    Gold's signals are not counted: incidents of a cluster are diagnosed in one task in any case.
    """
    if build.reporters > IN_PROCESS_REPORTERS or not build.engine.limit:
        return False
    first = start and start - LOOK_BACK - margin
    rows = sum(
        file.rows
        for name in SILVER_SCHEMAS
        for file in build.files(f"silver/{name}")
        if name in WHOLE_TABLES or days.is_between(file.partition["date"], first, stop + margin)
    )
    if start is not None:
        day = f"{start:%Y-%m-%d}"
        rows += sum(file.rows for file in build.files(SAVED_PARTITIONS) if file.partition[AS_OF].startswith(day))
    return rows <= build.engine.limit


# The clocks of a window


def _clocks(
    build: GoldBuild, skew: Mapping[PollerClock, int], start: datetime | None, stop: datetime, bound: timedelta
) -> Clocks:
    """Return the clocks of a window: the skew before it, updated by what the changes of the window say about it."""
    build.clocks, build.leaders = Clocks(), None  # skew is measured between uncorrected times of all pollers
    files = build.files("silver/partitions")
    changes = [file for file in files if start is None or (file.last is not None and file.last >= microseconds(start))]
    corrected = skew
    if changes and build.has_several_clocks:
        partitions = days.between(build.silver("partitions", start, stop), "at", start, stop)
        polls = days.between(build.silver("polls", start, stop), "polled_at", start, stop)
        measured = clock_skew.differences(partitions, polls).collect()
        corrected = clock_skew.corrections((clock_skew.Difference.of(row) for row in measured), skew)
    return Clocks(corrected, skew, start, bound)


def _replace_skew(build: GoldBuild, at: datetime) -> None:
    """Write the skew of the clocks, if there is or was any."""
    rows = build.clocks.rows(at)
    if rows or build.files(poller_clocks.TABLE.folder):
        build.replace(poller_clocks.TABLE, build.frame(rows, poller_clocks.TABLE.ddl), None)


# The tables of a window


def _polls(build: GoldBuild, window: Window) -> tuple[DataFrame, DataFrame]:
    """Return the polls that count, as they are stored and with those of unknown clusters attributed.

    Chooses the leading pollers: from here on, `build.silver` returns only what they report.
    """
    since = window.start and window.start - LOOK_BACK
    later_polls = days.between(build.silver("polls", since), "polled_at", since, None)
    polls = attributed = days.between(later_polls, "polled_at", since, window.stop)
    if build.has_unattributed_polls:
        attributed = attribute_unanswered(polls, later_polls, build.silver("brokers"))
    if build.shared_clusters:
        of_shared_clusters, _ = divide(attributed, "cluster_id", build.shared_clusters)
        build.leaders = build.computed_once(pollers.leaders(of_shared_clusters))
    return build.of_leaders(polls, "polls"), build.of_leaders(attributed, "polls")


def _fold(build: GoldBuild, window: Window, periods: DataFrame) -> DataFrame:
    """Return the agreed states of the partitions that have changed in a window, and the rows to save."""
    start, stop = window.start, window.stop
    reports = transitions.observations(days.between(build.silver("partitions", start, stop), "at", start, stop))
    rows = with_columns(reports, as_of="''")
    if start is not None:
        # The first savepoint of the day is read by the tasks themselves, filtered (`FoldTask`).
        rows = rows.unionByName(build.saved_partitions(window.incidents_since, start, with_first=False))
        if _has_configs_since(build, start):
            configs = days.between(build.silver("configs", start, stop), "at", start, stop)
            topics = select(configs.where("resource_type = 'topic'"), "cluster_id, resource AS topic").distinct()
            rows = rows.unionByName(with_columns(transitions.changed_topics(topics), as_of="''"))
        if window.replaced_topics:
            topics = build.frame(sorted(window.replaced_topics), "cluster_id string, topic string")
            rows = rows.unionByName(with_columns(transitions.changed_topics(topics), as_of="''"))
    task = FoldTask(
        build.snapshot.location,
        {} if start is None else build.first_saved(window.incidents_since, start),
        window.full_rebuild,
        None if window.as_of is None else microseconds(window.as_of),
        window.is_complete,
    )
    return fold(rows, periods, task)


def _has_configs_since(build: GoldBuild, start: datetime) -> bool:
    oldest = microseconds(start - build.clocks.bound)
    return any(file.last is None or file.last >= oldest for file in build.files("silver/configs"))


def _signals(build: GoldBuild, window: Window, agreed: DataFrame, metadata: DataFrame, changes: DataFrame) -> DataFrame:
    """Return the signals of metadata and of the other inputs, which also plan their tables and savepoints."""
    start, stop = window.start, window.stop
    rows = signals.signals(agreed, metadata, build.silver("brokers"), changes, start)
    for module in (consumer_lag, broker_disk, config_deviations):
        of_input = module.plan(build, start, stop, window.as_of)
        if of_input is not None:
            of_input = days.between(of_input, "at", start, None)
            rows = rows.unionByName(with_columns(of_input, **{FILED_AT: "at"}))
    return days.between(rows, "at", None, stop)


def _build_window(build: GoldBuild, window: Window) -> None:
    """Build the tables of a window. Its savepoint, if any, gets an entry in `Window.incidents_since`."""
    start = window.start
    polls, attributed_polls = _polls(build, window)
    metadata = build.computed_once(metadata_polls(attributed_polls))
    periods = build.computed_once(voting_periods(metadata, start))
    folded = build.computed_once(_fold(build, window, periods), "DISK_ONLY")
    agreed = folded.where(f"role = {int(Role.AGREED)}")
    load_steps = broker_load.load_steps(agreed)
    config_polls = config_changes.config_polls(days.between(polls, "polled_at", start, None))
    if start is not None:
        load_steps = build.saved("broker_loads", start, broker_load.STEPS).unionByName(load_steps)
        config_polls = build.saved("config_polls", start, config_changes.POLLS).unionByName(config_polls)
    changes = build.computed_once(config_changes.changes(build.silver("configs"), config_polls))
    new_signals = build.computed_once(_signals(build, window, agreed, metadata, changes))
    for table, rows in (
        (partition_events.LEADER_MOVES, partition_events.leader_moves(agreed)),
        (partition_events.ISR_EVENTS, partition_events.isr_events(agreed)),
        (broker_load.TABLE, days.between(broker_load.broker_load(load_steps, periods), "at", start, None)),
        (partition_events.PROPAGATION, partition_events.propagation(agreed, start)),
        (config_changes.CHANGES, days.between(changes, "at", start, window.stop)),
        (signals.TABLE, new_signals),
    ):
        build.replace(table, rows, start)
    # Intervals without an end are replaced one by one.
    configs = build.silver("configs") if build.files("silver/configs") else None
    states = intervals.intervals(agreed, configs)
    build.replace(
        intervals.TABLE,
        states.where("present AND valid_to IS NOT NULL"),
        start,
        open_rows=states.where("valid_to IS NULL"),
        full_rebuild=window.full_rebuild,
    )
    incidents.plan(build, start, window.as_of, new_signals)
    if window.as_of is not None:
        savepoint.write(
            build,
            window.as_of,
            partitions=folded,
            complete=window.is_complete,
            loads=load_steps,
            polls=config_polls,
        )
    if build.engine.local is None:
        folded.count()  # computed once, before the tasks that write tables from it run side by side
    build.write()
    if window.as_of is not None:  # read from the savepoint that was just written
        window.incidents_since[window.as_of] = incidents.oldest_lasting(build, window.as_of)
