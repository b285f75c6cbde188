"""Fetch (key 1): read records of partitions, as a consumer, a follower, or a replica of the KRaft metadata log.

A fetch session remembers the partitions, so that requests and responses name only changes. The response is delayed
until enough bytes are available.

Versions:
     1  throttle time
     2  message format 1 with timestamps (KIP-32, Kafka 0.10)
     3  limit for the whole response (KIP-74, Kafka 0.10.1)
     4  record batches; transactions (KIP-98, Kafka 0.11)
     5  log start offset (KIP-107)
     6  the client supports error 56: storage error (KIP-112)
     7  fetch sessions (KIP-227, Kafka 1.1)
     8  throttled clients are answered at once and must wait themselves (KIP-219)
     9  leader epochs (KIP-320, Kafka 2.1)
    10  zstd compression (KIP-110, Kafka 2.1)
    11  reading from the closest replica (KIP-392, Kafka 2.3)
    12  flexible; detection of truncated logs and replication of the metadata log (KIP-595, Kafka 2.7)
    13  topic ids instead of names (KIP-516, Kafka 3.1)
    14  error 109: offset in tiered storage (KIP-405)
    15  broker epochs of followers (KIP-903, Kafka 3.5)
    16  addresses of new leaders in the response (KIP-951, Kafka 3.7)
    17  directory ids of replicas (KIP-853, Kafka 3.9)
    18  high watermark known to the replica (KIP-1166, Kafka 4.1)
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


class FetchRequest(Request["FetchResponse"], api_key=1, versions="0-18", flexible="12+"):
    """Fetches records from given offsets."""

    cluster_id: nullable[string] = field(since=12, tag=0, default=None, ignorable=True)
    """The cluster id that a replica of the metadata log expects; error 104 if it differs, None to skip the check."""
    replica_id: int32 = field(until=14, default=-1)
    """The broker id of a follower; -1 for consumers, -2 for debugging. Since version 15 in `replica_state`."""
    replica_state: ReplicaState = field(since=15, tag=1, default=zero)
    """The identity of a follower (KIP-903, Kafka 3.5); not sent by consumers."""
    max_wait_ms: int32
    """The time in milliseconds that the broker can wait for `min_bytes` (`fetch.max.wait.ms`)."""
    min_bytes: int32
    """The number of bytes to wait for (`fetch.min.bytes`)."""
    max_bytes: int32 = field(since=3, default=2147483647, ignorable=True)
    """The largest number of bytes in the response (`fetch.max.bytes`); the first batch is returned whole in any case
    (KIP-74)."""
    isolation_level: int8 = field(since=4, default=0, ignorable=True)
    """0 read uncommitted; 1 read committed, which ends at the last stable offset and lists aborted transactions
    (`isolation.level`)."""
    session_id: int32 = field(since=7, default=0, ignorable=True)
    """The id of the fetch session; 0 to open one."""
    session_epoch: int32 = field(since=7, default=-1, ignorable=True)
    """The number of the request in its session; 0 opens a session, -1 fetches without one. Error 71 if another number
    was expected."""
    topics: array[FetchTopic]
    """The partitions to fetch; in a session, only those to add or to change."""
    forgotten_topics_data: array[ForgottenTopic] = field(since=7, default=())
    """The partitions to remove from the session, by topic."""
    rack_id: string = field(since=11, default="", ignorable=True)
    """The rack of the consumer (`client.rack`), to find the closest replica (KIP-392, Kafka 2.3); empty if not
    configured."""


class ReplicaState(Struct):
    """The identity of a follower."""

    replica_id: int32 = -1
    """The broker id of the follower; -1 for consumers."""
    replica_epoch: int64 = -1
    """The broker epoch of the follower; -1 if unknown."""


class FetchTopic(Struct):
    """The partitions of a topic."""

    topic: string = field(until=12, default="", ignorable=True)
    """The name of the topic, up to version 12."""
    topic_id: uuid = field(since=13, default=zero, ignorable=True)
    """The topic id, different from earlier topics' with the same name (KIP-516, Kafka 3.1)."""
    partitions: array[FetchPartition]
    """The partitions to fetch. The broker fills the response in this order."""


class FetchPartition(Struct):
    """A partition to fetch."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    current_leader_epoch: int32 = field(since=9, default=-1, ignorable=True)
    """The leader epoch that the client knows; -1 to skip the check. Error 74 if it is too old, 75 if it is newer than
    the broker's."""
    fetch_offset: int64
    """The offset of the first record to return; error 1 if it is not in the log."""
    last_fetched_epoch: int32 = field(since=12, default=-1)
    """The leader epoch of the record before `fetch_offset`, by which the leader detects a diverging log; -1 if there is
    none."""
    log_start_offset: int64 = field(since=5, default=-1, ignorable=True)
    """The first offset in the log of a follower; -1 from consumers."""
    partition_max_bytes: int32
    """The largest number of bytes from this partition (`max.partition.fetch.bytes`); the first batch is returned whole
    in any case."""
    replica_directory_id: uuid = field(since=17, tag=0, default=zero, ignorable=True)
    """The directory id of a replica of the metadata log (KIP-853, Kafka 3.9); zero from others."""
    high_watermark: int64 = field(since=18, tag=1, default=9223372036854775807, ignorable=True)
    """The high watermark that the replica knows (KIP-1166, Kafka 4.1); -1 if unknown. The default, 2^63-1, stands for a
    replica that does not support the field."""


