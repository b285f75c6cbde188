"""The state of a fake cluster and its transitions.

A state is immutable. Every transition returns a new state that shares what did not change. Topics and partitions are
the structs of Kafka's Metadata response, so that tests can compare them with what a client received.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kwire._util.readable import counted
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from random import Random
    from uuid import UUID

__all__ = ["LEADER_NOT_AVAILABLE", "NO_LEADER", "ClusterState", "assign_replicas", "spread_topics"]

Part = TypeVar("Part", MetadataResponseTopic, MetadataResponsePartition)

NO_LEADER = -1
LEADER_NOT_AVAILABLE = 5


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster as its metadata describes it.

    Attributes:
        cluster_id: the cluster id.
        controller_id: the controller; -1 without a controller.
        brokers: the live brokers.
        topics: topics by name, in the order of the Metadata response.
        configs: the dynamic configs by resource, a pair of resource type (as in DescribeConfigs) and name.
    """

    cluster_id: str
    controller_id: int
    brokers: tuple[MetadataResponseBroker, ...]
    topics: Mapping[str, MetadataResponseTopic] = field(default_factory=dict)
    configs: Mapping[tuple[int, str], Mapping[str, str]] = field(default_factory=dict)

    @property
    def live_broker_ids(self) -> frozenset[int]:
        """The ids of the live brokers."""
        return frozenset(broker.node_id for broker in self.brokers)

    def metadata(self) -> MetadataResponse:
        """Return the Metadata response for all topics."""
        return MetadataResponse(
            brokers=self.brokers,
            cluster_id=self.cluster_id,
            controller_id=self.controller_id,
            topics=tuple(self.topics.values()),
        )

    def with_topics(self, topics: Iterable[MetadataResponseTopic]) -> ClusterState:
        """Add topics, or replace topics of the same name."""
        return replace(
            self, topics={**self.topics, **{topic.name: topic for topic in topics if topic.name is not None}}
        )

    def with_new_topics(
        self,
        topics: Iterable[tuple[str, Sequence[Sequence[int]]]],
        new_id: Callable[[], UUID],
        *,
        internal: bool = False,
    ) -> ClusterState:
        """Create topics, given as names and the replicas of each partition.

        Raises:
            ValueError: a topic exists already, or a name is given twice.
        """
        created: dict[str, MetadataResponseTopic] = {}
        for name, assignments in topics:
            if name in self.topics or name in created:
                raise ValueError(f"topic {name!r} already exists")
            created[name] = self.new_topic(name, new_id(), assignments, internal=internal)
        return self.with_topics(created.values())

    def without_topics(self, names: Iterable[str]) -> ClusterState:
        """Remove topics and their configs.

        Raises:
            KeyError: a topic does not exist.
        """
        topics = dict(self.topics)
        configs = dict(self.configs)
        for name in names:
            del topics[name]
            configs.pop((2, name), None)
        return replace(self, topics=topics, configs=configs)

    def with_partitions(self, name: str, assignments: Sequence[Sequence[int]]) -> ClusterState:
        """Add partitions to a topic, one per assignment."""
        topic = self.topics[name]
        first = len(topic.partitions)
        added = tuple(self.new_partition(first + n, replicas) for n, replicas in enumerate(assignments))
        return self.with_topics([_replace(topic, partitions=topic.partitions + added)])

    def new_topic(
        self, name: str, topic_id: UUID, assignments: Iterable[Sequence[int]], *, internal: bool
    ) -> MetadataResponseTopic:
        """Return a new topic, which is not part of the state yet."""
        return MetadataResponseTopic(
            error_code=0,
            name=name,
            topic_id=topic_id,
            is_internal=internal,
            partitions=tuple(self.new_partition(index, replicas) for index, replicas in enumerate(assignments)),
        )

    def new_partition(self, index: int, replicas: Sequence[int]) -> MetadataResponsePartition:
        """Return a new partition, led by its first live replica."""
        live = self.live_broker_ids
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
        """Return a partition.

        Raises:
            KeyError: it does not exist.
        """
        for partition in self.topics[name].partitions:
            if partition.partition_index == index:
                return partition
        raise KeyError((name, index))

    def with_partition(self, name: str, partition: MetadataResponsePartition) -> ClusterState:
        """Replace the partition of the same index."""
        topic = self.topics[name]
        partitions = tuple(
            partition if other.partition_index == partition.partition_index else other for other in topic.partitions
        )
        return self.with_topics([_replace(topic, partitions=partitions)])

    def with_leader(self, name: str, index: int, leader: int) -> ClusterState:
        """Change the leader of a partition and increase its leader epoch."""
        return self.with_partition(name, _with_leader(self.partition(name, index), leader))

    def with_isr(self, name: str, index: int, isr: Sequence[int]) -> ClusterState:
        """Change the ISR of a partition."""
        return self.with_partition(name, _replace(self.partition(name, index), isr_nodes=tuple(isr)))

    def with_replicas(self, name: str, index: int, replicas: Sequence[int]) -> ClusterState:
        """Reassign a partition. The leader stays if it remains in sync; otherwise the first live replica leads."""
        before = self.partition(name, index)
        fresh = self.new_partition(index, replicas)
        keeps_leader = before.leader_id in fresh.isr_nodes
        return self.with_partition(
            name,
            _replace(
                fresh,
                leader_id=before.leader_id if keeps_leader else fresh.leader_id,
                leader_epoch=before.leader_epoch + (not keeps_leader),
            ),
        )

    def with_random_leaders(self, fraction: float, random: Random) -> tuple[ClusterState, tuple[str, ...]]:
        """Move the leader of a random partition of a fraction of the topics, and return the names of these topics too.

        At least one topic is changed. Without another replica in sync, only the leader epoch increases.
        """
        topics = list(self.topics)
        names = random.sample(topics, min(len(topics), max(1, round(fraction * len(topics)))))
        changed = []
        for name in names:
            topic = self.topics[name]
            at = random.randrange(len(topic.partitions))
            partition = topic.partitions[at]
            others = [replica for replica in partition.isr_nodes if replica != partition.leader_id]
            moved = _replace(
                partition,
                leader_id=others[0] if others else partition.leader_id,
                leader_epoch=partition.leader_epoch + 1,
            )
            changed.append(_replace(topic, partitions=(*topic.partitions[:at], moved, *topic.partitions[at + 1 :])))
        return self.with_topics(changed), tuple(names)

    def shuffled(self, random: Random) -> ClusterState:
        """Return the state with brokers, topics, and partitions in another order."""
        topics = [
            _replace(topic, partitions=tuple(random.sample(topic.partitions, len(topic.partitions))))
            for topic in random.sample(list(self.topics.values()), len(self.topics))
        ]
        brokers = tuple(random.sample(self.brokers, len(self.brokers)))
        return replace(self, brokers=brokers, topics={topic.name or "": topic for topic in topics})

    def with_config(self, resource_type: int, name: str, key: str, value: str | None) -> ClusterState:
        """Set a config, or remove it if `value` is None."""
        configs = dict(self.configs.get((resource_type, name), {}))
        if value is None:
            configs.pop(key, None)
        else:
            configs[key] = value
        return replace(self, configs={**self.configs, (resource_type, name): configs})

    def without_broker(self, node_id: int) -> ClusterState:
        """Remove a broker: it loses its leaderships and leaves every ISR.

        A partition without another broker in its ISR keeps the ISR and has no leader.
        """
        brokers = tuple(broker for broker in self.brokers if broker.node_id != node_id)
        controller = self.controller_id
        if controller == node_id:
            controller = brokers[0].node_id if brokers else NO_LEADER
        changed = [
            _replace(topic, partitions=tuple(_without_replica(partition, node_id) for partition in topic.partitions))
            for topic in self.topics.values()
            if any(node_id in partition.replica_nodes for partition in topic.partitions)
        ]
        return replace(self, brokers=brokers, controller_id=controller).with_topics(changed)

    def with_broker(self, broker: MetadataResponseBroker) -> ClusterState:
        """Add a broker, or bring one back in sync. It leads only partitions that have no other leader."""
        others = tuple(other for other in self.brokers if other.node_id != broker.node_id)
        controller = self.controller_id if self.controller_id in self.live_broker_ids else broker.node_id
        changed = [
            _replace(
                topic, partitions=tuple(_with_replica(partition, broker.node_id) for partition in topic.partitions)
            )
            for topic in self.topics.values()
            if any(broker.node_id in partition.offline_replicas for partition in topic.partitions)
        ]
        return replace(self, brokers=(*others, broker), controller_id=controller).with_topics(changed)


