"""What an AlterTopic command makes of a topic: settings, then the numbered algorithm of KIP-4's batched draft.

Rules of this file: pure functions. 1. An assignment counts alone: partitions that exist move, new ones are added. 2. A
replication factor makes an assignment of all partitions, then as 1. 3. A number of partitions assigns the new ones,
then as 1. What was added has leaders at once; what moves is on its way in the topic that is returned.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.cluster.controller.assignment import assign, extend
from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.manual_assignment import by_partition, check_added, check_targets
from kwire.cluster.controller.state import Cluster, Partition, Topic
from kwire.cluster.controller.topic_configs import check_configs, check_together
from kwire.cluster.controller.topic_creation import MOST_PARTITIONS
from kwire.cluster.controller.topic_steps import Circumstances, begin_moves, settle_topic
from kwire.cluster.zookeeper.json_object import shared_ids
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration

__all__ = ["altered_topic", "check_single_instruction", "known_topic"]


def known_topic(name: str, cluster: Cluster) -> Topic:
    """The topic, if there is one that is not about to be deleted. Errors: AdminError 3."""
    topic = cluster.topics.get(name)
    if topic is None or name in cluster.marked:
        reason = f"topic {name[:249]!r} is marked for deletion" if topic else f"there is no topic {name[:249]!r}"
        raise AdminError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    return topic


def check_single_instruction(alteration: TopicAlteration) -> None:
    """The older rule of strict batches: one kind of change a topic. Errors: AdminError 1011."""
    given = [
        alteration.partitions != -1,
        alteration.replication_factor != -1,
        bool(alteration.replica_assignment),
        bool(alteration.added_config_entries),
        bool(alteration.deleted_configs),
    ]
    if sum(given) > 1:
        reason = "strict batches allow one of partitions, factor, assignment, added and deleted settings"
        raise AdminError(ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC, reason)


def altered_topic(alteration: TopicAlteration, cluster: Cluster, now: Circumstances, rng: random.Random) -> Topic:
    """The topic to write. It ``moves`` what was not moving before if a reassignment has to be begun.

    Errors: AdminError 3, 1002 to 1006, 1009.
    """
    topic = known_topic(alteration.topic_name, cluster)
    changed = _configured(alteration, topic)
    wanted = _wanted(alteration, topic, cluster, rng)
    if wanted is None:
        if not alteration.added_config_entries and not alteration.deleted_configs:
            raise AdminError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, "nothing is given that could be changed")
        return settle_topic(changed, now)
    existing = {partition.id: partition for partition in topic.partitions}
    moved = {
        index: replicas
        for index, replicas in wanted.items()
        if index in existing and replicas != topic.target(existing[index])
    }
    added = {index: replicas for index, replicas in wanted.items() if index not in existing}
    check_targets(moved, now.live)
    if added:
        head = existing.get(0)
        of_first = moved.get(0) or (topic.target(head) if head else next(iter(added.values())))
        check_added(added, topic.next_partition, len(of_first), now.live)
        _check_count(len(existing) + len(added))
    if moved and cluster.moving:
        raise AdminError(ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS, "a reassignment of partitions is running")
    partitions = changed.partitions + tuple(Partition(index, replicas) for index, replicas in added.items())
    grown = settle_topic(replace(changed, partitions=partitions), now)
    return begin_moves(grown, moved, now) if moved else grown


def _configured(alteration: TopicAlteration, topic: Topic) -> Topic:
    added = {entry.config_key: entry.config_value for entry in alteration.added_config_entries}
    if not added and not alteration.deleted_configs:
        return topic
    check_configs(added)
    config = {**topic.config, **added}
    for key in alteration.deleted_configs:  # as the topic tool: what is both added and deleted is deleted
        config.pop(key, None)
    check_together(config)
    return replace(topic, config=MappingProxyType(config))


def _wanted(
    alteration: TopicAlteration, topic: Topic, cluster: Cluster, rng: random.Random
) -> Mapping[int, tuple[int, ...]] | None:
    """Replicas by partition, in order, of all that the command is about; None when it is about settings only."""
    if alteration.replica_assignment:
        return by_partition(alteration.replica_assignment)
    partitions, factor, now = alteration.partitions, alteration.replication_factor, topic.next_partition
    if partitions != -1:
        if partitions < now:
            reason = f"there are {now} partitions, and {partitions} would be fewer"
            raise AdminError(ErrorCode.DECREASE_PARTITIONS_NOT_ALLOWED, reason)
        _check_count(partitions)
    if factor != -1:
        count = max(partitions, now)
        assigned = assign(cluster.racks, count, factor, rng)
        return {index: shared_ids(replicas) for index, replicas in enumerate(assigned)}
    if partitions == -1:
        return None
    if partitions == now:
        return {}
    head = topic.partition(0)
    replicas = topic.target(head) if head else ()
    added = extend(cluster.racks, replicas, now, partitions - now, len(replicas), rng)
    return {index: shared_ids(replicas) for index, replicas in enumerate(added, now)}


def _check_count(partitions: int) -> None:
    if partitions > MOST_PARTITIONS:
        reason = f"a topic has at most {MOST_PARTITIONS:,} partitions, not {partitions:,}"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
