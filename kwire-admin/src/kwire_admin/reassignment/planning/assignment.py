"""A mutable assignment with the loads of its brokers, for planners that work move by move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire_admin.reassignment.errors import InfeasiblePlan
from kwire_admin.reassignment.planning.bounds import rack_bounds, rack_counts
from kwire_admin.reassignment.planning.placement import NONE, counts_of

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Flags, Floats, Ints, Placement

CHUNK = 64
"""Number of rows checked in one numpy call during the search for a movable row; chosen, not measured."""


class Assignment:
    """An assignment.

    Attributes:
        placement: the initial placement.
        replicas: brokers by row.
        bytes: by broker, the bytes of its replicas, partitions out of scope included.
        counts: by broker, its number of replicas, partitions out of scope included.
    """

    def __init__(self, placement: Placement, replicas: Ints) -> None:
        self.placement = placement
        self.replicas = replicas.copy()
        self.bytes = placement.base_bytes + counts_of(replicas, placement.brokers, placement.sizes)
        self.counts = placement.base_counts + counts_of(replicas, placement.brokers)
        self._bounds = rack_bounds(placement) if placement.rack_aware else None
        if self._bounds is not None:
            self._in_racks = rack_counts(replicas, placement.racks, placement.rack_count)
        self._by_size: dict[int, tuple[Ints, Ints]] = {}

    def put(self, row: int, column: int, broker: int) -> None:
        """Put a replica on a broker, or remove it with NONE."""
        before = int(self.replicas[row, column])
        for changed, sign in ((before, -1), (broker, 1)):
            if changed != NONE:
                self.bytes[changed] += sign * self.placement.sizes[row]
                self.counts[changed] += sign
                if self._bounds is not None:
                    self._in_racks[row, self.placement.racks[changed]] += sign
        self.replicas[row, column] = broker

    def move(self, row: int, source: int, target: int) -> None:
        """Move the replica of a row from one broker to another."""
        self.put(row, int((self.replicas[row] == source).argmax()), target)

    def movable(self, rows: Ints, source: int, target: int) -> Flags:
        """Return the mask of the rows that may move their replica from one broker to another."""
        of_rows = self.replicas[rows]
        allowed: Flags = (of_rows == source).any(axis=1) & ~(of_rows == target).any(axis=1)
        if self._bounds is not None:
            low, high = self._bounds
            leaves, enters = self.placement.racks[source], self.placement.racks[target]
            if leaves != enters:
                allowed &= self._in_racks[rows, leaves] > low[rows, leaves]
                allowed &= self._in_racks[rows, enters] < high[rows, enters]
        return allowed

    def largest(self, source: int, target: int, limit: float) -> int | None:
        """Return the row of the largest replica up to a size that can move; None if there is none."""
        rows, sizes = self._sorted(source)
        end = int(np.searchsorted(sizes, limit, side="right"))
        while end > 0:
            start = max(end - CHUNK, 0)
            movable = np.nonzero(self.movable(rows[start:end], source, target))[0]
            if len(movable):
                return int(rows[start + movable[-1]])
            end = start
        return None

    def smallest(self, source: int, target: int, least: float, limit: float) -> int | None:
        """Return the row of the smallest replica within sizes that can move; None if there is none."""
        rows, sizes = self._sorted(source)
        start, end = np.searchsorted(sizes, least, side="left"), np.searchsorted(sizes, limit, side="right")
        for at in range(int(start), int(end), CHUNK):
            movable = np.nonzero(self.movable(rows[at : min(at + CHUNK, int(end))], source, target))[0]
            if len(movable):
                return int(rows[at + movable[0]])
        return None

    def place_missing(self, target_bytes: Floats) -> None:
        """Remove replicas from drained brokers, and give every row as many replicas as its replication factor.

        Args:
            target_bytes: target bytes by broker; brokers farthest below are filled first.

        Raises:
            InfeasiblePlan: a row cannot have them.
        """
        placement = self.placement
        drained = self.replicas != NONE
        drained[drained] = ~placement.may_keep[self.replicas[drained]]
        for row, column in np.argwhere(drained).tolist():
            self.put(row, column, NONE)
        counts = (self.replicas != NONE).sum(axis=1)
        for row in np.nonzero(counts > placement.factors)[0].tolist():
            for _ in range(int(counts[row] - placement.factors[row])):
                self._remove(row)
        lacking = np.nonzero(counts < placement.factors)[0]
        for row in lacking[np.argsort(-placement.sizes[lacking], kind="stable")].tolist():
            for _ in range(int(placement.factors[row] - counts[row])):
                self._add(row, target_bytes)
        gaps_last = np.argsort(self.replicas == NONE, axis=1, kind="stable")
        self.replicas = np.take_along_axis(self.replicas, gaps_last, axis=1)

    def _remove(self, row: int) -> None:
        """Remove the replica on the fullest broker, in the racks that can spare one."""
        columns = np.nonzero(self.replicas[row] != NONE)[0]
        brokers = self.replicas[row, columns]
        if self._bounds is not None:
            in_racks = self._in_racks[row, self.placement.racks[brokers]]
            columns, brokers = columns[in_racks == in_racks.max()], brokers[in_racks == in_racks.max()]
        self.put(row, int(columns[self.bytes[brokers].argmax()]), NONE)

    def _add(self, row: int, target_bytes: Floats) -> None:
        """Add a replica on the broker farthest below its share that the row may use, in the place of a removed one."""
        placement = self.placement
        allowed = placement.is_target.copy()
        allowed[self.replicas[row][self.replicas[row] != NONE]] = False
        if self._bounds is not None:
            low, high = (bound[row] for bound in self._bounds)
            room = self._in_racks[row] < high
            required = self._in_racks[row] < low
            missing = int(placement.factors[row] - (self.replicas[row] != NONE).sum())
            if np.maximum(low - self._in_racks[row], 0).sum() >= missing:
                room &= required
            allowed &= room[placement.racks]
        if not allowed.any():
            raise InfeasiblePlan(f"partition {placement.partitions[row].key} has no broker left for a replica")
        choices = np.nonzero(allowed)[0]
        column = int((self.replicas[row] == NONE).argmax())
        self.put(row, column, int(choices[(self.bytes - target_bytes)[choices].argmin()]))

    def _sorted(self, broker: int) -> tuple[Ints, Ints]:
        """Return the rows that were on a broker when first asked, and their sizes, in order of size."""
        if broker not in self._by_size:
            rows = np.nonzero((self.replicas == broker).any(axis=1))[0]
            rows = rows[np.argsort(self.placement.sizes[rows], kind="stable")]
            self._by_size[broker] = rows, self.placement.sizes[rows]
        return self._by_size[broker]
