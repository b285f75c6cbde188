"""FetchSnapshot (key 59): fetch a snapshot of the KRaft metadata log (KIP-630, Kafka 2.8).

A node that fetches an offset before the start of the leader's log receives a snapshot id in the Fetch response and
loads that snapshot piece by piece.

Versions:
    1  directory ids; addresses of the leader (KIP-853, Kafka 3.9)
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


class FetchSnapshotRequest(Request["FetchSnapshotResponse"], api_key=59, versions="0-1", flexible="0+"):
    """Fetches a piece of a snapshot."""

    cluster_id: nullable[string] = field(tag=0, default=None)
    """The cluster id of the sender; error 104 if the receiver belongs to another cluster, None to skip the check."""
    replica_id: int32 = -1
    """The node id of the fetching node; -1 if it has none."""
    max_bytes: int32 = 2147483647
    """The largest number of bytes in the response."""
    topics: array[TopicSnapshot]
    """The snapshots to fetch, always the single topic `__cluster_metadata`."""


class TopicSnapshot(Struct):
    """The snapshots of a topic."""

    name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionSnapshot]
    """The partitions to fetch, always the single partition 0."""


class PartitionSnapshot(Struct):
    """The piece of a snapshot to fetch."""

    partition: int32
    """The index of the partition, always 0."""
    current_leader_epoch: int32
    """The leader epoch that the sender knows; -1 to skip the check. Error 74 if it is too old, 75 if it is newer than
    the receiver's."""
    snapshot_id: SnapshotId
    """The snapshot, as named by the Fetch response; error 98 if the leader does not have it."""
    position: int64
    """The byte position in the snapshot to continue at; error 99 if outside."""
    replica_directory_id: uuid = field(since=1, tag=0, default=zero, ignorable=True)
    """The directory id of the fetching node (KIP-853, Kafka 3.9); zero if unknown."""


class SnapshotId(Struct):
    """The identity of a snapshot."""

    end_offset: int64
    """The offset after the last record that the snapshot contains."""
    epoch: int32
    """The leader epoch of that last record."""


class FetchSnapshotResponse(Message, api_key=59, versions="0-1", flexible="0+"):
    """A piece of a snapshot."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 104 another cluster. With 0, each partition has its own error."""
    topics: array[TopicSnapshotResponse]
    """The pieces by topic, always the single topic of the request."""
    node_endpoints: array[NodeEndpoint] = field(since=1, tag=0, default=())
    """The addresses of the leaders in the partitions (KIP-853, Kafka 3.9)."""


class TopicSnapshotResponse(Struct):
    """The pieces for a topic."""

    name: string
    """The name of the topic, `__cluster_metadata`."""
    partitions: array[PartitionSnapshotResponse]
    """The piece for each partition of the request."""


class PartitionSnapshotResponse(Struct):
    """The piece of one snapshot."""

    index: int32
    """The index of the partition, always 0."""
    error_code: int16
    """0; 3 unknown partition; 6 not the leader; 74 or 75 stale metadata on one side; 98 no such snapshot; 99 position
    outside the snapshot."""
    snapshot_id: SnapshotId
    """The snapshot that the piece belongs to."""
    current_leader: LeaderIdAndEpoch = field(tag=0, default=zero)
    """The leader that the node knows, sent with errors 6, 74, and 75; otherwise not sent."""
    size: int64
    """The size of the whole snapshot in bytes."""
    position: int64
    """The byte position of the piece in the snapshot."""
    unaligned_records: bytes
    """The bytes of the snapshot from that position on, which can begin and end within a record batch. Only their bytes
    are declared."""


class LeaderIdAndEpoch(Struct):
    """The leader of a partition."""

    leader_id: int32
    """The node id of the leader; -1 if unknown."""
    leader_epoch: int32
    """The epoch of the leader, which increases with every election."""


class NodeEndpoint(Struct, key="node_id"):
    """The address of a leader."""

    node_id: int32
    """The node id of the leader, as in `leader_id` of the partitions."""
    host: string
    """The host name of the listener for the quorum."""
    port: uint16
    """The TCP port, as an unsigned number."""
