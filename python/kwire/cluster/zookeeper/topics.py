"""A topic's nodes: its registration, the state of each partition, and the marker that asks for its deletion.

Rules of this file: what Kafka 3.9 reads is read (its ``TopicZNode`` and ``TopicPartitionStateZNode``), with one
exception: a registration that is no JSON is an error here, where Kafka takes it for a topic without partitions and
overwrites it. What is written is what Kafka 3.9 writes, key by key in its order.
"""

from __future__ import annotations

import base64
import re
import uuid
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kwire.cluster.zookeeper.errors import ZnodeError
from kwire.cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, JsonObject, UnknownKeys, dump, parse, read_only

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DeletionMarker", "PartitionState", "TopicRegistration"]

_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}(==)?")
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,10}")
_NONE: Mapping[int, tuple[int, ...]] = read_only({})


@dataclass(frozen=True, slots=True)
class TopicRegistration:
    """``/brokers/topics/<topic>``: which brokers hold which partition, the preferred leader first.

    ``topic_id``: from Kafka 2.8 on; keep it at every rewrite, or brokers refuse the topic after the next failover.
    ``adding_replicas``, ``removing_replicas``: of partitions that are being reassigned, from Kafka 2.4 on.
    """

    partitions: Mapping[int, tuple[int, ...]]
    topic_id: uuid.UUID | None = None
    adding_replicas: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: _NONE)
    removing_replicas: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: _NONE)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/brokers/topics"

    def __post_init__(self) -> None:
        for name in ("partitions", "adding_replicas", "removing_replicas"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @staticmethod
    def path(topic: str) -> str:
        """Where it is."""
        return f"/brokers/topics/{topic}"

    def encode(self, version: Literal[1, 2, 3] = 3) -> bytes:
        """Version 1 is Kafka's up to 2.3 and holds the partitions only; 2 is that of 2.4 to 2.7, without topic id."""
        values: dict[str, object] = {"partitions": _written(self.partitions)}
        if version >= 3 and self.topic_id is not None:
            values["topic_id"] = base64.urlsafe_b64encode(self.topic_id.bytes)[:22].decode()
        if version >= 2:
            values["adding_replicas"] = _written(self.adding_replicas)
            values["removing_replicas"] = _written(self.removing_replicas)
        values["version"] = version
        return dump(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/brokers/topics") -> TopicRegistration:
        """Of any version, which is not looked at. Errors: ZnodeError."""
        node = JsonObject.parse(data, path)
        node.drop("version")
        topic_id = None
        if "topic_id" in node:
            text = node.text("topic_id")
            if _TOPIC_ID.fullmatch(text) is None:
                raise node.fault("topic_id", f"{text!r} is no base64 (of the URL alphabet) of 16 bytes")
            topic_id = uuid.UUID(bytes=base64.urlsafe_b64decode(text[:22] + "=="))
        replicas = node.object("partitions") if "partitions" in node else JsonObject({}, path)
        adding = node.object("adding_replicas") if "adding_replicas" in node else JsonObject({}, path)
        removing = node.object("removing_replicas") if "removing_replicas" in node else JsonObject({}, path)
        partitions, added, removed = {}, {}, {}
        for key in replicas.keys():  # noqa: SIM118 - reading takes the keys out
            if _WHOLE_NUMBER.fullmatch(key) is None or not -0x8000_0000 <= int(key) <= 0x7FFF_FFFF:
                raise replicas.fault(key, f"{key!r} is no partition's number")
            partition = int(key)
            partitions[partition] = replicas.integers(key)
            if adding_here := adding.integers(key, ()):
                added[partition] = adding_here
            if removing_here := removing.integers(key, ()):
                removed[partition] = removing_here
        return cls(partitions, topic_id, added or _NONE, removed or _NONE, node.unknown())


def _written(partitions: Mapping[int, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {str(partition): replicas for partition, replicas in partitions.items()}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """``/brokers/topics/<topic>/partitions/<partition>/state``. The node's version is the partition epoch.

    ``leader``: -1 when none of the ISR is alive. ``recovering``: an unclean leader is still finding out what it lost
    (``leader_recovery_state`` 1, from Kafka 3.2 on).
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovering: bool = False
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(topic: str, partition: int) -> str:
        """Where it is."""
        return f"/brokers/topics/{topic}/partitions/{partition}/state"

    def encode(self) -> bytes:
        """As Kafka writes it since 0.8."""
        text = (
            f'{{"controller_epoch":{self.controller_epoch:d},"leader":{self.leader:d},"version":1,'
            f'"leader_epoch":{self.leader_epoch:d},"isr":[{",".join(map(str, self.isr))}]'
        )
        if self.recovering:
            text += ',"leader_recovery_state":1'
        if self.unknown:
            return f"{text},{dump({}, self.unknown).decode()[1:]}".encode()
        return f"{text}}}".encode()

    @classmethod
    def decode(cls, data: bytes, path: str = "") -> PartitionState:
        """Equal data may give the same object. Errors: ZnodeError."""
        try:
            return _partition_state(data)
        except ZnodeError as error:
            raise ZnodeError(path, error.key, error.reason) from None


@lru_cache(maxsize=1 << 13)
def _partition_state(data: bytes) -> PartitionState:
    """Many partitions of one cluster have the very same bytes here."""
    values = parse(data, "")
    node = JsonObject(values, "")
    node.drop("version")
    leader = node.integer("leader")
    leader_epoch = node.integer("leader_epoch")
    isr = node.integers("isr")
    recovery = node.integer("leader_recovery_state", 0)
    if recovery not in {0, 1}:
        raise node.fault("leader_recovery_state", f"expected 0 or 1, found {recovery}")
    controller_epoch = node.integer("controller_epoch")
    return PartitionState(leader, leader_epoch, isr, controller_epoch, recovery == 1, node.unknown())


@dataclass(frozen=True, slots=True)
class DeletionMarker:
    """``/admin/delete_topics/<topic>``: the node's name says all; its data are not looked at."""

    topic: str

    root = "/admin/delete_topics"

    @staticmethod
    def path(topic: str) -> str:
        """Where it is."""
        return f"/admin/delete_topics/{topic}"

    def encode(self) -> bytes:
        """Nothing."""
        return b""

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/delete_topics/") -> DeletionMarker:  # noqa: ARG003 - see above
        """The topic that the path names, whatever the data."""
        return cls(path.rpartition("/")[2])
