"""What commands about replicas of many topics come down to: reassignments, their state, preferred elections.

Rules of this file: pure functions that take what a request says and give the entries to write, or raise a AdminError for
one topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.cluster.controller.errors import AdminError
from kwire.cluster.controller.manual_assignment import by_partition, check_targets
from kwire.cluster.controller.topic_alteration import known_topic
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kwire.cluster.controller.state import Cluster, Topic
    from kwire.messages.kip4.structures import PartitionReplicas

__all__ = ["ARRIVED", "FAILED", "MOVING", "chosen_partitions", "move_status", "running_moves", "targets"]

MOVING = 0
ARRIVED = 1
FAILED = -1


def targets(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> dict[int, tuple[int, ...]]:
    """Where partitions of a topic are to go, without those that are there already. Errors: AdminError 3, 1005, 1009."""
    if cluster.moving:
        raise AdminError(ErrorCode.REASSIGN_PARTITIONS_IN_PROGRESS, "a reassignment of partitions is running")
    topic = known_topic(name, cluster)
    wanted = by_partition(partitions)
    _check_known(topic, wanted)
    check_targets(wanted, cluster.brokers)
    return {
        index: replicas
        for index, replicas in wanted.items()
        if (partition := topic.partition(index)) is not None and partition.replicas != replicas
    }


def move_status(name: str, partitions: Sequence[PartitionReplicas], cluster: Cluster) -> dict[int, int]:
    """MOVING, ARRIVED, or FAILED: it does not move, and is not where it was to go. Errors: AdminError 3, 1005."""
    topic = cluster.topics.get(name)
    if topic is None:
        raise AdminError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name[:249]!r}")
    wanted = by_partition(partitions)
    _check_known(topic, wanted)
    return {index: _status(topic, index, replicas, cluster) for index, replicas in wanted.items()}


def running_moves(cluster: Cluster) -> dict[str, list[int]]:
    """The partitions that move now, by topic."""
    running: dict[str, set[int]] = {topic.name: set(topic.moves) for topic in cluster.topics if topic.moves}
    for name, partition in cluster.pending:
        running.setdefault(name, set()).add(partition)
    return {name: sorted(partitions) for name, partitions in sorted(running.items())}


def chosen_partitions(name: str, indexes: Sequence[int], cluster: Cluster) -> list[int]:
    """Of a preferred election: all partitions of the topic when none are named. Errors: AdminError 3, 1008."""
    if len(set(indexes)) != len(indexes):
        reason = "a partition is named twice"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA, reason)
    if any(index < 0 for index in indexes):
        reason = f"{min(indexes)} is no partition's number"
        raise AdminError(ErrorCode.INVALID_ARGUMENT_PREFERRED_REPLICA_ELECTION_DATA, reason)
    topic = known_topic(name, cluster)
    _check_known(topic, dict.fromkeys(indexes))
    return list(indexes) if indexes else [partition.id for partition in topic.partitions]


def _status(topic: Topic, index: int, replicas: tuple[int, ...], cluster: Cluster) -> int:
    if index in topic.moves or (topic.name, index) in cluster.pending:
        return MOVING
    partition = topic.partition(index)
    return ARRIVED if partition is not None and partition.replicas == replicas else FAILED


def _check_known(topic: Topic, indexes: Mapping[int, object]) -> None:
    for index in indexes:
        if topic.partition(index) is None:
            reason = f"topic {topic.name!r} has no partition {index}"
            raise AdminError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
