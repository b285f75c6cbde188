"""The order of replicas: which broker each partition prefers as leader.

An order costs no data. The assignment with the fewest new leaders under even loads is a min-cost flow from partitions
to their replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kwire.reassign.levels import target_loads
from kwire.reassign.network import Network
from kwire.reassign.placement import NONE, counts_of

if TYPE_CHECKING:
    from kwire.reassign.placement import Ints, Placement

__all__ = ["LeaderResult", "plan_leaders"]

ROUNDING = 1e-6


class LeaderResult(NamedTuple):
    """Replicas in a new order, and whether every broker leads its share."""

    replicas: Ints
    balanced: bool


def plan_leaders(placement: Placement, replicas: Ints) -> LeaderResult:
    """Return rows of replicas with the preferred leaders first, so that leaders are spread evenly.

    Args:
        replicas: brokers by row, after the other goals.
    """
    rows = len(replicas)
    usable = replicas != NONE
    usable[usable] = placement.is_target[replicas[usable]]
    usable[~usable.any(axis=1)] = replicas[~usable.any(axis=1)] != NONE
    tails, columns = np.nonzero(usable)
    heads = replicas[tails, columns]
    # The leader of today stays for free; where it has no replica any more, every choice is new.
    costs = (heads != placement.replicas[tails, 0]).astype(np.int64)
    most = np.bincount(heads, minlength=placement.brokers)
    own = np.arange(placement.brokers)
    shares = target_loads(placement.base_leaders, most, own, np.zeros(len(own)), most, rows) - placement.base_leaders
    lowest = np.floor(shares + ROUNDING).astype(np.int64)
    highest = np.ceil(shares - ROUNDING).astype(np.int64)
    network = Network()
    arcs = network.add_arcs(tails, heads + rows, 1, costs)
    network.add_supplies(np.arange(rows), np.ones(rows, dtype=np.int64))
    network.add_bounded_demand(rows, rows + placement.brokers, lowest, highest, rows)
    network.solve()
    chosen = network.flows(arcs) > 0
    first = np.zeros(rows, dtype=np.int64)
    first[tails[chosen]] = columns[chosen]
    ordered = _with_first(replicas, first)
    leading = counts_of(ordered[:, :1], placement.brokers)
    return LeaderResult(ordered, bool(((leading >= lowest) & (leading <= highest)).all()))


def _with_first(replicas: Ints, first: Ints) -> Ints:
    """Return rows with the entry at a column moved to the front; the others keep their order."""
    columns = np.broadcast_to(np.arange(replicas.shape[1]), replicas.shape)
    order = np.argsort(np.where(columns == first[:, None], -1, columns), axis=1, kind="stable")
    return np.take_along_axis(replicas, order, axis=1)
