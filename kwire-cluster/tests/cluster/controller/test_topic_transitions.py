"""Tests of reassignments and of the writes that follow from a transition."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.controller.topic_state import OngoingReassignment, Partition, Topic
from kwire_cluster.controller.topic_transitions import (
    ElectionContext,
    begin_reassignment,
    complete_reassignment,
    elect_leaders,
)
from kwire_cluster.controller.topic_writes import plan_writes, split_transactions
from kwire_cluster.zookeeper.operations import Create, SetData

BROKERS = (1, 2, 3, 4, 5)


def election(*live: int) -> ElectionContext:
    return ElectionContext(frozenset(live), frozenset(), 4)


def a_topic(*replicas: tuple[int, ...]) -> Topic:
    topic = Topic("t", uuid.UUID(int=7), tuple(Partition(index, ids) for index, ids in enumerate(replicas)))
    return plan_writes(None, elect_leaders(topic, election(*BROKERS))).after


def test_reassignment_keeps_both_replica_sets_until_the_target_is_in_sync() -> None:
    reassigning = begin_reassignment(a_topic((1, 2)), {0: (3, 1)}, election(1, 2))
    assert reassigning.partitions[0].replicas == (3, 1, 2)
    assert reassigning.reassignments == {0: OngoingReassignment(adding=(3,), removing=(2,))}
    assert reassigning.target_replicas(reassigning.partitions[0]) == (3, 1)
    assert complete_reassignment(reassigning, election(1, 2)) is reassigning
    completed = complete_reassignment(elect_leaders(reassigning, election(1, 2, 3)), election(1, 2, 3))
    assert not completed.reassignments
    assert (completed.partitions[0].replicas, completed.partitions[0].isr, completed.partitions[0].leader) == (
        (3, 1),
        (3, 1),
        1,
    )


def test_new_order_of_replicas_takes_effect_at_once() -> None:
    reordered = begin_reassignment(a_topic((1, 2)), {0: (2, 1)}, election(1, 2))
    assert not reordered.reassignments
    assert (reordered.partitions[0].replicas, reordered.partitions[0].leader) == ((2, 1), 1)


lists = st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count])))


@given(lists, lists, st.lists(st.sets(st.sampled_from(BROKERS)), max_size=8))
def test_reassignment_completes_after_any_broker_failures(
    old: tuple[int, ...], target: tuple[int, ...], history: list[set[int]]
) -> None:
    topic = begin_reassignment(a_topic(old), {0: target}, election(*BROKERS))
    for live in [*history, set(BROKERS)]:
        context = election(*live)
        before = topic.partitions[0]
        elected = elect_leaders(topic, context)
        topic = complete_reassignment(elected, context)
        after = topic.partitions[0]
        assert topic.target_replicas(after) == target
        assert set(after.replicas) in ({*target}, {*old, *target})
        for leader, isr in ((elected.partitions[0].leader, before.isr), (after.leader, elected.partitions[0].isr)):
            assert leader == -1 or leader in isr, "a leader has all that its predecessor had"
        assert after.isr
    assert not topic.reassignments
    assert topic.partitions[0].replicas == target
    assert set(topic.partitions[0].isr) == set(target)
    assert topic.partitions[0].leader in target


def test_difference_is_written_in_one_transaction() -> None:
    topic = a_topic((1, 2), (2, 3))
    assert plan_writes(topic, topic).transactions == []
    reassigning = begin_reassignment(topic, {1: (5,)}, election(*BROKERS))
    ((registration, state),) = plan_writes(topic, reassigning).transactions
    assert isinstance(registration, SetData)
    assert isinstance(state, SetData)
    assert (registration.path, registration.version) == ("/brokers/topics/t", 0)
    assert (state.path, state.version) == ("/brokers/topics/t/partitions/1/state", 0)


def test_large_topic_is_split_after_registration_and_configs() -> None:
    large = elect_leaders(
        Topic("x" * 249, uuid.UUID(int=7), tuple(Partition(index, (1, 2, 3)) for index in range(2_000))),
        election(1, 2, 3),
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
