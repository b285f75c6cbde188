"""A topic and its partitions as immutable values.

Every value can be rebuilt from ZooKeeper and carries the version of the znode it was read from or written to. Equal
replica lists and partition states are shared objects, so a partition takes a few hundred bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.zookeeper.json_object import NO_UNKNOWN_KEYS, UnknownKeys, intern_ids
from kwire_cluster.zookeeper.topics import PartitionState, TopicRegistration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

NO_ZNODE = -1
"""Version of a partition state: the parent znode does not exist either."""
NO_STATE_ZNODE = -2
"""Version of a partition state: the parent znode exists, the state does not."""
MALFORMED = -3
"""Version of a znode that cannot be read or decoded. The controller leaves such a partition or such configs alone."""

_NO_REASSIGNMENTS: Mapping[int, OngoingReassignment] = MappingProxyType({})
_NO_CONFIG: Mapping[str, str] = MappingProxyType({})


class OngoingReassignment(NamedTuple):
    """The replica changes of a partition that is being reassigned.

    Meanwhile the replicas of the partition are the target replicas, followed by the replicas to remove.
    """

    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Partition(NamedTuple):
    """A partition of a topic.

    Attributes:
        id: the partition number.
        replicas: broker ids, the preferred leader first.
        state: leader and ISR, None if the partition has never had a leader.
        version: version of the state's znode, or NO_ZNODE, NO_STATE_ZNODE, or MALFORMED.
    """

    id: int
    replicas: tuple[int, ...]
    state: PartitionState | None = None
    version: int = NO_ZNODE

    @property
    def leader(self) -> int:
        """The broker id of the leader, -1 without a leader."""
        return -1 if self.state is None else self.state.leader

    @property
    def isr(self) -> tuple[int, ...]:
        """The in-sync replicas."""
        return () if self.state is None else self.state.isr

    @property
    def leader_epoch(self) -> int:
        """The number of leader changes, -1 before the first leader."""
        return -1 if self.state is None else self.state.leader_epoch


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic.

    Attributes:
        partitions: in ascending order of their ids.
        reassignments: the ongoing reassignments, by partition.
        version: version of the registration's znode, or NO_ZNODE.
        config_version: version of the znode of the topic's configs, or NO_ZNODE, or MALFORMED if it is unreadable.
        has_partitions_znode: true if the parent of the partitions' znodes exists.
        unknown: unknown keys of the registration.
        config_unknown: unknown keys of the configs.
    """

    name: str
    topic_id: UUID | None
    partitions: tuple[Partition, ...]
    reassignments: Mapping[int, OngoingReassignment] = field(default_factory=lambda: _NO_REASSIGNMENTS)
    config: Mapping[str, str] = field(default_factory=lambda: _NO_CONFIG)
    version: int = NO_ZNODE
    config_version: int = NO_ZNODE
    has_partitions_znode: bool = False
    unknown: UnknownKeys = NO_UNKNOWN_KEYS
    config_unknown: UnknownKeys = NO_UNKNOWN_KEYS

    def partition(self, index: int) -> Partition | None:
        """Return the partition with this id."""
        if 0 <= index < len(self.partitions) and self.partitions[index].id == index:
            return self.partitions[index]
        return next((partition for partition in self.partitions if partition.id == index), None)

    @property
    def next_partition_id(self) -> int:
        """The id of the next partition to add: the partition count if the ids have no gaps."""
        return self.partitions[-1].id + 1 if self.partitions else 0

    def target_replicas(self, partition: Partition) -> tuple[int, ...]:
        """Return the replicas of a partition after its reassignment."""
        reassignment = self.reassignments.get(partition.id)
        if reassignment is None:
            return partition.replicas
        return intern_ids(tuple(broker for broker in partition.replicas if broker not in reassignment.removing))

    def original_replicas(self, partition: Partition) -> tuple[int, ...]:
        """Return the replicas of a partition before its reassignment, possibly in a different order."""
        reassignment = self.reassignments.get(partition.id)
        if reassignment is None:
            return partition.replicas
        return tuple(broker for broker in partition.replicas if broker not in reassignment.adding)

    def registration(self) -> TopicRegistration:
        """Return the content of the topic's znode."""
        return TopicRegistration(
            {partition.id: partition.replicas for partition in self.partitions},
            self.topic_id,
            {index: one.adding for index, one in self.reassignments.items() if one.adding},
            {index: one.removing for index, one in self.reassignments.items() if one.removing},
            self.unknown,
        )
