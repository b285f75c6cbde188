"""Vote (key 52): elect the leader of the KRaft metadata log (KIP-595, Kafka 2.7).

A voter that has not heard from the leader asks the other voters for their votes. In Kafka 3.9, the fields of the sender
are named candidateEpoch, candidateId, and candidateDirectoryId, with the same bytes.

Versions:
    1  directory ids of the voters; addresses of the leader (KIP-853, Kafka 3.9)
    2  pre-votes, which do not increase the epoch (KIP-996, Kafka 4.0)
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


class VoteRequest(Request["VoteResponse"], api_key=52, versions="0-2", flexible="0+"):
    """Requests the vote of the receiving voter."""

    cluster_id: nullable[string] = None
    """The cluster id of the sender; error 104 if the receiver belongs to another cluster, None to skip the check."""
    voter_id: int32 = field(since=1, default=-1, ignorable=True)
    """The node id of the receiving voter; error 125 if it has another one, -1 to skip the check."""
    topics: array[TopicData]
    """The partitions to elect a leader for, always the single topic `__cluster_metadata`."""


class TopicData(Struct):
    """A topic with a Raft partition."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionData]
    """The partitions to elect a leader for, always the single partition 0."""


class PartitionData(Struct):
    """The state of the sender's log."""

    partition_index: int32
    """The index of the partition, always 0."""
    replica_epoch: int32
    """The epoch to lead: one more than before, or the present one for a pre-vote."""
    replica_id: int32
    """The node id of the voter that sends the request and wants to be the leader."""
    replica_directory_id: uuid = field(since=1, default=zero, ignorable=True)
    """The directory id of the sending voter (KIP-853, Kafka 3.9); zero if unknown."""
    voter_directory_id: uuid = field(since=1, default=zero, ignorable=True)
    """The directory id of the receiving voter; error 125 if it has another one, zero to skip the check."""
    last_offset_epoch: int32
    """The epoch of the last record in the log of the sender."""
    last_offset: int64
    """The log end offset of the sender. Voters grant their vote only to a log at least as long as their own."""
    pre_vote: bool = field(since=2, default=False)
    """True to ask without an election, to find out if one could succeed (KIP-996, Kafka 4.0)."""


class VoteResponse(Message, api_key=52, versions="0-2", flexible="0+"):
    """The vote."""

    error_code: int16
    """0; 31 not authorized; 104 another cluster. With 0, each partition has its own error."""
    topics: array[TopicDataResponse]
    """The votes by topic, always the single topic of the request."""
    node_endpoints: array[NodeEndpoint] = field(since=1, tag=0, default=())
    """The addresses of the leaders in the partitions (KIP-853, Kafka 3.9)."""


class TopicDataResponse(Struct):
    """The votes for a topic."""

    topic_name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionDataResponse]
    """The vote for each partition of the request."""


class PartitionDataResponse(Struct):
    """The vote for one partition."""

    partition_index: int32
    """The index of the partition, always 0."""
    error_code: int16
    """0; 3 unknown partition; 74 stale epoch; 94 not a voter; 125 another voter was meant."""
    leader_id: int32
    """The node id of the leader that the voter knows; -1 if unknown."""
    leader_epoch: int32
    """The epoch of that leader, or the newest epoch that the voter has seen."""
    vote_granted: bool
    """True if the voter voted for the sender."""


class NodeEndpoint(Struct, key="node_id"):
    """The address of a leader."""

    node_id: int32
    """The node id of the leader, as in `leader_id` of the partitions."""
    host: string
    """The host name of the listener for the quorum."""
    port: uint16
    """The TCP port, as an unsigned number."""
