"""ShareFetch (key 78): fetch and acknowledge records as a member of a share group (KIP-932, Kafka 4.0).

The leader of the partitions acquires records for the member for a limited time. Acknowledgements of earlier records can
be sent along. A share session remembers the partitions, so that a request names only changes.

Versions:
    0  early access, removed in Kafka 4.1
    1  first stable version: limits in records instead of bytes for each partition
    2  acquire modes (KIP-1206) and renewal of acquired records (KIP-1222, Kafka 4.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, nullable, string, uuid


class ShareFetchRequest(Request["ShareFetchResponse"], api_key=78, versions="0-2", flexible="0+"):
    """Fetches records of share partitions."""

    group_id: nullable[string] = None
    """The share group of the member; None is invalid, error 42."""
    member_id: nullable[string]
    """The member id from ShareGroupHeartbeat; None is invalid, error 42."""
    share_session_epoch: int32
    """The number of the request in its share session; 0 opens a session, -1 closes it. Error 123 if another number was
    expected."""
    max_wait_ms: int32
    """The time in milliseconds that the broker can wait for `min_bytes` (`fetch.max.wait.ms`)."""
    min_bytes: int32
    """The number of bytes to wait for (`fetch.min.bytes`)."""
    max_bytes: int32 = 2147483647
    """The largest number of bytes in the response (`fetch.max.bytes`); the first batch is returned whole in any
    case."""
    max_records: int32 = field(since=1, default=0)
    """The largest number of records to acquire (`max.poll.records`); exceeded to acquire whole batches, except in mode
    1."""
    batch_size: int32 = field(since=1, default=0)
    """The number of records that the client prefers in a batch of acquired records."""
    share_acquire_mode: int8 = field(since=2, default=0, ignorable=True)
    """0 optimized for batches; 1 never more than `max_records` (KIP-1206, Kafka 4.2)."""
    is_renew_ack: bool = field(since=2, default=False)
    """True if acknowledgements of type 4 are included, which extend the acquisition (KIP-1222). Nothing is fetched
    then."""
    topics: array[FetchTopic]
    """The partitions to add to the session or to acknowledge, by topic."""
    forgotten_topics_data: array[ForgottenTopic]
    """The partitions to remove from the session, by topic."""


class FetchTopic(Struct, key="topic_id"):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[FetchPartition]
    """The partitions to fetch from or to acknowledge."""


class FetchPartition(Struct, key="partition_index"):
    """A partition to fetch from or to acknowledge."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    partition_max_bytes: int32 = field(until=0, default=0)
    """The largest number of bytes from this partition; 0 to only acknowledge. Only in version 0."""
    acknowledgement_batches: array[AcknowledgementBatch]
    """The acknowledgements of records that the member acquired earlier."""


class AcknowledgementBatch(Struct):
    """The outcome of a range of records."""

    first_offset: int64
    """The offset of the first record of the range, inclusive."""
    last_offset: int64
    """The offset of the last record of the range, inclusive."""
    acknowledge_types: array[int8]
    """The outcome: 0 gap, no such record; 1 accept; 2 release for another delivery; 3 reject; 4 renew (version 2). A
    single element counts for the whole range, otherwise there is one for each offset."""


class ForgottenTopic(Struct):
    """Partitions of a topic to remove from the session."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[int32]
    """The partition indexes within the topic."""


class ShareFetchResponse(Message, api_key=78, versions="0-2", flexible="0+"):
    """The acquired records."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request, for example 122 unknown session, 123 wrong session epoch, or 133 too many
    sessions; 0 otherwise."""
    error_message: nullable[string] = None
    """The error message of the whole request; None on success."""
    acquisition_lock_timeout_ms: int32 = field(since=1, default=0)
    """The time in milliseconds that the member has to acknowledge the records
    (`group.share.record.lock.duration.ms`)."""
    responses: array[ShareFetchableTopicResponse]
    """The results by topic. Partitions without news are left out."""
    node_endpoints: array[NodeEndpoint]
    """The addresses of the new leaders of partitions with error 6."""


class ShareFetchableTopicResponse(Struct, key="topic_id"):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The result for each partition."""


class PartitionData(Struct):
    """The records of one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """The error of the fetch: 0; 2 corrupt data; 3 or 100 unknown topic; 6 not the leader; 29 not authorized; 56
    storage error."""
    error_message: nullable[string] = None
    """The error message of the fetch; None on success."""
    acknowledge_error_code: int16
    """The error of the acknowledgements, as in ShareAcknowledge; 0 otherwise."""
    acknowledge_error_message: nullable[string] = None
    """The error message of the acknowledgements; None on success."""
    current_leader: LeaderIdAndEpoch
    """The new leader with error 6; otherwise without meaning."""
    records_v0: nullable[bytes] = field(until=0, default=b"", name="records")
    """Record batches that contain the acquired records; None for no records."""
    records: bytes = field(since=1, default=b"")
    """Record batches that contain the acquired records, and possibly others. The last batch can be cut short. Only the
    bytes are declared."""
    acquired_records: array[AcquiredRecords]
    """The ranges of the records that the member has acquired."""


class LeaderIdAndEpoch(Struct):
    """The leader of a partition."""

    leader_id: int32
    """The broker id of the leader; -1 if unknown."""
    leader_epoch: int32
    """The epoch of the leader; -1 if unknown."""


class AcquiredRecords(Struct):
    """A range of acquired records."""

    first_offset: int64
    """The offset of the first record of the range, inclusive."""
    last_offset: int64
    """The offset of the last record of the range, inclusive."""
    delivery_count: int16
    """Number of deliveries of the records, including this time."""


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
