"""Validation and status of reassignments, and validation of preferred leader elections.

All functions are pure. An error of one topic is an CommandError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.controller.errors import CommandError, reassignment_in_progress
from kwire_cluster.controller.manual_assignment import by_partition, check_targets
from kwire_cluster.controller.topic_alteration import check_states_readable, require_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kwire.messages.kip4.structures import PartitionReplicas
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.topic_state import Topic

__all__ = [
    "COMPLETED",
    "FAILED",
    "REASSIGNING",
    "choose_partitions",
    "is_cancellation",
    "ongoing_reassignments",
    "reassignment_status",
    "reassignment_targets",
    "reassignments_to_cancel",
]

REASSIGNING = 0
COMPLETED = 1
FAILED = -1


def reassignment_targets(
    name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster
) -> dict[int, tuple[int, ...]]:
    """Return the target replicas of the partitions that do not have them yet.

    Raises:
        CommandError: code 3, 1005, or 1009.
    """
    if cluster.is_reassigning:
        raise reassignment_in_progress()
    topic = require_topic(name, cluster)
    targets = by_partition(partitions)
    _check_partitions_exist(topic, targets)
    check_targets(targets, cluster.brokers)
    check_states_readable(topic, targets)
    return {
        index: replicas
        for index, replicas in targets.items()
        if (partition := topic.partition(index)) is not None and partition.replicas != replicas
    }


def is_cancellation(partitions: Sequence[PartitionReplicas]) -> bool:
    """Return whether a request lists no replicas for any of its partitions: it cancels their reassignments."""
    return bool(partitions) and not any(partition.replica_ids for partition in partitions)


def reassignments_to_cancel(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> list[int]:
    """Return the partitions to cancel the reassignment of, which may belong to a topic that is marked for deletion.

    Raises:
        CommandError: code 3 or 1005.
    """
    topic = cluster.topics.get(name)
    if topic is None:
        raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name[:249]!r} does not exist")
    indexes = list(by_partition(partitions))
    _check_partitions_exist(topic, indexes)
    for index in indexes:
        if index not in topic.reassignments and (name, index) not in cluster.pending_reassignments:
            reason = f"partition {index}: has no replicas, which cancels a reassignment, but none is in progress"
            raise CommandError(ErrorCode.INVALID_ARGUMENT_REPLICA_ASSIGNMENT, reason)
    return indexes


def reassignment_status(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> dict[int, int]:
    """Return the status of each partition: REASSIGNING, COMPLETED, or FAILED.

    FAILED means that the partition does not have the given replicas and is not being reassigned.

    Raises:
        CommandError: code 3 or 1005.
    """
    topic = cluster.topics.get(name)
    if topic is None:
        raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name[:249]!r} does not exist")
    targets = by_partition(partitions)
    _check_partitions_exist(topic, targets)
    return {index: _status(topic, index, replicas, cluster) for index, replicas in targets.items()}


def ongoing_reassignments(cluster: Cluster) -> dict[str, list[int]]:
    """Return the partitions that are being reassigned, by topic."""
    ongoing: dict[str, set[int]] = {
        topic.name: set(topic.reassignments) for topic in cluster.topics if topic.reassignments
    }
    for name, partition in cluster.pending_reassignments:
        ongoing.setdefault(name, set()).add(partition)
    return {name: sorted(partitions) for name, partitions in sorted(ongoing.items())}


def choose_partitions(name: str, indexes: Sequence[int], cluster: Cluster) -> list[int]:
    """Return the partitions to elect a preferred leader for: all partitions of the topic if none are named.

    Raises:
        CommandError: code 3 or 1008.
    """
    reason = None
    if len(set(indexes)) != len(indexes):
        reason = f"partitions of topic {name[:249]!r} are named more than once"
    elif any(index < 0 for index in indexes):
        reason = f"invalid partition {min(indexes)} of topic {name[:249]!r}: partition ids start at 0"
    if reason is not None:
        raise CommandError(ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA, reason)
    topic = require_topic(name, cluster)
    _check_partitions_exist(topic, indexes)
    return list(indexes) if indexes else [partition.id for partition in topic.partitions]


def _status(topic: Topic, index: int, replicas: tuple[int, ...], cluster: Cluster) -> int:
    if index in topic.reassignments or (topic.name, index) in cluster.pending_reassignments:
        return REASSIGNING
    partition = topic.partition(index)
    return COMPLETED if partition is not None and partition.replicas == replicas else FAILED


def _check_partitions_exist(topic: Topic, indexes: Iterable[int]) -> None:
    for index in indexes:
        if topic.partition(index) is None:
            reason = f"topic {topic.name!r} has no partition {index}"
            raise CommandError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
