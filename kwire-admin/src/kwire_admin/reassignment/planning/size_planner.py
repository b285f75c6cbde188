"""An assignment with even bytes that moves little more than the least possible.

Even bytes are a packing problem (NP-hard), so a greedy search moves one replica at a time:

    1. place missing replicas, and replicas of drained brokers, on the brokers farthest below their targets
    2. transfer replicas from brokers above their bounds to brokers below them
    3. exchange a large replica for a small one where no transfer fits
    4. even out counts, if requested, within the bounds of bytes

Two invariants make steps 2 and 3 end. A move never takes a broker out of its bounds: it is not larger than the room of
both brokers. Each move reduces the sum of the distances to the bounds; a pair of brokers without such a move is not
tried again. The best size is the smallest replica that ends an imbalance, so that little more than needed is copied,
else the largest replica below it. The lower bound of `least_moved` shows the distance to the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.planning.assignment import Assignment
from kwire_admin.reassignment.planning.bounds import least_moved, rack_bounds, staying_replicas, target_loads
from kwire_admin.reassignment.planning.placement import NONE, counts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.reassignment.plan import PlanRequest
    from kwire_admin.reassignment.planning.placement import Flags, Floats, Ints, Placement

FINISH = 0.002
"""Allowed excess of a replica that ends an imbalance, as a fraction of the initial imbalance; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class SizeResult:
    """New replicas.

    Attributes:
        replicas: brokers by row, like `Placement.replicas`.
        moved: bytes that are copied.
        bound: lower bound of the bytes copied by assignments within the bounds of brokers.
        within_bounds: true if the bytes of every broker are within the tolerance.
    """

    replicas: Ints
    moved: int
    bound: int
    within_bounds: bool


@dataclass(frozen=True, slots=True)
class _ByteBounds:
    """Bounds of the bytes of each broker, partitions out of scope included."""

    lowest: Floats
    highest: Floats


def plan_sizes(placement: Placement, request: PlanRequest, *, with_counts: bool) -> SizeResult:
    """Return an assignment with even bytes.

    Args:
        with_counts: even out counts afterwards, as far as bytes stay within the tolerance.

    Raises:
        InfeasiblePlan: a partition cannot have its replicas.
    """
    bounds = _byte_bounds(placement, request.tolerance)
    layout = Assignment(placement, placement.replicas)
    layout.place_missing((bounds.lowest + bounds.highest) / 2)
    _balance(layout, bounds, swap=False)
    _balance(layout, bounds, swap=True)
    if with_counts:
        _even_out_counts(layout, bounds)
    return _result(layout, bounds)


def even_out_sizes(placement: Placement, replicas: Ints, request: PlanRequest) -> SizeResult:
    """Return an assignment with bytes as even as exchanges of replicas make them: counts stay as they are."""
    bounds = _byte_bounds(placement, request.tolerance)
    layout = Assignment(placement, replicas)
    _balance(layout, bounds, swap=True)
    return _result(layout, bounds)


def _result(layout: Assignment, bounds: _ByteBounds) -> SizeResult:
    placement = layout.placement
    targets = placement.is_target
    within = (layout.bytes <= bounds.highest + 1) & (layout.bytes >= bounds.lowest - 1)
    stays = (layout.replicas[:, :, None] == placement.replicas[:, None, :]) & (layout.replicas[:, :, None] != NONE)
    added = (layout.replicas != NONE).sum(axis=1) - stays.any(axis=2).sum(axis=1)
    moved = int((added * placement.sizes).sum())
    return SizeResult(layout.replicas, moved, min(_least_moved(placement, bounds), moved), bool(within[targets].all()))


def _byte_bounds(placement: Placement, tolerance: float) -> _ByteBounds:
    total = int((placement.sizes * placement.factors).sum())
    stay = counts_of(staying_replicas(placement), placement.brokers, placement.sizes)
    # A broker that is down keeps its replicas and gets none, so its bounds are its present bytes.
    down: Flags = placement.may_keep & ~placement.is_target
    most = np.where(placement.is_target, int(placement.sizes.sum()), np.where(down, stay, 0))
    targets = target_loads(placement.base_bytes, most, placement.racks, *_rack_bytes(placement, total), total)
    fixed = ~placement.is_target
    current = placement.base_bytes + np.where(down, stay, 0)
    return _ByteBounds(
        np.where(fixed, current, targets * (1 - tolerance)), np.where(fixed, current, targets * (1 + tolerance))
    )


def _least_moved(placement: Placement, bounds: _ByteBounds) -> int:
    staying = staying_replicas(placement)
    stay = counts_of(staying, placement.brokers, placement.sizes)
    total = int((placement.sizes * placement.factors).sum())
    staying_bytes = int((np.minimum((staying != NONE).sum(axis=1), placement.factors) * placement.sizes).sum())
    return least_moved(
        stay,
        bounds.lowest - placement.base_bytes,
        bounds.highest - placement.base_bytes,
        placement.racks,
        *_rack_bytes(placement, total),
        total,
        total - staying_bytes,
    )


