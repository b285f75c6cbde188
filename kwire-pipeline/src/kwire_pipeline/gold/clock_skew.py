"""Clock skew between pollers, measured by changes that several pollers saw.

Silver has the times of the clock that polled each broker. If the clock of one poller is three minutes ahead, every
change that it sees seems to happen three minutes later than for the other pollers. A build corrects the clocks of a
window before anything compares times:

    silver's partitions and polls of the window
      differences()    per cluster: pairs of clocks, by how much one is ahead, and how certain that is
      corrections()    which clocks are right, and the skew of the others; the previous skew decides ties
      Clocks           subtracts the skew when a table of silver is read (`poller_clocks`)

1. *Clocks.* Polls of one poller have one clock (`PollerClock`). Where the poller is unknown, as in most tables of
   others, each broker may have been polled with another clock, so each broker has one.

2. *Differences.* A change of a partition is one event: two clocks that saw it at different times differ by that time.
   Let a change happen at `t`. Poll `p` shows it if it was sent after `t` and the poll before it was not, so `t` lies in
   `(at - interval, at]`, on average half an interval before the response. Therefore

       ahead = (at_2 - at_1) + (interval_1 - interval_2) / 2,  uncertain by (interval_1 + interval_2) / 2 + PROPAGATION

   where `PROPAGATION` is the time in which brokers learn of a change. The median over many changes is the estimate. It
   counts only if a majority of changes agrees with it within the uncertainty: else the "changes" were different events
   with equal reports. A response after a failed poll is not used, because its interval is unknown.

3. *The right clock.* Differences do not tell which clock is right. The clocks that differences connect form a group.
   Each of them is a candidate; the best one is chosen by these criteria, in this order:
   a. It leaves the most clocks at their previous skew. An estimate holds until a later one contradicts it, so an hour
      without changes needs none, and the times of incidents do not jump.
   b. It makes the most clocks right (skew 0): equal clocks are rarely wrong by the same time.
   c. It is nearest the median. Of three clocks at +300, 0, and -300 seconds it is the middle one, so a single clock
      never wins against two others that contradict each other.
   d. Its poller polls most often. This decides between two clocks.

Verdicts on a clock, from window to window:

| verdict | evidence in the window | next |
|---|---|---|
| right (skew 0) | none, or a difference that 0 explains within its uncertainty | right |
| right | a difference that 0 does not explain, and another clock is the right one | skewed |
| skewed by s | none, or a difference that s explains | skewed by s |
| skewed by s | a difference that 0 explains and s does not | right |
| skewed by s | any other difference | skewed by the new estimate |

A clock that is set while polling is not a skew: the poller and the ingest keep the order of its polls (`PollClock` and
`poll_order`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import pairwise
from math import log2
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kwire_pipeline.gold.poller_clocks import PollerClock
from kwire_pipeline.gold.transitions import FINGERPRINT
from kwire_pipeline.gold.voting_periods import METADATA
from kwire_pipeline.in_process import select
from kwire_pipeline.store.record import POLLER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

PROPAGATION = 2_000_000
"""Maximum normal propagation delay between brokers, in microseconds. Measured on the recordings: at most 1.8 s."""

MIN_CHANGES = 3
"""Minimum number of changes at different times for an estimate: of two that contradict each other, neither has a
majority."""

SAMPLE = 20
"""Maximum number of partitions compared for each response. They all have one time, so more say nothing new."""

DIFFERENCES = (
    "cluster_id string, reference_poller string, reference_broker int, poller_id string, broker_id int, skew bigint,"
    " uncertainty bigint, changes int"
)
"""Rows of `Difference`."""


class Difference(NamedTuple):
    """The microseconds by which `clock` is ahead of `reference`, which polls at least as often."""

    reference: PollerClock
    clock: PollerClock
    skew: int
    uncertainty: int
    changes: int

    @classmethod
    def of(cls, row: Iterable[object]) -> Difference:
        """Return a row of `DIFFERENCES` as a difference."""
        cluster_id, reference_poller, reference_broker, poller_id, broker_id, *estimate = row
        reference = PollerClock._make((cluster_id, reference_poller, reference_broker))
        return cls._make((reference, PollerClock._make((cluster_id, poller_id, broker_id)), *estimate))

    def to_row(self) -> tuple[object, ...]:
        """Return the values of `DIFFERENCES`."""
        return (*self.reference, *self.clock[1:], *self[2:])


Reporter: TypeAlias = tuple[str | None, int]
"""A poller and a broker that it polls."""


# 1. Clocks


def has_several_clocks(reporters: Iterable[str]) -> bool:
    """Return whether any cluster is polled with several clocks, from the keys of reporters (`record.reporter_key`)."""
    clocks: dict[str, set[str]] = defaultdict(set)
    for key in reporters:
        broker, separator, poller_id = key.partition(POLLER)
        clocks[broker.rpartition("/")[0]].add(poller_id if separator else key)
    return any(len(own) > 1 for cluster, own in clocks.items() if cluster)


# 2. Differences


def differences(partitions: DataFrame, polls: DataFrame) -> DataFrame:
    """Return the differences between the clocks of each cluster (`DIFFERENCES`).

    Args:
        partitions: rows of silver's `partitions`.
        polls: the polls of the same time.
    """
    reporter = "cluster_id, broker_id, poller_id"
    # Topic ids are left out: old versions of Metadata do not report them.
    changes = select(
        partitions.where("change = 'set'"),
        f"{reporter}, unix_micros(at) AS at, xxhash64(topic, partition, {FINGERPRINT}) AS fingerprint, false AS failed",
    )
    metadata = select(
        polls.where(f"api_key = {METADATA} AND cluster_id <> ''"),
        f"{reporter}, unix_micros(polled_at) AS at, CAST(NULL AS bigint) AS fingerprint, kind = 'error' AS failed",
    )
    return changes.unionByName(metadata).groupBy("cluster_id").applyInArrow(_differences_of_cluster, DIFFERENCES)


def _differences_of_cluster(rows: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    from kwire_pipeline.tables import ddl_schema

    is_poll = pc.is_null(rows["fingerprint"])
    polls, changes = rows.filter(is_poll), rows.filter(pc.invert(is_poll))
    measured: list[Difference] = []
    if changes.num_rows:
        columns = (polls[name].to_pylist() for name in ("poller_id", "broker_id", "at", "failed"))
        measured = compare(rows["cluster_id"][0].as_py(), _sample(changes), PollTimes(zip(*columns, strict=True)))
    schema = ddl_schema(DIFFERENCES)
    values = [dict(zip(schema.names, difference.to_row(), strict=True)) for difference in measured]
    return pa.Table.from_pylist(values, schema)


def _sample(changes: pa.Table) -> dict[int, dict[Reporter, int]]:
    """Return the times of reports about partitions, by their hashes: `{fingerprint: {reporter: at}}`.

    A report that a broker repeats several times cannot be matched with one report of another broker. Of each response,
    the smallest fingerprints are kept, which are the same at all brokers.
    """
    import pyarrow as pa

    keys = ["fingerprint", "poller_id", "broker_id"]
    by_reporter = changes.group_by(keys).aggregate([("at", "min"), ("at", "count")])
    once = by_reporter.filter(pa.compute.equal(by_reporter["at_count"], 1)).sort_by("fingerprint")
    sizes: Counter[tuple[str | None, int, int]] = Counter()
    reports: dict[int, dict[Reporter, int]] = defaultdict(dict)
    columns = (once[name].to_pylist() for name in (*keys, "at_min"))
    for fingerprint, poller_id, broker_id, at in zip(*columns, strict=True):
        sizes[poller_id, broker_id, at] += 1
        if sizes[poller_id, broker_id, at] <= SAMPLE:
            reports[fingerprint][poller_id, broker_id] = at
    return reports


class PollTimes:
    """The times of Metadata polls by poller and broker.

    Args:
        polls: poller, broker, time in microseconds, and whether the poll failed, in any order.
    """

    def __init__(self, polls: Iterable[tuple[str | None, int, int, bool]]) -> None:
        self._times: dict[Reporter, list[int]] = defaultdict(list)
        self._failed: dict[Reporter, list[bool]] = defaultdict(list)
        for poller_id, broker_id, at, failed in sorted(polls, key=lambda poll: poll[2]):
            self._times[poller_id, broker_id].append(at)
            self._failed[poller_id, broker_id].append(failed)

    def interval(self, reporter: Reporter, at: int) -> int | None:
        """Return the microseconds since the poll before; None if that one failed or does not exist.

        Such a response reports how things are, which may have changed long before.
        """
        times = self._times.get(reporter, [])
        position = bisect_left(times, at)
        if position == 0 or position == len(times) or times[position] != at or self._failed[reporter][position - 1]:
            return None
        return at - times[position - 1]

    def usual_interval(self, reporter: Reporter) -> int:
        """Return the logarithm of the usual interval between polls, so that jitter does not decide between clocks."""
        gaps = [later - earlier for earlier, later in pairwise(self._times.get(reporter, [])) if later > earlier]
        return round(log2(median(gaps))) if gaps else 0


def compare(cluster_id: str, changes: Mapping[int, Mapping[Reporter, int]], polls: PollTimes) -> list[Difference]:
    """Return the differences between clocks that saw the same changes (step 2 of the module's text)."""
    clocks = {reporter: PollerClock.of(cluster_id, *reporter) for reports in changes.values() for reporter in reports}
    # The clock that is polled with most often is the reference of a pair; names decide between equals, so that the
    # result does not depend on the order of rows.
    rank: dict[PollerClock, tuple[int, str, int]] = {}
    for reporter, clock in clocks.items():
        own = polls.usual_interval(reporter), clock.poller_id or "", clock.broker_id
        rank[clock] = min(own, rank.get(clock, own))
    # By pair of clocks: the times of a change on both, the difference, and its uncertainty. Partitions that changed in
    # one response have equal times and count once.
    pairs: dict[tuple[PollerClock, PollerClock], dict[tuple[int, int], tuple[float, int]]] = defaultdict(dict)
    for reports in changes.values():
        # A poller saw the change with the first broker that reported it.
        first: dict[PollerClock, tuple[int, Reporter]] = {}
        for reporter, at in reports.items():
            clock = clocks[reporter]
            if clock not in first or at < first[clock][0]:
                first[clock] = at, reporter
        reference, *others = sorted(first, key=lambda clock: rank[clock])
        for clock in others:
            times = first[reference][0], first[clock][0]
            intervals = polls.interval(first[reference][1], times[0]), polls.interval(first[clock][1], times[1])
            if intervals[0] is not None and intervals[1] is not None:
                # A change happened between two polls: half an interval before the response on average.
                middle = times[1] - times[0] + (intervals[0] - intervals[1]) / 2
                pairs[reference, clock][times] = middle, (intervals[0] + intervals[1]) // 2
    # The median of a pair is its difference if a majority of the changes agrees with it.
    measured = []
    for (reference, clock), samples in pairs.items():
        if len(samples) < MIN_CHANGES:
            continue
        skew = round(median(middle for middle, _ in samples.values()))
        uncertainty = round(median(width for _, width in samples.values())) + PROPAGATION
        agreeing = sum(abs(middle - skew) <= uncertainty for middle, _ in samples.values())
        if 2 * agreeing > len(samples):
            measured.append(Difference(reference, clock, skew, uncertainty, len(samples)))
    return measured


# 3. The right clock


def corrections(measured: Iterable[Difference], previous: Mapping[PollerClock, int]) -> dict[PollerClock, int]:
    """Return the skew in microseconds of clocks that are not right.

    Args:
        measured: differences between pairs of clocks.
        previous: the skew so far. Clocks without a difference keep it, and so do clocks whose difference it explains.
    """
    by_cluster: dict[str, list[Difference]] = defaultdict(list)
    for difference in measured:
        by_cluster[difference.clock.cluster_id].append(difference)
    skews = dict(previous)
    for cluster_differences in by_cluster.values():
        for offsets in _connected(cluster_differences):
            skews |= _skews(offsets, previous)
    return {clock: skew for clock, skew in skews.items() if skew}


class _Offset(NamedTuple):
    """The microseconds by which a clock is ahead of the first clock of its group, and their uncertainty."""

    ahead: int
    uncertainty: int


def _connected(measured: list[Difference]) -> list[dict[PollerClock, _Offset]]:
    """Return the groups of clocks that are connected by differences, with their offsets to the first clock.

    References come first in each group: their pollers poll at least as often as the others.
    """
    groups: list[dict[PollerClock, _Offset]] = []
    # Differences of many changes first: a clock that has several is connected by the best one.
    remaining = sorted(measured, key=lambda difference: -difference.changes)
    while remaining:
        group = _reachable(remaining[0].reference, remaining)
        remaining = [difference for difference in remaining if difference.reference not in group]
        groups.append(group)
    return groups


def _reachable(first: PollerClock, measured: Sequence[Difference]) -> dict[PollerClock, _Offset]:
    """Return the clocks that differences connect with the first one, and their offsets to it."""
    group = {first: _Offset(0, PROPAGATION)}
    size = 0
    while size < len(group):  # until no difference leads to another clock
        size = len(group)
        for reference, clock, skew, uncertainty, _ in measured:
            if reference in group and clock not in group:
                group[clock] = _Offset(group[reference].ahead + skew, uncertainty)
            elif clock in group and reference not in group:
                group[reference] = _Offset(group[clock].ahead - skew, uncertainty)
    return group


def _skews(offsets: Mapping[PollerClock, _Offset], previous: Mapping[PollerClock, int]) -> dict[PollerClock, int]:
    """Return the skew of each clock of a group (step 3 of the module's text)."""

    def skew_of(clock: PollerClock, right: int) -> int:
        """Return the skew if the right clock is ahead by `right`: preferably the previous one, then 0."""
        ahead, uncertainty = offsets[clock]
        plausible = (previous.get(clock, 0), 0)
        return next((skew for skew in plausible if abs(ahead - right - skew) <= uncertainty), ahead - right)

    # Candidates whose distance from the median is within the uncertainty are equally near.
    resolution = max(offset.uncertainty for offset in offsets.values())
    middle = median(offset.ahead - previous.get(clock, 0) for clock, offset in offsets.items())

    def preference(candidate: PollerClock) -> tuple[int, int, float]:
        right = offsets[candidate].ahead - previous.get(candidate, 0)
        skews = {clock: skew_of(clock, right) for clock in offsets}
        unchanged = sum(skew == previous.get(clock, 0) for clock, skew in skews.items())
        distance = max(0, abs(right - middle) - resolution)
        return unchanged, sum(skew == 0 for skew in skews.values()), -distance  # criteria a, b, and c

    # Criterion d: of equally good candidates, `max` takes the first, which polls at least as often as the others.
    best = max(offsets, key=preference)
    right = offsets[best].ahead - previous.get(best, 0)
    return {clock: skew_of(clock, right) for clock in offsets}
