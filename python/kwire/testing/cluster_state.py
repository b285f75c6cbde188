"""What a fake cluster is like at one instant, and how it may change.

Rules of this file: a state is never changed, a change gives another state that shares all it did not touch. Topics and
partitions are the very objects of Kafka's Metadata answer, so that a test can compare them with what a client read. No
sockets, no time and no randomness but what is handed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

__all__ = ["LEADER_NOT_AVAILABLE", "NO_LEADER", "ClusterState", "assign_replicas"]

Part = TypeVar("Part", MetadataResponseTopic, MetadataResponsePartition)

NO_LEADER = -1
LEADER_NOT_AVAILABLE = 5


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A whole cluster as one broker may see it.

    ``brokers``: the live ones. ``topics``: by name, in the order in which they are told. ``configs``: what is set on
    purpose, by (resource type as in DescribeConfigs, resource name).
    """

    cluster_id: str
    controller_id: int
    brokers: tuple[MetadataResponseBroker, ...]
    topics: Mapping[str, MetadataResponseTopic] = field(default_factory=dict)
    configs: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)

    @property
    def live(self) -> frozenset[int]:
        """The ids of the live brokers."""
        return frozenset(broker.node_id for broker in self.brokers)

    def metadata(self) -> MetadataResponse:
        """What a broker that sees this answers, whole."""
        return MetadataResponse(
            brokers=self.brokers,
            cluster_id=self.cluster_id,
            controller_id=self.controller_id,
            topics=tuple(self.topics.values()),
        )

    def with_topics(self, topics: Iterable[MetadataResponseTopic]) -> ClusterState:
        """With these topics put in, or put in the place of those of the same name."""
        return replace(
            self, topics={**self.topics, **{topic.name: topic for topic in topics if topic.name is not None}}
        )

    def without_topics(self, names: Iterable[str]) -> ClusterState:
        """Without these topics and their settings. Raises KeyError for one that is not there."""
        topics = dict(self.topics)
        configs = dict(self.configs)
        for name in names:
            del topics[name]
            configs.pop((2, name), None)
        return replace(self, topics=topics, configs=configs)

    def with_partitions(self, name: str, assignments: Sequence[Sequence[int]]) -> ClusterState:
        """With more partitions on a topic, numbered on from its last."""
        topic = self.topics[name]
        first = len(topic.partitions)
        added = tuple(self.new_partition(first + n, replicas) for n, replicas in enumerate(assignments))
        return self.with_topics([_replace(topic, partitions=topic.partitions + added)])

    def new_topic(
        self, name: str, topic_id: UUID, assignments: Iterable[Sequence[int]], *, internal: bool
    ) -> MetadataResponseTopic:
        """A topic that stands nowhere yet."""
        return MetadataResponseTopic(
            error_code=0,
            name=name,
            topic_id=topic_id,
            is_internal=internal,
            partitions=tuple(self.new_partition(index, replicas) for index, replicas in enumerate(assignments)),
        )

    def new_partition(self, index: int, replicas: Sequence[int]) -> MetadataResponsePartition:
        """A partition as it is right after its creation: the first live replica leads."""
        live = self.live
        in_sync = tuple(replica for replica in replicas if replica in live)
        return MetadataResponsePartition(
            error_code=0 if in_sync else LEADER_NOT_AVAILABLE,
            partition_index=index,
            leader_id=in_sync[0] if in_sync else NO_LEADER,
            leader_epoch=0,
            replica_nodes=tuple(replicas),
            isr_nodes=in_sync,
            offline_replicas=tuple(replica for replica in replicas if replica not in live),
        )

    def partition(self, name: str, index: int) -> MetadataResponsePartition:
        """Raises KeyError when there is none of that number."""
        for partition in self.topics[name].partitions:
            if partition.partition_index == index:
                return partition
        raise KeyError((name, index))

    def with_partition(self, name: str, partition: MetadataResponsePartition) -> ClusterState:
        """With this partition in the place of the one of the same number."""
        topic = self.topics[name]
        partitions = tuple(
            partition if each.partition_index == partition.partition_index else each for each in topic.partitions
        )
        return self.with_topics([_replace(topic, partitions=partitions)])

    def with_leader(self, name: str, index: int, leader: int) -> ClusterState:
        """With another leader, and hence another epoch."""
        return self.with_partition(name, led_by(self.partition(name, index), leader))

    def with_isr(self, name: str, index: int, isr: Sequence[int]) -> ClusterState:
        """With another set of replicas in sync."""
        return self.with_partition(name, _replace(self.partition(name, index), isr_nodes=tuple(isr)))

    def with_replicas(self, name: str, index: int, replicas: Sequence[int]) -> ClusterState:
        """Moved to other brokers at a stroke; who is in sync and stays so leads on, else the first live one."""
        before = self.partition(name, index)
        fresh = self.new_partition(index, replicas)
        keeps = before.leader_id in fresh.isr_nodes
        return self.with_partition(
            name,
            _replace(
                fresh,
                leader_id=before.leader_id if keeps else fresh.leader_id,
                leader_epoch=before.leader_epoch + (not keeps),
            ),
        )

    def with_config(self, resource_type: int, name: str, key: str, value: str | None) -> ClusterState:
        """With a setting set, or for None taken back."""
        settings = dict(self.configs.get((resource_type, name), {}))
        if value is None:
            settings.pop(key, None)
        else:
            settings[key] = value
        return replace(self, configs={**self.configs, (resource_type, name): settings})

    def without_broker(self, node_id: int) -> ClusterState:
        """As the others see it once they know that a broker is gone: it leads nothing and is in no ISR.

        A partition whose last replica in sync it was has no leader then, and keeps it as its ISR.
        """
        brokers = tuple(broker for broker in self.brokers if broker.node_id != node_id)
        controller = self.controller_id
        if controller == node_id:
            controller = brokers[0].node_id if brokers else NO_LEADER
        changed = [
            _replace(topic, partitions=tuple(_without_replica(each, node_id) for each in topic.partitions))
            for topic in self.topics.values()
            if any(node_id in partition.replica_nodes for partition in topic.partitions)
        ]
        return replace(self, brokers=brokers, controller_id=controller).with_topics(changed)

    def with_broker(self, broker: MetadataResponseBroker) -> ClusterState:
        """With a broker that came, or came back and is in sync again; it leads only what nobody else can."""
        others = tuple(each for each in self.brokers if each.node_id != broker.node_id)
        controller = self.controller_id if self.controller_id in self.live else broker.node_id
        changed = [
            _replace(topic, partitions=tuple(_with_replica(each, broker.node_id) for each in topic.partitions))
            for topic in self.topics.values()
            if any(broker.node_id in partition.offline_replicas for partition in topic.partitions)
        ]
        return replace(self, brokers=(*others, broker), controller_id=controller).with_topics(changed)


