"""Moves: first both sets of replicas, then the target alone; never without somebody who has all the data."""

from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.controller.state import Move, Partition, Topic
from kwire.cluster.controller.topic_steps import Circumstances, begin_moves, finish_moves, settle_topic
from kwire.cluster.controller.topic_writes import cut, writes
from kwire.cluster.zookeeper.operations import Create, Set

BROKERS = (1, 2, 3, 4, 5)


def now(*live: int) -> Circumstances:
    return Circumstances(frozenset(live), frozenset(), 4)


def a_topic(*replicas: tuple[int, ...]) -> Topic:
    topic = Topic("t", uuid.UUID(int=7), tuple(Partition(index, ids) for index, ids in enumerate(replicas)))
    return writes(None, settle_topic(topic, now(*BROKERS))).after


def test_a_move_stands_on_both_sets_until_the_target_is_in_sync() -> None:
    moving = begin_moves(a_topic((1, 2)), {0: (3, 1)}, now(1, 2))
    assert moving.partitions[0].replicas == (3, 1, 2)
    assert moving.moves == {0: Move(adding=(3,), removing=(2,))}
    assert moving.target(moving.partitions[0]) == (3, 1)
    assert finish_moves(moving, now(1, 2)) is moving
    arrived = finish_moves(settle_topic(moving, now(1, 2, 3)), now(1, 2, 3))
    assert not arrived.moves
    assert (arrived.partitions[0].replicas, arrived.partitions[0].isr, arrived.partitions[0].leader) == (
        (3, 1),
        (3, 1),
        1,
    )


def test_a_new_order_needs_no_move() -> None:
    reordered = begin_moves(a_topic((1, 2)), {0: (2, 1)}, now(1, 2))
    assert not reordered.moves
    assert (reordered.partitions[0].replicas, reordered.partitions[0].leader) == ((2, 1), 1)


lists = st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count])))


@given(lists, lists, st.lists(st.sets(st.sampled_from(BROKERS)), max_size=8))
def test_whatever_dies_on_the_way_it_arrives_in_the_end(
    old: tuple[int, ...], target: tuple[int, ...], history: list[set[int]]
) -> None:
    topic = begin_moves(a_topic(old), {0: target}, now(*BROKERS))
    for live in [*history, set(BROKERS)]:
        at = now(*live)
        before = topic.partitions[0]
        settled = settle_topic(topic, at)
        topic = finish_moves(settled, at)
        after = topic.partitions[0]
        assert topic.target(after) == target
        assert set(after.replicas) in ({*target}, {*old, *target})
        for leader, isr in ((settled.partitions[0].leader, before.isr), (after.leader, settled.partitions[0].isr)):
            assert leader == -1 or leader in isr, "a leader has all that its predecessor had"
        assert after.isr
    assert not topic.moves
    assert topic.partitions[0].replicas == target
    assert set(topic.partitions[0].isr) == set(target)
    assert topic.partitions[0].leader in target


def test_what_is_equal_needs_no_write_and_what_differs_is_one_transaction() -> None:
    topic = a_topic((1, 2), (2, 3))
    assert writes(topic, topic).transactions == []
    moving = begin_moves(topic, {1: (5,)}, now(*BROKERS))
    ((registration, state),) = writes(topic, moving).transactions
    assert isinstance(registration, Set)
    assert isinstance(state, Set)
    assert (registration.path, registration.version) == ("/brokers/topics/t", 0)
    assert (state.path, state.version) == ("/brokers/topics/t/partitions/1/state", 0)


def test_a_topic_too_large_for_a_packet_is_cut_behind_what_counts() -> None:
    large = settle_topic(
        Topic("x" * 249, uuid.UUID(int=7), tuple(Partition(index, (1, 2, 3)) for index in range(2_000))), now(1, 2, 3)
    )
    plan = writes(None, large)
    assert len(plan.transactions) > 1
    assert [one.path.split("/")[1] for one in plan.transactions[0][:2]] == ["brokers", "config"]
    assert sum(map(len, plan.transactions)) == 2 + 1 + 2 * 2_000
    assert cut([]) == []
    assert cut([Create("/a", b"x" * 2_000_000), Create("/b")]) == [[Create("/a", b"x" * 2_000_000)], [Create("/b")]]
