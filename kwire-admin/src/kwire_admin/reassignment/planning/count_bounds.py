"""Bounds of the replica count of each broker, and a lower bound of the replicas that must be added for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.planning.least_moved import least_moved
from kwire_admin.reassignment.planning.levels import target_loads
from kwire_admin.reassignment.planning.placement import NONE, counts_of
from kwire_admin.reassignment.planning.rack_bounds import rack_counts

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Ints, Placement

__all__ = ["CountBounds", "count_bounds", "kept_replicas"]

ROUNDING = 1e-6
"""Target loads this close to an integer are that integer."""


@dataclass(frozen=True, slots=True)
class CountBounds:
    """Bounds of the replicas in scope by broker.

    Attributes:
        lowest: the least number of replicas.
        highest: the largest number of replicas.
        least_added: lower bound of the replicas added by any assignment within the bounds.
    """

    lowest: Ints
    highest: Ints
    least_added: int


def kept_replicas(placement: Placement) -> Flags:
    """Return the mask of the entries of `replicas` that may stay."""
    may_stay: Flags = np.zeros(placement.replicas.shape, dtype=np.bool_)
    present = placement.replicas != NONE
    may_stay[present] = placement.may_keep[placement.replicas[present]]
    return may_stay


def count_bounds(placement: Placement, rack_low: Ints | None, rack_high: Ints | None, *, balanced: bool) -> CountBounds:
    """Return the bounds.

    Args:
        rack_low: by row and rack, the least number of replicas; None if racks do not matter.
        rack_high: by row and rack, the largest number of replicas.
        balanced: true for an even share on every broker; otherwise replicas that may stay do so, and only missing
            replicas are distributed.
    """
    may_stay = kept_replicas(placement)
    stay = counts_of(np.where(may_stay, placement.replicas, NONE), placement.brokers)
    total = int(placement.factors.sum())
    rows = len(placement.replicas)
    low, high = np.zeros(placement.rack_count), np.full(placement.rack_count, float(total))
    rack_sums = low, high
    if rack_low is not None and rack_high is not None:
        rack_sums = rack_low.sum(axis=0), rack_high.sum(axis=0)
    if balanced:
        down = placement.may_keep & ~placement.is_target
        most = np.where(placement.is_target, rows, np.where(down, stay, 0))
        targets = target_loads(placement.base_counts, most, placement.racks, *rack_sums, total) - placement.base_counts
        lowest = np.floor(targets + ROUNDING).astype(np.int64)
        highest = np.ceil(targets - ROUNDING).astype(np.int64)
        lowest[down], highest[down] = np.minimum(lowest, stay)[down], np.maximum(highest, stay)[down]
    else:
        missing = int(np.maximum(placement.factors - may_stay.sum(axis=1), 0).sum())
        most = np.where(placement.is_target, rows - stay, 0)
        if rack_low is not None and rack_high is not None:
            in_racks = rack_counts(np.where(may_stay, placement.replicas, NONE), placement.racks, placement.rack_count)
            low = np.maximum(rack_low - in_racks, 0).sum(axis=0)
            high = np.maximum(rack_high - in_racks, 0).sum(axis=0)
        level = target_loads(placement.base_counts + stay, most, placement.racks, low, high, missing)
        lowest = np.zeros(placement.brokers, dtype=np.int64)
        highest = np.maximum(np.ceil(level - ROUNDING).astype(np.int64) - placement.base_counts, stay)
    least_new = total - int(np.minimum(may_stay.sum(axis=1), placement.factors).sum())
    least = least_moved(stay, lowest, highest, placement.racks, *rack_sums, total, least_new)
    return CountBounds(lowest, highest, least)
