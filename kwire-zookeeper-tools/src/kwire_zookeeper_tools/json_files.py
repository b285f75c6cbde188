"""Files of Kafka's tools in JSON: partitions, reassignments, and topics to move.

They have the form of the znodes of the same name, so they are read by the same classes.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kwire_admin.operations.declaration import ToolFailed
from kwire_cluster.zookeeper.admin_requests import PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import JsonObject

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kwire_cluster.zookeeper.admin_requests import ListedPartition

__all__ = ["read_partitions", "read_reassignment", "read_topics"]


def read_partitions(path: Path) -> tuple[ListedPartition, ...]:
    """Return the partitions of a file.

    Raises:
        ToolFailed: the file cannot be read, has another form, or names a partition twice.
    """
    try:
        partitions = PreferredReplicaElection.decode(_read(path), str(path)).partitions
    except ZnodeError as error:
        raise ToolFailed(str(error)) from None
    _check_unique(path, partitions)
    return partitions


def read_reassignment(path: Path) -> dict[ListedPartition, tuple[int, ...]]:
    """Return the replicas by partition of a file.

    Raises:
        ToolFailed: the file cannot be read, has another form, is empty, or names a partition or a replica twice.
    """
    try:
        document = ReassignPartitions.decode(_read(path), str(path))
    except ZnodeError as error:
        raise ToolFailed(str(error)) from None
    if not document.partitions:
        raise ToolFailed(f"{path}: the list of partitions is empty")
    _check_unique(path, [(partition.topic, partition.partition) for partition in document.partitions])
    for partition, replicas in document.targets().items():
        if not replicas or len(set(replicas)) != len(replicas):
            raise ToolFailed(f"{path}: expected different replicas of {partition[0]}-{partition[1]}, found {replicas}")
    return document.targets()


def read_topics(path: Path) -> list[str]:
    """Return the topics of a file such as `{"topics": [{"topic": "orders"}], "version": 1}`.

    Raises:
        ToolFailed: the file cannot be read, or has another form.
    """
    try:
        return [topic.znode_name("topic") for topic in JsonObject.decode(_read(path), str(path)).objects("topics")]
    except ZnodeError as error:
        raise ToolFailed(str(error)) from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ToolFailed(f"cannot read {path}: {error.strerror}") from None


def _check_unique(path: Path, partitions: Iterable[tuple[str, int]]) -> None:
    twice = [f"{topic}-{index}" for (topic, index), count in Counter(partitions).items() if count > 1]
    if twice:
        raise ToolFailed(f"{path} names partitions twice: {', '.join(twice)}")
