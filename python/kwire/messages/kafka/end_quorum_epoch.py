"""EndQuorumEpoch (key 54): resign as the leader of the KRaft metadata log (KIP-595, Kafka 2.7).

A leader sends it to the voters when it shuts down, so that they elect a new one without waiting.

Versions:
    1  flexible; candidates with directory ids; addresses of the leader (KIP-853, Kafka 3.9)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uint16, uuid


class EndQuorumEpochRequest(Request["EndQuorumEpochResponse"], api_key=54, versions="0-1", flexible="1+"):
    """Announces that the leader resigns."""

    cluster_id: nullable[string] = None
    """The cluster id of the sender; error 104 if the receiver belongs to another cluster, None to skip the check."""
    topics: array[TopicData]
    """The partitions without a leader, always the single topic `__cluster_metadata`."""
    leader_endpoints: array[LeaderEndpoint] = field(since=1, default=(), ignorable=True)
    """The addresses of the resigning leader, one for each listener."""


class TopicData(Struct):
    """A topic with a Raft partition."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionData]
    """The partitions without a leader, always the single partition 0."""


class PartitionData(Struct):
    """The end of a leadership."""

    partition_index: int32
    """The index of the partition, always 0."""
    leader_id: int32
    """The node id of the leader that resigns."""
    leader_epoch: int32
    """The epoch that ends; error 74 if the voter knows a higher one."""
    preferred_successors: array[int32] = field(until=0, default=(), ignorable=True)
    """The node ids of the voters, the one with the longest log first. The first starts an election at once, the others
    later."""
    preferred_candidates: array[ReplicaInfo] = field(since=1, default=(), ignorable=True)
    """The voters with their directory ids, the one with the longest log first."""


class ReplicaInfo(Struct):
    """A voter that can become the leader."""

    candidate_id: int32
    """The node id of the voter."""
    candidate_directory_id: uuid
    """The id of its log directory (KIP-853); zero if unknown."""


class LeaderEndpoint(Struct, key="name"):
    """An address of the leader."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""


class EndQuorumEpochResponse(Message, api_key=54, versions="0-1", flexible="1+"):
    """Acceptance of the resignation by the voter."""

    error_code: int16
    """0; 31 not authorized; 104 another cluster. With 0, each partition has its own error."""
    topics: array[TopicDataResponse]
    """The results by topic, always the single topic of the request."""
    node_endpoints: array[NodeEndpoint] = field(since=1, tag=0, default=())
    """The addresses of the leaders in the partitions (KIP-853, Kafka 3.9)."""


class TopicDataResponse(Struct):
    """The results for a topic."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionDataResponse]
    """The result for each partition of the request."""


class PartitionDataResponse(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition, always 0."""
    error_code: int16
    """0; 3 unknown partition; 74 stale epoch; 94 not a voter."""
    leader_id: int32
    """The node id of the leader that the voter knows; -1 if unknown."""
    leader_epoch: int32
    """The epoch of that leader, or the newest epoch that the voter has seen."""


class NodeEndpoint(Struct, key="node_id"):
    """The address of a leader."""

    node_id: int32
    """The node id of the leader, as in `leader_id` of the partitions."""
    host: string
    """The host name of the listener for the quorum."""
    port: uint16
    """The TCP port, as an unsigned number."""
