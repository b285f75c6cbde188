"""Tests of partition leader election."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.controller.topic_state import MALFORMED, NO_ZNODE, Partition
from kwire_cluster.controller.topic_transitions import (
    ElectionContext,
    choose_leader,
    elect_leader,
    elect_leader_for_shutdown,
    elect_preferred_leader,
)
from kwire_cluster.zookeeper.topics import PartitionState

BROKERS = (1, 2, 3, 4, 5)


def a_partition(replicas: tuple[int, ...], leader: int, isr: tuple[int, ...]) -> Partition:
    return Partition(0, replicas, PartitionState(leader, 7, isr, 3), 5)


def elected(
    partition: Partition, live: set[int], shutting_down: frozenset[int] = frozenset(), *, unclean: bool = False
) -> Partition:
    return elect_leader(partition, ElectionContext(live, shutting_down, 9), unclean=unclean)


def summary(partition: Partition) -> tuple[int, tuple[int, ...], int]:
    return partition.leader, partition.isr, partition.leader_epoch


def test_first_live_replica_leads_a_new_partition() -> None:
    assert summary(elected(Partition(0, (1, 2, 3)), {2, 3})) == (2, (2, 3), 0)


def test_new_partition_without_live_replicas_has_no_state() -> None:
    partition = Partition(0, (1, 2))
    assert elected(partition, {3}) is partition
    assert partition.leader == -1


def test_dead_follower_leaves_the_isr_without_a_new_leader_epoch() -> None:
    assert summary(elected(a_partition((1, 2, 3), 1, (1, 2, 3)), {1, 3})) == (1, (1, 3), 7)


def test_next_replica_in_the_order_of_assignment_succeeds_a_dead_leader() -> None:
    assert summary(elected(a_partition((3, 1, 2), 3, (2, 1, 3)), {1, 2})) == (1, (1, 2), 8)


def test_replica_outside_the_isr_does_not_become_leader() -> None:
    assert summary(elected(a_partition((1, 2), 1, (1,)), {2})) == (-1, (1,), 8)


def test_unclean_election_makes_a_replica_outside_the_isr_leader() -> None:
    assert summary(elected(a_partition((1, 2), 1, (1,)), {2}, unclean=True)) == (2, (2,), 8)


def test_last_replica_stays_in_the_isr_and_leads_after_it_returns() -> None:
    offline = elected(a_partition((1, 2), 1, (1, 2)), set())
    assert summary(offline) == (-1, (1, 2), 8)
    assert summary(elected(offline, {2})) == (2, (2,), 9)


def test_returning_replica_joins_the_isr_and_the_leader_stays() -> None:
    assert summary(elected(a_partition((1, 2), 2, (2,)), {1, 2})) == (2, (1, 2), 7)


def test_unchanged_partition_is_the_same_object() -> None:
    partition = a_partition((1, 2), 2, (2, 1))
    assert elected(partition, {1, 2, 3}) is partition


def test_malformed_state_is_unchanged() -> None:
    partition = Partition(0, (1, 2), None, MALFORMED)
    assert elected(partition, {1, 2}) is partition


def test_broker_that_shuts_down_is_the_last_choice() -> None:
    assert choose_leader((1, 2, 3), {1}) == 2
    assert choose_leader((1, 2), {1, 2}) == 1
    assert choose_leader((), {1}) == -1


def test_preferred_leader_must_be_live_in_sync_and_not_shutting_down() -> None:
    partition = a_partition((1, 2), 2, (2, 1))
    assert summary(elect_preferred_leader(partition, ElectionContext({1, 2}, frozenset(), 9))) == (1, (2, 1), 8)
    assert elect_preferred_leader(partition, ElectionContext({2}, frozenset(), 9)) is partition
    assert elect_preferred_leader(partition, ElectionContext({1, 2}, {1}, 9)) is partition
    behind = a_partition((1, 2), 2, (2,))
    assert elect_preferred_leader(behind, ElectionContext({1, 2}, frozenset(), 9)) is behind


def test_leader_that_shuts_down_is_replaced() -> None:
    assert summary(elect_leader_for_shutdown(a_partition((1, 2), 1, (1, 2)), ElectionContext({1, 2}, {1}, 9))) == (
        2,
        (1, 2),
        8,
    )
    alone = a_partition((1, 2), 1, (1,))
    assert elect_leader_for_shutdown(alone, ElectionContext({1, 2}, {1}, 9)) is alone


replicas = st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 5).map(lambda count: tuple(order[:count])))


@given(replicas, st.lists(st.tuples(st.sets(st.sampled_from(BROKERS)), st.booleans()), min_size=1, max_size=12))
def test_new_leader_was_in_the_isr_unless_the_election_was_unclean(
    assigned: tuple[int, ...], history: list[tuple[set[int], bool]]
) -> None:
    """The ISR is never empty, and a new leader was in the last ISR unless unclean election was allowed."""
    partition = Partition(0, assigned, None, NO_ZNODE)
    for live, unclean in history:
        before = partition
        partition = elected(before, live, unclean=unclean)
        assert elected(partition, live, unclean=unclean) is partition, "a second election changes nothing"
        if partition.state is None:
            assert not live & set(assigned)
            continue
        assert partition.isr
        assert set(partition.isr) <= set(assigned)
        if partition.leader == -1:
            assert not live & set(partition.isr)
            if before.state is not None:
                assert partition.isr == before.isr
        else:
            assert partition.leader in live
            assert set(partition.isr) == live & set(assigned)
            assert before.state is None or partition.leader in before.isr or unclean
        if before.state is not None:
            assert partition.leader_epoch - before.leader_epoch == (partition.leader != before.leader)
