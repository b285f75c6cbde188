"""Bounds of the replicas of a partition in each rack, which preserve its spread over racks.

With enough racks, a partition has one replica in a rack; otherwise they are spread evenly. A partition that is spread
less may stay as it is, but not become worse: each rack has at most as many replicas as now, or as an even
spread needs, and at least as many as the smaller of both. It follows that the number of racks of a partition never
falls, except when its replication factor falls below it or all brokers of a rack are drained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.planning.placement import NONE

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Ints, Placement

__all__ = ["rack_bounds", "rack_counts"]


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
