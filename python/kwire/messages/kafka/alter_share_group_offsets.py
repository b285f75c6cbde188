"""AlterShareGroupOffsets (key 91): set the start offsets of an empty share group (KIP-932, Kafka 4.1).

The coordinator of the group responds.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, nullable, string, uuid


class AlterShareGroupOffsetsRequest(Request["AlterShareGroupOffsetsResponse"], api_key=91, versions="0", flexible="0+"):
    """Sets start offsets."""

    group_id: string
    """The share group to change; it must not have members, error 68."""
    topics: array[AlterShareGroupOffsetsRequestTopic]
    """The topics and partitions to change."""


class AlterShareGroupOffsetsRequestTopic(Struct, key="topic_name"):
    """A topic to change."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[AlterShareGroupOffsetsRequestPartition]
    """The partitions to change. Other partitions keep their offsets."""


class AlterShareGroupOffsetsRequestPartition(Struct):
    """A new start offset."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    start_offset: int64
    """The offset of the first record to deliver."""


class AlterShareGroupOffsetsResponse(Message, api_key=91, versions="0", flexible="0+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request: 14, 15, or 16 find the coordinator again; 30 not authorized; 68 group has
    members; 69 group not found; 0 otherwise."""
    error_message: nullable[string] = None
    """The error message of the whole request; None on success."""
    responses: array[AlterShareGroupOffsetsResponseTopic]
    """The results by topic."""


class AlterShareGroupOffsetsResponseTopic(Struct, key="topic_name"):
    """The results for the partitions of a topic."""

    topic_name: string
    """The name of the topic that the partitions belong to."""
    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[AlterShareGroupOffsetsResponsePartition]
    """The result for each partition of the request."""


class AlterShareGroupOffsetsResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 29 not authorized; 56 storage error."""
    error_message: nullable[string] = None
    """The error message of the partition; None on success."""
