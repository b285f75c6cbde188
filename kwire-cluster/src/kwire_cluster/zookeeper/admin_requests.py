"""Znodes through which tools request reassignments and preferred leader elections.

The controller acts when such a znode is created and deletes it in the end, so other clients only create it. If a
partition is listed twice, the last entry counts, as in Kafka. Unknown keys such as `log_dirs` are kept, while Kafka 3.9
rejects a reassignment with unknown keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json, encode_object

__all__ = [
    "ListedPartition",
    "PartitionReassignment",
    "PreferredReplicaElection",
    "ReassignPartitions",
    "topic_partitions",
]


class ListedPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int


class PartitionReassignment(NamedTuple):
    """The target replicas of one partition."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS


@dataclass(frozen=True, slots=True)
class ReassignPartitions:
    """`/admin/reassign_partitions`: the partitions to reassign; the controller removes completed ones."""

    partitions: tuple[PartitionReassignment, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/admin/reassign_partitions"

    def targets(self) -> dict[ListedPartition, tuple[int, ...]]:
        """Return the target replicas by partition."""
        return {ListedPartition(one.topic, one.partition): one.replicas for one in self.partitions}

    def encode(self) -> bytes:
        """Encode as version 1."""
        entries = ",".join(
            encode_object({"topic": one.topic, "partition": one.partition, "replicas": one.replicas}, one.unknown)
            for one in self.partitions
        )
        return encode_json({"version": 1}, (("partitions", f"[{entries}]"), *self.unknown))

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/reassign_partitions") -> ReassignPartitions:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        partitions = tuple(
            PartitionReassignment(
                one.znode_name("topic"), one.integer("partition"), one.integers("replicas"), one.unknown()
            )
            for one in document.objects("partitions")
        )
        return cls(partitions, document.unknown())


@dataclass(frozen=True, slots=True)
class PreferredReplicaElection:
    """`/admin/preferred_replica_election`: partitions that should be led by their first replica."""

    partitions: tuple[ListedPartition, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/admin/preferred_replica_election"

    def encode(self) -> bytes:
        """Encode as version 1."""
        values = {"version": 1, "partitions": [one._asdict() for one in self.partitions]}
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/preferred_replica_election") -> PreferredReplicaElection:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        return cls(topic_partitions(document), document.unknown())


def topic_partitions(document: JsonObject) -> tuple[ListedPartition, ...]:
    """Read the list under the key `partitions`."""
    return tuple(
        ListedPartition(one.znode_name("topic"), one.integer("partition")) for one in document.objects("partitions")
    )
