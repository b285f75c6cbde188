"""Target loads of brokers: as even as racks and partitions out of scope allow.

Loads rise like water: the emptiest brokers are filled first, up to a common level. A rack that can take less than its
share, or must take more, has a level of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Floats, Ints

__all__ = ["target_loads"]

ROUNDS = 100
"""Number of bisections; 64 bits of a float are exhausted earlier."""


def target_loads(
    base: Ints, most: Ints, racks: Ints, rack_low: Ints | Floats, rack_high: Ints | Floats, total: int
) -> Floats:
    """Return the target load of each broker, including its base.

    Args:
        base: load by broker that stays.
        most: the largest load that can be added, by broker; 0 for brokers that receive nothing.
        racks: the rack of each broker.
        rack_low: the least load that is added to each rack.
        rack_high: the largest load that is added to each rack.
        total: the load to distribute.
    """

    def added(levels: Floats) -> Floats:
        """Return the load added to each broker by the level of its rack."""
        return np.asarray(np.clip(levels[racks] - base, 0, most), dtype=np.float64)

    def rack_sums(levels: Floats) -> Floats:
        return np.asarray(np.bincount(racks, weights=added(levels), minlength=len(rack_low)), dtype=np.float64)

    top = float((base + most).max(initial=0))
    low, high = 0.0, top
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        sums = np.clip(rack_sums(np.full(len(rack_low), middle)), rack_low, rack_high)
        low, high = (middle, high) if sums.sum() < total else (low, middle)
    rack_targets = np.clip(rack_sums(np.full(len(rack_low), high)), rack_low, rack_high)
    lows, highs = np.zeros(len(rack_low)), np.full(len(rack_low), top)
    for _ in range(ROUNDS):
        middles = (lows + highs) / 2
        below = rack_sums(middles) < rack_targets
        lows, highs = np.where(below, middles, lows), np.where(below, highs, middles)
    return np.asarray(base + added(highs), dtype=np.float64)
