"""Batches keep the limits of bytes, brokers, and disks."""

from __future__ import annotations

from collections import Counter

import pytest

from kwire.client.admin.group_values import TopicPartition
from kwire_admin.reassignment import Balance, InfeasiblePlan, Move, PlanRequest
from kwire_admin.reassignment.planning.planner import plan
from kwire_admin.reassignment.schedule import BatchLimits, batches
from kwire_admin.reassignment.simulator import simulate
from tests.reassignment.snapshots import GIB, random_snapshot


def move(index: int, before: tuple[int, ...], after: tuple[int, ...], size: int | None = 1) -> Move:
    return Move(TopicPartition("orders", index), before, after, size, before[0])


def test_batches_have_every_move_once_and_keep_the_limits() -> None:
    made = plan(random_snapshot(500, 10, empty=2), PlanRequest(balance={Balance.COUNT: 1}))
    limits = BatchLimits(data=20 * GIB, moves_per_broker=3)
    found = batches(made.moves, limits)

    assert sorted(move for batch in found for move in batch) == list(made.moves)
    for batch in found:
        assert sum(move.data for move in batch) <= limits.data or len(batch) == 1
        busy = Counter(move.source for move in batch for _ in move.added)
        busy.update(broker for move in batch for broker in move.added)
        assert max(busy.values(), default=0) <= limits.moves_per_broker


def test_moves_without_data_come_first() -> None:
    order_only, removal = move(0, (1, 2), (2, 1)), move(1, (1, 2), (1,))
    copied = move(2, (1, 2), (3, 2))
    assert batches([copied, order_only, removal], BatchLimits()) == ((order_only, removal), (copied,))


def test_move_waits_until_another_one_frees_the_disk() -> None:
    leaves, enters = move(0, (1,), (2,), 5), move(1, (2,), (1,), 8)
    assert batches([leaves, enters], BatchLimits(free={1: 4, 2: 100})) == ((leaves,), (enters,))


def test_moves_that_never_fit_the_disks_are_explained() -> None:
    with pytest.raises(InfeasiblePlan, match="orders-0 needs 5 bytes on broker 2"):
        batches([move(0, (1,), (2,), 5)], BatchLimits(free={2: 4}))


def test_partition_of_unknown_size_is_moved() -> None:
    unsized = move(0, (1,), (2,), None)
    assert batches([unsized], BatchLimits(data=1)) == ((unsized,),)


def test_simulation_divides_the_bandwidth_of_brokers() -> None:
    course = simulate([[move(0, (1,), (2,), 100), move(1, (1,), (3,), 300)], [move(2, (4,), (2,), 50)]], 100)

    # Both leave broker 1 at 50 bytes a second; after 2 s the second one has 200 bytes left, and 100 bytes a second.
    assert course.batch_seconds == pytest.approx((4.0, 0.5))
    by_broker = {broker.broker: broker for broker in course.brokers}
    assert (by_broker[1].sent, by_broker[1].peak_out) == (400, 100.0)
    assert (by_broker[2].received, by_broker[2].peak_in, by_broker[2].peak_extra) == (150, 100.0, 150)


def test_large_cluster_is_planned_and_simulated() -> None:
    """100 brokers and 200,000 partitions, to drain two of them; planning takes a few seconds."""
    snapshot = random_snapshot(200_000, 100, racks=5)
    made = plan(snapshot, PlanRequest(drain=frozenset({3, 50})))
    assert made.proof is not None
    assert made.proof.is_optimal

    rate = 100 * 2**20
    course = simulate(batches(made.moves, BatchLimits()), rate)
    by_broker = {broker.broker: broker for broker in course.brokers}
    assert sum(broker.received for broker in course.brokers) == made.data
    assert {load.broker: load.incoming for load in made.loads if load.incoming} == {
        broker: load.received for broker, load in by_broker.items() if load.received
    }
    assert max(max(broker.peak_in, broker.peak_out) for broker in course.brokers) <= rate * 1.001
    assert course.seconds >= max(broker.received for broker in course.brokers) / rate


def test_old_replica_takes_space_until_its_batch_is_complete() -> None:
    course = simulate([[move(0, (1,), (2,), 100), move(1, (2,), (1,), 60)]], 100)
    assert {broker.broker: broker.peak_extra for broker in course.brokers} == {1: 60, 2: 100}
