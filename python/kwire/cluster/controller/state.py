"""What the controller knows, as frozen data: brokers, topics, partitions, and what was asked for and is not done.

Rules of this file: all of it can be built again from ZooKeeper, and says of each node which version it was read at or
written with. Values that repeat (lists of replicas, states of partitions) are shared, so that a partition costs some
hundred bytes. Nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire.cluster.controller.topic_map import NO_TOPICS, TopicMap
from kwire.cluster.zookeeper.json_object import NOTHING_UNKNOWN, Unknown, shared_ids
from kwire.cluster.zookeeper.topics import PartitionState, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kwire.cluster.zookeeper.brokers import BrokerRegistration

__all__ = ["NO_NODE", "NO_STATE", "UNREADABLE", "Broker", "Cluster", "Move", "Partition", "Topic"]

NO_NODE = -1
"""As the version of a partition's state: not even the node above it is there."""
NO_STATE = -2
"""The node above it is there, the state is not."""
UNREADABLE = -3
"""The state is there and nobody knows what it means. It is left alone."""

_NO_BROKERS: Mapping[int, Broker] = MappingProxyType({})
_NO_MOVES: Mapping[int, Move] = MappingProxyType({})
_NO_CONFIG: Mapping[str, str] = MappingProxyType({})
_NO_PENDING: Mapping[tuple[str, int], tuple[int, ...]] = MappingProxyType({})


class Broker(NamedTuple):
    """A live broker. ``epoch``: the transaction that registered it (czxid), which tells its lives apart."""

    id: int
    registration: BrokerRegistration
    epoch: int


class Move(NamedTuple):
    """A partition on its way. Meanwhile its replicas are the target and, behind it, those that are to go."""

    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Partition(NamedTuple):
    """``replicas``: the preferred leader first. ``state``: None until it has had a leader.

    ``version``: of the state's node, or NO_NODE, NO_STATE, UNREADABLE.
    """

    id: int
    replicas: tuple[int, ...]
    state: PartitionState | None = None
    version: int = NO_NODE

    @property
    def leader(self) -> int:
        """-1 for none."""
        return -1 if self.state is None else self.state.leader

    @property
    def isr(self) -> tuple[int, ...]:
        """The replicas in sync."""
        return () if self.state is None else self.state.isr

    @property
    def leader_epoch(self) -> int:
        """Rises with each change of leader; -1 before the first."""
        return -1 if self.state is None else self.state.leader_epoch


@dataclass(frozen=True, slots=True)
class Topic:
    """``partitions``: ascending by number. ``moves``: by partition, those of a running reassignment.

    ``version``, ``config_version``: of its registration and of its settings; NO_NODE where there is none.
    ``has_partitions_node``: whether the node above those of the partitions is there.
    """

    name: str
    topic_id: UUID | None
    partitions: tuple[Partition, ...]
    moves: Mapping[int, Move] = field(default_factory=lambda: _NO_MOVES)
    config: Mapping[str, str] = field(default_factory=lambda: _NO_CONFIG)
    version: int = NO_NODE
    config_version: int = NO_NODE
    has_partitions_node: bool = False
    unknown: Unknown = NOTHING_UNKNOWN
    config_unknown: Unknown = NOTHING_UNKNOWN

    def partition(self, index: int) -> Partition | None:
        """The partition of this number."""
        if 0 <= index < len(self.partitions) and self.partitions[index].id == index:
            return self.partitions[index]
        return next((partition for partition in self.partitions if partition.id == index), None)

    @property
    def next_partition(self) -> int:
        """The number that a partition added now would get: how many there are, where no number was left out."""
        return self.partitions[-1].id + 1 if self.partitions else 0

    def target(self, partition: Partition) -> tuple[int, ...]:
        """Where its replicas are to be in the end."""
        move = self.moves.get(partition.id)
        if move is None:
            return partition.replicas
        return shared_ids(tuple(broker for broker in partition.replicas if broker not in move.removing))

    def origin(self, partition: Partition) -> tuple[int, ...]:
        """Where its replicas were before it began to move: those brokers, not always in that order."""
        move = self.moves.get(partition.id)
        if move is None:
            return partition.replicas
        return tuple(broker for broker in partition.replicas if broker not in move.adding)

    def registration(self) -> TopicRegistration:
        """The content of its node."""
        return TopicRegistration(
            {partition.id: partition.replicas for partition in self.partitions},
            self.topic_id,
            {index: move.adding for index, move in self.moves.items() if move.adding},
            {index: move.removing for index, move in self.moves.items() if move.removing},
            self.unknown,
        )


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything.

    ``leaving``: live brokers that are shutting down and shall lead nothing. ``marked``: topics to be deleted.
    ``unreadable``: topics whose registration nobody can read. ``pending``: what a reassignment asked for and has not
    begun, by topic and partition; ``reassigning``: whether the node that asks for one is there.
    """

    brokers: Mapping[int, Broker] = field(default_factory=lambda: _NO_BROKERS)
    topics: TopicMap = NO_TOPICS
    leaving: frozenset[int] = frozenset()
    marked: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()
    pending: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=lambda: _NO_PENDING)
    reassigning: bool = False

    @property
    def racks(self) -> dict[int, str | None]:
        """Of the live brokers."""
        return {broker.id: broker.registration.rack for broker in self.brokers.values()}

    @property
    def moving(self) -> bool:
        """Whether a reassignment runs, so that none can be begun."""
        return self.reassigning or self.topics.moving_count > 0
