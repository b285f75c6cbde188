"""Znodes of a topic: its registration, partition states, and deletion marker.

Everything that Kafka 3.9 reads (`TopicZNode`, `TopicPartitionStateZNode`) is read, with one exception: a registration
that is not JSON is an error, while Kafka treats it as a topic without partitions and overwrites it. The written keys
and their order equal Kafka 3.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from kwire.uuids import uuid_from_text, uuid_to_text
from kwire_cluster.zookeeper.errors import ZnodeError
from kwire_cluster.zookeeper.json_object import (
    NO_UNKNOWN_KEYS,
    JsonObject,
    UnknownKeys,
    decode_json,
    encode_json,
    freeze,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

_INTEGER = re.compile(r"[+-]?\d{1,10}")
_NONE: Mapping[int, tuple[int, ...]] = freeze({})


@dataclass(frozen=True, slots=True)
class TopicRegistration:
    """`/brokers/topics/<topic>`: the replica assignment of a topic.

    Attributes:
        partitions: the replicas of each partition, the preferred leader first.
        topic_id: from Kafka 2.8 on. Keep it when you rewrite the znode, or brokers reject the topic after the next
            controller failover.
        adding_replicas: replicas to add in ongoing reassignments, from Kafka 2.4 on.
        removing_replicas: replicas to remove in ongoing reassignments, from Kafka 2.4 on.
        unknown: unknown keys.
    """

    partitions: Mapping[int, tuple[int, ...]]
    topic_id: UUID | None = None
    adding_replicas: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: _NONE)
    removing_replicas: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: _NONE)
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    root = "/brokers/topics"

    def __post_init__(self) -> None:
        for name in ("partitions", "adding_replicas", "removing_replicas"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @staticmethod
    def path(topic: str) -> str:
        """Return the path."""
        return f"/brokers/topics/{topic}"

    def encode(self, version: Literal[1, 2, 3] = 3) -> bytes:
        """Encode as version 1 (Kafka up to 2.3, partitions only), 2 (2.4 to 2.7, no topic id), or 3."""
        values: dict[str, object] = {"partitions": _partition_map(self.partitions)}
        if version >= 3 and self.topic_id is not None:
            values["topic_id"] = uuid_to_text(self.topic_id)
        if version >= 2:
            values["adding_replicas"] = _partition_map(self.adding_replicas)
            values["removing_replicas"] = _partition_map(self.removing_replicas)
        values["version"] = version
        return encode_json(values, self.unknown)

    @classmethod
    def decode(cls, data: bytes, path: str = "/brokers/topics") -> TopicRegistration:
        """Decode any version, or raise ZnodeError. The version itself is ignored, as in Kafka."""
        document = JsonObject.decode(data, path)
        document.ignore("version")
        topic_id = None
        if "topic_id" in document:
            string = document.string("topic_id")
            try:
                topic_id = uuid_from_text(string)
            except ValueError:
                raise document.error("topic_id", f"expected 16 bytes in URL-safe base64, found {string!r}") from None
        replicas = document.object("partitions") if "partitions" in document else JsonObject({}, path)
        adding = document.object("adding_replicas") if "adding_replicas" in document else JsonObject({}, path)
        removing = document.object("removing_replicas") if "removing_replicas" in document else JsonObject({}, path)
        partitions, added, removed = {}, {}, {}
        for key in replicas.names():
            if _INTEGER.fullmatch(key) is None or not -0x8000_0000 <= int(key) <= 0x7FFF_FFFF:
                raise replicas.error(key, f"invalid partition id {key!r}")
            partition = int(key)
            partitions[partition] = replicas.integers(key)
            if adding_here := adding.integers(key, ()):
                added[partition] = adding_here
            if removing_here := removing.integers(key, ()):
                removed[partition] = removing_here
        return cls(partitions, topic_id, added or _NONE, removed or _NONE, document.unknown())


def _partition_map(partitions: Mapping[int, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {str(partition): replicas for partition, replicas in partitions.items()}


@dataclass(frozen=True, slots=True)
class PartitionState:
    """`/brokers/topics/<topic>/partitions/<partition>/state`: leader and ISR of a partition.

    The version of the znode is the partition epoch.

    Attributes:
        leader: the broker id of the leader, -1 if no replica in the ISR is live.
        leader_epoch: the number of leader changes.
        isr: the in-sync replicas.
        controller_epoch: the epoch of the controller that wrote the state.
        recovering: true if the leader recovers from an unclean election (`leader_recovery_state` 1, from Kafka 3.2 on).
        unknown: unknown keys.
    """

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovering: bool = False
    unknown: UnknownKeys = NO_UNKNOWN_KEYS

    @staticmethod
    def path(topic: str, partition: int) -> str:
        """Return the path."""
        return f"/brokers/topics/{topic}/partitions/{partition}/state"

    def encode(self) -> bytes:
        """Encode as Kafka does since 0.8."""
        string = (
            f'{{"controller_epoch":{self.controller_epoch:d},"leader":{self.leader:d},"version":1,'
            f'"leader_epoch":{self.leader_epoch:d},"isr":[{",".join(map(str, self.isr))}]'
        )
        if self.recovering:
            string += ',"leader_recovery_state":1'
        if self.unknown:
            return f"{string},{encode_json({}, self.unknown).decode()[1:]}".encode()
        return f"{string}}}".encode()

    @classmethod
    def decode(cls, data: bytes, path: str = "") -> PartitionState:
        """Decode the data, or raise ZnodeError. Equal data may return the same object."""
        try:
            return _partition_state(data)
        except ZnodeError as error:
            raise ZnodeError(path, error.key, error.reason) from None


@lru_cache(maxsize=1 << 13)
def _partition_state(data: bytes) -> PartitionState:
    """Decode a state. The cache helps because many partitions of a cluster have equal states."""
    values = decode_json(data, "")
    document = JsonObject(values, "")
    document.ignore("version")
    leader = document.integer("leader")
    leader_epoch = document.integer("leader_epoch")
    isr = document.integers("isr")
    recovery = document.integer("leader_recovery_state", 0)
    if recovery not in {0, 1}:
        raise document.error("leader_recovery_state", f"expected 0 or 1, found {recovery}")
    controller_epoch = document.integer("controller_epoch")
    return PartitionState(leader, leader_epoch, isr, controller_epoch, recovery == 1, document.unknown())


@dataclass(frozen=True, slots=True)
class DeletionMarker:
    """`/admin/delete_topics/<topic>`: marks a topic for deletion. The data are ignored."""

    topic: str

    root = "/admin/delete_topics"

    @staticmethod
    def path(topic: str) -> str:
        """Return the path."""
        return f"/admin/delete_topics/{topic}"

    def encode(self) -> bytes:
        """Return empty data."""
        return b""

    @classmethod
    def decode(cls, data: bytes, path: str = "/admin/delete_topics/") -> DeletionMarker:  # noqa: ARG003  # data are ignored
        """Return the topic that the path names."""
        return cls(path.rpartition("/")[2])
