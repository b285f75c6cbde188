"""ListOffsets (key 2): the offset that belongs to a point in time, or to an end of a partition.

Versions:
     1  one offset with its time, instead of the first offsets of log segments (KIP-79, Kafka 0.10.1)
     2  isolation level; throttle time (KIP-98, Kafka 0.11)
     3  throttled clients are answered first, and have to wait by themselves (KIP-219)
     4  leader epochs (KIP-320, Kafka 2.1)
     5  the client understands error 78: the new leader cannot tell yet (KIP-207, Kafka 2.2)
     6  flexible (KIP-482)
     7  the record with the greatest time (KIP-734, Kafka 3.0)
     8  the first record on local disk (KIP-405)
     9  the last record in remote storage (KIP-1005, Kafka 3.9)
    10  timeout, for remote storage may be slow (KIP-1075, Kafka 4.0)
    11  the first record not yet in remote storage (KIP-1023)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string


class ListOffsetsRequest(Request["ListOffsetsResponse"], api_key=2, versions="0-11", flexible="6+"):
    """Asks a broker about partitions that it leads."""

    replica_id: int32
    """-1 from a client; a broker id from a follower, who may see beyond the high watermark; -2 from a debugging tool,
    which any replica answers."""
    isolation_level: int8 = field(since=2, default=0)
    """What "the end" means: 0 the high watermark; 1 the last stable offset, before any transaction still open
    (KIP-98, Kafka 0.11)."""
    topics: array[ListOffsetsTopic]
    """What to look up."""
    timeout_ms: int32 = field(since=10, default=0, ignorable=True)
    """Milliseconds the broker may spend when it must ask remote storage (KIP-1075, Kafka 4.0)."""


class ListOffsetsTopic(Struct):
    """The questions about one topic."""

    name: string
    """Which topic the partitions below belong to; the API knows no topic ids."""
    partitions: array[ListOffsetsPartition]
    """Partitions that the asked broker leads, each at most once."""


class ListOffsetsPartition(Struct):
    """What is asked of one partition."""

    partition_index: int32
    """Its id within the topic, from 0."""
    current_leader_epoch: int32 = field(since=4, default=-1, ignorable=True)
    """The leader's epoch as the client knows it, so that neither is misled by old news (KIP-320, Kafka 2.1); -1 for
    no check. The answer to a wrong one is 74 or 75."""
    timestamp: int64
    """Milliseconds since 1970 (UTC), for the first record as late as that or later; or -1 the end, -2 the beginning,
    -3 the greatest time, -4 the first on local disk, -5 the last in remote storage, -6 the first not yet there."""
    max_num_offsets: int32 = field(until=0, default=1)
    """How many offsets to list, from the newest down: version 0 lists the first offsets of log segments."""


class ListOffsetsResponse(Message, api_key=2, versions="0-11", flexible="6+"):
    """The offsets found."""

    throttle_time_ms: int32 = field(since=2, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 3 the client itself has to wait."""
    topics: array[ListOffsetsTopicResponse]
    """There is no code for the whole: a failure of everything is repeated in each partition."""


class ListOffsetsTopicResponse(Struct, key="name"):
    """What was found in one topic."""

    name: string
    """Which topic the offsets below belong to, echoed."""
    partitions: array[ListOffsetsPartitionResponse]
    """One entry a partition asked for."""


class ListOffsetsPartitionResponse(Struct, key="partition_index"):
    """What was found in one partition."""

    partition_index: int32
    """Its id within the topic, from 0."""
    error_code: int16
    """0; 6 the broker does not lead it; 74 or 75 the client's epoch is old or too new; 78 the new leader cannot tell
    yet (version 5, KIP-207)."""
    old_style_offsets: array[int64] = field(until=0, default=())
    """First offsets of log segments written before the time asked for, from the newest down."""
    timestamp: int64 = field(since=1, default=-1)
    """Of the record found, in milliseconds since 1970; -1 when an end was asked for or no record is that late."""
    offset: int64 = field(since=1, default=-1)
    """Of the record found; -1 when there is none."""
    leader_epoch: int32 = field(since=4, default=-1)
    """Epoch in which the record found was written, to notice later when the log was cut (KIP-320); -1 unknown."""
