"""Znodes of the active controller and of the controller epoch.

`/controller` is written as JSON, as in Kafka since 0.8. The bare number of "Kafka data structures in Zookeeper" is also
read, although Kafka 3.9 no longer reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, encode_json

_INTEGER = re.compile(rb"[+-]?[0-9]{1,19}")


def decode_integer(data: bytes, path: str, bits: int) -> int:
    """Decode data that consist of decimal digits, as Java's `parseInt` and `parseLong` do."""
    if _INTEGER.fullmatch(data) is not None:
        number = int(data)
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return number
    raise ZnodeError(path, "", f"expected an integer of {bits} bits in decimal digits, found {data[:60]!r}")


@dataclass(frozen=True, slots=True)
class ActiveController:
    """`/controller`, ephemeral: the broker that is the controller.

    Attributes:
        broker_id: the broker.
        timestamp: time of its election in milliseconds since 1970.
        kraft_controller_epoch: from Kafka 3.4 on, in version 2.
        unknown: unknown keys.
    """

    broker_id: int
    timestamp: int | None = None
    kraft_controller_epoch: int | None = None
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/controller"

    @property
    def is_migrating(self) -> bool:
        """True once a KRaft controller has taken over, so that no other client must write."""
        return self.kraft_controller_epoch not in {None, -1}

    def encode(self) -> bytes:
        """Encode as version 2 with a KRaft controller epoch, as version 1 without."""
        kraft = self.kraft_controller_epoch
        values: dict[str, object] = {"version": 1 if kraft is None else 2, "brokerid": self.broker_id}
        if self.timestamp is not None:
            values["timestamp"] = str(self.timestamp)
        if kraft is not None:
            values["kraftControllerEpoch"] = kraft
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/controller") -> ActiveController:
        """Decode JSON or a bare broker id, or raise ZnodeError."""
        if _INTEGER.fullmatch(data.strip()) is not None:
            return cls(decode_integer(data.strip(), path, 32))
        document = JsonObject.decode(data, path)
        document.ignore("version")
        broker_id = document.integer("brokerid")
        return cls(broker_id, document.timestamp(), document.integer("kraftControllerEpoch", None), document.unknown())


@dataclass(frozen=True, slots=True)
class ControllerEpoch:
    """`/controller_epoch`: the number of controller elections. Its version fences the writes of controllers."""

    epoch: int

    @staticmethod
    def path() -> str:
        """Return the path."""
        return "/controller_epoch"

    def encode(self) -> bytes:
        """Encode as decimal digits."""
        return b"%d" % self.epoch

    @classmethod
    def decode(cls, data: bytes, path: str = "/controller_epoch") -> ControllerEpoch:
        """Decode the data, or raise ZnodeError."""
        return cls(decode_integer(data, path, 32))
