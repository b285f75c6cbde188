"""BeginQuorumEpoch (key 53): announce a new leader of the KRaft metadata log to the voters (KIP-595, Kafka 2.7).

The leader repeats it to voters that do not fetch.

Versions:
    1  flexible; directory ids and addresses of the leader (KIP-853, Kafka 3.9)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uint16, uuid, zero


class BeginQuorumEpochRequest(Request["BeginQuorumEpochResponse"], api_key=53, versions="0-1", flexible="1+"):
    """Announces the sender as the leader."""

    cluster_id: nullable[string] = None
    """The cluster id of the sender; error 104 if the receiver belongs to another cluster, None to skip the check."""
    voter_id: int32 = field(since=1, default=-1, ignorable=True)
    """The node id of the receiving voter; error 125 if it has another one, -1 to skip the check."""
    topics: array[TopicData]
    """The partitions with a new leader, always the single topic `__cluster_metadata`."""
    leader_endpoints: array[LeaderEndpoint] = field(since=1, default=(), ignorable=True)
    """The addresses of the leader, one for each listener."""


class TopicData(Struct):
    """A topic with a Raft partition."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionData]
    """The partitions with a new leader, always the single partition 0."""


class PartitionData(Struct):
    """The new leader of a partition."""

    partition_index: int32
    """The index of the partition, always 0."""
    voter_directory_id: uuid = field(since=1, default=zero, ignorable=True)
    """The directory id of the receiving voter; error 125 if it has another one, zero to skip the check."""
    leader_id: int32
    """The node id of the leader, which sends the request."""
    leader_epoch: int32
    """The epoch in which it was elected; error 74 if the voter knows a higher one."""


class LeaderEndpoint(Struct, key="name"):
    """An address of the leader."""

    name: string
    """The listener name, for example `CONTROLLER`."""
    host: string
    """The host name or address to connect to."""
    port: uint16
    """The TCP port, as an unsigned number."""


class BeginQuorumEpochResponse(Message, api_key=53, versions="0-1", flexible="1+"):
    """Acceptance of the leader by the voter."""

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
    """0; 3 unknown partition; 74 stale epoch; 94 not a voter; 125 another voter was meant."""
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
