"""Validation of CreateTopic and AlterTopic commands, and the topics that result from them.

The checks of a creation follow the order of the protocol: name, existence, assignment or partitions, replication
factor, configs. The first failed check is the error. Of an alteration, configs are changed first. The rest follows the
numbered algorithm of KIP-4's batched draft:

1. A replica assignment takes precedence: existing partitions are reassigned, new ones are added.
2. A replication factor produces an assignment of all partitions, which is treated as in step 1.
3. A number of partitions produces an assignment of the new partitions, which is treated as in step 1.

New partitions have leaders at once; reassignments are ongoing in the returned topic. All functions are pure.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.metadata.replica_assignment import assign_added_replicas, assign_replicas
from kwire_cluster.controller.errors import CommandError, reassignment_in_progress, refusing_impossible_assignments
from kwire_cluster.controller.manual_assignment import (
    by_partition,
    check_added,
    check_created,
    check_known,
    check_targets,
)
from kwire_cluster.controller.topic_names import check_name
from kwire_cluster.controller.topic_rules import (
    PartitionBudget,
    check_compaction_lag,
    check_configs,
    check_deleted_configs,
    check_partition_count,
)
from kwire_cluster.controller.topic_state import MALFORMED, Partition, Topic
from kwire_cluster.controller.topic_transitions import begin_reassignment, elect_leaders
from kwire_cluster.zookeeper.json_object import intern_ids
from kwire_cluster.zookeeper.topics import PartitionState

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.topic_transitions import ElectionContext

CONSUMER = "consumer"
"""The client id that may create a topic by name only."""


def new_topic(
    creation: TopicCreation,
    cluster: Cluster,
    election: ElectionContext,
    settings: NodeSettings,
    rng: random.Random,
    client_id: str | None = None,
    budget: PartitionBudget | None = None,
) -> Topic:
    """Return the topic to write.

    `budget` limits the partitions of several creations in one request.

    Raises:
        CommandError: code 1001, 1002, 1004, 1005, 1006, or 1010.
    """
    name = creation.topic_name
    check_name(name)
    if name in cluster.topics or name in cluster.malformed_topics:
        marked = " and is marked for deletion" if name in cluster.topics_to_delete else ""
        raise CommandError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists{marked}")
    other = cluster.topics.colliding_topic(name)
    if other is not None:
        reason = f"topic name {name!r} collides with topic {other!r}: '.' and '_' are equal in metric names"
        raise CommandError(ErrorCode.INVALID_ARGUMENT_TOPIC_NAME, reason)
    budget = budget or PartitionBudget(settings)
    assigned = _new_assignment(creation, cluster, settings, rng, client_id, budget)
    config = {entry.config_key: entry.config_value for entry in creation.config_entries}
    check_configs(config)
    partitions = tuple(Partition(index, replicas) for index, replicas in assigned.items())
    topic = Topic(name, uuid.uuid4(), partitions, config=MappingProxyType(config))
    return elect_leaders(topic, election)


def _new_assignment(
    creation: TopicCreation,
    cluster: Cluster,
    settings: NodeSettings,
    rng: random.Random,
    client_id: str | None,
    budget: PartitionBudget,
) -> dict[int, tuple[int, ...]]:
    if creation.replica_assignment:
        budget.check(len(creation.replica_assignment), cluster)
        assigned = by_partition(creation.replica_assignment)
        check_created(assigned)
        check_known(assigned, cluster.racks, cluster.topics)
        check_partition_count(len(assigned))
        return assigned
    partitions, factor = creation.partitions, creation.replication_factor
    if client_id == CONSUMER and partitions == factor == -1 and not creation.config_entries:
        partitions, factor = settings.num_partitions, settings.default_replication_factor
    if partitions == -1:
        reason = "neither the number of partitions nor a replica assignment is given"
        raise CommandError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
    check_partition_count(partitions)
    budget.check(partitions, cluster)
    if factor == -1:
        reason = "the number of partitions is given without a replication factor"
        raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR, reason)
    with refusing_impossible_assignments():
        replicas = assign_replicas(cluster.racks, partitions, factor, rng)
    return {index: intern_ids(ids) for index, ids in enumerate(replicas)}


def existing_topic(name: str, cluster: Cluster) -> Topic:
    """Return a topic, which may be marked for deletion.

    Raises:
        CommandError: code 3.
    """
    topic = cluster.topics.get(name)
    if topic is None:
        raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name[:249]!r} does not exist")
    return topic


def require_topic(name: str, cluster: Cluster) -> Topic:
    """Return a topic that is not marked for deletion.

    Raises:
        CommandError: code 3.
    """
    topic = existing_topic(name, cluster)
    if name in cluster.topics_to_delete:
        raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name[:249]!r} is marked for deletion")
    return topic


def check_states_readable(topic: Topic, partitions: Iterable[int]) -> None:
    """Raise CommandError 1005 if the state of one of these partitions cannot be read: it cannot be reassigned."""
    for index in partitions:
        partition = topic.partition(index)
        if partition is not None and partition.version == MALFORMED:
            path = PartitionState.path(topic.name, index)
            reason = f"partition {index}: its state in ZooKeeper cannot be read: repair {path}"
            raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)


def check_single_instruction(alteration: TopicAlteration) -> None:
    """Raise CommandError 1011 for more than one kind of change of a topic, which strict batches do not allow."""
    given = [
        alteration.partitions != -1,
        alteration.replication_factor != -1,
        bool(alteration.replica_assignment),
        bool(alteration.added_config_entries),
        bool(alteration.deleted_configs),
    ]
    if sum(given) > 1:
        reason = (
            "strict batches allow only one of partitions, replication factor, replica assignment, added configs, "
            "and deleted configs"
        )
        raise CommandError(ErrorCode.MULTIPLE_INSTRUCTIONS_FOR_ONE_TOPIC, reason)


def alter_topic(
    alteration: TopicAlteration,
    cluster: Cluster,
    election: ElectionContext,
    budget: PartitionBudget,
    rng: random.Random,
) -> Topic:
    """Return the topic to write. A new entry in its `reassignments` means that a reassignment starts.

    `budget` limits the partitions that the whole request adds.

    Raises:
        CommandError: code 3, 1002 to 1006, or 1009.
    """
    topic = require_topic(alteration.topic_name, cluster)
    configured = _with_configs(alteration, topic)
    assignment = _assignment(alteration, topic, cluster, budget, rng)
    if assignment is None:
        if not alteration.added_config_entries and not alteration.deleted_configs:
            raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, "the alteration contains no changes")
        return elect_leaders(configured, election)
    existing = {partition.id: partition for partition in topic.partitions}
    reassigned = {
        index: replicas
        for index, replicas in assignment.items()
        if index in existing and replicas != topic.target_replicas(existing[index])
    }
    added = {index: replicas for index, replicas in assignment.items() if index not in existing}
    check_targets(reassigned, election.live_brokers)
    check_states_readable(topic, reassigned)
    if added:
        first = existing.get(0)
        first_replicas = reassigned.get(0) or (topic.target_replicas(first) if first else next(iter(added.values())))
        check_added(added, topic.next_partition_id, len(first_replicas), election.live_brokers)
        check_partition_count(len(existing) + len(added))
        budget.check(len(added), cluster)
    if reassigned and cluster.is_reassigning:
        raise reassignment_in_progress()
    partitions = configured.partitions + tuple(Partition(index, replicas) for index, replicas in added.items())
    extended = elect_leaders(replace(configured, partitions=partitions), election)
    return begin_reassignment(extended, reassigned, election) if reassigned else extended


def _with_configs(alteration: TopicAlteration, topic: Topic) -> Topic:
    added = {entry.config_key: entry.config_value for entry in alteration.added_config_entries}
    if not added and not alteration.deleted_configs:
        return topic
    check_configs(added)
    if topic.config_version == MALFORMED:
        raise CommandError(ErrorCode.ADMIN_REQUEST_FAILED, f"the configs of topic {topic.name!r} cannot be read")
    check_deleted_configs(alteration.deleted_configs, topic.config)
    config = {**topic.config, **added}
    for key in alteration.deleted_configs:  # deletion wins over addition, as in kafka-topics
        config.pop(key, None)
    check_compaction_lag(config)
    return replace(topic, config=MappingProxyType(config))


def _assignment(
    alteration: TopicAlteration, topic: Topic, cluster: Cluster, budget: PartitionBudget, rng: random.Random
) -> Mapping[int, tuple[int, ...]] | None:
    """Return the requested replicas in the order of partitions, or None if only configs change."""
    if alteration.replica_assignment:
        return by_partition(alteration.replica_assignment)
    partitions, factor, current = alteration.partitions, alteration.replication_factor, topic.next_partition_id
    if partitions != -1:
        if partitions < current:
            reason = f"cannot reduce the number of partitions from {current} to {partitions}"
            raise CommandError(ErrorCode.DECREASE_PARTITIONS_NOT_ALLOWED, reason)
        if partitions > 0:
            check_partition_count(partitions)
            budget.check(partitions - current, cluster)
    if factor != -1:
        with refusing_impossible_assignments():
            assigned = assign_replicas(cluster.racks, max(partitions, current), factor, rng)
        return {index: intern_ids(replicas) for index, replicas in enumerate(assigned)}
    if partitions == -1:
        return None
    if partitions == current:
        return {}
    first = topic.partition(0)
    replicas = topic.target_replicas(first) if first else ()
    with refusing_impossible_assignments():
        added = assign_added_replicas(cluster.racks, replicas, current, partitions - current, len(replicas), rng)
    return {index: intern_ids(replicas) for index, replicas in enumerate(added, current)}
