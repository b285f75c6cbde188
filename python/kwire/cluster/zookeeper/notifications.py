"""What brokers tell the controller by making a sequential node, and the ids of producers that they take in blocks.

Rules of this file: such a node is read once and removed by the controller. Sources: the page "Kafka data structures in
Zookeeper" for the ISR; ``kafka.zk.ZkData`` of Kafka 3.9 for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire.cluster.zookeeper.admin_requests import TopicPartition, topic_partitions
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump

__all__ = ["IsrChangeNotification", "LogDirEventNotification", "ProducerIdBlock"]


@dataclass(frozen=True, slots=True)
class IsrChangeNotification:
    """``/isr_change_notification/isr_change_<number>``: partitions whose ISR their leader has changed."""

    partitions: tuple[TopicPartition, ...]
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/isr_change_notification"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Where it is; without number: what to create as a sequential node."""
        return "/isr_change_notification/isr_change_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """Version 1, the only one."""
        return dump({"version": 1, "partitions": [one._asdict() for one in self.partitions]}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/isr_change_notification") -> IsrChangeNotification:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        return cls(topic_partitions(node), node.unknown())


@dataclass(frozen=True, slots=True)
class LogDirEventNotification:
    """``/log_dir_event_notification/log_dir_event_<number>``: a directory of this broker has failed (event 1)."""

    broker_id: int
    event: int = 1
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/log_dir_event_notification"

    @staticmethod
    def path(number: int | None = None) -> str:
        """Where it is; without number: what to create as a sequential node."""
        return "/log_dir_event_notification/log_dir_event_" + ("" if number is None else f"{number:010d}")

    def encode(self) -> bytes:
        """Version 1, the only one."""
        return dump({"version": 1, "broker": self.broker_id, "event": self.event}, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/log_dir_event_notification") -> LogDirEventNotification:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        return cls(node.integer("broker"), node.integer("event", 1), node.unknown())


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """``/latest_producer_id_block``: the ids that were given out last, both ends included, and to which broker."""

    broker_id: int
    first: int
    last: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/latest_producer_id_block"

    def encode(self) -> bytes:
        """The ids are strings, as Kafka writes them."""
        values = {
            "version": 1,
            "broker": self.broker_id,
            "block_start": str(self.first),
            "block_end": str(self.last),
        }
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/latest_producer_id_block") -> ProducerIdBlock:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        broker_id = node.integer("broker")
        return cls(broker_id, node.number_in_text("block_start"), node.number_in_text("block_end"), node.unknown())
