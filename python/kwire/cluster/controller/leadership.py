"""Who leads a partition and who is in sync with it: Kafka's rules, for brokers without data.

Rules of this file: pure functions. Replicas on live brokers are in sync; a dead one leaves the ISR, but the last one of
it stays there, since only it has all the data. The leader is the first replica, in the order of assignment, that is
alive and in sync; one that is shutting down only when there is no other. Where nobody in sync is alive, the partition
has no leader (-1) and its ISR stays as it was, unless the topic permits an unclean election: then the first live
replica leads, and what it lacks is lost. A leader that can stay stays. The leader epoch rises with each change of
leader, to none as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from kwire.cluster.controller.state import UNREADABLE, Partition
from kwire.cluster.zookeeper.json_object import shared_ids
from kwire.cluster.zookeeper.topics import PartitionState

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["elect", "move_leader", "prefer", "settle"]


def elect(candidates: Iterable[int], leaving: Collection[int]) -> int:
    """The first of them, one that is shutting down only for want of another; -1 when there are none."""
    ordered = list(candidates)
    return next((broker for broker in ordered if broker not in leaving), ordered[0] if ordered else -1)


def settle(
    partition: Partition,
    live: Collection[int],
    leaving: Collection[int],
    *,
    unclean: bool,
    controller_epoch: int,
) -> Partition:
    """The partition as it should be with these brokers; the very same object when it is so already."""
    if partition.version == UNREADABLE:
        return partition
    alive = tuple(broker for broker in partition.replicas if broker in live)
    state = partition.state
    if state is None:
        if not alive:  # it has never had a leader and cannot have one now
            return partition
        made = _state(elect(alive, leaving), 0, alive, controller_epoch)
        return Partition(partition.id, partition.replicas, made, partition.version)
    in_sync = [broker for broker in alive if broker in state.isr]
    if in_sync:
        leader = state.leader if state.leader in in_sync else elect(in_sync, leaving)
        isr = alive
    elif alive and unclean:
        leader = elect(alive, leaving)
        isr = alive
    else:
        leader = -1
        isr = state.isr
    return _with(partition, leader, isr, controller_epoch)


def prefer(partition: Partition, live: Collection[int], leaving: Collection[int], controller_epoch: int) -> Partition:
    """Led by the first of its replicas, if that one is alive, in sync and stays."""
    head = partition.replicas[0] if partition.replicas else -1
    if partition.state is None or head not in live or head in leaving or head not in partition.isr:
        return partition
    return _with(partition, head, partition.isr, controller_epoch)


def move_leader(
    partition: Partition, live: Collection[int], leaving: Collection[int], controller_epoch: int
) -> Partition:
    """Not led by a broker that is shutting down, if another one can."""
    if partition.leader not in leaving:
        return partition
    others = [one for one in partition.replicas if one in live and one in partition.isr and one not in leaving]
    return _with(partition, others[0], partition.isr, controller_epoch) if others else partition


def _with(partition: Partition, leader: int, isr: tuple[int, ...], controller_epoch: int) -> Partition:
    state = partition.state
    assert state is not None
    same_isr = len(isr) == len(state.isr) and set(isr) == set(state.isr)
    if leader == state.leader and same_isr:
        return partition
    leader_epoch = state.leader_epoch + (leader != state.leader)
    changed = replace(
        state,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=state.isr if same_isr else shared_ids(isr),
        controller_epoch=controller_epoch,
    )
    return partition._replace(state=changed)


@lru_cache(maxsize=1 << 12)  # new topics have many alike
def _state(leader: int, leader_epoch: int, isr: tuple[int, ...], controller_epoch: int) -> PartitionState:
    return PartitionState(leader, leader_epoch, shared_ids(isr), controller_epoch)
