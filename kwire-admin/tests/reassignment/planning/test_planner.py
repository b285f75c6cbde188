"""Plans move the least data that their goals need, and never break a hard constraint."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ortools.sat.python import cp_model

from kwire_admin.reassignment import (
    Balance,
    BrokerSnapshot,
    ClusterSnapshot,
    InfeasiblePlan,
    InvalidPlanRequest,
    InvalidSnapshot,
    PartitionSnapshot,
    PlanRequest,
)
from kwire_admin.reassignment.planning.placement import MAX_REPLICAS
from kwire_admin.reassignment.planning.planner import plan
from tests.for_rows import for_rows
from tests.reassignment.snapshots import GIB, random_snapshot

if TYPE_CHECKING:
    from kwire_admin.reassignment import Plan

COUNT = PlanRequest(balance={Balance.COUNT: 1})
SIZE = PlanRequest(balance={Balance.SIZE: 1})


def replicas_after(made: Plan) -> dict[tuple[str, int], tuple[int, ...]]:
    after = {move.key: move.after for move in made.moves}
    return {partition.key: after.get(partition.key, partition.replicas) for partition in made.snapshot.partitions}


def check_hard_constraints(made: Plan, request: PlanRequest) -> None:
    """Check that a plan breaks no hard constraint."""
    racks = {broker.id: broker.rack or broker.id for broker in made.snapshot.brokers}
    live = {broker.id for broker in made.snapshot.brokers if broker.is_live}
    after = replicas_after(made)
    for partition in made.snapshot.partitions:
        replicas = after[partition.key]
        assert len(set(replicas)) == len(replicas) == (request.replication_factor or len(partition.replicas))
        if not request.in_scope(partition.topic):
            assert replicas == partition.replicas
            continue
        assert not request.drain.intersection(replicas)
        assert set(replicas) - set(partition.replicas) <= live
        spread = len({racks[broker] for broker in partition.replicas})
        assert len({racks[broker] for broker in replicas}) >= min(spread, len(replicas))


def least_replicas_added(made: Plan) -> int:
    """Return the optimum for the same counts of brokers, by an exact solver.

    Every broker may have as many replicas as the plan gives to some broker of its rack, or of all brokers if racks do
    not matter.
    """
    model = cp_model.CpModel()
    racks = {broker.id: broker.rack or broker.id for broker in made.snapshot.brokers}
    after = replicas_after(made)
    counts = Counter(broker for replicas in after.values() for broker in replicas)
    members = defaultdict(list)
    for broker, rack in racks.items():
        members[rack].append(broker)
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for brokers in members.values() if len(members) < len(racks) else [list(racks)]:
        in_rack = [counts[broker] for broker in brokers]
        low |= dict.fromkeys(brokers, min(in_rack))
        high |= dict.fromkeys(brokers, max(in_rack))
    added = []
    columns = defaultdict(list)
    for partition in made.snapshot.partitions:
        here = {broker: model.new_bool_var("") for broker in racks}
        model.add(sum(here.values()) == len(partition.replicas))
        spread = []
        for brokers in members.values():
            used = model.new_bool_var("")
            model.add(sum(here[broker] for broker in brokers) >= used)
            spread.append(used)
        model.add(sum(spread) >= len({racks[broker] for broker in partition.replicas}))
        for broker, flag in here.items():
            columns[broker].append(flag)
            if broker not in partition.replicas:
                added.append(flag)
    for broker, flags in columns.items():
        model.add_linear_constraint(sum(flags), low[broker], high[broker])
    model.minimize(sum(added))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


@for_rows(("racks", "empty"), [(0, 0), (0, 2), (3, 0), (3, 3), (4, 0)])
def test_balance_by_count_moves_as_few_replicas_as_an_exact_solver(racks: int, empty: int) -> None:
    made = plan(random_snapshot(60, 9, racks=racks, empty=empty), COUNT)

    check_hard_constraints(made, COUNT)
    assert made.proof is not None
    assert made.proof.is_optimal
    assert made.replicas_added == made.proof.moved == least_replicas_added(made)


@for_rows("racks", [0, 3, 5])
def test_balance_by_count_gives_every_broker_its_share(racks: int) -> None:
    made = plan(random_snapshot(2000, 30, racks=racks, empty=6), COUNT)

    assert {load.replicas_after for load in made.loads} == {200}
    assert made.proof is not None
    assert made.proof.ratio == 1.0


@for_rows(("racks", "drain"), [(0, ()), (3, ()), (3, (0, 4)), (5, (1,))])
def test_balance_by_size_is_close_to_the_lower_bound(racks: int, drain: tuple[int, ...]) -> None:
    request = PlanRequest(balance={Balance.SIZE: 1}, drain=frozenset(drain))
    made = plan(random_snapshot(3000, 30, racks=racks, empty=3), request)

    check_hard_constraints(made, request)
    assert made.proof is not None
    assert made.proof.balanced
    assert made.proof.ratio <= 1.02
    by_rack = defaultdict(list)
    for load in made.loads:
        if load.broker not in drain:
            by_rack[load.rack].append(load.size_after or 0)
    for sizes in by_rack.values():
        assert max(sizes) <= 1.11 * min(sizes), "each of them is within 5 % of the share"


def test_leaders_are_spread_without_data() -> None:
    request = PlanRequest(balance={Balance.LEADERS: 1})
    made = plan(random_snapshot(600, 6), request)

    assert made.replicas_added == 0
    assert {load.leaders_after for load in made.loads} == {100}


@for_rows("racks", [0, 2, 3])
def test_drain_moves_nothing_else(racks: int) -> None:
    snapshot = random_snapshot(300, 9, 2, racks=racks)
    request = PlanRequest(drain=frozenset({4}))
    made = plan(snapshot, request)

    check_hard_constraints(made, request)
    assert {move.key for move in made.moves} == {
        partition.key for partition in snapshot.partitions if 4 in partition.replicas
    }
    assert all(move.removed == (4,) for move in made.moves)
    assert made.proof is not None
    assert made.proof.is_optimal


@for_rows("factor", [1, 2, 4])
def test_replication_factor_changes_with_the_fewest_new_replicas(factor: int) -> None:
    request = PlanRequest(replication_factor=factor, topics=("topic-0001",))
    made = plan(random_snapshot(300, 9, racks=3), request)

    assert made.replicas_added == 100 * max(factor - 3, 0)
    for move in made.moves:
        assert move.key.topic == "topic-0001"
        assert len(move.after) == factor
        assert len({broker % 3 for broker in move.after}) == min(factor, 3)


def test_excluded_topics_stay_and_count() -> None:
    request = PlanRequest(balance={Balance.COUNT: 1}, exclude=("topic-0000",))
    made = plan(random_snapshot(300, 10, empty=2), request)

    check_hard_constraints(made, request)
    assert {load.replicas_after for load in made.loads} == {90}


def test_goals_are_weighted() -> None:
    snapshot = random_snapshot(1000, 10, empty=2)
    by_count = plan(snapshot, PlanRequest(balance={Balance.COUNT: 2, Balance.SIZE: 1}))
    by_size = plan(snapshot, PlanRequest(balance={Balance.COUNT: 1, Balance.SIZE: 2}))

    for made in (by_count, by_size):
        sizes = [load.size_after or 0 for load in made.loads]
        assert max(sizes) <= 1.05 * sum(sizes) / len(sizes) + 1
    assert {load.replicas_after for load in by_count.loads} == {300}
    assert by_size.data < by_count.data, "the heavier goal decides what is moved"


def test_brokers_that_are_down_receive_nothing() -> None:
    request = PlanRequest(balance={Balance.COUNT: 1})
    snapshot = random_snapshot(100, 6, empty=2, down=(5,))
    made = plan(snapshot, request)

    check_hard_constraints(made, request)
    assert {load.broker: load.replicas_after for load in made.loads}[5] == 0


def test_disk_limit_is_hard() -> None:
    full = ClusterSnapshot(
        (BrokerSnapshot(1, None, True, 100 * GIB, 40 * GIB), BrokerSnapshot(2, None, True, 100 * GIB, 30 * GIB)),
        tuple(PartitionSnapshot("orders", index, (1,), 10 * GIB) for index in range(6)),
    )
    with pytest.raises(InfeasiblePlan, match=r"broker 2 would use 130% of its disk: the limit is 85%"):
        plan(full, PlanRequest(drain=frozenset({1})))


def test_replicas_are_exchanged_where_a_disk_would_be_too_full() -> None:
    sizes = [40, 40, 1, 1, 1, 1]
    crowded = ClusterSnapshot(
        (
            BrokerSnapshot(1, None, True, 100 * GIB, 16 * GIB),
            BrokerSnapshot(2, None, True, 50 * GIB, 50 * GIB),
        ),
        tuple(PartitionSnapshot("orders", index, (1,), size * GIB) for index, size in enumerate(sizes)),
    )
    made = plan(crowded, COUNT)
    assert [load.replicas_after for load in made.loads] == [3, 3]
    assert (made.loads[1].size_after or 0) <= 0.85 * 50 * GIB


def test_plan_that_would_break_the_spread_over_racks_is_explained() -> None:
    with pytest.raises(InfeasiblePlan, match="would be in fewer racks than now"):
        plan(random_snapshot(30, 6, racks=3), PlanRequest(drain=frozenset({0, 3})))
    made = plan(random_snapshot(30, 6, racks=3), PlanRequest(drain=frozenset({0, 3}), rack_aware=False))
    assert made.moves


@for_rows("racks", [0, 2])
@for_rows("balance", [{Balance.COUNT: 1.0}, {Balance.SIZE: 1.0}, {}])
def test_partition_with_more_replicas_than_brokers_remain_is_named(balance: dict[Balance, float], racks: int) -> None:
    request = PlanRequest(balance=balance, drain=frozenset({2}))
    with pytest.raises(
        InfeasiblePlan,
        match=r"partition topic-0000-0 and 11 others cannot be placed: 3 replicas need as many brokers, and 2 remain; "
        r"add brokers, drain fewer, or lower the replication factor",
    ):
        plan(random_snapshot(12, 3, racks=racks), request)


@for_rows(
    ("request_", "text"),
    [
        (PlanRequest(drain=frozenset({7, 8})), "broker 7, 8 does not exist: the cluster has 0, 1, 2"),
        (PlanRequest(drain=frozenset({0, 1, 2})), "all live brokers are drained"),
        (PlanRequest(replication_factor=4), "a replication factor is from 1 to 3"),
        (PlanRequest(topics=("nosuch*",)), "no topic matches 'nosuch\\*'"),
        (PlanRequest(balance={Balance.COUNT: 0}), "the weight of a goal must be above 0"),
        (PlanRequest(tolerance=0), "the tolerance must be between 0 and 1"),
    ],
)
def test_request_that_does_not_fit_the_cluster_is_explained(request_: PlanRequest, text: str) -> None:
    with pytest.raises(InvalidPlanRequest, match=text):
        plan(random_snapshot(10, 3, 2), request_)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[ClusterSnapshot, PlanRequest]:
    """Draw a small cluster with uneven racks, unequal replication factors, and topics, and a request for it."""
    count = draw(st.integers(3, 8))
    racks = draw(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=count, max_size=count))
    brokers = tuple(BrokerSnapshot(index, rack) for index, rack in enumerate(racks))
    partitions = tuple(
        PartitionSnapshot(
            draw(st.sampled_from(["first", "second"])) + f"-{index}",
            0,
            tuple(draw(st.permutations(range(count)))[: draw(st.integers(1, min(4, count)))]),
            draw(st.integers(0, 1000)),
        )
        for index in range(draw(st.integers(1, 25)))
    )
    goals = draw(st.sets(st.sampled_from(list(Balance))))
    return ClusterSnapshot(brokers, partitions), PlanRequest(
        balance={goal: draw(st.sampled_from([1.0, 2.0])) for goal in sorted(goals)},
        drain=frozenset(draw(st.sets(st.integers(0, count - 1), max_size=2))),
        replication_factor=draw(st.none() | st.integers(1, 3)),
        exclude=("second-*",) if any(partition.topic.startswith("second") for partition in partitions) else (),
    )


@settings(max_examples=150, deadline=None)
@given(clusters())
def test_no_plan_breaks_a_hard_constraint(drawn: tuple[ClusterSnapshot, PlanRequest]) -> None:
    snapshot, request = drawn
    try:
        made = plan(snapshot, request)
    except (InfeasiblePlan, InvalidPlanRequest):
        return
    in_scope = tuple(partition for partition in snapshot.partitions if request.in_scope(partition.topic))
    check_hard_constraints(made if not request.exclude else _limited(made, in_scope), request)
    assert made.proof is not None
    assert made.proof.bound <= made.proof.moved
    assert made.proof.moved == (made.data if made.proof.measure == "bytes" else made.replicas_added)


def _limited(made: Plan, partitions: tuple[PartitionSnapshot, ...]) -> Plan:
    """Return a plan for the partitions in scope only: the replication factor of others stays."""
    assert {move.key for move in made.moves} <= {partition.key for partition in partitions}
    return type(made)(ClusterSnapshot(made.snapshot.brokers, partitions), made.moves, made.proof)


def test_partition_with_absurdly_many_replicas_is_refused() -> None:
    replicas = tuple(range(MAX_REPLICAS + 1))
    brokers = tuple(BrokerSnapshot(broker) for broker in replicas)
    partitions = (PartitionSnapshot("orders", 0, (0, 1)), PartitionSnapshot("orders", 1, replicas))
    with pytest.raises(InvalidSnapshot, match=rf"orders-1 has {MAX_REPLICAS + 1} replicas, more than {MAX_REPLICAS}"):
        plan(ClusterSnapshot(brokers, partitions), COUNT)
