"""Bounds of a plan: of the replicas in each rack, of the load of each broker, and of the load that any plan copies.

Racks: with enough racks, a partition has one replica in a rack; otherwise they are spread evenly. A partition that is
spread less may stay as it is, but not become worse: each rack has at most as many replicas as now, or as an even
spread needs, and at least as many as the smaller of both. It follows that the number of racks of a partition never
falls, except when its replication factor falls below it or all brokers of a rack are drained.

Loads rise like water: the emptiest brokers are filled first, up to a common level. A rack that can take less than its
share, or must take more, has a level of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.planning.placement import NONE, counts_of

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Floats, Ints, Placement


def rack_counts(replicas: Ints, racks: Ints, rack_count: int) -> Ints:
    """Return the number of replicas by row and rack."""
    counts = np.zeros((len(replicas), rack_count), dtype=np.int64)
    rows, columns = np.nonzero(replicas != NONE)
    np.add.at(counts, (rows, racks[replicas[rows, columns]]), 1)
    return counts


def rack_bounds(placement: Placement) -> tuple[Ints, Ints]:
    """Return the least and the largest number of replicas by row and rack. Every row has brokers for its replicas."""
    factors = placement.factors
    usable = usable_brokers(placement)
    now = _trimmed(rack_counts(placement.replicas, placement.racks, placement.rack_count), factors)
    racks = max(int((usable.max(axis=0, initial=0) > 0).sum()), 1)
    highest = np.minimum(np.maximum(-(-factors // racks)[:, None], now), usable)
    lowest = np.minimum(np.minimum((factors // racks)[:, None], now), usable)
    _raise_to_fit(highest, usable, factors)
    return lowest, highest


def usable_brokers(placement: Placement) -> Ints:
    """Return the number of usable brokers by row and rack: targets, and brokers whose replica of the row may stay."""
    targets = np.bincount(placement.racks[placement.is_target], minlength=placement.rack_count)
    kept_only: Flags = placement.may_keep & ~placement.is_target
    usable = np.broadcast_to(targets, (len(placement.replicas), placement.rack_count)).copy()
    if kept_only.any():
        rows, columns = np.nonzero(placement.replicas != NONE)
        brokers = placement.replicas[rows, columns]
        down = kept_only[brokers]
        np.add.at(usable, (rows[down], placement.racks[brokers[down]]), 1)
    return usable


def _trimmed(counts: Ints, factors: Ints) -> Ints:
    """Return the counts after a decrease of the replication factor, taken from the fullest racks."""
    surplus = counts.sum(axis=1) - factors
    trimmed = counts.copy()
    while (rows := np.nonzero(surplus > 0)[0]).size:
        trimmed[rows, trimmed[rows].argmax(axis=1)] -= 1
        surplus[rows] -= 1
    return trimmed


def _raise_to_fit(highest: Ints, usable: Ints, factors: Ints) -> None:
    """Raise the upper bounds of partitions that would have no room, the least used racks first."""
    missing = factors - highest.sum(axis=1)
    while (rows := np.nonzero(missing > 0)[0]).size:
        room = usable[rows] - highest[rows]
        order = np.where(room > 0, highest[rows], np.iinfo(np.int64).max)
        highest[rows, order.argmin(axis=1)] += 1
        missing[rows] -= 1


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


def staying_replicas(placement: Placement) -> Ints:
    """Return the entries of `replicas` that may stay, and NONE in place of the others."""
    return np.where(kept_replicas(placement), placement.replicas, NONE)


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
