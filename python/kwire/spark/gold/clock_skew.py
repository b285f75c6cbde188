"""Clock skew between pollers: estimated from changes that several brokers reported, and corrected while gold is built.

Silver has the times of the clock that polled each broker. If one poller's clock is three minutes ahead, every change
that its brokers report seems to happen three minutes later than at the other brokers. Gold therefore compares when two
brokers reported the same state of a partition, and subtracts the difference that most changes have in common.

- A difference that poll intervals and propagation explain is not a skew.
- Differences say nothing about the right time: the clock of most brokers of a cluster is taken as right.
- An estimate holds until a later one contradicts it, so an hour without changes needs none.
- A skew beyond a bound is not corrected but logged: that far apart, equal states may be different events.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as f

from kwire.spark.gold.tables import GoldTable
from kwire.spark.gold.voting_periods import METADATA
from kwire.spark.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

MAX_SKEW = timedelta(minutes=10)
"""Up to which skew clocks are corrected by default."""

PROPAGATION = 2_000_000
"""How much later a broker may report a change than another one, in microseconds, without a skew."""

FEWEST_CHANGES = 3
"""How many changes at different times an estimate needs."""

SAMPLE = 20
"""How many partitions of one response are compared."""

TABLE = GoldTable(
    "clock_skew",
    "Brokers that are polled with another clock than most brokers of their cluster.",
    (
        Column("cluster_id", "string", "the cluster"),
        Column("broker_id", "int", "the broker that is polled"),
        Column("at", "timestamp", "until when gold was built with it", "UTC"),
        Column("skew_ms", "bigint", "how far its poller's clock is ahead of that of most brokers", "ms"),
        Column("corrected", "boolean", "whether gold corrects it; false beyond the bound"),
    ),
)

DIFFERENCES = "cluster_id string, reference int, broker_id int, skew bigint, uncertainty bigint, changes int"
"""Differences between two brokers: how far `broker_id` is ahead of `reference`, in microseconds."""

Broker = tuple[str, int]
"""A cluster and a broker."""


class Difference(NamedTuple):
    """A row of `DIFFERENCES`."""

    cluster_id: str
    reference: int
    broker_id: int
    skew: int
    uncertainty: int
    changes: int


def differences(partitions: DataFrame, polls: DataFrame) -> DataFrame:
    """Return how far the clocks of brokers are apart (`DIFFERENCES`).

    Args:
        partitions: rows of silver's `partitions`.
        polls: the polls of the same time.
    """
    lists = [f.col("replicas"), f.sort_array("isr"), f.sort_array("offline")]
    sized = [part for values in lists for part in (f.size(values), values)]
    # Topic ids are left out: old versions of Metadata do not report them.
    state = f.xxhash64("topic", "partition", "leader", "leader_epoch", "error_code", *sized)
    changes = partitions.where(f.col("change") == "set").select(
        "cluster_id", "broker_id", f.unix_micros("at").alias("at"), state.alias("state"), f.lit(False).alias("failed")
    )
    metadata = polls.where((f.col("api_key") == METADATA) & (f.col("cluster_id") != "")).select(
        "cluster_id",
        "broker_id",
        f.unix_micros("polled_at").alias("at"),
        f.lit(None).cast("bigint").alias("state"),
        (f.col("kind") == "error").alias("failed"),
    )
    return changes.unionByName(metadata).groupBy("cluster_id").applyInArrow(_differences_of_cluster, DIFFERENCES)


def _differences_of_cluster(rows: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_poll = pc.is_null(rows["state"])
    polls, changes = rows.filter(is_poll), rows.filter(pc.invert(is_poll))
    found: list[Difference] = []
    if changes.num_rows:
        responses = Responses(zip(*(polls[name].to_pylist() for name in ("broker_id", "at", "failed")), strict=True))
        found = compare(rows["cluster_id"][0].as_py(), _sample(changes), responses)
    types = [pa.string(), pa.int32(), pa.int32(), pa.int64(), pa.int64(), pa.int32()]
    columns = list(zip(*found, strict=True)) or [()] * len(types)
    arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
    return pa.table(arrays, names=list(Difference._fields))


def _sample(changes: pa.Table) -> dict[int, dict[int, int]]:
    """Return when brokers reported states: `{state: {broker: at}}`.

    A state that a broker reported several times cannot be assigned to those of other brokers. Of each response, the
    states with the smallest hashes are kept, which are the same ones at all brokers.
    """
    import pyarrow as pa

    once = changes.group_by(["state", "broker_id"]).aggregate([("at", "min"), ("at", "count")])
    ordered = once.filter(pa.compute.equal(once["at_count"], 1)).sort_by("state")
    kept: Counter[tuple[int, int]] = Counter()
    states: dict[int, dict[int, int]] = defaultdict(dict)
    columns = (ordered[name].to_pylist() for name in ("state", "broker_id", "at_min"))
    for state, broker, at in zip(*columns, strict=True):
        kept[broker, at] += 1
        if kept[broker, at] <= SAMPLE:
            states[state][broker] = at
    return states


class Responses:
    """When brokers responded to Metadata polls, and when they had responded before."""

    def __init__(self, polls: Iterable[tuple[int, int, bool]]) -> None:
        self._times: dict[int, list[int]] = defaultdict(list)
        self._failed: dict[int, list[bool]] = defaultdict(list)
        for broker, at, failed in sorted(polls):
            self._times[broker].append(at)
            self._failed[broker].append(failed)

    def interval(self, broker: int, at: int) -> int | None:
        """Return the time since the poll before; None if that one failed or does not exist.

        Such a response reports how things are, which may have changed long before.
        """
        times = self._times.get(broker, [])
        place = bisect_left(times, at)
        if place == 0 or place == len(times) or times[place] != at or self._failed[broker][place - 1]:
            return None
        return at - times[place - 1]


def compare(cluster_id: str, states: Mapping[int, Mapping[int, int]], responses: Responses) -> list[Difference]:
    """Return the differences between brokers that reported the same changes."""
    pairs: dict[tuple[int, int], dict[tuple[int, int], tuple[float, int]]] = defaultdict(dict)
    for reports in states.values():
        brokers = sorted(reports)
        for broker in brokers[1:]:
            reference = brokers[0]
            times = reports[reference], reports[broker]
            intervals = responses.interval(reference, times[0]), responses.interval(broker, times[1])
            if intervals[0] is not None and intervals[1] is not None:
                # A change happened between two polls: half an interval before the response on average.
                middle = times[1] - times[0] + (intervals[0] - intervals[1]) / 2
                pairs[reference, broker][times] = middle, (intervals[0] + intervals[1]) // 2
    found = []
    for (reference, broker), samples in pairs.items():
        if len(samples) < FEWEST_CHANGES:
            continue
        skew = round(median(middle for middle, _ in samples.values()))
        uncertainty = round(median(width for _, width in samples.values())) + PROPAGATION
        agreeing = sum(abs(middle - skew) <= uncertainty for middle, _ in samples.values())
        if 2 * agreeing > len(samples):
            found.append(Difference(cluster_id, reference, broker, skew, uncertainty, len(samples)))
    return found


def settle(found: Iterable[Difference], known: Mapping[Broker, int]) -> dict[Broker, int]:
    """Return the skew of brokers in microseconds, without those that have none.

    Args:
        found: differences between pairs of brokers.
        known: the skew so far. It is kept for brokers without a difference, and where a difference does not contradict.
    """
    by_cluster: dict[str, list[Difference]] = defaultdict(list)
    for difference in found:
        by_cluster[difference.cluster_id].append(difference)
    settled = {broker: skew for broker, skew in known.items() if broker[0] not in by_cluster}
    for cluster_id, its in by_cluster.items():
        before = {broker: skew for (cluster, broker), skew in known.items() if cluster == cluster_id}
        now = dict(before)
        for connected in _connected(its):
            now |= _anchored(connected, before)
        settled |= {(cluster_id, broker): skew for broker, skew in now.items() if skew}
    return settled


def _connected(found: list[Difference]) -> list[dict[int, tuple[int, int]]]:
    """Return groups of brokers: how far each is ahead of the first one of its group, and the uncertainty of that."""
    groups: list[dict[int, tuple[int, int]]] = []
    left = sorted(found, key=lambda each: -each.changes)
    while left:
        group = {left[0].reference: (0, PROPAGATION)}
        grown = True
        while grown:
            grown = False
            for each in left:
                if each.reference in group and each.broker_id not in group:
                    group[each.broker_id] = group[each.reference][0] + each.skew, each.uncertainty
                    grown = True
                elif each.broker_id in group and each.reference not in group:
                    group[each.reference] = group[each.broker_id][0] - each.skew, each.uncertainty
                    grown = True
        left = [each for each in left if each.reference not in group]
        groups.append(group)
    return groups


def _anchored(group: Mapping[int, tuple[int, int]], before: Mapping[int, int]) -> dict[int, int]:
    """Return the skew of each broker of a group, with the zero that changes and skews the fewest."""

    def settled(broker: int, zero: int) -> int:
        ahead, uncertainty = group[broker]
        known = before.get(broker, 0)
        return next((each for each in (known, 0) if abs(ahead - zero - each) <= uncertainty), ahead - zero)

    def plausibility(zero: int) -> tuple[int, int]:
        skews = {broker: settled(broker, zero) for broker in group}
        unchanged = sum(skew == before.get(broker, 0) for broker, skew in skews.items())
        return unchanged, sum(skew == 0 for skew in skews.values())

    zeros = [group[broker][0] - before.get(broker, 0) for broker in sorted(group)]
    zero = max(zeros, key=plausibility)
    return {broker: settled(broker, zero) for broker in group}


@dataclass(frozen=True)
class Clocks:
    """The skew of brokers in a window, and before it.

    Attributes:
        skew: in microseconds, by cluster and broker.
        before: the same for the rows before the window, which are in the state that the window continues.
        start: the beginning of the window; None is the beginning of the history.
        bound: a larger skew is not corrected.
    """

    skew: Mapping[Broker, int] = field(default_factory=dict)
    before: Mapping[Broker, int] = field(default_factory=dict)
    start: datetime | None = None
    bound: timedelta = MAX_SKEW

    @property
    def is_skewed(self) -> bool:
        """Whether any time is corrected."""
        return any(self._is_corrected(skew) for skew in (*self.skew.values(), *self.before.values()))

    def days_of(self, start: datetime | None, stop: datetime | None) -> tuple[datetime | None, datetime | None]:
        """Return the window in which rows of a window may be, by their own clocks."""
        margin = self.bound if self.is_skewed else timedelta(0)
        return start and start - margin, stop and stop + margin

    def correct(self, spark: SparkSession, rows: DataFrame, time: str) -> DataFrame:
        """Return rows of silver with the times of the right clock, and the dates of these times.

        Every row stays on the side of `start` on which it was when the state at `start` was built, whatever the skew
        was then: no change is lost between two windows, or counted in both.
        """
        if not self.is_skewed:
            return rows
        brokers = sorted({*self.skew, *self.before})
        known = [(*broker, self._applied(self.skew, broker), self._applied(self.before, broker)) for broker in brokers]
        clocks = spark.createDataFrame(known, "cluster_id string, broker_id int, skew bigint, skew_before bigint")
        at = f.unix_micros(time)
        now = at - f.coalesce("skew", f.lit(0))
        if self.start is not None and self.skew != self.before:
            edge = f.lit(round(self.start.timestamp() * 1_000_000))
            is_after = at - f.coalesce("skew_before", f.lit(0)) >= edge
            now = f.when(is_after, f.greatest(now, edge)).otherwise(f.least(now, edge - 1))
        joined = rows.join(f.broadcast(clocks), ["cluster_id", "broker_id"], "left")
        timed = joined.withColumn(time, f.timestamp_micros(now))
        return timed.withColumn("date", f.date_format(time, "yyyy-MM-dd")).select(*rows.columns)

    def range_of(self, first: datetime, last: datetime) -> tuple[datetime, datetime]:
        """Return the range of the right times of polls that have `first` to `last` by their own clocks."""
        corrected = [timedelta(microseconds=skew) for skew in self.skew.values() if self._is_corrected(skew)]
        zero = timedelta(0)
        return first - max([*corrected, zero]), last - min([*corrected, zero])

    def rows(self, at: datetime) -> list[tuple[str, int, datetime, int, bool]]:
        """Return the rows of `TABLE`."""
        return [
            (*broker, at, round(skew / 1000), self._is_corrected(skew)) for broker, skew in sorted(self.skew.items())
        ]

    def warn(self) -> None:
        """Log every skew that is too large to be corrected."""
        for (cluster_id, broker_id), skew in sorted(self.skew.items()):
            if not self._is_corrected(skew):
                log.warning(
                    "the clock that polls broker %d of cluster %r is %.0f s %s that of most brokers, and at most %.0f s"
                    " are corrected: its changes have wrong times, and incidents may be wrong",
                    broker_id,
                    cluster_id,
                    abs(skew) / 1e6,
                    "ahead of" if skew > 0 else "behind",
                    self.bound.total_seconds(),
                )

    def _is_corrected(self, skew: int) -> bool:
        return abs(skew) <= self.bound // timedelta(microseconds=1)

    def _applied(self, skews: Mapping[Broker, int], broker: Broker) -> int:
        skew = skews.get(broker, 0)
        return skew if self._is_corrected(skew) else 0