def led_by(partition: MetadataResponsePartition, leader: int) -> MetadataResponsePartition:
    """The partition under another leader; -1 for none."""
    return _replace(
        partition,
        error_code=0 if leader != NO_LEADER else LEADER_NOT_AVAILABLE,
        leader_id=leader,
        leader_epoch=partition.leader_epoch + 1,
    )


def assign_replicas(brokers: Sequence[int], partitions: int, factor: int, *, first: int = 0) -> list[tuple[int, ...]]:
    """An assignment in turns: leaders one broker after the other, followers behind them at a growing distance.

    Raises ValueError for less than one partition, and for more replicas than there are brokers, or none.
    """
    count = len(brokers)
    if partitions < 1:
        raise ValueError(f"partitions={partitions}: at least one is wanted")
    if not 1 <= factor <= count:
        raise ValueError(f"a replication factor of {factor} with {count} brokers")
    assignment = []
    for partition in range(first, first + partitions):
        shift = partition // count
        followers = ((partition + 1 + (shift + turn) % (count - 1)) % count for turn in range(factor - 1))
        assignment.append((brokers[partition % count], *(brokers[index] for index in followers)))
    return assignment


def _without_replica(partition: MetadataResponsePartition, node_id: int) -> MetadataResponsePartition:
    if node_id not in partition.replica_nodes:
        return partition
    offline = (*partition.offline_replicas, *({node_id} - {*partition.offline_replicas}))
    isr = tuple(replica for replica in partition.isr_nodes if replica != node_id)
    if not isr:
        return _replace(led_by(partition, NO_LEADER), offline_replicas=offline)
    if partition.leader_id == node_id:
        partition = led_by(partition, isr[0])
    return _replace(partition, isr_nodes=isr, offline_replicas=offline)


def _with_replica(partition: MetadataResponsePartition, node_id: int) -> MetadataResponsePartition:
    if node_id not in partition.offline_replicas:
        return partition
    offline = tuple(replica for replica in partition.offline_replicas if replica != node_id)
    isr = partition.isr_nodes if node_id in partition.isr_nodes else (*partition.isr_nodes, node_id)
    if partition.leader_id == NO_LEADER and node_id in partition.isr_nodes:
        partition = led_by(partition, node_id)
    return _replace(partition, isr_nodes=isr, offline_replicas=offline)


def _replace(instance: Part, **changes: Any) -> Part:
    return replace(instance, **changes)
