"""The state of gold at the beginning of hours, from which builds continue.

`gold/_last_reports` has each broker's last report about each partition, `gold/_agreed` the agreed states, and
`gold/_config_polls` the times at which brokers reported configs, each partitioned by `as_of`, the hour. `Progress.gold`
has the number of the last `commit` that is in gold and, for each of these hours, the one from which incidents must be
diagnosed again because some have not ended (`incidents`), and the clock skew that was corrected (`skew`). A build
continues from the newest state before the oldest poll of later commits. Older states are thinned out: a late frame then
costs more.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from kwire.spark.gold import config_changes, transitions
from kwire.spark.gold.view import STAMP

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from kwire.spark.gold.clock_skew import Broker
    from kwire.spark.gold.view import GoldBuild

EACH_HOUR = timedelta(days=2)
"""How long the state of every hour is kept; of older days, only the first is."""


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


def micros(time: datetime) -> int:
    return round(time.timestamp() * 1_000_000)


def to_time(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def keep(
    build: GoldBuild, as_of: datetime, *, last_reports: DataFrame, agreed: DataFrame, config_polls: DataFrame
) -> None:
    """Write the state at a time, from what is older."""
    bound = f.lit(micros(as_of))
    build.keep_state("last_reports", as_of, last_reports)
    held = agreed.where((f.col("since") < bound) & (f.col("until").isNull() | (f.col("until") >= bound)))
    held = held.withColumn("reports", f.filter("reports", lambda report: report["at"] < bound))
    build.keep_state("agreed", as_of, transitions.to_resume(held))
    build.keep_state("config_polls", as_of, config_changes.polls_to_keep(config_polls, as_of).coalesce(1))


def superfluous(hours: Iterable[datetime]) -> set[datetime]:
    """Return the old hours of which the state is not kept: of each day, all but the first."""
    ordered = sorted(hours)
    return {
        hour for earlier, hour in pairwise(ordered) if hour.date() == earlier.date() and hour < ordered[-1] - EACH_HOUR
    }


def incidents_by_hour(gold: dict[str, Any]) -> dict[datetime, datetime]:
    """Return the hours with a state, and from which on each diagnoses incidents again."""
    return {_parse(hour): _parse(since) for hour, since in gold.get("incidents", {}).items()}


def skew_by_hour(gold: dict[str, Any]) -> dict[datetime, Mapping[Broker, int]]:
    """Return the hours with a state, and the clock skew with which each was built."""
    return {
        _parse(hour): {(cluster, broker): skew for cluster, broker, skew in skews}
        for hour, skews in gold.get("skew", {}).items()
    }


def to_progress(
    commit: int, incidents: dict[datetime, datetime], skew: Mapping[datetime, Mapping[Broker, int]]
) -> dict[str, Any]:
    """Return `Progress.gold`; the skew of hours that are not in `incidents` is dropped."""
    return {
        "commit": commit,
        "incidents": {hour.strftime(STAMP): since.strftime(STAMP) for hour, since in sorted(incidents.items())},
        "skew": {
            hour.strftime(STAMP): [[*broker, micros] for broker, micros in skew.get(hour, {}).items()]
            for hour in sorted(incidents)
        },
    }


def _parse(stamp: str) -> datetime:
    return datetime.strptime(stamp, STAMP).replace(tzinfo=UTC)
