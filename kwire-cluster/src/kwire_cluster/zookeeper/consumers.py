"""Znodes of Kafka 0.8 consumers: registrations, partition owners, and offsets.

Newer brokers use only the offsets, for version 0 of OffsetFetch and OffsetCommit. An offset is also read in the form
`{"offset": 42}`, which the comments on "Kafka data structures in Zookeeper" propose; it is written as digits, because
Kafka reads only these.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from kwire_cluster.zookeeper.controllers import decode_integer
from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json, freeze

if TYPE_CHECKING:
    from collections.abc import Mapping

SubscriptionPattern: TypeAlias = Literal["static", "white_list", "black_list"]


@dataclass(frozen=True, slots=True)
class ConsumerRegistration:
    """`/consumers/<group>/ids/<consumer>`, ephemeral: a live consumer.

    Attributes:
        pattern: the kind of subscription.
        subscription: topics (`static`) or one name pattern (`white_list`, `black_list`), with the number of streams.
        timestamp: start time in milliseconds since 1970.
        unknown: unknown keys.
    """

    pattern: SubscriptionPattern
    subscription: Mapping[str, int] = field(default_factory=dict)
    timestamp: int | None = None
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    def __post_init__(self) -> None:
        object.__setattr__(self, "subscription", freeze(self.subscription))

    @staticmethod
    def path(group: str, consumer: str) -> str:
        """Return the path."""
        return f"/consumers/{group}/ids/{consumer}"

    def encode(self) -> bytes:
        """Encode as version 1."""
        values: dict[str, object] = {
            "version": 1,
            "subscription": dict(self.subscription),
            "pattern": self.pattern,
        }
        if self.timestamp is not None:
            values["timestamp"] = str(self.timestamp)
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerRegistration:
        """Decode the data, or raise ZnodeError."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        pattern = document.string("pattern")
        patterns: dict[str, SubscriptionPattern] = {
            "static": "static",
            "white_list": "white_list",
            "black_list": "black_list",
        }
        if pattern not in patterns:
            raise document.error("pattern", f"expected static, white_list, or black_list, found {pattern!r}")
        topics = document.object("subscription")
        subscription = {topic: topics.integer(topic) for topic in topics.names()}
        return cls(patterns[pattern], subscription, document.timestamp(), document.unknown())


@dataclass(frozen=True, slots=True)
class ConsumerOwner:
    """`/consumers/<group>/owners/<topic>/<partition>`, ephemeral: the consumer thread that reads a partition."""

    consumer: str

    @staticmethod
    def path(group: str, topic: str, partition: int) -> str:
        """Return the path."""
        return f"/consumers/{group}/owners/{topic}/{partition:d}"

    def encode(self) -> bytes:
        """Encode as plain text."""
        return self.consumer.encode()

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerOwner:
        """Decode the data, or raise ZnodeError."""
        try:
            return cls(data.decode())
        except UnicodeDecodeError as error:
            raise ZnodeError(path, "", f"invalid UTF-8: {error}") from None


@dataclass(frozen=True, slots=True)
class ConsumerOffset:
    """`/consumers/<group>/offsets/<topic>/<partition>`: the offset of the next message to consume."""

    offset: int
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(group: str, topic: str, partition: int) -> str:
        """Return the path."""
        return f"/consumers/{group}/offsets/{topic}/{partition:d}"

    def encode(self) -> bytes:
        """Encode as decimal digits, or as an object if there are unknown keys."""
        return encode_json({"offset": self.offset}, self.unknown) if self.unknown else b"%d" % self.offset

    @classmethod
    def decode(cls, data: bytes, path: str = "/consumers") -> ConsumerOffset:
        """Decode digits or an object, or raise ZnodeError."""
        if data.lstrip()[:1] != b"{":
            return cls(decode_integer(data, path, 64))
        document = JsonObject.decode(data, path)
        return cls(document.integer("offset", bits=64), document.unknown())
