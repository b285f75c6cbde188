"""UpdateMetadata (key 6): the controller tells a broker what the cluster looks like, for its answers to clients.

Gone since Kafka 4.0, where brokers read that out of the log of the KRaft quorum. The kip4 dialect carries it unchanged.

Versions:
    1  brokers with several listeners (Kafka 0.9)
    2  racks (KIP-36, Kafka 0.10)
    3  names of listeners (KIP-103, Kafka 0.10.2)
    4  offline replicas (KIP-112, Kafka 1.0)
    5  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    6  flexible (KIP-482)
    7  topic ids (KIP-516, Kafka 2.8)
    8  controllers of KRaft during a migration; full updates (KIP-866, Kafka 3.4)
"""

from __future__ import annotations

from kwire.declare import (
    Message,
    Request,
    Struct,
    array,
    field,
    int8,
    int16,
    int32,
    int64,
    nullable,
    string,
    uuid,
    zero,
)


class UpdateMetadataRequest(
    Request["UpdateMetadataResponse"], api_key=6, versions="0-8", flexible="6+", dialect=("kafka", "kip4")
):
    """What changed since the last one. A broker that lacks a topic here keeps what it knew, except in a full update."""

    controller_id: int32
    """Broker id of the sender."""
    is_kraft_controller: bool = field(since=8, default=False, name="isKRaftController")
    """True while a KRaft quorum leads brokers that still stand on ZooKeeper (KIP-866, Kafka 3.4)."""
    type: int8 = field(since=8, default=0, tag=0)
    """0 not said; 1 only what changed; 2 everything, so that a topic which is missing here is gone (KIP-866)."""
    controller_epoch: int32
    """Rises with each new controller; a broker that has seen a higher one answers 11."""
    broker_epoch: int64 = field(since=5, default=-1, ignorable=True)
    """Which life of the receiver is meant: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. A broker
    that has registered anew since answers 77."""
    ungrouped_partition_states: array[UpdateMetadataPartitionState] = field(until=4, default=())
    """The changed partitions, each with the name of its topic."""
    topic_states: array[UpdateMetadataTopicState] = field(since=5, default=())
    """The changed partitions by topic, so that a name is sent once and not once a partition."""
    live_brokers: array[UpdateMetadataBroker]
    """All live brokers, not only the new ones: who is not listed is dead."""


class UpdateMetadataPartitionState(Struct, key=("topic_name", "partition_index")):
    """What the controller last wrote about one partition."""

    topic_name: string = field(until=4, default="", ignorable=True)
    """The partition's topic; later versions say it once, in TopicState."""
    partition_index: int32
    """Its id within the topic, from 0."""
    controller_epoch: int32
    """Epoch of the controller that last changed this partition; the sender's may be higher."""
    leader: int32
    """Broker id of the leader; -1 when it has none, -2 when its topic is being deleted."""
    leader_epoch: int32
    """Rises with each change of leader, so that the answers of old leaders can be told."""
    isr: array[int32]
    """Broker ids of the replicas in sync, the leader among them."""
    zk_version: int32
    """Version of the partition's state node in ZooKeeper, which a leader must name to change the ISR."""
    replicas: array[int32]
    """Broker ids in the order of assignment: the first is the preferred leader."""
    offline_replicas: array[int32] = field(since=4, default=(), ignorable=True)
    """Those of ``replicas`` whose broker is dead or whose disk has failed (KIP-112, Kafka 1.0)."""


class UpdateMetadataTopicState(Struct, key="topic_name"):
    """The partitions of one topic that changed."""

    topic_name: string
    """The topic that the partitions belong to."""
    topic_id: uuid = field(since=7, default=zero, ignorable=True)
    """What tells a topic from a later one of the same name (KIP-516, Kafka 2.8); zero when it was never given one."""
    partition_states: array[UpdateMetadataPartitionState]
    """Only the changed ones, or all of the topic in a full update."""


class UpdateMetadataBroker(Struct, key="id"):
    """A broker that is alive, and how to reach it."""

    id: int32
    """The ``broker.id`` that leaders, replicas and ISRs below refer to."""
    v0_host: string = field(until=0, default="", ignorable=True)
    """Where to connect, from the days when a broker listened in one place only and without encryption."""
    v0_port: int32 = field(until=0, default=0, ignorable=True)
    """The TCP port that goes with ``v0_host``."""
    endpoints: array[UpdateMetadataEndpoint] = field(since=1, default=(), ignorable=True)
    """All its listeners; several since brokers speak SSL and SASL (Kafka 0.9)."""
    rack: nullable[string] = field(since=2, default="", ignorable=True)
    """Where it stands (KIP-36, Kafka 0.10); None when it has no ``broker.rack``, empty where the version cannot say."""


class UpdateMetadataEndpoint(Struct, key="listener"):
    """One of the doors of a broker."""

    port: int32
    """Where it listens, a TCP port from 1 to 65535."""
    host: string
    """Name or address to connect to, as the broker advertises it."""
    listener: string = field(since=3, default="", ignorable=True)
    """The listener's name (KIP-103, Kafka 0.10.2); before that, one door a security protocol was all there could be."""
    security_protocol: int16
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


class UpdateMetadataResponse(Message, api_key=6, versions="0-8", flexible="6+", dialect=("kafka", "kip4")):
    """Whether the broker took it."""

    error_code: int16
    """0 taken; 11 the sender is no longer the controller; 77 it meant an earlier life of this broker."""
