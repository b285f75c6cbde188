"""Structs that several records of remote log metadata share."""

from __future__ import annotations

from kwire.declare import Struct, int32, int64, string, uuid


class SegmentLeaderEpochEntry(Struct):
    """The first offset of a leader epoch in the segment."""

    leader_epoch: int32
    """The number of the election."""
    offset: int64
    """The first offset written in it."""


class TopicIdPartitionEntry(Struct):
    """A partition with the id of its topic."""

    name: string
    """The name that clients use."""
    id: uuid
    """The unique id of the topic (KIP-516)."""
    partition: int32
    """The index within the topic, from 0."""


class RemoteLogSegmentIdEntry(Struct):
    """The id of a remote segment."""

    topic_id_partition: TopicIdPartitionEntry
    """The partition whose records are moved."""
    id: uuid
    """The random id that the broker gave the segment."""
