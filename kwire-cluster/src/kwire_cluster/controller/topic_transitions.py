"""State transitions of one topic: leader election, reassignment, and controlled shutdown.

Each transition is a pure function from a topic to its next state and returns the same object if nothing changes.
`topic_writes` derives the writes from the difference.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire_cluster.controller.leader_election import (
    ElectionContext,
    elect_leader,
    elect_leader_for_shutdown,
    elect_preferred_leader,
)
from kwire_cluster.controller.topic_state import OngoingReassignment, Partition, Topic
from kwire_cluster.zookeeper.json_object import intern_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = [
    "begin_reassignment",
    "cancel_reassignment",
    "complete_reassignment",
    "elect_leaders",
    "elect_leaders_for_shutdown",
    "elect_preferred_replicas",
]


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