def _with_leader(partition: MetadataResponsePartition, leader: int) -> MetadataResponsePartition:
    """Return the partition with another leader, -1 for no leader."""
    return _replace(
        partition,
        error_code=0 if leader != NO_LEADER else LEADER_NOT_AVAILABLE,
        leader_id=leader,
        leader_epoch=partition.leader_epoch + 1,
    )


def assign_replicas(brokers: Sequence[int], partitions: int, factor: int, *, first: int = 0) -> list[tuple[int, ...]]:
    """Assign replicas round-robin: leaders in turn, followers at increasing distances.

    Args:
        brokers: broker ids.
        partitions: the number of partitions.
        factor: the replication factor.
        first: the index of the first partition.

    Raises:
        ValueError: there are no partitions, or the replication factor is not between 1 and the number of brokers.
    """
    count = len(brokers)
    if partitions < 1:
        raise ValueError(f"partitions={partitions}: expected at least 1")
    if not 1 <= factor <= count:
        raise ValueError(f"replication factor {factor} with {counted(count, 'broker')}: expected 1 to {count}")
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
        return _replace(_with_leader(partition, NO_LEADER), offline_replicas=offline)
    if partition.leader_id == node_id:
        partition = _with_leader(partition, isr[0])
    return _replace(partition, isr_nodes=isr, offline_replicas=offline)


def _with_replica(partition: MetadataResponsePartition, node_id: int) -> MetadataResponsePartition:
    if node_id not in partition.offline_replicas:
        return partition
    offline = tuple(replica for replica in partition.offline_replicas if replica != node_id)
    isr = partition.isr_nodes if node_id in partition.isr_nodes else (*partition.isr_nodes, node_id)
    if partition.leader_id == NO_LEADER and node_id in partition.isr_nodes:
        partition = _with_leader(partition, node_id)
    return _replace(partition, isr_nodes=isr, offline_replicas=offline)


def _replace(instance: Part, **changes: Any) -> Part:
    return replace(instance, **changes)


def spread_topics(
    names: Iterable[str], first: int, brokers: tuple[int, ...], partitions: int, factor: int
) -> Iterator[tuple[str, list[tuple[int, ...]]]]:
    """Yield new topics, each with replicas that begin at the next broker.

    Args:
        names: the names of the topics.
        first: the number of topics before them.
        brokers: broker ids.
        partitions: the number of partitions of each topic.
        factor: the replication factor.
    """
    for number, name in enumerate(names, start=first):
        start = number % len(brokers)
        yield name, assign_replicas(brokers[start:] + brokers[:start], partitions, factor)
