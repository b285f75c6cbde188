"""What may differ between two answers of a broker, one class a kind.

Rules of this file: facts only, immutable, equal by value; ``str`` is one line for a person. Partitions are named by
topic and index. ``before`` and ``after`` are what the two answers said, whoever is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

__all__ = [
    "BrokerChanged",
    "BrokerJoined",
    "BrokerLeft",
    "ConfigChanged",
    "ControllerMoved",
    "IsrExpanded",
    "IsrShrank",
    "LeaderLost",
    "LeaderMoved",
    "LeaderReelected",
    "MetadataEvent",
    "OfflineReplicasChanged",
    "PartitionsAdded",
    "PartitionsMissing",
    "ReplicasChanged",
    "TopicAdded",
    "TopicRecreated",
    "TopicRemoved",
]


@dataclass(frozen=True, slots=True)
class MetadataEvent:
    """The base of all of them."""


@dataclass(frozen=True, slots=True)
class BrokerJoined(MetadataEvent):
    """A broker is listed that was not. ``rack``: None when it has none configured."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"broker {self.broker_id} joined at {self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerLeft(MetadataEvent):
    """A broker is no longer listed: shut down in order, or its session has ended."""

    broker_id: int

    def __str__(self) -> str:
        return f"broker {self.broker_id} gone"


@dataclass(frozen=True, slots=True)
class BrokerChanged(MetadataEvent):
    """A broker is listed at another address or in another rack. ``before``, ``after``: (host, port, rack)."""

    broker_id: int
    before: tuple[str, int, str | None]
    after: tuple[str, int, str | None]

    def __str__(self) -> str:
        return f"broker {self.broker_id} moved from {_place(self.before)} to {_place(self.after)}"


@dataclass(frozen=True, slots=True)
class ControllerMoved(MetadataEvent):
    """Another broker is the controller; -1 for none. Never under KRaft, where an answer names any live broker."""

    before: int
    after: int

    def __str__(self) -> str:
        return f"controller moved from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class TopicAdded(MetadataEvent):
    """A topic is there that was not. ``topic_id``: None where the cluster or the version has none."""

    topic: str
    topic_id: UUID | None
    partitions: int

    def __str__(self) -> str:
        return f"topic {self.topic} added with {self.partitions} partitions"


@dataclass(frozen=True, slots=True)
class TopicRemoved(MetadataEvent):
    """A topic is no longer there."""

    topic: str
    topic_id: UUID | None

    def __str__(self) -> str:
        return f"topic {self.topic} removed"


@dataclass(frozen=True, slots=True)
class TopicRecreated(MetadataEvent):
    """A topic of that name is there under another id: it was deleted and made anew between two answers.

    Nothing is told about its partitions, which have nothing in common with those before.
    """

    topic: str
    before: UUID
    after: UUID
    partitions: int

    def __str__(self) -> str:
        return f"topic {self.topic} deleted and made anew with {self.partitions} partitions"


@dataclass(frozen=True, slots=True)
class PartitionsAdded(MetadataEvent):
    """A topic has partitions that it had not. ``partitions``: their indexes, ascending."""

    topic: str
    partitions: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic}: {len(self.partitions)} partitions added"


@dataclass(frozen=True, slots=True)
class PartitionsMissing(MetadataEvent):
    """An answer lacks partitions of a topic that is there: an update half applied, or a topic that has an error.

    Kafka never removes partitions. ``partitions``: their indexes, ascending; ``error_code``: the topic's.
    """

    topic: str
    partitions: tuple[int, ...]
    error_code: int

    def __str__(self) -> str:
        return f"topic {self.topic}: {len(self.partitions)} partitions are not told about (error {self.error_code})"


@dataclass(frozen=True, slots=True)
class LeaderMoved(MetadataEvent):
    """Another broker leads a partition. ``before`` is -1 where none did. Epochs are -1 where the version has none."""

    topic: str
    partition: int
    before: int
    after: int
    before_epoch: int
    after_epoch: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: leader moved from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class LeaderLost(MetadataEvent):
    """A partition has no leader. ``electing``: its epoch has not changed, so most likely an election is under way.

    After the death of a ZooKeeper controller, brokers tell this of partitions that get a leader within two seconds.
    """

    topic: str
    partition: int
    before: int
    epoch: int
    electing: bool

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: leader {self.before} lost{', electing' if self.electing else ''}"


@dataclass(frozen=True, slots=True)
class LeaderReelected(MetadataEvent):
    """The same broker leads in another epoch."""

    topic: str
    partition: int
    leader: int
    before_epoch: int
    after_epoch: int

    def __str__(self) -> str:
        epochs = f"epoch {self.before_epoch} to {self.after_epoch}"
        return f"{self.topic}-{self.partition}: leader {self.leader} elected again ({epochs})"


@dataclass(frozen=True, slots=True)
class IsrShrank(MetadataEvent):
    """Replicas fell out of sync. ``before``, ``after``: the sets, ascending; ``gone``: who fell out."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    gone: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: ISR shrank to {_list(self.after)} without {_list(self.gone)}"


@dataclass(frozen=True, slots=True)
class IsrExpanded(MetadataEvent):
    """Replicas are in sync that were not. ``before``, ``after``: the sets, ascending; ``back``: who came."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    back: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: ISR expanded to {_list(self.after)} with {_list(self.back)}"


@dataclass(frozen=True, slots=True)
class ReplicasChanged(MetadataEvent):
    """A partition is assigned to other brokers, or to the same in another order: the first is the preferred leader."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: replicas changed from {_list(self.before)} to {_list(self.after)}"


@dataclass(frozen=True, slots=True)
class OfflineReplicasChanged(MetadataEvent):
    """Other replicas are offline. ``before``, ``after``: the sets, ascending."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: offline replicas {_list(self.after)}, before {_list(self.before)}"


@dataclass(frozen=True, slots=True)
class ConfigChanged(MetadataEvent):
    """A setting has another value or comes from another place.

    ``resource_type``: ``topic``, ``broker`` or Kafka's number for another one; ``resource``: its name, empty for all
    brokers. ``before``, ``after``: values; None when there is none, or it is secret. ``before_source``,
    ``after_source``: who set it (1 this topic, 2 this broker, 3 all brokers, 4 the broker's file, 5 nobody); None when
    it was not listed, -1 when the version does not say.
    """

    resource_type: str
    resource: str
    key: str
    before: str | None
    after: str | None
    before_source: int | None = None
    after_source: int | None = None

    def __str__(self) -> str:
        what = f"{self.resource_type} {self.resource}".strip()
        return f"{what}: {self.key} changed from {self.before} to {self.after}"


def _list(brokers: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, brokers))}]"


def _place(place: tuple[str, int, str | None]) -> str:
    host, port, rack = place
    return f"{host}:{port}" if rack is None else f"{host}:{port} in {rack}"
