"""ShareAcknowledge (key 79): acknowledge records as a member of a share group (KIP-932, Kafka 4.0).

ShareFetch can carry acknowledgements, too; this request is for a member that does not fetch at the same time.

Versions:
    0  early access, removed in Kafka 4.1
    1  first stable version
    2  renewal of acquired records (KIP-1222, Kafka 4.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, nullable, string, uuid


class ShareAcknowledgeRequest(Request["ShareAcknowledgeResponse"], api_key=79, versions="0-2", flexible="0+"):
    """Acknowledges acquired records."""

    group_id: nullable[string] = None
    """The share group of the member; None is invalid, error 42."""
    member_id: nullable[string]
    """The member id from ShareGroupHeartbeat; None is invalid, error 42."""
    share_session_epoch: int32
    """The number of the request in its share session; -1 closes the session. Error 123 if another number was
    expected."""
    is_renew_ack: bool = field(since=2, default=False)
    """True if acknowledgements of type 4 are included, which extend the acquisition (KIP-1222, Kafka 4.2)."""
    topics: array[AcknowledgeTopic]
    """The partitions with acknowledgements, by topic."""


class AcknowledgeTopic(Struct, key="topic_id"):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[AcknowledgePartition]
    """The partitions with acknowledgements."""


class AcknowledgePartition(Struct, key="partition_index"):
    """The acknowledgements for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    acknowledgement_batches: array[AcknowledgementBatch]
    """The outcomes of ranges of records."""


class AcknowledgementBatch(Struct):
    """The outcome of a range of records."""

    first_offset: int64
    """The offset of the first record of the range, inclusive."""
    last_offset: int64
    """The offset of the last record of the range, inclusive."""
    acknowledge_types: array[int8]
    """The outcome: 0 gap, no such record; 1 accept; 2 release for another delivery; 3 reject; 4 renew (version 2). A
    single element counts for the whole range, otherwise there is one for each offset."""


class ShareAcknowledgeResponse(Message, api_key=79, versions="0-2", flexible="0+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request, for example 122 unknown session or 123 wrong session epoch; 0 otherwise."""
    error_message: nullable[string] = None
    """The error message of the whole request; None on success."""
    acquisition_lock_timeout_ms: int32 = field(since=2, default=0, ignorable=True)
    """The time in milliseconds for which renewed records stay acquired (`group.share.record.lock.duration.ms`)."""
    responses: array[ShareAcknowledgeTopicResponse]
    """The results by topic."""
    node_endpoints: array[NodeEndpoint]
    """The addresses of the new leaders of partitions with error 6."""


class ShareAcknowledgeTopicResponse(Struct, key="topic_id"):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The result for each partition of the request."""


class PartitionData(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 or 100 unknown topic; 6 not the leader; 29 or 30 not authorized; 56 storage error; 121 records not acquired
    by this member."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    current_leader: LeaderIdAndEpoch
    """The new leader with error 6; otherwise without meaning."""


class LeaderIdAndEpoch(Struct):
    """The leader of a partition."""

    leader_id: int32
    """The broker id of the leader; -1 if unknown."""
    leader_epoch: int32
    """The epoch of the leader; -1 if unknown."""


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
