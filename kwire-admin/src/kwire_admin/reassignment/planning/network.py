"""Min-cost flow networks, solved by OR-Tools.

OR-Tools ends the process if flows are read after a failed solve, so the status is always checked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ortools.graph.python import min_cost_flow

from kwire_admin.reassignment.errors import InfeasiblePlan

if TYPE_CHECKING:
    from kwire_admin.reassignment.planning.placement import Ints


class Network:
    """A network with integer capacities and costs, and one flow of least cost."""

    def __init__(self) -> None:
        self._solver = min_cost_flow.SimpleMinCostFlow()

    def add_arcs(self, tails: Ints, heads: Ints, capacities: Ints | int, costs: Ints | int) -> Ints:
        """Add arcs and return their numbers, for `flows`."""
        return np.asarray(
            self._solver.add_arcs_with_capacity_and_unit_cost(
                tails.astype(np.int32),
                heads.astype(np.int32),
                np.broadcast_to(np.asarray(capacities, dtype=np.int64), tails.shape).copy(),
                np.broadcast_to(np.asarray(costs, dtype=np.int64), tails.shape).copy(),
            ),
            dtype=np.int32,
        )

    def add_supplies(self, nodes: Ints, supplies: Ints) -> None:
        """Set what nodes supply; a negative number is demand."""
        self._solver.set_nodes_supplies(nodes.astype(np.int32), supplies.astype(np.int64))

    def add_bounded_demand(self, first: int, sink: int, lowest: Ints, highest: Ints, total: int) -> None:
        """Add a sink that takes `total` units from nodes, within bounds for each node if that is possible.

        Units within the bounds are free. A unit outside costs more than any path that could correct it at a cost of 1
        for each arc, and the more the farther it is outside.

        Args:
            first: the first of the nodes, one for each bound.
            sink: the node of the sink.
            lowest: the least units of each node.
            highest: the largest number of units of each node.
            total: the units that the sink takes.
        """
        # A unit outside of the bounds of a node can reach any other node on a path through rows and nodes, which visits
        # each node once, at a cost of 1. A penalty above the cost of the longest path makes the bounds come first.
        outside = 2 * len(lowest) + 10
        # The penalty rises with the distance, so that several nodes are a little outside rather than one far outside.
        # One arc for each unit would be too many: the k-th unit costs `outside` times about 1 + log2(k).
        sizes = _doubling_sizes(total)
        tails: list[int] = []
        capacities: list[int] = []
        costs: list[int] = []
        for index, (low, high) in enumerate(zip(lowest.tolist(), highest.tolist(), strict=True)):
            # A unit up to `low` is a reward. The solver fills the cheapest arcs of a node first, so the marginal cost
            # must rise with the flow (convexity): from the greatest reward for the first unit to the greatest penalty.
            segments = [(high - low, 0)]
            below, above = low, max(total - high, 0)
            for step, size in enumerate(sizes, 1):
                if below > 0:
                    segments.append((min(size, below), -step * outside))
                    below -= size
                if above > 0:
                    segments.append((min(size, above), step * outside))
                    above -= size
            tails += [first + index] * len(segments)
            capacities += [capacity for capacity, _ in segments]
            # All units pass one of these arcs, so a constant changes no decision, and negative costs are avoided.
            costs += [cost + len(sizes) * outside for _, cost in segments]
        self.add_arcs(np.array(tails), np.full(len(tails), sink), np.array(capacities), np.array(costs))
        self.add_supplies(np.array([sink]), np.array([-total]))

    def solve(self) -> int:
        """Find a flow of least cost, and return its cost.

        Raises:
            InfeasiblePlan: no flow fulfills the supplies.
        """
        status = self._solver.solve()
        if status != self._solver.OPTIMAL:
            raise InfeasiblePlan(f"no assignment fulfills the constraints: the solver reports {status.name}")
        return int(self._solver.optimal_cost())

    def flows(self, arcs: Ints) -> Ints:
        """Return the flows of arcs after `solve`."""
        return np.asarray(self._solver.flows(arcs.astype(np.int32)), dtype=np.int64)


def _doubling_sizes(total: int) -> list[int]:
    """Return sizes that double, with a sum of at least `total`."""
    sizes = [1]
    while sum(sizes) < total:
        sizes.append(2 ** (len(sizes) - 1))
    return sizes
