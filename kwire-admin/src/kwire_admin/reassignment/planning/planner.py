"""Make a plan: balance counts or sizes, then leaders, and check the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kwire._util.readable import counted
from kwire_admin.reassignment.errors import InfeasiblePlan
from kwire_admin.reassignment.plan import Balance, Move, Plan, Proof
from kwire_admin.reassignment.planning.bounds import usable_brokers
from kwire_admin.reassignment.planning.count_planner import plan_counts, preserves_rack_spread
from kwire_admin.reassignment.planning.leader_planner import plan_leaders
from kwire_admin.reassignment.planning.placement import NONE, Placement, counts_of
from kwire_admin.reassignment.planning.size_planner import even_out_sizes, plan_sizes

if TYPE_CHECKING:
    from kwire_admin.reassignment.plan import PlanRequest
    from kwire_admin.reassignment.planning.placement import Ints
    from kwire_admin.reassignment.snapshot import ClusterSnapshot


def plan(snapshot: ClusterSnapshot, request: PlanRequest) -> Plan:
    """Return the plan with the least data to move for the goals of a request.

    Raises:
        InvalidRequest: the request does not fit the cluster.
        InfeasiblePlan: no assignment fulfills the hard constraints; the error says which one.
    """
    # Hard constraints are checked here, for errors that name the cause, and at the end, against defects of planners.
    request.check(snapshot)
    placement = Placement.of(snapshot, request)
    _check_brokers(placement)
    notes: list[str] = []
    # The heavier goal decides the brokers of replicas. The lighter one only exchanges replicas of equal count, or moves
    # replicas within the tolerance of bytes, so it never undoes the heavier one.
    counts = request.balance.get(Balance.COUNT, 0.0)
    sizes = request.balance.get(Balance.SIZE, 0.0)
    if sizes > counts:
        by_size = plan_sizes(placement, request, with_counts=bool(counts))
        replicas, measure, bound = by_size.replicas, "bytes", by_size.bound
        balanced = by_size.within_bounds
    else:
        by_count = plan_counts(placement, balanced=counts > 0)
        replicas, measure, bound = by_count.replicas, "replicas", by_count.bound
        balanced = by_count.within_bounds or counts == 0
        too_full = snapshot.has_sizes and _first_full_disk(placement, request, snapshot, replicas) is not None
        if sizes or too_full:
            exchanged = even_out_sizes(placement, replicas, request)
            replicas = exchanged.replicas
            if sizes and not exchanged.within_bounds:
                notes.append(f"bytes are not within {request.tolerance:.0%} of their shares on all brokers")
            if too_full:
                notes.append("replicas were exchanged, because a disk would be too full")
    if not balanced:
        notes.append("the hard constraints leave some brokers outside of their share")
    # Leaders come last: their order costs no data, and depends on the replicas.
    if Balance.LEADERS in request.balance:
        ordered = plan_leaders(placement, replicas)
        replicas = ordered.replicas
        if not ordered.balanced:
            notes.append("leaders cannot be spread evenly over the brokers that have the replicas")
    _check(placement, request, snapshot, replicas)
    moves = _moves(placement, replicas)
    moved = sum(move.data if measure == "bytes" else len(move.added) for move in moves)
    return Plan(snapshot, moves, Proof(measure, moved, bound, balanced), tuple(notes))


def _check_brokers(placement: Placement) -> None:
    """Check that every partition has as many brokers to choose from as it has replicas.

    Raises:
        InfeasiblePlan: a partition has fewer.
    """
    usable = usable_brokers(placement).sum(axis=1)
    lacking = np.nonzero(usable < placement.factors)[0]
    if lacking.size:
        row = int(lacking[0])
        others = f" and {counted(lacking.size - 1, 'other')}" if lacking.size > 1 else ""
        raise InfeasiblePlan(
            f"partition {placement.partitions[row].key}{others} cannot be placed: {placement.factors[row]} replicas "
            f"need as many brokers, and {usable[row]} remain; add brokers, drain fewer, or lower the replication factor"
        )


def _moves(placement: Placement, replicas: Ints) -> tuple[Move, ...]:
    changed = np.nonzero((replicas != placement.replicas).any(axis=1))[0]
    ids = placement.broker_ids[replicas[changed]]
    moves = []
    for row, after, count in zip(
        changed.tolist(), ids.tolist(), (replicas[changed] != NONE).sum(axis=1).tolist(), strict=True
    ):
        state = placement.partitions[row]
        moves.append(Move(state.key, state.replicas, tuple(after[:count]), state.size, state.leader))
    return tuple(sorted(moves))


def _check(placement: Placement, request: PlanRequest, snapshot: ClusterSnapshot, replicas: Ints) -> None:
    """Check the hard constraints of a result.

    Raises:
        InfeasiblePlan: a constraint is violated.
    """
    present = replicas != NONE
    ordered = np.sort(np.where(present, replicas, -1 - np.arange(replicas.shape[1])), axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise InfeasiblePlan("a partition has two replicas on one broker")
    if (present.sum(axis=1) != placement.factors).any():
        raise InfeasiblePlan("a partition does not have the wanted number of replicas")
    if not placement.may_keep[replicas[present]].all():
        raise InfeasiblePlan("a drained broker still has replicas")
    if placement.rack_aware and not (preserved := preserves_rack_spread(placement, replicas)).all():
        worse = placement.partitions[int(np.nonzero(~preserved)[0][0])]
        raise InfeasiblePlan(
            f"partition {worse.key} would be in fewer racks than now, because brokers of a rack are missing: add "
            "brokers to the rack, or plan without racks"
        )
    if full := _first_full_disk(placement, request, snapshot, replicas):
        raise InfeasiblePlan(full)


def _first_full_disk(
    placement: Placement, request: PlanRequest, snapshot: ClusterSnapshot, replicas: Ints
) -> str | None:
    """Return a sentence about a broker that would exceed the limit of its disk because of a plan; None if none does."""
    used = placement.base_bytes + counts_of(replicas, placement.brokers, placement.sizes)
    before = placement.base_bytes + counts_of(placement.replicas, placement.brokers, placement.sizes)
    for position, broker in enumerate(snapshot.brokers):
        if broker.disk_bytes is None or broker.free_bytes is None or used[position] <= before[position]:
            continue
        other = max(broker.disk_bytes - broker.free_bytes - int(before[position]), 0)
        share = (int(used[position]) + other) / broker.disk_bytes
        if share > request.disk_limit:
            return f"broker {broker.id} would use {share:.0%} of its disk: the limit is {request.disk_limit:.0%}"
    return None
