"""Who the controller is, and how often there was a new one.

Rules of this file: ``/controller`` is written as JSON, as Kafka has done since 0.8, though the page "Kafka data
structures in Zookeeper" says a bare number; both are read. Kafka 3.9 itself does not read the bare number any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kwire.cluster.zookeeper.errors import ZnodeError
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump

__all__ = ["ActiveController", "ControllerEpoch", "whole_number"]

_WHOLE_NUMBER = re.compile(rb"[+-]?[0-9]{1,19}")


def whole_number(data: bytes, path: str, bits: int) -> int:
    """The decimal text that is all of a node's data, as Java's ``parseInt`` and ``parseLong`` read it."""
    if _WHOLE_NUMBER.fullmatch(data) is not None:
        number = int(data)
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return number
    raise ZnodeError(path, "", f"expected a whole number of {bits} bits in decimal digits, found {data[:60]!r}")


@dataclass(frozen=True, slots=True)
class ActiveController:
    """``/controller``, ephemeral: the broker that is controller.

    ``timestamp``: of its election, milliseconds since 1970. ``kraft_controller_epoch``: from Kafka 3.4 on; with it the
    node has version 2.
    """

    broker_id: int
    timestamp: int | None = None
    kraft_controller_epoch: int | None = None
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/controller"

    @property
    def is_migrating(self) -> bool:
        """Whether a KRaft controller has taken over: then nobody else may write."""
        return self.kraft_controller_epoch not in {None, -1}

    def encode(self) -> bytes:
        """Version 1, or 2 where there is a KRaft controller's epoch to tell."""
        kraft = self.kraft_controller_epoch
        values: dict[str, object] = {"version": 1 if kraft is None else 2, "brokerid": self.broker_id}
        if self.timestamp is not None:
            values["timestamp"] = str(self.timestamp)
        if kraft is not None:
            values["kraftControllerEpoch"] = kraft
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/controller") -> ActiveController:
        """Of JSON, or a bare broker id. Errors: ZnodeError."""
        if _WHOLE_NUMBER.fullmatch(data.strip()) is not None:
            return cls(whole_number(data.strip(), path, 32))
        node = JsonObject.parse(data, path)
        node.drop("version")
        broker_id = node.integer("brokerid")
        return cls(broker_id, node.timestamp(), node.integer("kraftControllerEpoch", None), node.unknown())


@dataclass(frozen=True, slots=True)
class ControllerEpoch:
    """``/controller_epoch``: how many controllers there were. Its version guards every write of a controller."""

    epoch: int

    @staticmethod
    def path() -> str:
        """Where it is."""
        return "/controller_epoch"

    def encode(self) -> bytes:
        """Decimal digits."""
        return b"%d" % self.epoch

    @classmethod
    def decode(cls, data: bytes, path: str = "/controller_epoch") -> ControllerEpoch:
        """Errors: ZnodeError."""
        return cls(whole_number(data, path, 32))
