"""Moves: first both sets of replicas, then the target alone; never without somebody who has all the data."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.controller.topic_state import OngoingReassignment, Partition, Topic
from kwire.cluster.controller.topic_transitions import (
    ElectionContext,
    begin_reassignment,
    complete_reassignment,
    elect_leaders,
)
from kwire.cluster.controller.topic_writes import plan_writes, split_transactions
from kwire.cluster.zookeeper.operations import Create, SetData

BROKERS = (1, 2, 3, 4, 5)


def now(*live: int) -> ElectionContext:
    return ElectionContext(frozenset(live), frozenset(), 4)


def a_topic(*replicas: tuple[int, ...]) -> Topic:
    topic = Topic("t", uuid.UUID(int=7), tuple(Partition(index, ids) for index, ids in enumerate(replicas)))
    return plan_writes(None, elect_leaders(topic, now(*BROKERS))).after


def test_a_move_stands_on_both_sets_until_the_target_is_in_sync() -> None:
    moving = begin_reassignment(a_topic((1, 2)), {0: (3, 1)}, now(1, 2))
    assert moving.partitions[0].replicas == (3, 1, 2)
    assert moving.reassignments == {0: OngoingReassignment(adding=(3,), removing=(2,))}
    assert moving.target_replicas(moving.partitions[0]) == (3, 1)
    assert complete_reassignment(moving, now(1, 2)) is moving
    arrived = complete_reassignment(elect_leaders(moving, now(1, 2, 3)), now(1, 2, 3))
    assert not arrived.reassignments
    assert (arrived.partitions[0].replicas, arrived.partitions[0].isr, arrived.partitions[0].leader) == (
        (3, 1),
        (3, 1),
        1,
    )


def test_a_new_order_needs_no_move() -> None:
    reordered = begin_reassignment(a_topic((1, 2)), {0: (2, 1)}, now(1, 2))
    assert not reordered.reassignments
    assert (reordered.partitions[0].replicas, reordered.partitions[0].leader) == ((2, 1), 1)


lists = st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count])))


@given(lists, lists, st.lists(st.sets(st.sampled_from(BROKERS)), max_size=8))
def test_whatever_dies_on_the_way_it_arrives_in_the_end(
    old: tuple[int, ...], target: tuple[int, ...], history: list[set[int]]
) -> None:
    topic = begin_reassignment(a_topic(old), {0: target}, now(*BROKERS))
    for live in [*history, set(BROKERS)]:
        at = now(*live)
        before = topic.partitions[0]
        settled = elect_leaders(topic, at)
        topic = complete_reassignment(settled, at)
        after = topic.partitions[0]
        assert topic.target_replicas(after) == target
        assert set(after.replicas) in ({*target}, {*old, *target})
        for leader, isr in ((settled.partitions[0].leader, before.isr), (after.leader, settled.partitions[0].isr)):
            assert leader == -1 or leader in isr, "a leader has all that its predecessor had"
        assert after.isr
    assert not topic.reassignments
    assert topic.partitions[0].replicas == target
    assert set(topic.partitions[0].isr) == set(target)
    assert topic.partitions[0].leader in target


def test_what_is_equal_needs_no_write_and_what_differs_is_one_transaction() -> None:
    topic = a_topic((1, 2), (2, 3))
    assert plan_writes(topic, topic).transactions == []
    moving = begin_reassignment(topic, {1: (5,)}, now(*BROKERS))
    ((registration, state),) = plan_writes(topic, moving).transactions
    assert isinstance(registration, SetData)
    assert isinstance(state, SetData)
    assert (registration.path, registration.version) == ("/brokers/topics/t", 0)
    assert (state.path, state.version) == ("/brokers/topics/t/partitions/1/state", 0)


def test_a_topic_too_large_for_a_packet_is_cut_behind_what_counts() -> None:
    large = elect_leaders(
        Topic("x" * 249, uuid.UUID(int=7), tuple(Partition(index, (1, 2, 3)) for index in range(2_000))), now(1, 2, 3)
    )
    plan = plan_writes(None, large)
    assert len(plan.transactions) > 1
    assert [one.path.split("/")[1] for one in plan.transactions[0][:2]] == ["brokers", "config"]
    assert sum(map(len, plan.transactions)) == 2 + 1 + 2 * 2_000
    assert split_transactions([]) == []
    assert split_transactions([Create("/a", b"x" * 2_000_000), Create("/b")]) == [
        [Create("/a", b"x" * 2_000_000)],
        [Create("/b")],
    ]
