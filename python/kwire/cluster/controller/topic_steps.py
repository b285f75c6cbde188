"""What the controller does to one topic: settle it, begin and finish moves, hand leadership on.

Rules of this file: each step is a pure function from a topic to the topic as it should be, and gives back the very same
object when there is nothing to do. What is written follows from the difference alone (``topic_writes``).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.cluster.controller.leadership import move_leader, prefer, settle
from kwire.cluster.controller.state import Move, Partition, Topic
from kwire.cluster.zookeeper.json_object import shared_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["Circumstances", "begin_moves", "finish_moves", "move_leaders", "prefer_first", "settle_topic"]

UNCLEAN = "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the steps depend on. ``live``, ``leaving``: ids of brokers; ``unclean``: for topics that do not say."""

    live: Collection[int]
    leaving: Collection[int]
    controller_epoch: int
    unclean: bool = False

    def permits_unclean(self, topic: Topic) -> bool:
        """Whether a replica that lacks data may lead."""
        said = topic.config.get(UNCLEAN)
        return self.unclean if said is None else said.strip().lower() == "true"


def settle_topic(topic: Topic, now: Circumstances) -> Topic:
    """With leaders and ISRs as they should be, and with a topic id."""
    unclean = now.permits_unclean(topic)
    settled = _each(
        topic,
        lambda partition: settle(
            partition, now.live, now.leaving, unclean=unclean, controller_epoch=now.controller_epoch
        ),
    )
    return settled if settled.topic_id is not None else replace(settled, topic_id=uuid.uuid4())


def begin_moves(topic: Topic, targets: Mapping[int, tuple[int, ...]], now: Circumstances) -> Topic:
    """On the way to the targets: replicas are the target and, behind it, those that are to go.

    A new order of the same brokers needs no way. Targets of partitions that do not exist are left out.
    """
    moves = dict(topic.moves)
    partitions = []
    for partition in topic.partitions:
        wanted = targets.get(partition.id)
        if wanted is None or wanted == topic.target(partition):
            partitions.append(partition)
            continue
        original = topic.origin(partition)  # also of what is on its way, and gets a new target
        adding = tuple(broker for broker in wanted if broker not in original)
        removing = tuple(broker for broker in original if broker not in wanted)
        moves.pop(partition.id, None)
        if adding or removing:
            moves[partition.id] = Move(shared_ids(adding), shared_ids(removing))
        partitions.append(partition._replace(replicas=shared_ids(wanted + removing)))
    return settle_topic(_with_partitions(topic, tuple(partitions), moves), now)


def finish_moves(topic: Topic, now: Circumstances) -> Topic:
    """With those at their target whose whole target is in sync."""
    arrived = {
        index: target
        for index in topic.moves
        if (partition := topic.partition(index)) is not None
        and set(target := topic.target(partition)) <= set(partition.isr)
    }
    stale = [index for index in topic.moves if topic.partition(index) is None]
    if not arrived and not stale:
        return topic
    moves = {index: move for index, move in topic.moves.items() if index not in arrived and index not in stale}
    partitions = tuple(
        partition._replace(replicas=arrived[partition.id]) if partition.id in arrived else partition
        for partition in topic.partitions
    )
    return settle_topic(_with_partitions(topic, partitions, moves), now)


def prefer_first(topic: Topic, partitions: Collection[int], now: Circumstances) -> Topic:
    """Each of these partitions led by the first of its replicas, where that is possible."""
    return _each(
        topic,
        lambda partition: (
            prefer(partition, now.live, now.leaving, now.controller_epoch) if partition.id in partitions else partition
        ),
    )


def move_leaders(topic: Topic, now: Circumstances) -> Topic:
    """Not led by brokers that are shutting down, as far as others can."""
    return _each(topic, lambda partition: move_leader(partition, now.live, now.leaving, now.controller_epoch))


def _each(topic: Topic, step: Callable[[Partition], Partition]) -> Topic:
    partitions = tuple(map(step, topic.partitions))
    if all(map(_is, partitions, topic.partitions)):
        return topic
    return replace(topic, partitions=partitions)


def _is(one: object, other: object) -> bool:
    return one is other


def _with_partitions(topic: Topic, partitions: tuple[Partition, ...], moves: Mapping[int, Move]) -> Topic:
    return replace(topic, partitions=partitions, moves=MappingProxyType(dict(moves)))
