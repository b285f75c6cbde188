"""OffsetForLeaderEpoch (key 23): the end of a leader epoch in the log, to detect truncation (KIP-101, Kafka 0.11).

Followers and consumers send it to the leader of each partition.

Versions:
    1  epoch in the response
    2  current leader epoch, to detect stale metadata (KIP-320, Kafka 2.1); throttle time
    3  replica ids
    4  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, string


class OffsetForLeaderEpochRequest(Request["OffsetForLeaderEpochResponse"], api_key=23, versions="0-4", flexible="4+"):
    """Looks up end offsets of leader epochs."""

    replica_id: int32 = field(since=3, default=-2, ignorable=True)
    """The broker id of a follower; -1 for consumers; -2 for debugging, which may see offsets above the high
    watermark."""
    topics: array[OffsetForLeaderTopic]
    """The topics to look up."""


class OffsetForLeaderTopic(Struct, key="topic"):
    """The partitions of a topic to look up."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[OffsetForLeaderPartition]
    """The partitions, each with an epoch to look up."""


class OffsetForLeaderPartition(Struct):
    """A leader epoch to look up."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    current_leader_epoch: int32 = field(since=2, default=-1, ignorable=True)
    """The leader epoch from the sender's metadata; -1 to skip the check. Error 74 if it is too old, 75 if it is newer
    than the broker's."""
    leader_epoch: int32
    """The epoch to look up, from the last record of the sender."""


class OffsetForLeaderEpochResponse(Message, api_key=23, versions="0-4", flexible="4+"):
    """The end offset for each partition."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    topics: array[OffsetForLeaderTopicResult]
    """The results by topic, in no particular order."""


class OffsetForLeaderTopicResult(Struct, key="topic"):
    """The results for the partitions of a topic."""

    topic: string
    """The name of the topic, as in the request."""
    partitions: array[EpochEndOffset]
    """The result for each partition of the request."""


class EpochEndOffset(Struct):
    """The end of an epoch in one partition."""

    error_code: int16
    """0; 3 unknown partition; 6 not the leader; 29 not authorized; 74 or 75 stale metadata on one side."""
    partition: int32
    """The index of the partition within its topic, starting at 0."""
    leader_epoch: int32 = field(since=1, default=-1, ignorable=True)
    """The requested epoch, or the largest smaller epoch in the log; -1 if unknown."""
    end_offset: int64 = -1
    """The offset after the last record of the returned epoch; -1 if unknown. The sender truncates its log to it."""
