"""OffsetDelete (key 47): delete committed offsets of a group (KIP-496, Kafka 2.4).

It has no flexible version.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, string


class OffsetDeleteRequest(Request["OffsetDeleteResponse"], api_key=47, versions="0"):
    """Deletes committed offsets. The coordinator of the group handles it."""

    group_id: string
    """The group that loses the committed offsets."""
    topics: array[OffsetDeleteRequestTopic]
    """The topics and partitions to delete offsets for."""


class OffsetDeleteRequestTopic(Struct):
    """A topic to delete offsets for."""

    name: string
    """The name of the topic; no member of the group may be subscribed to it."""
    partitions: array[OffsetDeleteRequestPartition]
    """The partitions to delete offsets for. A partition without an offset is not an error."""


class OffsetDeleteRequestPartition(Struct):
    """A partition to delete the offset of."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""


class OffsetDeleteResponse(Message, api_key=47, versions="0"):
    """The result for each partition."""

    error_code: int16
    """0; 16 not the coordinator; 68 the group has members that are not consumers; 69 group not found. With 0, each
    partition has its own error."""
    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    topics: array[OffsetDeleteResponseTopic]
    """The results by topic; empty if the whole request failed."""


class OffsetDeleteResponseTopic(Struct):
    """The results for the partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[OffsetDeleteResponsePartition]
    """The result for each partition of the request."""


class OffsetDeleteResponsePartition(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 86 the group is subscribed to the topic."""
