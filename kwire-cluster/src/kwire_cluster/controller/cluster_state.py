"""The cluster state as the controller knows it, as immutable values.

The whole state can be rebuilt from ZooKeeper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.controller.topic_map import NO_TOPICS, TopicMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kwire_cluster.zookeeper.brokers import BrokerRegistration

_NO_BROKERS: Mapping[int, Broker] = MappingProxyType({})
_NO_REASSIGNMENTS: Mapping[tuple[str, int], tuple[int, ...]] = MappingProxyType({})


class Broker(NamedTuple):
    """A live broker. `epoch` is the broker epoch: the czxid of its registration, new after every restart."""

    id: int
    registration: BrokerRegistration
    epoch: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster state.

    Attributes:
        brokers: the live brokers.
        known_brokers: ids of the brokers that were alive at any time since this controller was elected.
        topics: the topics, including those marked for deletion.
        shutting_down: live brokers in a controlled shutdown; they must not become leaders.
        topics_to_delete: names of topics that are marked for deletion.
        malformed_topics: names of topics with a registration that cannot be decoded.
        pending_reassignments: target replicas of requested reassignments that have not started, by topic and partition.
        reassignment_requested: true if `/admin/reassign_partitions` exists.
    """

    brokers: Mapping[int, Broker] = field(default_factory=lambda: _NO_BROKERS)
    known_brokers: frozenset[int] = frozenset()
    topics: TopicMap = NO_TOPICS
    shutting_down: frozenset[int] = frozenset()
    topics_to_delete: frozenset[str] = frozenset()
    malformed_topics: frozenset[str] = frozenset()
    pending_reassignments: Mapping[tuple[str, int], tuple[int, ...]] = field(default_factory=lambda: _NO_REASSIGNMENTS)
    reassignment_requested: bool = False

    @property
    def racks(self) -> dict[int, str | None]:
        """The rack of each live broker."""
        return {broker.id: broker.registration.rack for broker in self.brokers.values()}

    @property
    def is_reassigning(self) -> bool:
        """True while a reassignment is in progress, so that no other can start."""
        return self.reassignment_requested or self.topics.reassigning_count > 0
