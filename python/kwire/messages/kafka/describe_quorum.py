"""DescribeQuorum (key 55): the voters and observers of the KRaft metadata log and their progress (KIP-595, Kafka 2.7).

The active controller, which is the leader of the log, responds; brokers forward the request.

Versions:
    1  last fetch and last caught-up times of the replicas (KIP-836, Kafka 3.3)
    2  error messages, directory ids, and addresses of the voters (KIP-853, Kafka 3.9)
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
    """Requests the state of Raft partitions; Kafka has one."""

    topics: array[TopicData]
    """The topics to describe, always the single topic `__cluster_metadata`."""


class TopicData(Struct):
    """A topic with Raft partitions."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`; error 3 for any other."""
    partitions: array[PartitionData]
    """The partitions to describe, always the single partition 0."""


class PartitionData(Struct):
    """A Raft partition to describe."""

    partition_index: int32
    """The index of the partition, always 0."""


class DescribeQuorumResponse(Message, api_key=55, versions="0-2", flexible="0+"):
    """The state of the quorum as its leader knows it."""

    error_code: int16
    """The error of the whole request, for example 31 not authorized; 0 otherwise."""
    error_message: nullable[string] = field(since=2, default="", ignorable=True)
    """The error message; None or empty if there is nothing to add to the error code."""
    topics: array[TopicDataResponse]
    """The state of each topic of the request."""
    nodes: array[Node] = field(since=2, default=())
    """The addresses of the voters."""


class TopicDataResponse(Struct, key="topic_name"):
    """The Raft partitions of a topic."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionDataResponse]
    """The state of each partition of the request."""


class PartitionDataResponse(Struct, key="partition_index"):
    """The leader and the replicas of the metadata log."""

    partition_index: int32
    """The index of the partition, always 0."""
    error_code: int16
    """0; 3 unknown partition; 6 the receiving node is not the leader."""
    error_message: nullable[string] = field(since=2, default="", ignorable=True)
    """The error message; None or empty if there is nothing to add to the error code."""
    leader_id: int32
    """The voter that leads the log, which is the active controller; -1 if unknown."""
    leader_epoch: int32
    """The epoch of the leader, which increases with every election."""
    high_watermark: int64
    """The offset up to which a majority of the voters has the log; everything before it is committed."""
    current_voters: array[ReplicaState]
    """The controllers that elect the leader and count for the majority."""
    observers: array[ReplicaState]
    """The nodes that only replicate the log: brokers, and controllers that are not voters."""


class ReplicaState(Struct, key="replica_id"):
    """The progress of a replica."""

    replica_id: int32
    """The node id of the controller or broker."""
    replica_directory_id: uuid = field(since=2, default=zero)
    """The id of the log directory, which identifies a voter together with its node id; zero if unknown."""
    log_end_offset: int64
    """The last known log end offset of the replica; -1 if unknown."""
    last_fetch_timestamp: int64 = field(since=1, default=-1, ignorable=True)
    """The time of the last fetch in milliseconds since 1970, by the clock of the leader; -1 if unknown."""
    last_caught_up_timestamp: int64 = field(since=1, default=-1, ignorable=True)
    """The last time when the replica had caught up with the leader, in the same form; the current time for the leader,
    -1 if unknown."""


class Node(Struct, key="node_id"):
    """The addresses of a voter."""

    node_id: int32
    """The node id of the voter, as in its replica state."""
    listeners: array[Listener]
    """The addresses of the voter, one for each listener."""


class Listener(Struct, key="name"):
    """An address of a voter."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""
