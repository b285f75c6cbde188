"""Znodes through which brokers notify the controller, and the block of producer ids.

The controller reads and deletes a notification. Sources: "Kafka data structures in Zookeeper" for the ISR,
`kafka.zk.ZkData` of Kafka 3.9 for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire_cluster.zookeeper.admin_requests import ListedPartition, topic_partitions
from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json

__all__ = ["IsrChangeNotification", "LogDirEventNotification", "ProducerIdBlock"]


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
