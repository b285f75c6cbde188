"""A lower bound of the copied load, whatever a planner does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Floats, Ints

__all__ = ["least_moved"]


def least_moved(
    stay: Ints,
    lowest: Ints | Floats,
    highest: Ints | Floats,
    racks: Ints,
    rack_low: Ints | Floats,
    rack_high: Ints | Floats,
    total: int,
    least_new: int,
) -> int:
    """Return a lower bound of the load that is added to brokers.

    For any set of brokers, target load minus load that can stay must be added. The bound sums this over each rack with
    exactly one possible load, and over all other racks together.

    Args:
        stay: load by broker that may stay.
        lowest: the least load of each broker.
        highest: the largest load of each broker.
        racks: the rack of each broker.
        rack_low: the least load of each rack.
        rack_high: the largest load of each rack.
        total: the load of all brokers.
        least_new: load that must be added because partitions lack replicas.
    """
    fixed = np.asarray(rack_low == rack_high)
    groups = np.where(fixed[racks], racks, len(fixed))
    loads = np.append(np.where(fixed, rack_high, 0), total - np.where(fixed, rack_high, 0).sum())

    def sums(values: Ints | Floats) -> Floats:
        return np.asarray(np.bincount(groups, weights=values, minlength=len(fixed) + 1), dtype=np.float64)

    low, high = np.maximum(lowest, 0), np.maximum(highest, 0)
    within = sums(np.minimum(stay, low))
    above = np.minimum(sums(np.minimum(stay, high)) - within, np.maximum(loads - sums(low), 0))
    cannot_stay = np.maximum(loads - within - above, 0)
    lacking = sums(np.maximum(low - stay, 0))
    return max(int(np.maximum(cannot_stay, lacking).sum()), least_new, 0)
