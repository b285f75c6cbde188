"""Metadata events: changes between two responses of one broker, one class for each kind.

Events are immutable and compare by value; `str` of an event is one line of text. `before` and `after` are what the two
responses report.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwire._util.light_typing import TYPE_CHECKING
from kwire._util.readable import counted

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
    """The base class of all events."""


@dataclass(frozen=True, slots=True)
class BrokerJoined(MetadataEvent):
    """A broker is listed that was not listed before. `rack` is None if it is not configured."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"broker {self.broker_id} joined at {self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class BrokerLeft(MetadataEvent):
    """A broker is no longer listed: it was shut down, or its session expired."""

    broker_id: int

    def __str__(self) -> str:
        return f"broker {self.broker_id} left"


@dataclass(frozen=True, slots=True)
class BrokerChanged(MetadataEvent):
    """A broker is listed at another address or in another rack. `before` and `after` are (host, port, rack)."""

    broker_id: int
    before: tuple[str, int, str | None]
    after: tuple[str, int, str | None]

    def __str__(self) -> str:
        return f"broker {self.broker_id} moved from {_address(self.before)} to {_address(self.after)}"


@dataclass(frozen=True, slots=True)
class ControllerMoved(MetadataEvent):
    """Another broker is the controller; -1 stands for none.

    This event does not occur with KRaft, where responses name any live broker as the controller.
    """

    before: int
    after: int

    def __str__(self) -> str:
        return f"controller moved from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class TopicAdded(MetadataEvent):
    """A topic was added. `topic_id` is None in clusters and versions without topic ids."""

    topic: str
    topic_id: UUID | None
    partitions: int

    def __str__(self) -> str:
        return f"topic {self.topic} added with {counted(self.partitions, 'partition')}"


@dataclass(frozen=True, slots=True)
class TopicRemoved(MetadataEvent):
    """A topic was removed."""

    topic: str
    topic_id: UUID | None

    def __str__(self) -> str:
        return f"topic {self.topic} removed"


@dataclass(frozen=True, slots=True)
class TopicRecreated(MetadataEvent):
    """A topic has another id: it was deleted and created again between two responses.

    Its partitions have no events, since they are not the partitions from before.
    """

    topic: str
    before: UUID
    after: UUID
    partitions: int

    def __str__(self) -> str:
        return f"topic {self.topic} recreated with {counted(self.partitions, 'partition')}"


@dataclass(frozen=True, slots=True)
class PartitionsAdded(MetadataEvent):
    """A topic has new partitions. `partitions`: their indexes in ascending order."""

    topic: str
    partitions: tuple[int, ...]

    def __str__(self) -> str:
        return f"topic {self.topic}: {counted(len(self.partitions), 'partition')} added"


@dataclass(frozen=True, slots=True)
class PartitionsMissing(MetadataEvent):
    """A response lacks partitions of a topic: the broker has applied an update partially, or the topic has an error.

    Kafka never removes partitions.

    Attributes:
        topic: the topic.
        partitions: the indexes of the partitions in ascending order.
        error_code: the error code of the topic.
    """

    topic: str
    partitions: tuple[int, ...]
    error_code: int

    def __str__(self) -> str:
        return f"topic {self.topic}: {counted(len(self.partitions), 'partition')} missing (error {self.error_code})"


@dataclass(frozen=True, slots=True)
class _PartitionEvent(MetadataEvent):
    """The base class of events of one partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}: {self._change()}"

    def _change(self) -> str:
        """Return the text of the event without the partition."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LeaderMoved(_PartitionEvent):
    """A partition has another leader. `before` is -1 if it had no leader. Epochs are -1 in versions without epochs."""

    before: int
    after: int
    before_epoch: int
    after_epoch: int

    def _change(self) -> str:
        return f"leader moved from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class LeaderLost(_PartitionEvent):
    """A partition has no leader.

    `electing`: its leader epoch has not changed, so that an election is probably in progress. After the failure of a
    ZooKeeper controller, brokers report this for partitions that get a leader within two seconds.
    """

    before: int
    epoch: int
    electing: bool

    def _change(self) -> str:
        return f"leader {self.before} lost{', electing' if self.electing else ''}"


@dataclass(frozen=True, slots=True)
class LeaderReelected(_PartitionEvent):
    """A partition has the same leader in another leader epoch."""

    leader: int
    before_epoch: int
    after_epoch: int

    def _change(self) -> str:
        epochs = f"epoch {self.before_epoch} to {self.after_epoch}"
        return f"leader {self.leader} reelected ({epochs})"


@dataclass(frozen=True, slots=True)
class IsrShrank(_PartitionEvent):
    """Replicas left the ISR. `before` and `after` are the ISR in ascending order; `gone` are the replicas that left."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    gone: tuple[int, ...]

    def _change(self) -> str:
        return f"ISR shrank to {_list(self.after)} without {_list(self.gone)}"


@dataclass(frozen=True, slots=True)
class IsrExpanded(_PartitionEvent):
    """Replicas joined the ISR. `before` and `after` are the ISR in ascending order; `back` are the new members."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    back: tuple[int, ...]

    def _change(self) -> str:
        return f"ISR expanded to {_list(self.after)} with {_list(self.back)}"


@dataclass(frozen=True, slots=True)
class ReplicasChanged(_PartitionEvent):
    """A partition has other replicas, or the same ones in another order: the first one is the preferred leader."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def _change(self) -> str:
        return f"replicas changed from {_list(self.before)} to {_list(self.after)}"


@dataclass(frozen=True, slots=True)
class OfflineReplicasChanged(_PartitionEvent):
    """Other replicas are offline. `before` and `after` are in ascending order."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    def _change(self) -> str:
        return f"offline replicas {_list(self.after)}, before {_list(self.before)}"


@dataclass(frozen=True, slots=True)
class ConfigChanged(MetadataEvent):
    """A config has another value or another source.

    Attributes:
        resource_type: `topic`, `broker`, or the code of another resource type.
        resource: the name of the resource; empty for the defaults of all brokers.
        key: the name of the config.
        before: the value before; None if there was none, or if it is sensitive.
        after: the value now.
        before_source: the config source: 1 topic, 2 broker, 3 default of all brokers, 4 configuration file, 5 default;
            None if the config was not reported, -1 if the version does not have the source.
        after_source: the config source now.
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


def _address(address: tuple[str, int, str | None]) -> str:
    host, port, rack = address
    return f"{host}:{port}" if rack is None else f"{host}:{port} in {rack}"
