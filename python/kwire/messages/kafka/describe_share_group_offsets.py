"""DescribeShareGroupOffsets (key 90): the start offsets of share groups (KIP-932, Kafka 4.1).

The coordinator of each group responds.

Versions:
    1  lag (KIP-1226, Kafka 4.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid


class DescribeShareGroupOffsetsRequest(
    Request["DescribeShareGroupOffsetsResponse"], api_key=90, versions="0-1", flexible="0+"
):
    """Describes the offsets of share groups."""

    groups: array[DescribeShareGroupOffsetsRequestGroup]
    """The groups to describe, all coordinated by the receiving broker."""


class DescribeShareGroupOffsetsRequestGroup(Struct):
    """A group to describe."""

    group_id: string
    """The share group (`group.id` of its members) to look up."""
    topics: nullable[array[DescribeShareGroupOffsetsRequestTopic]]
    """The topics to describe; None for all that the group has offsets for."""


class DescribeShareGroupOffsetsRequestTopic(Struct):
    """Partitions of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes to describe."""


class DescribeShareGroupOffsetsResponse(Message, api_key=90, versions="0-1", flexible="0+"):
    """The offsets of each group."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    groups: array[DescribeShareGroupOffsetsResponseGroup]
    """The results, one for each group of the request."""


class DescribeShareGroupOffsetsResponseGroup(Struct):
    """The offsets of a group."""

    group_id: string
    """The share group (`group.id` of its members) of this entry."""
    topics: array[DescribeShareGroupOffsetsResponseTopic]
    """The offsets by topic; empty on error."""
    error_code: int16
    """0; 14, 15, or 16 find the coordinator again; 30 not authorized; 69 group not found."""
    error_message: nullable[string] = None
    """The error message of the group; None on success."""


class DescribeShareGroupOffsetsResponseTopic(Struct):
    """The offsets for the partitions of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[DescribeShareGroupOffsetsResponsePartition]
    """The start offset of each partition of the request."""


class DescribeShareGroupOffsetsResponsePartition(Struct):
    """The offset of one share partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    start_offset: int64
    """The offset of the first record with incomplete delivery; -1 if there is none yet."""
    leader_epoch: int32
    """The leader epoch in the stored state."""
    lag: int64 = field(since=1, default=-1, ignorable=True)
    """The number of records that wait for delivery (KIP-1226, Kafka 4.2); -1 if unknown."""
    error_code: int16
    """0; 3 unknown topic; 29 not authorized for the topic."""
    error_message: nullable[string] = None
    """The error message of the partition; None on success."""
