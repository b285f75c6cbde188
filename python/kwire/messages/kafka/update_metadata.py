"""UpdateMetadata (key 6): the controller sends the cluster metadata to a broker, which serves it to clients.

Removed in Kafka 4.0, where brokers read this from the KRaft metadata log. The kip4 dialect uses it unchanged.

Versions:
    1  brokers with several listeners (Kafka 0.9)
    2  racks (KIP-36, Kafka 0.10)
    3  listener names (KIP-103, Kafka 0.10.2)
    4  offline replicas (KIP-112, Kafka 1.0)
    5  partitions by topic; broker epochs (KIP-380, Kafka 2.2)
    6  flexible (KIP-482)
    7  topic ids (KIP-516, Kafka 2.8)
    8  KRaft controllers during a migration; full updates (KIP-866, Kafka 3.4)
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
    """Changed partitions and all live brokers. Topics that are not listed stay unchanged, except in a full update."""

    controller_id: int32
    """The broker id of the controller that sends the request."""
    is_kraft_controller: bool = field(since=8, default=False, name="isKRaftController")
    """True if a KRaft controller sends the request during a migration from ZooKeeper (KIP-866, Kafka 3.4)."""
    type: int8 = field(since=8, default=0, tag=0)
    """The type of update: 0 unknown; 1 incremental; 2 full, after which topics that are not listed are deleted
    (KIP-866)."""
    controller_epoch: int32
    """The epoch of the controller. Error 11 if the broker has seen a higher one."""
    broker_epoch: int64 = field(since=5, default=-1, ignorable=True)
    """The epoch of the receiving broker: the czxid of its registration (KIP-380, Kafka 2.2); -1 for any. Error 77 if
    the broker has registered again since."""
    ungrouped_partition_states: array[UpdateMetadataPartitionState] = field(until=4, default=())
    """The changed partitions, each with its topic name."""
    topic_states: array[UpdateMetadataTopicState] = field(since=5, default=())
    """The changed partitions, grouped by topic."""
    live_brokers: array[UpdateMetadataBroker]
    """All live brokers. Brokers that are not listed are down."""


class UpdateMetadataPartitionState(Struct, key=("topic_name", "partition_index")):
    """The state of a partition."""

    topic_name: string = field(until=4, default="", ignorable=True)
    """The name of the topic; since version 5 in UpdateMetadataTopicState."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    controller_epoch: int32
    """The epoch of the controller that last changed the partition, which can be lower than the request's."""
    leader: int32
    """The broker id of the leader; -1 if there is no leader, -2 if the topic is being deleted."""
    leader_epoch: int32
    """The epoch of the leader, which increases with every leader change."""
    isr: array[int32]
    """The broker ids of the in-sync replicas, including the leader."""
    zk_version: int32
    """The version of the partition's state znode. A leader needs it to change the ISR."""
    replicas: array[int32]
    """The broker ids of the replicas in assignment order; the first is the preferred leader."""
    offline_replicas: array[int32] = field(since=4, default=(), ignorable=True)
    """The replicas that are offline because their broker or log directory failed (KIP-112, Kafka 1.0)."""


class UpdateMetadataTopicState(Struct, key="topic_name"):
    """The changed partitions of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    topic_id: uuid = field(since=7, default=zero, ignorable=True)
    """The topic id, different from earlier topics' with the same name (KIP-516, Kafka 2.8); zero if none
    was assigned."""
    partition_states: array[UpdateMetadataPartitionState]
    """The changed partitions, or all partitions of the topic in a full update."""


class UpdateMetadataBroker(Struct, key="id"):
    """A live broker and its addresses."""

    id: int32
    """The broker id, which leaders and replicas refer to."""
    v0_host: string = field(until=0, default="", ignorable=True)
    """The host name, in version 0 with a single plaintext listener."""
    v0_port: int32 = field(until=0, default=0, ignorable=True)
    """The TCP port, in version 0 with a single plaintext listener."""
    endpoints: array[UpdateMetadataEndpoint] = field(since=1, default=(), ignorable=True)
    """The addresses of all listeners."""
    rack: nullable[string] = field(since=2, default="", ignorable=True)
    """The rack of the broker (`broker.rack`; KIP-36, Kafka 0.10); None if not configured, empty if the version does not
    have it."""


class UpdateMetadataEndpoint(Struct, key="listener"):
    """An address of a broker."""

    port: int32
    """The TCP port, from 1 to 65535."""
    host: string
    """The advertised host name or address."""
    listener: string = field(since=3, default="", ignorable=True)
    """The listener name (KIP-103, Kafka 0.10.2). Older versions have one listener for each security protocol."""
    security_protocol: int16
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


class UpdateMetadataResponse(Message, api_key=6, versions="0-8", flexible="6+", dialect=("kafka", "kip4")):
    """The result of the update."""

    error_code: int16
    """0; 11 stale controller epoch; 77 stale broker epoch."""
