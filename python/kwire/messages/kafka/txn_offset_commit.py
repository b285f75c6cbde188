"""TxnOffsetCommit (key 28): commit offsets as part of a transaction (KIP-98, Kafka 0.11).

The coordinator of the group responds. The offsets become visible when the transaction commits. Kafka 3.9 names
`generation_id_or_member_epoch` generationId, with the same bytes.

Versions:
    1  throttled clients are answered at once and must wait themselves (KIP-219)
    2  leader epochs (KIP-320, Kafka 2.1)
    3  flexible; member and generation, to fence zombies (KIP-447, Kafka 2.5)
    4  the client supports error 120: abort the transaction (KIP-890)
    5  the coordinator adds the offsets to the transaction itself (KIP-890, Kafka 4.0)
    6  topic ids instead of names (KIP-1319)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class TxnOffsetCommitRequest(Request["TxnOffsetCommitResponse"], api_key=28, versions="0-6", flexible="3+"):
    """Commits offsets of a group in the open transaction of a producer."""

    transactional_id: string
    """The id that identifies the producer across restarts (`transactional.id`)."""
    group_id: string
    """The group that the offsets belong to."""
    producer_id: int64
    """The producer id that the coordinator assigned to the transactional id."""
    producer_epoch: int16
    """The epoch of the producer, which increases when a new instance fences older ones."""
    generation_id_or_member_epoch: int32 = field(since=3, default=-1)
    """The generation of the member in a classic group, or its epoch in the consumer protocol; -1 to skip the check."""
    member_id: string = field(since=3, default="")
    """The member id in the group, to fence members that have left (KIP-447, Kafka 2.5); empty to skip the check."""
    group_instance_id: nullable[string] = field(since=3, default=None)
    """The static member id (`group.instance.id`, KIP-345), which survives a restart; None for dynamic members."""
    topics: array[TxnOffsetCommitRequestTopic]
    """The topics and partitions to commit offsets for."""


class TxnOffsetCommitRequestTopic(Struct):
    """A topic to commit offsets for."""

    name: string = field(until=5, default="", ignorable=True)
    """The name of the topic, up to version 5."""
    topic_id: uuid = field(since=6, default=zero, ignorable=True)
    """The topic id, which prevents a commit to a later topic of the same name (KIP-1319)."""
    partitions: array[TxnOffsetCommitRequestPartition]
    """The partitions to commit. Other partitions keep their offsets."""


class TxnOffsetCommitRequestPartition(Struct):
    """An offset to commit."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    committed_offset: int64
    """The offset to continue with: one after the last processed record."""
    committed_leader_epoch: int32 = field(since=2, default=-1, ignorable=True)
    """The leader epoch of the last processed record, to detect log truncation (KIP-320, Kafka 2.1); -1 if unknown."""
    committed_metadata: nullable[string]
    """Any metadata of the client, returned with the offset; None if not set."""


class TxnOffsetCommitResponse(Message, api_key=28, versions="0-6", flexible="3+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    topics: array[TxnOffsetCommitResponseTopic]
    """The results by topic. A failure of the whole request is repeated in each partition."""


class TxnOffsetCommitResponseTopic(Struct):
    """The results for the partitions of a topic."""

    name: string = field(until=5, default="", ignorable=True)
    """The name of the topic, up to version 5."""
    topic_id: uuid = field(since=6, default=zero, ignorable=True)
    """The unique id of the topic, as in the request (KIP-1319)."""
    partitions: array[TxnOffsetCommitResponsePartition]
    """The result for each partition of the request."""


class TxnOffsetCommitResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 12 metadata too large; 15 or 16 find the coordinator again; 22 stale generation; 25 unknown member; 29, 30, or
    53 not authorized; 82 fenced static member; 90 fenced producer; 100 unknown topic id; 120 abort the transaction."""
