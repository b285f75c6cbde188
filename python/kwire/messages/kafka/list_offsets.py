"""ListOffsets (key 2): the offset of a partition at a time, or its earliest or latest offset.

Versions:
     1  one offset with its timestamp, instead of start offsets of log segments (KIP-79, Kafka 0.10.1)
     2  isolation level; throttle time (KIP-98, Kafka 0.11)
     3  throttled responses are sent at once, and the client must wait (KIP-219)
     4  leader epochs (KIP-320, Kafka 2.1)
     5  the client supports error 78: the new leader does not know the offset yet (KIP-207, Kafka 2.2)
     6  flexible (KIP-482)
     7  the record with the maximum timestamp (KIP-734, Kafka 3.0)
     8  the earliest local record (KIP-405)
     9  the latest record in remote storage (KIP-1005, Kafka 3.9)
    10  timeout, because remote storage can be slow (KIP-1075, Kafka 4.0)
    11  the earliest record not yet in remote storage (KIP-1023)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string


class ListOffsetsRequest(Request["ListOffsetsResponse"], api_key=2, versions="0-11", flexible="6+"):
    """Requests offsets of partitions that the receiving broker leads."""

    replica_id: int32
    """-1 for clients; the broker id of a follower, which can read beyond the high watermark; -2 for debugging tools,
    which any replica serves."""
    isolation_level: int8 = field(since=2, default=0)
    """0 read uncommitted: up to the high watermark; 1 read committed: up to the last stable offset, before any open
    transaction (KIP-98, Kafka 0.11)."""
    topics: array[ListOffsetsTopic]
    """The topics with partitions to look up."""
    timeout_ms: int32 = field(since=10, default=0, ignorable=True)
    """The time in milliseconds to wait for remote storage (KIP-1075, Kafka 4.0)."""


class ListOffsetsTopic(Struct):
    """A topic with partitions to look up."""

    name: string
    """The name of the topic; this API does not support topic ids."""
    partitions: array[ListOffsetsPartition]
    """The partitions, each at most once."""


class ListOffsetsPartition(Struct):
    """A partition to look up."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    current_leader_epoch: int32 = field(since=4, default=-1, ignorable=True)
    """The leader epoch that the client knows, to detect stale metadata (KIP-320, Kafka 2.1); -1 to skip the check.
    Error 74 or 75 if it differs."""
    timestamp: int64
    """A time in milliseconds since 1970 (UTC), for the first record at or after it; or -1 latest, -2 earliest, -3
    maximum timestamp, -4 earliest local, -5 latest tiered, -6 earliest not yet tiered."""
    max_num_offsets: int32 = field(until=0, default=1)
    """The maximum number of offsets to return; version 0 returns the start offsets of log segments, newest first."""


class ListOffsetsResponse(Message, api_key=2, versions="0-11", flexible="6+"):
    """The offsets of each partition."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 3, the client
    must wait instead of the broker."""
    topics: array[ListOffsetsTopicResponse]
    """The offsets by topic. A failure of the whole request is repeated in each partition."""


class ListOffsetsTopicResponse(Struct, key="name"):
    """The offsets of the partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[ListOffsetsPartitionResponse]
    """The offsets for each partition of the request."""


class ListOffsetsPartitionResponse(Struct, key="partition_index"):
    """The offset of a partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 6 not the leader; 74 or 75 other leader epoch; 78 the new leader does not know the offset yet (version 5,
    KIP-207)."""
    old_style_offsets: array[int64] = field(until=0, default=())
    """The start offsets of log segments older than the requested time, newest first."""
    timestamp: int64 = field(since=1, default=-1)
    """The timestamp of the record in milliseconds since 1970; -1 for the earliest or latest offset, or if no record
    matches."""
    offset: int64 = field(since=1, default=-1)
    """The offset of the record; -1 if no record matches."""
    leader_epoch: int32 = field(since=4, default=-1)
    """The leader epoch of the record, to detect log truncation later (KIP-320); -1 if unknown."""
