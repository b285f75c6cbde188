"""Validation of CreateTopic commands, and the topics they create.

The checks follow the order of the protocol: name, existence, assignment or partitions, replication factor, configs. The
first failed check is the error. All functions are pure.
"""

from __future__ import annotations

import uuid
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire.metadata.replica_assignment import assign_replicas
from kwire_cluster.controller.errors import CommandError, refusing_impossible_assignments
from kwire_cluster.controller.manual_assignment import by_partition, check_created, check_known
from kwire_cluster.controller.partition_limits import PartitionBudget, check_partition_count
from kwire_cluster.controller.topic_configs import check_configs
from kwire_cluster.controller.topic_names import check_name
from kwire_cluster.controller.topic_state import Partition, Topic
from kwire_cluster.controller.topic_transitions import elect_leaders
from kwire_cluster.zookeeper.json_object import intern_ids

if TYPE_CHECKING:
    import random

    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.leader_election import ElectionContext

__all__ = ["new_topic"]

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
    assigned = _assignment(creation, cluster, settings, rng, client_id, budget)
    config = {entry.config_key: entry.config_value for entry in creation.config_entries}
    check_configs(config)
    partitions = tuple(Partition(index, replicas) for index, replicas in assigned.items())
    topic = Topic(name, uuid.uuid4(), partitions, config=MappingProxyType(config))
    return elect_leaders(topic, election)


def _assignment(
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
