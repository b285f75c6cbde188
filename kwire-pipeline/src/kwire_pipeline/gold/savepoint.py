"""Savepoints: what builds of gold keep at the beginning of an hour, and continue from.

`gold/_partitions` has each broker's last report about each partition and the agreed states, `gold/_broker_loads`
the leaders and replicas of each broker, and `gold/_config_polls` the times at which brokers reported configs, each
partitioned by `as_of`, the hour. The first savepoint of a day has all partitions, and each later one has the partitions
that changed since its predecessor. Inputs keep parts of their own (`build.save`).

`gold/_lasting_incidents` has the summaries of incidents that had not ended (`incidents.SAVED`).

`Progress.gold` has for each of these hours the oldest hour whose signals or incidents a build needs, because some have
not ended (`incidents`), and the clock skew that was corrected (`skew`). It also has the number of the last `commit`
that is in gold, and the version of silver's `configs` at that time. A build continues from
the newest savepoint before the oldest poll of later commits. Older ones are thinned out: a late frame then costs more.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kwire.metadata.timestamps import microseconds
from kwire_pipeline.gold import broker_load, config_changes, transitions
from kwire_pipeline.gold.poller_clocks import PollerClock
from kwire_pipeline.gold.view import STAMP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from kwire_pipeline.gold.view import GoldBuild
    from kwire_pipeline.store.record import CommitRecord

EACH_HOUR = timedelta(days=2)
"""Retention of hourly savepoints; older days keep one. Chosen, not measured: late frames are rarely older."""


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def to_time(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def is_first_of_day(as_of: datetime, hours: Iterable[datetime]) -> bool:
    """Return whether no earlier hour of that day has a savepoint."""
    return not any(hour.date() == as_of.date() and hour < as_of for hour in hours)


def write(
    build: GoldBuild, as_of: datetime, *, partitions: DataFrame, complete: bool, loads: DataFrame, polls: DataFrame
) -> None:
    """Write the savepoint of a time.

    Args:
        build: the build.
        as_of: the time.
        partitions: the result of the fold.
        complete: True if it has all partitions.
        loads: the steps of loads (`broker_load.STEPS`).
        polls: the config polls.
    """
    build.save_partitions(as_of, transitions.to_keep(partitions, microseconds(as_of)), complete=complete)
    loads = broker_load.loads_at(loads, microseconds(as_of)).coalesce(1)
    build.save("broker_loads", as_of, loads, broker_load.STEPS)
    polls = config_changes.polls_for_next_window(polls, as_of).coalesce(1)
    build.save("config_polls", as_of, polls, config_changes.POLLS)


def expired_hours(hours: Iterable[datetime]) -> set[datetime]:
    """Return the hours whose savepoints have expired: of each old day, all but the first."""
    ordered = sorted(hours)
    return {
        hour for earlier, hour in pairwise(ordered) if hour.date() == earlier.date() and hour < ordered[-1] - EACH_HOUR
    }


def incidents_by_hour(gold: dict[str, Any]) -> dict[datetime, datetime]:
    """Return the hours with a savepoint, and the oldest hour whose signals or incidents a build from each needs."""
    return {_parse(hour): _parse(since) for hour, since in gold.get("incidents", {}).items()}


def skew_by_hour(gold: dict[str, Any]) -> dict[datetime, Mapping[PollerClock, int]]:
    """Return the hours with a savepoint, and the clock skew with which each was built."""
    return {
        _parse(hour): {PollerClock._make(clock): skew for *clock, skew in skews}
        for hour, skews in gold.get("skew", {}).items()
    }


def to_progress(
    record: CommitRecord, incidents: dict[datetime, datetime], skew: Mapping[datetime, Mapping[PollerClock, int]]
) -> dict[str, Any]:
    """Return `Progress.gold` after a build that continues a record; the skew of other hours is dropped."""
    return {
        "commit": record.number,
        "incidents": {hour.strftime(STAMP): since.strftime(STAMP) for hour, since in sorted(incidents.items())},
        "skew": {
            hour.strftime(STAMP): [[*clock, micros] for clock, micros in skew.get(hour, {}).items()]
            for hour in sorted(incidents)
        },
        "configs": record.progress.versions.get("silver/configs"),
    }


def _parse(stamp: str) -> datetime:
    return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
