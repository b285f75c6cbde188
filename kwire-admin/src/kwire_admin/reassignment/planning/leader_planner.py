"""The order of replicas, whose first is the preferred leader.

An order costs no data. The assignment with the fewest new leaders under even loads is a min-cost flow from partitions
to their replicas. Like replicas, it is first solved for the rows that can help, and then for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kwire_admin.reassignment.planning.bounds import target_loads
from kwire_admin.reassignment.planning.network import Network
from kwire_admin.reassignment.planning.placement import NONE, counts_of

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Ints, Placement

ROUNDING = 1e-6
"""Tolerance: shares this close to an integer are rounded to it."""
SEED = 20260102
"""Seed of the random rows: equal input gives an equal plan."""


class LeaderResult(NamedTuple):
    """Replicas in a new order.

    Attributes:
        replicas: brokers by row, the preferred leader first.
        balanced: true if every broker leads its share.
        changed: rows with another preferred leader than before.
    """

    replicas: Ints
    balanced: bool
    changed: int


def plan_leaders(placement: Placement, replicas: Ints) -> LeaderResult:
    """Return rows of replicas with the preferred leaders first, so that leaders are spread evenly.

    Args:
        replicas: brokers by row, after the other goals.
    """
    lost = ~(replicas == placement.replicas[:, :1]).any(axis=1)
    leading = counts_of(placement.replicas[~lost, :1], placement.brokers)
    lowest, highest = _shares(placement, replicas)
    bound = int(lost.sum() + np.maximum(leading - highest, 0).sum())
    surplus = np.maximum(leading - lowest, 0)
    random = np.random.default_rng(SEED)
    # As in `count_planner`: first a sample of the rows of overloaded leaders, sufficient if the result meets the bound.
    for factor in (1, 4):
        share = np.minimum((surplus * factor + 20 * (surplus > 0)) / np.maximum(leading, 1), 1.0)
        rows = np.nonzero(lost | (random.random(len(replicas)) < share[placement.replicas[:, 0]]))[0]
        result = _Choice(placement, replicas, lowest, highest, rows).solve()
        if result.balanced and result.changed <= bound:
            return result
    return _Choice(placement, replicas, lowest, highest, np.arange(len(replicas))).solve()


def _shares(placement: Placement, replicas: Ints) -> tuple[Ints, Ints]:
    """Return the least and the largest number of leaders by broker."""
    usable = np.where(_usable(placement, replicas), replicas, NONE)
    own = np.arange(placement.brokers)
    most = counts_of(usable, placement.brokers)
    shares = target_loads(placement.base_leaders, most, own, np.zeros(len(own)), most, len(replicas))
    shares -= placement.base_leaders
    return np.floor(shares + ROUNDING).astype(np.int64), np.ceil(shares - ROUNDING).astype(np.int64)


def _usable(placement: Placement, replicas: Ints) -> Flags:
    """Return the mask of replicas that may lead: on target brokers, or all of a row without one."""
    present: Flags = replicas != NONE
    usable = present.copy()
    usable[present] = placement.is_target[replicas[present]]
    without = ~usable.any(axis=1)
    usable[without] = present[without]
    return usable


class _Choice:
    """A choice of leaders for some rows; the leaders of the others stay."""

    def __init__(self, placement: Placement, replicas: Ints, lowest: Ints, highest: Ints, rows: Ints) -> None:
        self._placement = placement
        self._replicas = replicas
        self._lowest = lowest
        self._highest = highest
        self._rows = rows

    def solve(self) -> LeaderResult:
        """Return the choice with the fewest new leaders among the most even choices."""
        placement, rows = self._placement, self._rows
        first = (self._replicas == placement.replicas[:, :1]).argmax(axis=1)
        if len(rows):
            first[rows] = self._chosen_columns()
        ordered = _with_first(self._replicas, first)
        leading = counts_of(ordered[:, :1], placement.brokers)
        balanced = bool(((leading >= self._lowest) & (leading <= self._highest)).all())
        changed = int((ordered[:, 0] != placement.replicas[:, 0]).sum())
        return LeaderResult(ordered, balanced, changed)

    def _chosen_columns(self) -> Ints:
        placement, count = self._placement, len(self._rows)
        replicas = self._replicas[self._rows]
        tails, columns = np.nonzero(_usable(placement, replicas))
        heads = replicas[tails, columns]
        fixed = np.ones(len(self._replicas), dtype=np.bool_)
        fixed[self._rows] = False
        elsewhere = counts_of(placement.replicas[fixed, :1], placement.brokers)
        network = Network()
        # The leader of today stays for free; where it has no replica any more, every choice is new.
        costs = (heads != placement.replicas[self._rows][tails, 0]).astype(np.int64)
        arcs = network.add_arcs(tails, heads + count, 1, costs)
        network.add_supplies(np.arange(count), np.ones(count, dtype=np.int64))
        low, high = (np.maximum(bound - elsewhere, 0) for bound in (self._lowest, self._highest))
        network.add_bounded_demand(count, count + placement.brokers, low, high, count)
        network.solve()
        chosen = network.flows(arcs) > 0
        leader_columns = np.zeros(count, dtype=np.int64)
        leader_columns[tails[chosen]] = columns[chosen]
        return leader_columns


def _with_first(replicas: Ints, first: Ints) -> Ints:
    """Return rows with the entry at a column moved to the front; the others keep their order."""
    columns = np.broadcast_to(np.arange(replicas.shape[1]), replicas.shape)
    order = np.argsort(np.where(columns == first[:, None], -1, columns), axis=1, kind="stable")
    return np.take_along_axis(replicas, order, axis=1)
