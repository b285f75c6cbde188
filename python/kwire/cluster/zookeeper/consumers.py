"""What consumers of Kafka 0.8 keep in ZooKeeper: their registration, who owns which partition, and how far they are.

Rules of this file: newer brokers do not read these nodes, except that the first versions of OffsetFetch and
OffsetCommit read and write the offsets. An offset is also read in the form ``{"offset": 42}`` that the comments on the
page "Kafka data structures in Zookeeper" propose; it is written as bare digits, which is what Kafka reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from kwire.cluster.zookeeper.controllers import whole_number
from kwire.cluster.zookeeper.errors import ZnodeError
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump, read_only

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ConsumerOffset", "ConsumerOwner", "ConsumerRegistration", "SubscriptionPattern"]

SubscriptionPattern: TypeAlias = Literal["static", "white_list", "black_list"]


@dataclass(frozen=True, slots=True)
class ConsumerRegistration:
    """``/consumers/<group>/ids/<consumer>``, ephemeral.

    ``subscription``: topics (``static``) or one pattern of names (``white_list``, ``black_list``), each with its number
    of streams. ``timestamp``: milliseconds since 1970.
    """

    pattern: SubscriptionPattern
    subscription: Mapping[str, int] = field(default_factory=dict)
    timestamp: int | None = None
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    def __post_init__(self) -> None:
        object.__setattr__(self, "subscription", read_only(self.subscription))

    @staticmethod
    def path(group: str, consumer: str) -> str:
        """Where it is."""
        return f"/consumers/{group}/ids/{consumer}"

    def encode(self) -> bytes:
        """Version 1, the only one."""
        values: dict[str, object] = {
            "version": 1,
            "subscription": dict(self.subscription),
            "pattern": self.pattern,
        }
        if self.timestamp is not None:
            values["timestamp"] = str(self.timestamp)
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerRegistration:
        """Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        told = node.text("pattern")
        patterns: dict[str, SubscriptionPattern] = {
            "static": "static",
            "white_list": "white_list",
            "black_list": "black_list",
        }
        if told not in patterns:
            raise node.fault("pattern", f"{told!r}: expected static, white_list or black_list")
        topics = node.object("subscription")
        subscription = {topic: topics.integer(topic) for topic in topics.keys()}  # noqa: SIM118 - reading takes them out
        return cls(patterns[told], subscription, node.timestamp(), node.unknown())


@dataclass(frozen=True, slots=True)
class ConsumerOwner:
    """``/consumers/<group>/owners/<topic>/<partition>``, ephemeral: the thread of a consumer that reads it."""

    consumer: str

    @staticmethod
    def path(group: str, topic: str, partition: int) -> str:
        """Where it is."""
        return f"/consumers/{group}/owners/{topic}/{partition:d}"

    def encode(self) -> bytes:
        """Plain text."""
        return self.consumer.encode()

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerOwner:
        """Errors: ZnodeError."""
        try:
            return cls(data.decode())
        except UnicodeDecodeError as error:
            raise ZnodeError(path, "", f"no UTF-8: {error}") from None


@dataclass(frozen=True, slots=True)
class ConsumerOffset:
    """``/consumers/<group>/offsets/<topic>/<partition>``: of the next message that the group wants."""

    offset: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(group: str, topic: str, partition: int) -> str:
        """Where it is."""
        return f"/consumers/{group}/offsets/{topic}/{partition:d}"

    def encode(self) -> bytes:
        """Decimal digits, or an object where the node that was read had more to say than that."""
        return dump({"offset": self.offset}, self.unknown) if self.unknown else b"%d" % self.offset

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerOffset:
        """Of digits or an object. Errors: ZnodeError."""
        if data.lstrip()[:1] != b"{":
            return cls(whole_number(data, path, 64))
        node = JsonObject.parse(data, path)
        return cls(node.integer("offset", bits=64), node.unknown())