def _rack_bytes(placement: Placement, total: int) -> tuple[Ints | Floats, Ints | Floats]:
    """Return the least and the most bytes of each rack."""
    if not placement.rack_aware:
        return np.zeros(placement.rack_count), np.full(placement.rack_count, float(total))
    low, high = rack_bounds(placement)
    return (low * placement.sizes[:, None]).sum(axis=0), (high * placement.sizes[:, None]).sum(axis=0)


def _balance(layout: Assignment, bounds: _ByteBounds, *, swap: bool) -> None:
    """Move replicas until the bytes of all brokers are within bounds, or no move helps.

    Args:
        swap: exchange a large replica for the smallest one, so that counts stay as they are.
    """
    targets = layout.placement.is_target
    slack = FINISH * np.maximum(np.abs(layout.bytes - bounds.highest), np.abs(bounds.lowest - layout.bytes))
    # Pairs without a move. Later moves could open one again; not trying is what bounds the search.
    stuck: set[tuple[int, int]] = set()
    while True:
        over = np.where(targets, layout.bytes - bounds.highest, -np.inf)
        under = np.where(targets, bounds.lowest - layout.bytes, -np.inf)
        if over.max() <= 0 and under.max() <= 0:
            return
        for source, target in _pairs(layout, bounds, over, under):
            if (source, target) in stuck:
                continue
            # `needed` ends the imbalance of one of the two without creating one at the other; `room` is the most that
            # neither would overshoot.
            needed = min(
                over[source] if over[source] > 0 else layout.bytes[source] - bounds.lowest[source],
                under[target] if under[target] > 0 else bounds.highest[target] - layout.bytes[target],
            )
            room = min(layout.bytes[source] - bounds.lowest[source], bounds.highest[target] - layout.bytes[target])
            move = _exchange if swap else _transfer
            if needed > 0 and move(layout, source, target, needed, room, float(slack[source] + slack[target])):
                break
            stuck.add((source, target))
        else:
            return


def _pairs(layout: Assignment, bounds: _ByteBounds, over: Floats, under: Floats) -> Iterator[tuple[int, int]]:
    """Yield pairs of brokers between which a move helps, the worst imbalances first."""
    # First from above to below, then from above to brokers with room, then from brokers with spare bytes to below.
    targets = layout.placement.is_target
    spare = np.where(targets, layout.bytes - bounds.lowest, -np.inf)
    room = np.where(targets, bounds.highest - layout.bytes, -np.inf)
    sources = [int(broker) for broker in np.argsort(-over) if over[broker] > 0]
    sinks = [int(broker) for broker in np.argsort(-under) if under[broker] > 0]
    givers = [int(broker) for broker in np.argsort(-spare) if spare[broker] > 0]
    takers = [int(broker) for broker in np.argsort(-room) if room[broker] > 0]
    for firsts, seconds in ((sources, sinks), (sources, takers), (givers, sinks)):
        for source in firsts:
            for target in seconds:
                if source != target:
                    yield source, target


def _transfer(layout: Assignment, source: int, target: int, needed: float, room: float, slack: float) -> bool:
    """Move one replica and return True, or return False if none fits."""
    # Best fit first: one replica that ends the imbalance with little excess; else approach it from below; else end it
    # with any excess that fits.
    row = layout.smallest(source, target, needed, min(needed + slack, room))
    if row is None:
        row = layout.largest(source, target, needed)
    if row is None:
        row = layout.smallest(source, target, needed, room)
    if row is None or layout.placement.sizes[row] == 0:
        return False
    layout.move(row, source, target)
    return True


def _exchange(layout: Assignment, source: int, target: int, needed: float, room: float, slack: float) -> bool:
    """Exchange a large replica for the smallest one and return True, or return False if no exchange fits."""
    back = layout.smallest(target, source, 0, np.inf)
    if back is None:
        return False
    returned = int(layout.placement.sizes[back])
    row = layout.smallest(source, target, needed + returned, min(needed + slack, room) + returned)
    if row is None:
        row = layout.largest(source, target, needed + returned)
    if row is None or row == back or layout.placement.sizes[row] <= returned:
        return False
    layout.move(row, source, target)
    layout.move(back, target, source)
    return True


def _even_out_counts(layout: Assignment, bounds: _ByteBounds) -> None:
    """Move the smallest replicas from brokers with many to brokers with few, within the bounds of bytes."""
    targets = layout.placement.is_target
    stuck: set[tuple[int, int]] = set()
    while True:
        counts = np.where(targets, layout.counts, -1)
        most = [int(broker) for broker in np.argsort(-counts, kind="stable") if targets[broker]]
        pairs = (
            (source, target)
            for source in most
            for target in reversed(most)
            if layout.counts[source] - layout.counts[target] > 1 and (source, target) not in stuck
        )
        # A difference of 1 cannot become smaller, so each move reduces the sum of squares of the counts.
        pair = next(pairs, None)
        if pair is None:
            return
        source, target = pair
        room = min(layout.bytes[source] - bounds.lowest[source], bounds.highest[target] - layout.bytes[target])
        row = layout.smallest(source, target, 0, room)
        if row is None:
            stuck.add(pair)
        else:
            layout.move(row, source, target)
