"""OffsetCommit (key 8): how far a group has read, for its coordinator to remember.

Versions:
     1  kept by the coordinator, in version 0 by ZooKeeper; who commits
     2  retention for the request as a whole, instead of a time for each offset
     3  throttle time
     4  throttled clients are answered first, and have to wait by themselves (KIP-219)
     5  no retention: offsets last as long as the group is alive (KIP-211, Kafka 2.1)
     6  leader epochs (KIP-320, Kafka 2.1)
     7  static members (KIP-345, Kafka 2.3)
     8  flexible (KIP-482)
     9  members of the new group protocol (KIP-848)
    10  topic ids instead of names (KIP-848, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid, zero


class OffsetCommitRequest(Request["OffsetCommitResponse"], api_key=8, versions="0-10", flexible="8+"):
    """Asks the group's coordinator to remember offsets."""

    group_id: string
    """The group whose offsets these are."""
    generation_id_or_member_epoch: int32 = field(since=1, default=-1, ignorable=True)
    """Generation of the member in a classic group, its epoch in one of KIP-848 (version 9); -1 from who is no member,
    which is accepted while the group has none."""
    member_id: string = field(since=1, default="", ignorable=True)
    """The member that commits; empty from who is no member."""
    group_instance_id: nullable[string] = field(since=7, default=None)
    """The name of a static member, which keeps its place over a restart (KIP-345, Kafka 2.3); None for others."""
    retention_time_ms: int64 = field(since=2, until=4, default=-1, ignorable=True)
    """Milliseconds to keep the offsets; -1 for the broker's setting. Since Kafka 2.1 they last as long as the group is
    alive, so the field went (KIP-211)."""
    topics: array[OffsetCommitRequestTopic]
    """What to write."""


class OffsetCommitRequestTopic(Struct):
    """How far the group has read in one topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id, so that no offset lands on a later topic of the same name (KIP-848, Kafka 4.1)."""
    partitions: array[OffsetCommitRequestPartition]
    """What to write; partitions that are not listed keep their offsets."""


class OffsetCommitRequestPartition(Struct):
    """How far the group has read in one partition."""

    partition_index: int32
    """Its id within the topic, from 0."""
    committed_offset: int64
    """The offset to read next, one past the last record that was dealt with."""
    committed_leader_epoch: int32 = field(since=6, default=-1, ignorable=True)
    """Epoch of the last record that was dealt with, to notice later when the log was cut (KIP-320, Kafka 2.1); -1
    unknown."""
    commit_timestamp: int64 = field(since=1, until=1, default=-1)
    """When the commit was made, in milliseconds since 1970; -1 for the time at which the broker gets it. Retention
    counts from here."""
    committed_metadata: nullable[string]
    """A note of the client's own, handed back with the offset; at most ``offset.metadata.max.bytes`` long."""


class OffsetCommitResponse(Message, api_key=8, versions="0-10", flexible="8+"):
    """Which offsets were written."""

    throttle_time_ms: int32 = field(since=3, default=0, ignorable=True)
    """Milliseconds the client is held back by a quota, 0 for none; from version 4 the client itself has to wait."""
    topics: array[OffsetCommitResponseTopic]
    """There is no code for the whole: a failure of everything is repeated in each partition."""


class OffsetCommitResponseTopic(Struct):
    """The outcomes in one topic."""

    name: string = field(until=9, default="", ignorable=True)
    """The topic's name, before version 10."""
    topic_id: uuid = field(since=10, default=zero, ignorable=True)
    """The topic's id from the request (KIP-848)."""
    partitions: array[OffsetCommitResponsePartition]
    """One entry a partition of the request."""


class OffsetCommitResponsePartition(Struct):
    """Whether the offset of one partition was written."""

    partition_index: int32
    """Its id within the topic, from 0."""
    error_code: int16
    """0; 12 the note is too long; 16 not the coordinator; 22 or 25 not, or no longer, a member; 27 a rebalance runs;
    113 the member's epoch is old (version 9)."""
