"""LegacyOffsetCommit: a committed offset as Kafka up to 0.8.2 wrote it."""

from __future__ import annotations

from kwire.declare import Message, int32, int64, string


class LegacyOffsetCommitKey(Message, record_type=0, versions="0"):
    """The group and the partition that an offset belongs to."""

    group: string
    """The name in the configuration of clients (`group.id`)."""
    topic: string
    """The name of the topic that the partition belongs to."""
    partition: int32
    """The index within the topic, from 0."""


class LegacyOffsetCommitValue(Message, record_type=0, versions="0"):
    """A committed offset, without a retention time."""

    offset: int64
    """The offset of the next record to read."""
    metadata: string
    """Any text of the client, usually empty."""
    commit_timestamp: int64
    """The time of the commit in milliseconds since 1970."""
