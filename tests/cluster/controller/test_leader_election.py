"""Who leads and who is in sync."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kwire.cluster.controller.leader_election import (
    choose_leader,
    elect_leader,
    elect_leader_for_shutdown,
    elect_preferred_leader,
)
from kwire.cluster.controller.topic_state import MALFORMED, NO_ZNODE, Partition
from kwire.cluster.zookeeper.topics import PartitionState

BROKERS = (1, 2, 3, 4, 5)


def a_partition(
    replicas: tuple[int, ...], leader: int, isr: tuple[int, ...], leader_epoch: int = 7, controller_epoch: int = 3
) -> Partition:
    return Partition(0, replicas, PartitionState(leader, leader_epoch, isr, controller_epoch), 5)


def settled(
    partition: Partition, live: set[int], leaving: frozenset[int] = frozenset(), *, unclean: bool = False
) -> Partition:
    return elect_leader(partition, live, leaving, unclean=unclean, controller_epoch=9)


def told(partition: Partition) -> tuple[int, tuple[int, ...], int]:
    return partition.leader, partition.isr, partition.leader_epoch


def test_a_new_partition_is_led_by_its_first_live_replica() -> None:
    assert told(settled(Partition(0, (1, 2, 3)), {2, 3})) == (2, (2, 3), 0)


def test_a_new_partition_without_a_live_replica_waits() -> None:
    partition = Partition(0, (1, 2))
    assert settled(partition, {3}) is partition
    assert partition.leader == -1


def test_a_dead_follower_leaves_the_isr_and_the_leader_epoch_stays() -> None:
    assert told(settled(a_partition((1, 2, 3), 1, (1, 2, 3)), {1, 3})) == (1, (1, 3), 7)


def test_a_dead_leader_is_followed_by_the_next_in_the_order_of_assignment() -> None:
    assert told(settled(a_partition((3, 1, 2), 3, (2, 1, 3)), {1, 2})) == (1, (1, 2), 8)


def test_a_replica_outside_the_isr_does_not_lead() -> None:
    assert told(settled(a_partition((1, 2), 1, (1,)), {2})) == (-1, (1,), 8)


def test_unless_the_topic_permits_it() -> None:
    assert told(settled(a_partition((1, 2), 1, (1,)), {2}, unclean=True)) == (2, (2,), 8)


def test_the_last_of_the_isr_stays_in_it_and_leads_when_it_is_back() -> None:
    gone = settled(a_partition((1, 2), 1, (1, 2)), set())
    assert told(gone) == (-1, (1, 2), 8)
    assert told(settled(gone, {2})) == (2, (2,), 9)


def test_a_returning_replica_is_in_sync_and_does_not_take_the_lead() -> None:
    assert told(settled(a_partition((1, 2), 2, (2,)), {1, 2})) == (2, (1, 2), 7)


def test_what_needs_no_change_is_the_same_object() -> None:
    partition = a_partition((1, 2), 2, (2, 1))
    assert settled(partition, {1, 2, 3}) is partition


def test_a_state_that_nobody_can_read_is_left_alone() -> None:
    partition = Partition(0, (1, 2), None, MALFORMED)
    assert settled(partition, {1, 2}) is partition


def test_who_shuts_down_leads_only_for_want_of_another() -> None:
    assert choose_leader((1, 2, 3), {1}) == 2
    assert choose_leader((1, 2), {1, 2}) == 1
    assert choose_leader((), {1}) == -1


def test_a_preferred_leader_must_be_alive_in_sync_and_stay() -> None:
    partition = a_partition((1, 2), 2, (2, 1))
    assert told(elect_preferred_leader(partition, {1, 2}, frozenset(), 9)) == (1, (2, 1), 8)
    assert elect_preferred_leader(partition, {2}, frozenset(), 9) is partition
    assert elect_preferred_leader(partition, {1, 2}, {1}, 9) is partition
    behind = a_partition((1, 2), 2, (2,))
    assert elect_preferred_leader(behind, {1, 2}, frozenset(), 9) is behind


def test_leaders_are_moved_away_from_who_shuts_down() -> None:
    assert told(elect_leader_for_shutdown(a_partition((1, 2), 1, (1, 2)), {1, 2}, {1}, 9)) == (2, (1, 2), 8)
    alone = a_partition((1, 2), 1, (1,))
    assert elect_leader_for_shutdown(alone, {1, 2}, {1}, 9) is alone


replicas = st.permutations(BROKERS).flatmap(lambda order: st.integers(1, 5).map(lambda count: tuple(order[:count])))


@given(replicas, st.lists(st.tuples(st.sets(st.sampled_from(BROKERS)), st.booleans()), min_size=1, max_size=12))
def test_whatever_dies_and_returns_no_acknowledged_data_is_lost_without_leave(
    assigned: tuple[int, ...], history: list[tuple[set[int], bool]]
) -> None:
    """The ISR never gets empty; a new leader was in the last ISR, unless the election was permitted to be unclean."""
    partition = Partition(0, assigned, None, NO_ZNODE)
    for live, unclean in history:
        before = partition
        partition = settled(before, live, unclean=unclean)
        assert settled(partition, live, unclean=unclean) is partition, "settling once is enough"
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
