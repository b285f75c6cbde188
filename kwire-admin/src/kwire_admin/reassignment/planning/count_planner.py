"""The assignment that adds the fewest replicas, as a min-cost flow.

    partition -> (partition, rack) -> broker -> sink

One unit of flow is one replica, so every flow is an assignment and its cost is the number of new replicas:

    partition                    supplies its replication factor
    -> (partition, rack)         capacity: `rack_bounds`; left out if racks do not matter
    -> broker                    capacity 1, as a broker has a partition once; cost 0 for a replica that stays, 1 for a
                                 new one
    -> sink                      convex cost: 0 within the bounds of the broker, then rising with each replica

Capacities are integers, so there is an optimal flow of integers. The bounds of brokers are costs instead of capacities,
because racks and drained brokers can make them unreachable: the best result outside of them is still a plan. Their
penalty exceeds the cost of any correction (`Network.add_bounded_demand`), so balance comes before few moves.

A network of all partitions and brokers is too large for a large cluster. A search therefore goes through widths:

    sampled     partitions on brokers with too many replicas, and random brokers with too few. Partitions outside of
                the network keep their replicas. The result is optimal if it adds no more replicas than `least_added` of
                `count_bounds`; otherwise the next width has more arcs. A sample without a feasible flow proves nothing.
    complete    all partitions and brokers: optimal by itself, infeasible for certain. Skipped above FULL_NETWORK_ARCS;
                then the best sampled result counts, and the plan reports its distance to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.errors import InfeasiblePlan
from kwire_admin.reassignment.planning.bounds import (
    CountBounds,
    count_bounds,
    kept_replicas,
    rack_bounds,
    rack_counts,
    staying_replicas,
)
from kwire_admin.reassignment.planning.network import Network
from kwire_admin.reassignment.planning.placement import NONE, counts_of

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Ints, Placement

FULL_NETWORK_ARCS = 6_000_000
"""Maximum number of arcs of a complete network; measured: it takes a minute and a gigabyte."""
SEED = 20260101
"""Seed of the random candidates: equal input gives an equal plan."""


@dataclass(frozen=True, slots=True)
class CountResult:
    """New replicas.

    Attributes:
        replicas: brokers by row, like `Placement.replicas`.
        added: number of replicas added.
        bound: lower bound of `added` for equally even assignments.
        within_bounds: true if every broker is within its bounds.
    """

    replicas: Ints
    added: int
    bound: int
    within_bounds: bool


@dataclass(frozen=True, slots=True)
class _SearchWidth:
    """Width of a search: the number of arcs of its network.

    Attributes:
        surplus: partitions considered for each replica that a broker has too many; None for all partitions.
        destinations: brokers drawn for each of these replicas; None for all brokers.
    """

    surplus: int | None
    destinations: int | None


SEARCH_WIDTHS = (_SearchWidth(1, 2), _SearchWidth(3, 3), _SearchWidth(20, 6), _SearchWidth(None, None))
"""Widths in the order of attempts; chosen by the measurements in docs/design/reassignments.md."""


def plan_counts(placement: Placement, *, balanced: bool) -> CountResult:
    """Return the assignment with the fewest new replicas.

    Args:
        balanced: see `count_bounds`.

    Raises:
        InfeasiblePlan: no assignment fulfills the bounds of racks.
    """
    racks = rack_bounds(placement) if placement.rack_aware else None
    low, high = racks or (None, None)
    bounds = count_bounds(placement, low, high, balanced=balanced)
    # Each width solves its own network: flows of a narrower one cannot be continued, because arcs were missing.
    best: CountResult | None = None
    for width in SEARCH_WIDTHS:
        complete = width.surplus is None
        if complete and len(placement.replicas) * int(placement.is_target.sum()) > FULL_NETWORK_ARCS:
            break
        try:
            result = _Attempt(placement, bounds, racks, width).solve()
        except InfeasiblePlan:
            if complete:
                raise
            continue  # the sample may lack a broker that a rack needs
        if best is None or (result.within_bounds, -result.added) > (best.within_bounds, -best.added):
            best = result
        if complete:
            return CountResult(result.replicas, result.added, result.added, result.within_bounds)
        if result.within_bounds and result.added == result.bound:
            return result
    if best is None:
        raise InfeasiblePlan("no assignment within the bounds of racks was found")
    return best


class _Attempt:
    """One network."""

    def __init__(
        self, placement: Placement, bounds: CountBounds, racks: tuple[Ints, Ints] | None, width: _SearchWidth
    ) -> None:
        self._placement = placement
        self._bounds = bounds
        self._racks = racks
        self._width = width
        self._kept = kept_replicas(placement)
        self._stay = counts_of(staying_replicas(placement), placement.brokers)
        self._random = np.random.default_rng(SEED)
        self._network = Network()

    def solve(self) -> CountResult:
        """Return the flow as replicas."""
        rows, candidate_rows, candidate_brokers = self._candidates()
        placement, network = self._placement, self._network
        if not len(rows):
            return self._result(placement.replicas, 0)
        # Arcs from rows to brokers: first the replicas that may stay, for free, then candidates for new ones. The flows
        # below have the same order.
        position = np.full(len(placement.replicas), NONE, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        may_stay = self._kept[rows]
        staying_rows, staying_columns = np.nonzero(may_stay)
        staying_brokers = placement.replicas[rows][staying_rows, staying_columns]
        tails = np.concatenate([staying_rows, position[candidate_rows]])
        heads = np.concatenate([staying_brokers, candidate_brokers])
        costs = np.concatenate([np.zeros(len(staying_rows), np.int64), np.ones(len(candidate_rows), np.int64)])
        supplies = placement.factors[rows].copy()
        broker_node, arc_tails, sink = self._rack_layer(rows, tails, heads, supplies)
        arcs = network.add_arcs(arc_tails, heads + broker_node, 1, costs)
        self._broker_arcs(rows, may_stay, broker_node, sink)
        network.solve()
        # A unit on an arc is a replica: of the first arcs, one that stays, of the others, one that is added.
        flows = network.flows(arcs)
        stays = np.zeros(may_stay.shape, dtype=np.bool_)
        stays[staying_rows, staying_columns] = flows[: len(staying_rows)] > 0
        taken = flows[len(staying_rows) :] > 0
        replicas = placement.replicas.copy()
        replicas[rows] = replaced(
            placement.replicas[rows], stays, position[candidate_rows][taken], candidate_brokers[taken]
        )
        return self._result(replicas, int(taken.sum()))

    def _result(self, replicas: Ints, added: int) -> CountResult:
        counts = counts_of(replicas, self._placement.brokers)
        within = bool(((counts >= self._bounds.lowest) & (counts <= self._bounds.highest)).all())
        return CountResult(replicas, added, self._bounds.least_added, within)

    def _candidates(self) -> tuple[Ints, Ints, Ints]:
        """Return the rows of the network, and the rows and brokers of its arcs for new replicas."""
        placement, width = self._placement, self._width
        kept_counts = self._kept.sum(axis=1)
        if width.surplus is None:
            rows = np.arange(len(placement.replicas))
            targets = np.nonzero(placement.is_target)[0]
            # Every row with every target broker.
            pairs = np.repeat(rows, len(targets)), np.tile(targets, len(rows))
            return rows, *self._without_present(*pairs)
        # Rows with too many replicas choose which ones go; rows with too few need brokers.
        changed = np.nonzero(kept_counts != placement.factors)[0]
        lacking = np.nonzero(kept_counts < placement.factors)[0]
        sources = self._rows_of_surplus(width.surplus)
        # Brokers are drawn in proportion to their room below the bound, and evenly if no broker has room.
        weights = np.where(placement.is_target, np.maximum(self._bounds.highest - self._stay, 0), 0).astype(float)
        if not weights.any():
            weights = placement.is_target.astype(float)
        drawn = width.destinations or placement.brokers
        more = drawn + int((placement.factors - kept_counts).max(initial=0))
        # A row that lacks replicas needs brokers in racks with room, or the flow is infeasible. A row that only gives
        # up a replica can keep it, so any brokers do.
        placing_rows, placing_brokers = self._draw_by_rack(lacking, more)
        moving_rows = np.repeat(sources, drawn)
        moving_brokers = self._random.choice(placement.brokers, size=len(moving_rows), p=weights / weights.sum())
        candidate_rows, candidate_brokers = self._without_present(
            np.concatenate([placing_rows, moving_rows]), np.concatenate([placing_brokers, moving_brokers])
        )
        rows = np.unique(np.concatenate([changed, sources, candidate_rows]))
        return rows, candidate_rows, candidate_brokers

    def _draw_by_rack(self, rows: Ints, times: int) -> tuple[Ints, Ints]:
        """Return brokers for rows that lack replicas, some of each rack with room for the row."""
        placement = self._placement
        if self._racks is None:
            room: Flags = np.ones((len(rows), 1), dtype=np.bool_)
            members = [placement.is_target]
        else:
            staying = np.where(self._kept[rows], placement.replicas[rows], NONE)
            room = self._racks[1][rows] > rack_counts(staying, placement.racks, placement.rack_count)
            members = [placement.is_target & (placement.racks == rack) for rack in range(placement.rack_count)]
        # The small constant gives brokers without room a chance: a rack may have no others.
        all_rows, all_brokers = [], []
        for rack, flags in enumerate(members):
            brokers = np.nonzero(flags)[0]
            drawn_rows = np.repeat(rows[room[:, rack]], min(times, len(brokers)))
            if len(drawn_rows):
                weights = np.maximum(self._bounds.highest - self._stay, 0)[brokers] + 1e-3
                all_rows.append(drawn_rows)
                all_brokers.append(self._random.choice(brokers, size=len(drawn_rows), p=weights / weights.sum()))
        nothing = np.empty(0, dtype=np.int64)
        return np.concatenate([nothing, *all_rows]), np.concatenate([nothing, *all_brokers])

    def _rows_of_surplus(self, factor: int) -> Ints:
        """Return rows with a replica on a broker that has more than its share, some for each surplus replica."""
        placement = self._placement
        surplus = np.maximum(self._stay - self._bounds.lowest, 0)
        # A broker within its bounds can give up one replica to a broker below them.
        surplus[self._stay <= self._bounds.highest] = np.minimum(surplus, 1)[self._stay <= self._bounds.highest]
        if not self._bounds.lowest.any():  # nothing is balanced: only missing replicas are placed
            return np.empty(0, dtype=np.int64)
        rows, columns = np.nonzero(self._kept)
        brokers = placement.replicas[rows, columns]
        # On average `factor` rows for each surplus replica, and 20 more, so that a small surplus has a choice as well.
        share = np.minimum((surplus * factor + 20 * (surplus > 0)) / np.maximum(self._stay, 1), 1.0)
        return np.unique(rows[self._random.random(len(rows)) < share[brokers]])

    def _without_present(self, rows: Ints, brokers: Ints) -> tuple[Ints, Ints]:
        """Return the pairs of row and broker once each, without brokers that the row may keep."""
        placement = self._placement
        pairs = np.unique(rows * placement.brokers + brokers)
        rows, brokers = pairs // placement.brokers, pairs % placement.brokers
        present = ((placement.replicas[rows] == brokers[:, None]) & self._kept[rows]).any(axis=1)
        if self._racks is not None:
            present |= self._racks[1][rows, placement.racks[brokers]] <= 0
        return rows[~present], brokers[~present]

    def _rack_layer(self, rows: Ints, tails: Ints, heads: Ints, supplies: Ints) -> tuple[int, Ints, int]:
        """Add the nodes of racks. Return the first node of brokers, the tails of the arcs to brokers, and the sink."""
        placement, network = self._placement, self._network
        count = len(rows)
        if self._racks is None:
            sink = count + placement.brokers
            network.add_supplies(np.arange(count), supplies)
            return count, tails, sink
        low, high = (rack[rows] for rack in self._racks)
        # One node for each pair of row and rack that an arc uses.
        of_arcs = tails * placement.rack_count + placement.racks[heads]
        used, nodes = np.unique(of_arcs, return_inverse=True)
        used_rows, used_racks = used // placement.rack_count, used % placement.rack_count
        least, most = low[used_rows, used_racks], high[used_rows, used_racks]
        network.add_arcs(used_rows, count + np.arange(len(used)), most - least, 0)
        # A lower bound is a part of the supply that has passed the arc already.
        np.subtract.at(supplies, used_rows, least)
        network.add_supplies(np.arange(count), supplies)
        network.add_supplies(count + np.arange(len(used)), least)
        first = count + len(used)
        return first, count + nodes, first + placement.brokers

    def _broker_arcs(self, rows: Ints, may_stay: Flags, first: int, sink: int) -> None:
        """Add the arcs from brokers to the sink, with convex cost: 0 within the bounds, then rising with each replica.

        Replicas of rows outside of the network stay, so they are subtracted from the bounds.
        """
        placement, network = self._placement, self._network
        inside = counts_of(np.where(may_stay, placement.replicas[rows], NONE), placement.brokers)
        elsewhere = self._stay - inside
        lowest = np.maximum(self._bounds.lowest - elsewhere, 0)
        highest = np.maximum(self._bounds.highest - elsewhere, 0)
        network.add_bounded_demand(first, sink, lowest, highest, int(placement.factors[rows].sum()))


def replaced(replicas: Ints, stays: Flags, added_rows: Ints, added_brokers: Ints) -> Ints:
    """Return rows with new brokers at the positions of leaving ones: a preferred leader that stays is still first.

    Args:
        replicas: brokers by row.
        stays: mask of the entries that stay.
        added_rows: the rows of new brokers, in ascending order.
        added_brokers: the new brokers.
    """
    result = np.where(stays, replicas, NONE)
    if len(added_rows):
        # The n-th new broker of a row goes to its n-th free place.
        places = np.cumsum(~stays, axis=1) - 1
        order = np.arange(len(added_rows)) - np.searchsorted(added_rows, added_rows)
        columns = ((places[added_rows] == order[:, None]) & ~stays[added_rows]).argmax(axis=1)
        result[added_rows, columns] = added_brokers
    gaps_last = np.argsort(result == NONE, axis=1, kind="stable")
    return np.take_along_axis(result, gaps_last, axis=1)


def preserves_rack_spread(placement: Placement, replicas: Ints) -> Flags:
    """Return by row whether the replicas are in as many racks as before, or as the replication factor allows."""
    before = (rack_counts(placement.replicas, placement.racks, placement.rack_count) > 0).sum(axis=1)
    after = (rack_counts(replicas, placement.racks, placement.rack_count) > 0).sum(axis=1)
    return np.asarray(after >= np.minimum(before, placement.factors), dtype=np.bool_)
