"""OffsetCommit: a committed offset of a group."""

from __future__ import annotations

from kwire.declare import Message, field, int32, int64, string, uuid, zero


class OffsetCommitKey(Message, record_type=1, versions="0"):
    """The group and the partition that an offset belongs to."""

    group: string
    """The name in the configuration of clients (`group.id`)."""
    topic: string
    """The name of the topic that the partition belongs to."""
    partition: int32
    """The index within the topic, from 0."""


class OffsetCommitValue(Message, record_type=1, versions="0-4", flexible="4+"):
    """A committed offset. A record without a value deletes it."""

    offset: int64
    """The offset of the next record to read."""
    leader_epoch: int32 = field(since=3, default=-1, ignorable=True)
    """The leader epoch of the last record that was read (KIP-320); -1 if unknown."""
    metadata: string
    """Any text of the client, usually empty."""
    commit_timestamp: int64
    """The time of the commit in milliseconds since 1970."""
    expire_timestamp: int64 = field(since=1, until=1, default=-1, ignorable=True)
    """The expiration in milliseconds since 1970; -1 for the default retention (`offsets.retention.minutes`)."""
    topic_id: uuid = field(since=4, tag=0, default=zero, ignorable=True)
    """The id of the topic (KIP-516); zero if unknown."""
