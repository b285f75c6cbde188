"""Batches of moves, bounded in bytes and in moves at the same time for each broker.

A partition copies from its leader to each added replica. Old replicas are deleted when the move is complete, so a
broker needs room for both until then. Moves that free space on a nearly full broker precede moves to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kwire_admin.reassignment.errors import InfeasiblePlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kwire_admin.reassignment.plan import Move

SCANNED = 20
"""Maximum number of moves to the same brokers tried for a batch, which keeps planning linear in the moves; chosen, not
measured."""
DATA_PER_BROKER = 10 * 2**30
"""Default bytes that a broker receives in a batch; chosen, not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """Limits of a batch.

    Attributes:
        data: bytes that a batch copies; a larger partition is a batch of its own. 0 for DATA_PER_BROKER times the
            brokers that receive something.
        moves_per_broker: replicas that a broker sends or receives at the same time.
        moves: partitions in a batch, which bounds the size of requests.
        free: by broker, bytes that its disks have left; brokers that are missing have no limit.
    """

    data: int = 0
    moves_per_broker: int = 5
    moves: int = 500
    free: Mapping[int, int] | None = None


def batches(moves: Iterable[Move], limits: BatchLimits) -> tuple[tuple[Move, ...], ...]:
    """Return all moves in batches; moves that copy nothing come first.

    Raises:
        InfeasiblePlan: no move fits the disks of its brokers, even after all others.
    """
    every = list(moves)
    without_data = [move for move in every if not move.added]
    result = [tuple(without_data[at : at + limits.moves]) for at in range(0, len(without_data), limits.moves)]
    receivers = {broker for move in every for broker in move.added}
    limits = replace(limits, data=limits.data or DATA_PER_BROKER * len(receivers))
    waiting = _Waiting((move for move in every if move.added), limits)
    for move in without_data:
        waiting.complete(move)
    # A batch looks at SCANNED moves of each group. If none fits the disks, it looks at all before the plan fails.
    while waiting.count:
        batch = waiting.take(SCANNED) or waiting.take(waiting.count)
        if not batch:
            blocked = waiting.first()
            raise InfeasiblePlan(
                f"no order of moves fits the disks: {blocked.key} needs {blocked.size} bytes on broker "
                f"{', '.join(map(str, blocked.added))}"
            )
        for move in batch:
            waiting.complete(move)
        result.append(tuple(batch))
    return tuple(result)


class _Waiting:
    """Moves that wait for a batch, by the brokers that receive them, the largest ones last."""

    def __init__(self, moves: Iterable[Move], limits: BatchLimits) -> None:
        self._limits = limits
        self._free = Counter(limits.free or {})
        self._groups: dict[tuple[int, ...], list[Move]] = defaultdict(list)
        self.count = 0
        for move in sorted(moves, key=lambda move: (move.data, *move.key)):
            self._groups[move.added].append(move)
            self.count += 1

    def first(self) -> Move:
        """Return one of the moves."""
        return next(group[-1] for group in self._groups.values() if group)

    def complete(self, move: Move) -> None:
        """Count the disk space that a move uses and frees."""
        for broker in move.added:
            self._free[broker] -= move.size or 0
        for broker in move.removed:
            self._free[broker] += move.size or 0

    def take(self, scanned: int) -> list[Move]:
        """Remove the moves of the next batch, and return them.

        Args:
            scanned: maximum number of moves tried for the same brokers before other brokers have their turn.
        """
        batch = _Batch(self._limits, self._free)
        for added in sorted(self._groups, key=lambda brokers: -len(self._groups[brokers])):
            group = self._groups[added]
            at = len(group) - 1
            while at >= max(len(group) - scanned, 0) and batch.has_room(added):
                if batch.fits(group[at]):
                    batch.add(group.pop(at))
                    self.count -= 1
                at -= 1
            if not group:
                del self._groups[added]
        return batch.moves


class _Batch:
    """A batch that is being filled."""

    def __init__(self, limits: BatchLimits, free: Mapping[int, int]) -> None:
        self.moves: list[Move] = []
        self._limits = limits
        self._available = free
        self._busy: Counter[int] = Counter()
        self._arriving: Counter[int] = Counter()
        self._data = 0

    def has_room(self, added: Iterable[int]) -> bool:
        """Return whether the batch can have another move to these brokers."""
        limits = self._limits
        return len(self.moves) < limits.moves and all(self._busy[broker] < limits.moves_per_broker for broker in added)

    def fits(self, move: Move) -> bool:
        """Return whether a move to brokers with room fits the other limits."""
        limits = self._limits
        sends = self._busy[move.source]
        return (
            (not self.moves or self._data + move.data <= limits.data)
            and (sends == 0 or sends + len(move.added) <= limits.moves_per_broker)
            and all(
                self._arriving[broker] + (move.size or 0) <= self._available[broker]
                for broker in move.added
                if limits.free is not None and broker in limits.free
            )
        )

    def add(self, move: Move) -> None:
        """Add a move that fits."""
        self.moves.append(move)
        self._data += move.data
        self._busy[move.source] += len(move.added)
        for broker in move.added:
            self._busy[broker] += 1
            self._arriving[broker] += move.size or 0
