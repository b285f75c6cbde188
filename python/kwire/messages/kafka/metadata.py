"""Metadata (key 3): the brokers of a cluster, and its topics with partitions, leaders, and replicas.

Any broker responds from its metadata cache, so the responses of two brokers can differ for a short time.

Versions:
     1  null requests all topics; controller, racks, internal topics (KIP-4)
     2  cluster id (KIP-78)
     3  throttle time
     4  automatic topic creation can be disabled (KIP-204)
     5  offline replicas (KIP-112)
     6  throttled responses are sent at once, and the client must wait (KIP-219)
     7  leader epochs (KIP-320, Kafka 2.1)
     8  authorized operations (KIP-430, Kafka 2.3)
     9  flexible (KIP-482)
    10  topic ids (KIP-516, Kafka 2.8)
    11  no authorized operations of the cluster, which DescribeCluster returns (KIP-700)
    12  topics can be requested by id (KIP-516)
    13  top-level error code (KIP-1102, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid, zero


class MetadataRequest(Request["MetadataResponse"], api_key=3, versions="0-13", flexible="9+"):
    """Requests some topics, all topics, or none. The response always has the brokers."""

    topics: nullable[array[MetadataRequestTopic]] = field(nullable_since=1)
    """The topics to describe: None for all, empty for none. In version 0, empty means all."""
    allow_auto_topic_creation: bool = field(since=4, default=True)
    """True if the broker may create unknown topics if it is configured to; always true in older versions."""
    include_cluster_authorized_operations: bool = field(since=8, until=10, default=False)
    """True to include the cluster operations that the client is authorized for; replaced by DescribeCluster since
    version 11."""
    include_topic_authorized_operations: bool = field(since=8, default=False)
    """True to include the topic operations that the client is authorized for. The broker checks each of them."""


class MetadataRequestTopic(Struct):
    """A topic to describe, by name or, since version 12, by id."""

    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic id, if `name` is None; otherwise zero. Versions 10 and 11 require zero."""
    name: nullable[string] = field(nullable_since=10)
    """The topic name; None to request the topic by id. Brokers reject None before version 12."""


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    """The cluster as one broker knows it."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 6, the client
    must wait instead of the broker."""
    brokers: array[MetadataResponseBroker]
    """The live brokers, in no particular order, with their addresses at the listener of the request."""
    cluster_id: nullable[string] = field(since=2, default=None, ignorable=True)
    """The id of the cluster, usually 22 characters; None if a new cluster does not have one yet."""
    controller_id: int32 = field(since=1, default=-1, ignorable=True)
    """The broker that handles administration requests; -1 if there is none. Under KRaft any live broker, which forwards
    them."""
    topics: array[MetadataResponseTopic]
    """The requested topics, in no particular order, each with its own error."""
    cluster_authorized_operations: int32 = field(since=8, until=10, default=-2147483648)
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""
    error_code: int16 = field(since=13, default=0, ignorable=True)
    """0, or 129: the metadata of the client is outdated and it must start again from its bootstrap servers."""


class MetadataResponseBroker(Struct, key="node_id"):
    """A broker that clients can connect to."""

    node_id: int32
    """The broker id, which leaders, replicas, and the controller refer to."""
    host: string
    """The advertised host name or address, resolved by the client."""
    port: int32
    """The advertised TCP port."""
    rack: nullable[string] = field(since=1, default=None, ignorable=True)
    """The rack of the broker (`broker.rack`); None if not configured."""


class MetadataResponseTopic(Struct, key="name"):
    """A topic. On error, only its name or id is set."""

    error_code: int16
    """0; 3 unknown topic; 5 being created; 17 invalid name; 29 not authorized; 100 unknown id."""
    name: nullable[string] = field(nullable_since=12)
    """The topic name; None if the request gave an id that the broker does not know."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic id, different from earlier topics' with the same name (KIP-516); zero in a cluster without
    topic ids."""
    is_internal: bool = field(since=1, default=False, ignorable=True)
    """True if the topic is internal to Kafka, like `__consumer_offsets`."""
    partitions: array[MetadataResponsePartition]
    """All partitions, in no particular order; their indexes start at 0."""
    topic_authorized_operations: int32 = field(since=8, default=-2147483648)
    """The authorized operations as a bit field of ACL operations; -2147483648 if not requested."""


class MetadataResponsePartition(Struct, key="partition_index"):
    """A partition with its leader and replicas."""

    error_code: int16
    """0; 5 no leader; 72 the leader does not have the listener of the request (5 before version 6); in version 0 also 9
    replica not available."""
    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    leader_id: int32
    """The leader broker; -1 if there is no leader."""
    leader_epoch: int32 = field(since=7, default=-1, ignorable=True)
    """The epoch of the leader, which increases with every leader change and detects stale metadata (KIP-320); -1 if
    unknown."""
    replica_nodes: array[int32]
    """The brokers of the replicas; the first is the preferred leader."""
    isr_nodes: array[int32]
    """The brokers of the in-sync replicas, including the leader."""
    offline_replicas: array[int32] = field(since=5, default=(), ignorable=True)
    """The replicas that are offline because their broker or log directory failed (KIP-112)."""
