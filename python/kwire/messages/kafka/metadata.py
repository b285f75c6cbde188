"""Metadata (key 3): the brokers of a cluster, and its topics with their partitions, leaders and replicas.

Any broker answers, out of what it has cached: the answers of two brokers may differ for a moment.

Versions:
     1  null asks for all topics; controller, racks, internal topics (KIP-4)
     2  cluster id (KIP-78)
     3  throttle time
     4  automatic creation can be declined (KIP-204)
     5  offline replicas (KIP-112)
     6  throttled clients are answered first, and have to wait by themselves (KIP-219)
     7  leader epochs (KIP-320, Kafka 2.1)
     8  permitted operations (KIP-430, Kafka 2.3)
     9  flexible (KIP-482)
    10  topic ids (KIP-516, Kafka 2.8)
    11  permitted operations on the cluster are DescribeCluster's affair (KIP-700)
    12  topics can be asked for by id (KIP-516)
    13  an error for the answer as a whole (KIP-1102, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid, zero


class MetadataRequest(Request["MetadataResponse"], api_key=3, versions="0-13", flexible="9+"):
    """Asks for some topics, all, or none; the brokers are always in the answer."""

    topics: nullable[array[MetadataRequestTopic]] = field(nullable_since=1)
    """Which topics: None for all, empty for none. Version 0 has no null, there empty means all."""
    allow_auto_topic_creation: bool = field(since=4, default=True)
    """Whether an unknown topic may be created, if the broker is configured to; older versions always agree to it."""
    include_cluster_authorized_operations: bool = field(since=8, until=10, default=False)
    """Whether to work out what the caller may do with the cluster; from version 11 on DescribeCluster's task."""
    include_topic_authorized_operations: bool = field(since=8, default=False)
    """Whether to work out what the caller may do with each topic; costs an authorizer look-up for each operation."""


class MetadataRequestTopic(Struct):
    """A topic by its name or, from version 12 on, by its id alone."""

    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The id of the topic, with ``name`` None; zero when it is asked for by name. Versions 10 and 11 want zero."""
    name: nullable[string] = field(nullable_since=10)
    """The name of the topic; None when it is asked for by id. Brokers refuse None below version 12."""


class MetadataResponse(Message, api_key=3, versions="0-13", flexible="9+"):
    """What the cluster looks like, as one broker sees it."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 6 the client itself has to wait."""
    brokers: array[MetadataResponseBroker]
    """The live brokers in no order, each with its address at the listener through which was asked."""
    cluster_id: nullable[string] = field(since=2, default=None, ignorable=True)
    """The identity of the cluster, 22 characters as a rule; None before a fresh cluster has one."""
    controller_id: int32 = field(since=1, default=-1, ignorable=True)
    """The broker that answers administration requests, -1 for none just now. Under KRaft any live one: it forwards."""
    topics: array[MetadataResponseTopic]
    """One entry for each topic asked for, with an error where there is nothing to tell; in no order."""
    cluster_authorized_operations: int32 = field(since=8, until=10, default=-2147483648)
    """What the caller may do with the cluster: bit n for ACL operation n; -2147483648 when it was not asked for."""
    error_code: int16 = field(since=13, default=0, ignorable=True)
    """0, or 129: all that this client knows is out of date and it should start again from its bootstrap servers."""


class MetadataResponseBroker(Struct, key="node_id"):
    """A broker that a client may connect to."""

    node_id: int32
    """The number by which leaders, replicas and the controller refer to it."""
    host: string
    """The advertised name or address, to be resolved by the client."""
    port: int32
    """The advertised TCP port."""
    rack: nullable[string] = field(since=1, default=None, ignorable=True)
    """Where it stands (``broker.rack``), for spreading replicas and fetching nearby; None when not configured."""


class MetadataResponseTopic(Struct, key="name"):
    """One topic; everything but the error and what identifies it is empty when there is an error."""

    error_code: int16
    """0, 3 unknown topic, 5 being created, 17 bad name, 29 not permitted, 100 unknown id."""
    name: nullable[string] = field(nullable_since=12)
    """The topic's name; None when it was asked for by an id that this broker does not know."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """Tells the topic from a later one of the same name (KIP-516); zero in a cluster without topic ids."""
    is_internal: bool = field(since=1, default=False, ignorable=True)
    """Whether Kafka made it for its own use, like ``__consumer_offsets``."""
    partitions: array[MetadataResponsePartition]
    """All partitions in no order; their indexes run from 0."""
    topic_authorized_operations: int32 = field(since=8, default=-2147483648)
    """What the caller may do with the topic: bit n for ACL operation n; -2147483648 when it was not asked for."""


class MetadataResponsePartition(Struct, key="partition_index"):
    """One partition: who leads it and who holds copies."""

    error_code: int16
    """0, 5 no leader, 72 the leader lacks this listener (5 before version 6). In version 0: 9 replicas offline."""
    partition_index: int32
    """The number of the partition within its topic, from 0."""
    leader_id: int32
    """The broker to produce to and fetch from, -1 when there is none."""
    leader_epoch: int32 = field(since=7, default=-1, ignorable=True)
    """Counts the leaders of the partition; lets a client tell stale metadata from new (KIP-320). -1 when not known."""
    replica_nodes: array[int32]
    """The brokers assigned to hold copies; the first is the preferred leader."""
    isr_nodes: array[int32]
    """Those of them that are in sync, the leader included: the candidates for leadership."""
    offline_replicas: array[int32] = field(since=5, default=(), ignorable=True)
    """Those of them that are down, or whose log directory has failed (KIP-112)."""
