"""What tools ask of a controller by making a node: reassignments, and elections of preferred leaders.

Rules of this file: the controller acts when such a node is created and removes it in the end, so it is only ever
created by others, never set or deleted. Of two entries for one partition the last one counts, as in Kafka. Unknown
keys, such as the ``log_dirs`` of a tool's plan, are kept here, while Kafka 3.9 refuses a reassignment that has any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump, object_text

__all__ = [
    "PartitionReassignment",
    "PreferredReplicaElection",
    "ReassignPartitions",
    "TopicPartition",
    "topic_partitions",
]


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class PartitionReassignment(NamedTuple):
    """Where one partition is to be."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class ReassignPartitions:
    """``/admin/reassign_partitions``: the partitions that are to move and have not arrived yet."""

    partitions: tuple[PartitionReassignment, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/admin/reassign_partitions"

    def targets(self) -> dict[TopicPartition, tuple[int, ...]]:
        """By partition."""
        return {TopicPartition(one.topic, one.partition): one.replicas for one in self.partitions}

    def encode(self) -> bytes:
        """Version 1, the only one."""
        entries = ",".join(
            object_text({"topic": one.topic, "partition": one.partition, "replicas": one.replicas}, one.unknown)
            for one in self.partitions
        )
        return dump({"version": 1}, (("partitions", f"[{entries}]"), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/reassign_partitions") -> ReassignPartitions:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        partitions = tuple(
            PartitionReassignment(
                one.node_name("topic"), one.integer("partition"), one.integers("replicas"), one.unknown()
            )
            for one in node.objects("partitions")
        )
        return cls(partitions, node.unknown())


@dataclass(frozen=True, slots=True)
class PreferredReplicaElection:
    """``/admin/preferred_replica_election``: partitions whose first replica is to lead again."""

    partitions: tuple[TopicPartition, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/admin/preferred_replica_election"

    def encode(self) -> bytes:
        """Version 1, the only one."""
        values = {"version": 1, "partitions": [one._asdict() for one in self.partitions]}
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/preferred_replica_election") -> PreferredReplicaElection:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        return cls(topic_partitions(node), node.unknown())


def topic_partitions(node: JsonObject) -> tuple[TopicPartition, ...]:
    """The list under ``partitions``."""
    return tuple(TopicPartition(one.node_name("topic"), one.integer("partition")) for one in node.objects("partitions"))
