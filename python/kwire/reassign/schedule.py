"""Batches of moves, bounded in bytes and in moves at the same time for each broker.

A partition copies from its leader to each added replica. Old replicas are deleted when the move is complete, so a
broker needs room for both until then. Moves that free a broker that is nearly full come before those that fill it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.reassign.errors import InfeasiblePlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kwire.reassign.plan import Move

__all__ = ["BatchLimits", "batches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Limits of a batch.

    Attributes:
        data: bytes that a batch copies; a larger partition is a batch of its own.
        moves_per_broker: replicas that a broker sends or receives at the same time.
        moves: partitions in a batch, which bounds the size of requests.
        free: by broker, bytes that its disks have left; brokers that are missing have no limit.
    """

    data: int = 50 * 2**30
    moves_per_broker: int = 5
    moves: int = 500
    free: Mapping[int, int] | None = None


def batches(moves: Iterable[Move], limits: BatchLimits) -> tuple[tuple[Move, ...], ...]:
    """Return all moves in batches; those that copy nothing come first.

    Raises:
        InfeasiblePlan: no move fits the disks of its brokers, even after all others.
    """
    every = list(moves)
    without_data = [each for each in every if not each.added]
    found = [tuple(without_data[at : at + limits.moves]) for at in range(0, len(without_data), limits.moves)]
    waiting = sorted((each for each in every if each.added), key=lambda each: (-each.data, each.key))
    free = Counter(limits.free or {})
    for move in without_data:
        for broker in move.removed:
            free[broker] += move.size or 0
    while waiting:
        batch, waiting = _next_batch(waiting, limits, free)
        if not batch:
            blocked = waiting[0]
            raise InfeasiblePlan(
                f"no order of moves fits the disks: {blocked.key} needs {blocked.size} bytes on broker "
                f"{', '.join(map(str, blocked.added))}"
            )
        for move in batch:
            for broker in move.added:
                free[broker] -= move.size or 0
            for broker in move.removed:
                free[broker] += move.size or 0
        found.append(tuple(batch))
    return tuple(found)


def _next_batch(waiting: Sequence[Move], limits: BatchLimits, free: Mapping[int, int]) -> tuple[list[Move], list[Move]]:
    """Return the moves of the next batch, and the others."""
    batch: list[Move] = []
    later: list[Move] = []
    busy: Counter[int] = Counter()
    arriving: Counter[int] = Counter()
    data = 0
    for at, move in enumerate(waiting):
        if len(batch) >= limits.moves:
            later += waiting[at:]
            break
        sends = len(move.added)
        fits = (
            (not batch or data + move.data <= limits.data)
            and (busy[move.source] == 0 or busy[move.source] + sends <= limits.moves_per_broker)
            and all(busy[broker] < limits.moves_per_broker for broker in move.added)
            and all(
                limits.free is None or broker not in limits.free or arriving[broker] + (move.size or 0) <= free[broker]
                for broker in move.added
            )
        )
        if not fits:
            later.append(move)
            continue
        batch.append(move)
        data += move.data
        busy[move.source] += sends
        for broker in move.added:
            busy[broker] += 1
            arriving[broker] += move.size or 0
    return batch, later
