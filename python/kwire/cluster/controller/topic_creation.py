"""What a CreateTopic command makes of the cluster: a new topic, or a refusal.

Rules of this file: pure functions; checks in the order of the protocol: name, existence, assignment or partitions,
factor, settings; the first that fails is the answer.
"""

from __future__ import annotations

import uuid
from types import MappingProxyType
from typing import TYPE_CHECKING

from kwire.cluster.controller.assignment import assign
from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.manual_assignment import by_partition, check_created
from kwire.cluster.controller.state import Cluster, Partition, Topic
from kwire.cluster.controller.topic_configs import check_configs
from kwire.cluster.controller.topic_names import check_name
from kwire.cluster.controller.topic_steps import Circumstances, settle_topic
from kwire.cluster.zookeeper.json_object import shared_ids
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    import random

    from kwire.cluster.controller.settings import ControllerSettings
    from kwire.messages.kip4.create_topic_v2 import TopicCreation

__all__ = ["MOST_PARTITIONS", "created_topic"]

MOST_PARTITIONS = 50_000
"""Of one topic: what its registration, with three replicas each, can say within a ZooKeeper packet."""

CONSUMER = "consumer"
"""The client id for which a name is enough (decision D10)."""


def created_topic(
    creation: TopicCreation,
    cluster: Cluster,
    now: Circumstances,
    settings: ControllerSettings,
    rng: random.Random,
    client_id: str | None = None,
) -> Topic:
    """The topic to write. Errors: AdminError 1001, 1002, 1004, 1005, 1006, 1010."""
    name = creation.topic_name
    check_name(name)
    if name in cluster.topics or name in cluster.unreadable:
        marked = " and is marked for deletion" if name in cluster.marked else ""
        raise AdminError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} exists already{marked}")
    other = cluster.topics.mistaken_for(name)
    if other is not None:
        raise AdminError(
            ErrorCode.INVALID_ARGUMENT_TOPIC_NAME, f"{name!r} collides with topic {other!r}: . and _ are one"
        )
    assigned = _assignment(creation, cluster, settings, rng, client_id)
    config = {entry.config_key: entry.config_value for entry in creation.config_entries}
    check_configs(config)
    partitions = tuple(Partition(index, replicas) for index, replicas in assigned.items())
    topic = Topic(name, uuid.uuid4(), partitions, config=MappingProxyType(config))
    return settle_topic(topic, now)


def _assignment(
    creation: TopicCreation,
    cluster: Cluster,
    settings: ControllerSettings,
    rng: random.Random,
    client_id: str | None,
) -> dict[int, tuple[int, ...]]:
    if creation.replica_assignment:
        assigned = by_partition(creation.replica_assignment)
        check_created(assigned)
        _check_count(len(assigned))
        return assigned
    partitions, factor = creation.partitions, creation.replication_factor
    if client_id == CONSUMER and partitions == factor == -1 and not creation.config_entries:
        partitions, factor = settings.num_partitions, settings.default_replication_factor
    if partitions == -1:
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, "neither partitions nor an assignment are given")
    _check_count(partitions)
    if factor == -1:
        raise AdminError(
            ErrorCode.INVALID_ARGUMENT_REPLICATION_FACTOR, "partitions are given and no replication factor"
        )
    return {
        index: shared_ids(replicas) for index, replicas in enumerate(assign(cluster.racks, partitions, factor, rng))
    }


def _check_count(partitions: int) -> None:
    if not 1 <= partitions <= MOST_PARTITIONS:
        reason = f"a topic has from 1 to {MOST_PARTITIONS:,} partitions, not {partitions:,}"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PARTITIONS, reason)