class ForgottenTopic(Struct):
    """Partitions of a topic to remove from the session."""

    topic: string = field(until=12, default="", ignorable=True)
    """The name of the topic, up to version 12."""
    topic_id: uuid = field(since=13, default=zero, ignorable=True)
    """The topic id, since version 13 (KIP-516)."""
    partitions: array[int32]
    """The partition indexes within the topic."""


class FetchResponse(Message, api_key=1, versions="0-18", flexible="12+"):
    """The records of each partition."""

    throttle_time_ms: int32 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 8, the client
    must wait instead of the broker."""
    error_code: int16 = field(since=7, default=0, ignorable=True)
    """The error of the whole request: 70 unknown session; 71 wrong session epoch; 104 another cluster; 106 mixed use of
    topic ids and names; 0 otherwise."""
    session_id: int32 = field(since=7, default=0)
    """The id of the fetch session; 0 without one."""
    responses: array[FetchableTopicResponse]
    """The records by topic. In a session, partitions without news are left out."""
    node_endpoints: array[NodeEndpoint] = field(since=16, tag=0, default=())
    """The addresses of the new leaders of partitions with errors 6 and 74 (KIP-951, Kafka 3.7)."""


class FetchableTopicResponse(Struct):
    """The records of a topic."""

    topic: string = field(until=12, default="", ignorable=True)
    """The name of the topic, up to version 12."""
    topic_id: uuid = field(since=13, default=zero, ignorable=True)
    """The unique id of the topic, as in the request (KIP-516)."""
    partitions: array[PartitionData]
    """The records of each partition."""


class PartitionData(Struct):
    """The records of one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 1 offset out of range; 2 corrupt data; 3 or 100 unknown topic; 6 not the leader; 29 not authorized; 56 storage
    error; 74 or 75 stale metadata on one side; 78 offset not available yet; 103 inconsistent topic id; 109 offset in
    tiered storage."""
    high_watermark: int64
    """The offset after the last record that all in-sync replicas have; -1 on error."""
    last_stable_offset: int64 = field(since=4, default=-1, ignorable=True)
    """The offset before which all transactions are complete (KIP-98); -1 if unknown."""
    log_start_offset: int64 = field(since=5, default=-1, ignorable=True)
    """The first offset of the log (KIP-107); -1 if unknown."""
    diverging_epoch: EpochEndOffset = field(since=12, tag=0, default=zero)
    """Point where the log of the follower diverges from the leader's: the follower truncates its log to it. Not sent
    otherwise."""
    current_leader: LeaderIdAndEpoch = field(since=12, tag=1, default=zero)
    """The leader that the broker knows, with errors 6 and 74; otherwise not sent."""
    snapshot_id: SnapshotId = field(since=12, tag=2, default=zero)
    """The snapshot to load with FetchSnapshot, because the offset is before the start of the metadata log; not sent
    otherwise."""
    aborted_transactions: nullable[array[AbortedTransaction]] = field(since=4, default=(), ignorable=True)
    """The aborted transactions among the records, for isolation level 1, by which the consumer skips them; None for
    level 0."""
    preferred_read_replica: int32 = field(since=11, default=-1)
    """The broker to fetch from instead, without records in this response (KIP-392, Kafka 2.3); -1 to stay."""
    records: nullable[bytes]
    """Record batches; in versions 0 to 3, message sets. The first one can begin before the requested offset, and the
    last one can be cut short. Only their bytes are declared."""


class EpochEndOffset(Struct):
    """The end of a leader epoch in the leader's log."""

    epoch: int32 = -1
    """The largest epoch of the leader's log that is not above the follower's; -1 if not set."""
    end_offset: int64 = -1
    """The offset after the last record of that epoch; -1 if not set."""


class LeaderIdAndEpoch(Struct):
    """The leader of a partition."""

    leader_id: int32 = -1
    """The broker id of the leader; -1 if unknown."""
    leader_epoch: int32 = -1
    """The epoch of the leader; -1 if unknown."""


class SnapshotId(Struct):
    """The identity of a snapshot."""

    end_offset: int64 = -1
    """The offset after the last record that the snapshot contains; -1 if not set."""
    epoch: int32 = -1
    """The leader epoch of that last record; -1 if not set."""


class AbortedTransaction(Struct):
    """An aborted transaction."""

    producer_id: int64
    """The producer id of the records to skip."""
    first_offset: int64
    """The offset of its first record; the transaction ends with its abort marker."""


class NodeEndpoint(Struct, key="node_id"):
    """The address of a leader."""

    node_id: int32
    """The broker id, as in `current_leader`."""
    host: string
    """The host name to connect to."""
    port: int32
    """The TCP port to connect to."""
    rack: nullable[string] = None
    """The rack of the broker (`broker.rack`); None if not configured."""
