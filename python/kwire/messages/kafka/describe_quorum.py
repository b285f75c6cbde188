"""DescribeQuorum (key 55): the voters of KRaft's metadata log, and how far each has got (KIP-595, Kafka 2.7).

The leader of the log, which is the active controller, answers; brokers forward.

Versions:
    1  when each replica last fetched, and was last level (KIP-836, Kafka 3.3)
    2  error messages, directory ids, addresses of the voters: voters can change at run time (KIP-853, Kafka 3.9)
"""

from __future__ import annotations

from kwire.declare import (
    Message,
    Request,
    Struct,
    array,
    field,
    int16,
    int32,
    int64,
    nullable,
    string,
    uint16,
    uuid,
    zero,
)


class DescribeQuorumRequest(Request["DescribeQuorumResponse"], api_key=55, versions="0-2", flexible="0+"):
    """Asks about replicated logs, of which Kafka has one."""

    topics: array[TopicData]
    """Always the one topic ``__cluster_metadata``."""


class TopicData(Struct):
    """A topic whose replicas vote."""

    topic_name: string
    """``__cluster_metadata``; any other is error 3."""
    partitions: array[PartitionData]
    """Always the one partition 0."""


class PartitionData(Struct):
    """A partition whose replicas vote."""

    partition_index: int32
    """0: the metadata log is a single partition."""


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    """The state of the quorum as its leader sees it."""

    error_code: int16
    """Why the whole request failed, e.g. 31 not permitted; 0 when the partition's own code decides."""
    error_message: nullable[string] = field(since=2, default="", ignorable=True)
    """What exactly was wrong, in words; None or empty when there is nothing to add to the code."""
    topics: array[TopicDataResponse]
    """One entry a topic of the request."""
    nodes: array[Node] = field(since=2, default=())
    """Where the voters can be reached."""


class TopicDataResponse(Struct, key="topic_name"):
    """The partitions of one topic."""

    topic_name: string
    """The topic asked for, ``__cluster_metadata``."""
    partitions: array[PartitionDataResponse]
    """One entry a partition of the request."""


class PartitionDataResponse(Struct, key="partition_index"):
    """Leader and replicas of the metadata log."""

    partition_index: int32
    """The number of the partition, 0."""
    error_code: int16
    """0, 3 there is no such log, 6 the node that was asked does not lead it."""
    error_message: nullable[string] = field(since=2, default="", ignorable=True)
    """What exactly was wrong, in words; None or empty when there is nothing to add to the code."""
    leader_id: int32
    """The voter that leads the log, the active controller; -1 when not known."""
    leader_epoch: int32
    """Counts the elections, so that a leader of old is told from the present one."""
    high_watermark: int64
    """Up to where a majority holds the log, and it is hence in force."""
    current_voters: array[ReplicaState]
    """The controllers that elect the leader and whose copies count for the majority."""
    observers: array[ReplicaState]
    """The nodes that only follow the log: brokers, and controllers that do not vote."""


class ReplicaState(Struct, key="replica_id"):
    """How far one replica has got."""

    replica_id: int32
    """The node id of the controller or broker."""
    replica_directory_id: uuid = field(since=2, default=zero)
    """Which disk holds its log, so that a node that lost it is not taken for the voter it was; zero when not known."""
    log_end_offset: int64
    """The offset after the last it is known to hold; -1 when it has not been heard of."""
    last_fetch_timestamp: int64 = field(since=1, default=-1, ignorable=True)
    """When it last asked the leader for more, in milliseconds since 1970 by the leader's clock; -1 when not known."""
    last_caught_up_timestamp: int64 = field(since=1, default=-1, ignorable=True)
    """When it last held all the leader had, likewise; the leader's own is the present. -1 when not known."""


class Node(Struct, key="node_id"):
    """Where one voter can be reached."""

    node_id: int32
    """The voter's node id, by which the replicas are named too."""
    listeners: array[Listener]
    """Its addresses, one for each kind of connection."""


class Listener(Struct, key="name"):
    """One address of a voter."""

    name: string
    """What the listener is called in the configuration, e.g. ``CONTROLLER``."""
    host: string
    """The name or address to connect to."""
    port: uint16
    """The TCP port; an unsigned number, which is rare in this protocol."""
