"""OffsetFetch: how far a group has read. Version 0 read from ZooKeeper, all others ask the group's coordinator.

Versions 0-7 ask for one group at the top level; since version 8 there are many, each in its own struct (KIP-709, Kafka
3.0).
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class TopicQuery(Struct):
    """The partitions of one topic to look up."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id, so that no offset of an earlier topic of the same name is meant (KIP-848, Kafka 4.1)."""
    partition_indexes: array[int32]
    """Partition ids; a partition without a committed offset is answered with -1."""


class GroupQuery(Struct):
    """What is asked about one group."""

    group_id: string
    """The group whose offsets are wanted."""
    member_id: nullable[string] = field(since=9, default=None, ignorable=True)
    """The member that asks, in a group of KIP-848; None from who is no member."""
    member_epoch: int32 = field(since=9, default=-1, ignorable=True)
    """The member's epoch, so that it learns in time that it was fenced; -1 from who is no member."""
    topics: nullable[array[TopicQuery]]
    """What to look up; None for all that the group has."""


class OffsetFetchRequest(Request["OffsetFetchResponse"], api_key=9, versions="0-10", flexible="6+"):
    """Asks the coordinator of the group, or of all the groups."""

    group_id: string = field(until=7, default="")
    """The one group whose offsets are wanted."""
    topics: nullable[array[TopicQuery]] = field(until=7, nullable_since=2, default=())
    """What to look up; None for all that the group has (KIP-88, Kafka 0.10.2)."""
    groups: array[GroupQuery] = field(since=8, default=())
    """The groups, all with the same coordinator."""
    require_stable: bool = field(since=7, default=False)
    """True: where a transaction may yet change an offset, answer 88 instead of the old one (KIP-447, Kafka 2.5)."""


class PartitionOffset(Struct):
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


class TopicOffsets(Struct):
    """How far the group has read in one topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id (KIP-848)."""
    partitions: array[PartitionOffset]
    """Those asked for, or all that have an offset."""


class GroupOffsets(Struct):
    """How far one group has read."""

    group_id: string
    """The group from the request."""
    topics: array[TopicOffsets]
    """Empty when the group failed whole, or has read nothing."""
    error_code: int16
    """0; 14 the coordinator is still loading, try again; 16 not the coordinator; 30 the sender may not see it; 25 or
    113 the member is unknown or its epoch old (version 9)."""


class OffsetFetchResponse(Message, api_key=9, versions="0-10", flexible="6+"):
    """How far the groups have read."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """Milliseconds the client should hold back because it went over its quota; 0 for none. Since version 4 the answer
    comes at once, before that the broker had already waited (KIP-219)."""
    topics: array[TopicOffsets] = field(until=7, default=())
    """The offsets of the one group."""
    error_code: int16 = field(since=2, until=7, default=0, ignorable=True)
    """Why the one group failed whole; versions 0 and 1 repeat that in each partition (KIP-88)."""
    groups: array[GroupOffsets] = field(since=8, default=())
    """One entry a group, each with its own error."""
