"""State transitions of one topic: leader election, reassignment, and controlled shutdown.

Each transition is a pure function from a topic to its next state and returns the same object if nothing changes.
`topic_writes` derives the writes from the difference. Leaders are elected by Kafka's rules, for brokers without data:

- Replicas on live brokers are in sync. A replica on a dead broker leaves the ISR, except the last one: only it is known
  to have all the data.
- The leader is the first replica, in the order of the assignment, that is live and in the ISR. A broker in a controlled
  shutdown becomes leader only if there is no other candidate. A leader that is still eligible keeps its role.
- If no replica in the ISR is live, the partition has no leader (-1) and keeps its ISR. If the topic allows unclean
  leader election, the first live replica becomes leader instead, and the data that it lacks is lost.
- Every change of leader increments the leader epoch, including a change to no leader, up to the highest number that
  messages can carry.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire_cluster.controller.topic_state import MALFORMED, OngoingReassignment, Partition, Topic
from kwire_cluster.zookeeper.json_object import intern_ids
from kwire_cluster.zookeeper.topics import PartitionState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kwire_cluster.controller.topic_state import Topic

MAX_LEADER_EPOCH = 2**31 - 1
UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class ElectionContext:
    """The facts that leader election depends on.

    Attributes:
        live_brokers: ids of the live brokers.
        shutting_down: ids of live brokers in a controlled shutdown.
        controller_epoch: the epoch written into changed partition states.
        unclean_by_default: true if topics without their own config allow unclean leader election.
    """

    live_brokers: Collection[int]
    shutting_down: Collection[int]
    controller_epoch: int
    unclean_by_default: bool = False

    def allows_unclean_election(self, topic: Topic) -> bool:
        """Return whether a replica outside the ISR may become leader."""
        value = topic.config.get(UNCLEAN_LEADER_ELECTION)
        return self.unclean_by_default if value is None else value.strip().lower() == "true"


def choose_leader(candidates: Iterable[int], shutting_down: Collection[int]) -> int:
    """Return the first candidate, preferring brokers that are not shutting down, or -1 without candidates."""
    ordered = list(candidates)
    return next((broker for broker in ordered if broker not in shutting_down), ordered[0] if ordered else -1)


def elect_leader(partition: Partition, context: ElectionContext, *, unclean: bool) -> Partition:
    """Return the partition with the leader and ISR for these brokers, or the same object if nothing changes."""
    if partition.version == MALFORMED:
        return partition
    live = tuple(broker for broker in partition.replicas if broker in context.live_brokers)
    state = partition.state
    if state is None:
        if not live:  # never had a leader and still cannot have one
            return partition
        first_state = _state(choose_leader(live, context.shutting_down), 0, live, context.controller_epoch)
        return Partition(partition.id, partition.replicas, first_state, partition.version)
    in_sync = [broker for broker in live if broker in state.isr]
    if in_sync:
        leader = state.leader if state.leader in in_sync else choose_leader(in_sync, context.shutting_down)
        isr = live
    elif live and unclean:
        leader = choose_leader(live, context.shutting_down)
        isr = live
    else:
        leader = -1
        isr = state.isr
    return _with_state(partition, leader, isr, context)


def elect_preferred_leader(partition: Partition, context: ElectionContext) -> Partition:
    """Make the first replica the leader if it is live, in sync, and not shutting down."""
    preferred = partition.replicas[0] if partition.replicas else -1
    eligible = (
        preferred in context.live_brokers and preferred not in context.shutting_down and preferred in partition.isr
    )
    if partition.state is None or not eligible:
        return partition
    return _with_state(partition, preferred, partition.isr, context)


def elect_leader_for_shutdown(partition: Partition, context: ElectionContext) -> Partition:
    """Replace a leader that is shutting down if another replica can lead."""
    if partition.leader not in context.shutting_down:
        return partition
    candidates = [
        broker
        for broker in partition.replicas
        if broker in context.live_brokers and broker in partition.isr and broker not in context.shutting_down
    ]
    return _with_state(partition, candidates[0], partition.isr, context) if candidates else partition


def _with_state(partition: Partition, leader: int, isr: tuple[int, ...], context: ElectionContext) -> Partition:
    state = partition.state
    assert state is not None
    same_isr = len(isr) == len(state.isr) and set(isr) == set(state.isr)
    if leader == state.leader and same_isr:
        return partition
    changed = replace(
        state,
        leader=leader,
        leader_epoch=min(state.leader_epoch + (leader != state.leader), MAX_LEADER_EPOCH),
        isr=state.isr if same_isr else intern_ids(isr),
        controller_epoch=context.controller_epoch,
    )
    return partition._replace(state=changed)


@lru_cache(maxsize=1 << 12)  # the partitions of new topics have many equal states
def _state(leader: int, leader_epoch: int, isr: tuple[int, ...], controller_epoch: int) -> PartitionState:
    return PartitionState(leader, leader_epoch, intern_ids(isr), controller_epoch)


def elect_leaders(topic: Topic, context: ElectionContext) -> Topic:
    """Update the leader and ISR of every partition, and add a missing topic id."""
    unclean = context.allows_unclean_election(topic)
    elected = _map_partitions(topic, lambda partition: elect_leader(partition, context, unclean=unclean))
    return elected if elected.topic_id is not None else replace(elected, topic_id=uuid.uuid4())


def begin_reassignment(topic: Topic, targets: Mapping[int, tuple[int, ...]], context: ElectionContext) -> Topic:
    """Start moving partitions to their target replicas.

    Until the reassignment completes, the replicas are the target replicas followed by the replicas to remove. A new
    order of the same brokers takes effect at once. Targets of unknown partitions are ignored.
    """
    reassignments = dict(topic.reassignments)
    partitions = []
    for partition in topic.partitions:
        target = targets.get(partition.id)
        if target is None or target == topic.target_replicas(partition):
            partitions.append(partition)
            continue
        original = topic.original_replicas(partition)  # also if an ongoing reassignment gets a new target
        adding = tuple(broker for broker in target if broker not in original)
        removing = tuple(broker for broker in original if broker not in target)
        reassignments.pop(partition.id, None)
        if adding or removing:
            reassignments[partition.id] = OngoingReassignment(intern_ids(adding), intern_ids(removing))
        partitions.append(partition._replace(replicas=intern_ids(target + removing)))
    return elect_leaders(_with_partitions(topic, tuple(partitions), reassignments), context)


def cancel_reassignment(topic: Topic, partitions: Collection[int], context: ElectionContext) -> Topic:
    """Return these partitions to the replicas that they had before their reassignment."""
    originals = {
        partition.id: topic.original_replicas(partition)
        for partition in topic.partitions
        if partition.id in partitions and partition.id in topic.reassignments
    }
    return begin_reassignment(topic, originals, context) if originals else topic


def complete_reassignment(topic: Topic, context: ElectionContext) -> Topic:
    """Finish the reassignments with all target replicas in the ISR."""
    completed = {
        index: target
        for index in topic.reassignments
        if (partition := topic.partition(index)) is not None
        and set(target := topic.target_replicas(partition)) <= set(partition.isr)
    }
    stale = [index for index in topic.reassignments if topic.partition(index) is None]
    if not completed and not stale:
        return topic
    remaining = {
        index: reassignment
        for index, reassignment in topic.reassignments.items()
        if index not in completed and index not in stale
    }
    partitions = tuple(
        partition._replace(replicas=completed[partition.id]) if partition.id in completed else partition
        for partition in topic.partitions
    )
    return elect_leaders(_with_partitions(topic, partitions, remaining), context)


def elect_preferred_replicas(topic: Topic, partitions: Collection[int], context: ElectionContext) -> Topic:
    """Make the first replica the leader of each of these partitions where that is possible."""
    return _map_partitions(
        topic,
        lambda partition: elect_preferred_leader(partition, context) if partition.id in partitions else partition,
    )


def elect_leaders_for_shutdown(topic: Topic, context: ElectionContext) -> Topic:
    """Replace leaders that are shutting down where another replica can lead."""
    return _map_partitions(topic, lambda partition: elect_leader_for_shutdown(partition, context))


def _map_partitions(topic: Topic, transition: Callable[[Partition], Partition]) -> Topic:
    partitions = tuple(map(transition, topic.partitions))
    if all(map(is_, partitions, topic.partitions)):
        return topic
    return replace(topic, partitions=partitions)


def _with_partitions(
    topic: Topic, partitions: tuple[Partition, ...], reassignments: Mapping[int, OngoingReassignment]
) -> Topic:
    return replace(topic, partitions=partitions, reassignments=MappingProxyType(dict(reassignments)))
