"""Znodes through which tools and brokers ask the controller for something, and the block of producer ids.

The controller acts when such a znode is created and deletes it in the end, so other clients only create it. If a
partition is listed twice, the last entry counts, as in Kafka. Unknown keys such as `log_dirs` are kept, while Kafka 3.9
rejects a reassignment with unknown keys. Sources: "Kafka data structures in Zookeeper", and `kafka.zk.ZkData` of Kafka
3.9 for log directories and producer ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json, encode_object


@dataclass(frozen=True, slots=True)
class IsrChangeNotification:
    """`/isr_change_notification/isr_change_<number>`: partitions with an ISR changed by their leader."""

    partitions: tuple[ListedPartition, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/isr_change_notification"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Return the path, without a number the prefix to create a sequential znode."""
        return "/isr_change_notification/isr_change_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """Encode as version 1."""
        return encode_json({"version": 1, "partitions": [one._asdict() for one in self.partitions]}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/isr_change_notification") -> IsrChangeNotification:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        return cls(topic_partitions(document), document.unknown())


@dataclass(frozen=True, slots=True)
class LogDirEventNotification:
    """`/log_dir_event_notification/log_dir_event_<number>`: a log directory of a broker failed (event 1)."""

    broker_id: int
    event: int = 1
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/log_dir_event_notification"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Return the path, without a number the prefix to create a sequential znode."""
        return "/log_dir_event_notification/log_dir_event_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """Encode as version 1."""
        return encode_json({"version": 1, "broker": self.broker_id, "event": self.event}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/log_dir_event_notification") -> LogDirEventNotification:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        return cls(document.integer("broker"), document.integer("event", 1), document.unknown())


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """`/latest_producer_id_block`: the last block of producer ids, both ends included, and its broker."""

    broker_id: int
    first: int
    last: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/latest_producer_id_block"

    def encode(self) -> bytes:
        """Encode with ids as strings, as Kafka does."""
        values = {
            "version": 1,
            "broker": self.broker_id,
            "block_start": str(self.first),
            "block_end": str(self.last),
        }
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/latest_producer_id_block") -> ProducerIdBlock:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        broker_id = document.integer("broker")
        return cls(
            broker_id, document.integer_string("block_start"), document.integer_string("block_end"), document.unknown()
        )


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
