"""OffsetFetch (key 9): how far a group has read, as its coordinator remembers it.

Versions:
     1  kept by the coordinator, in version 0 by ZooKeeper
     2  null asks for all topics; an error for the answer as a whole (KIP-88, Kafka 0.10.2)
     3  throttle time
     4  throttled clients are answered first, and have to wait by themselves (KIP-219)
     5  leader epochs (KIP-320, Kafka 2.1)
     6  flexible (KIP-482)
     7  stable offsets only, if so wished (KIP-447, Kafka 2.5)
     8  many groups at once, in an array instead of at the top (KIP-709, Kafka 3.0)
     9  members of the new group protocol (KIP-848)
    10  topic ids instead of names (KIP-848, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class OffsetFetchRequest(Request["OffsetFetchResponse"], api_key=9, versions="0-10", flexible="6+"):
    """Asks the coordinator of the group, or of all the groups."""

    group_id: string = field(until=7, default="")
    """The one group whose offsets are wanted."""
    topics: nullable[array[OffsetFetchRequestTopic]] = field(until=7, nullable_since=2, default=())
    """What to look up; None for all that the group has (KIP-88, Kafka 0.10.2)."""
    groups: array[OffsetFetchRequestGroup] = field(since=8, default=())
    """The groups, all with the same coordinator."""
    require_stable: bool = field(since=7, default=False)
    """True: where a transaction may yet change an offset, answer 88 instead of the old one (KIP-447, Kafka 2.5)."""


class OffsetFetchRequestTopic(Struct):
    """A topic to fetch offsets for."""

    name: string
    """The topic to look up, by its name."""
    partition_indexes: array[int32]
    """The partition indexes; a partition without a committed offset is returned with offset -1."""


class OffsetFetchRequestGroup(Struct):
    """What is asked about one group."""

    group_id: string
    """The group whose offsets are wanted."""
    member_id: nullable[string] = field(since=9, default=None, ignorable=True)
    """The member that asks, in a group of KIP-848; None from who is no member."""
    member_epoch: int32 = field(since=9, default=-1, ignorable=True)
    """The member's epoch, so that it learns in time that it was fenced; -1 from who is no member."""
    topics: nullable[array[OffsetFetchRequestTopics]]
    """What to look up; None for all that the group has."""


class OffsetFetchRequestTopics(Struct):
    """The partitions of one topic to look up."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id, so that no offset of an earlier topic of the same name is meant (KIP-848, Kafka 4.1)."""
    partition_indexes: array[int32]
    """Partition ids; a partition without a committed offset is answered with -1."""


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    """How far the groups have read."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 4 the client itself has to wait."""
    topics: array[OffsetFetchResponseTopic] = field(until=7, default=())
    """The offsets of the one group."""
    error_code: int16 = field(since=2, until=7, default=0, ignorable=True)
    """Why the one group failed whole; versions 0 and 1 repeat that in each partition (KIP-88)."""
    groups: array[OffsetFetchResponseGroup] = field(since=8, default=())
    """One entry a group, each with its own error."""


class OffsetFetchResponseTopic(Struct, key="name"):
    """The committed offsets of a topic."""

    name: string
    """The topic to look up, by its name."""
    partitions: array[OffsetFetchResponsePartition]
    """The requested partitions, or all partitions with a committed offset."""


class OffsetFetchResponsePartition(Struct, key="partition_index"):
    """How far the group has read in one partition."""

    partition_index: int32
    """Its id within the topic, from 0."""
    committed_offset: int64
    """The offset to read next; -1 when the group has none here."""
    committed_leader_epoch: int32 = field(since=5, default=-1, ignorable=True)
    """Epoch of the last record that was dealt with, to notice when the log was cut (KIP-320, Kafka 2.1); -1 unknown."""
    metadata: nullable[string]
    """The note that the client left with the offset; empty when it left none."""
    error_code: int16
    """0; 29 the sender may not read the topic; 88 a transaction is about to change the offset (version 7)."""


class OffsetFetchResponseGroup(Struct, key="group_id"):
    """How far one group has read."""

    group_id: string
    """Which consumer group committed what follows, echoed."""
    topics: array[OffsetFetchResponseTopics]
    """Empty when the group failed whole, or has read nothing."""
    error_code: int16
    """0; 14 the coordinator is still loading, try again; 16 not the coordinator; 30 the sender may not see it; 25 or
    113 the member is unknown or its epoch old (version 9)."""


class OffsetFetchResponseTopics(Struct, key="name"):
    """How far the group has read in one topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id (KIP-848)."""
    partitions: array[OffsetFetchResponsePartitions]
    """Those asked for, or all that have an offset."""


class OffsetFetchResponsePartitions(Struct, key="partition_index"):
    """How far the group has read in one partition."""

    partition_index: int32
    """Its id within the topic, from 0."""
    committed_offset: int64
    """The offset to read next; -1 when the group has none here."""
    committed_leader_epoch: int32 = field(default=-1, ignorable=True)
    """Epoch of the last record that was dealt with, to notice when the log was cut (KIP-320, Kafka 2.1); -1 unknown."""
    metadata: nullable[string]
    """The note that the client left with the offset; empty when it left none."""
    error_code: int16
    """0; 29 the sender may not read the topic; 88 a transaction is about to change the offset (version 7)."""
