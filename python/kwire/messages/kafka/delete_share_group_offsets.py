"""DeleteShareGroupOffsets (key 92): delete the offsets of an empty share group (KIP-932, Kafka 4.1).

The coordinator of the group responds.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uuid


class DeleteShareGroupOffsetsRequest(
    Request["DeleteShareGroupOffsetsResponse"], api_key=92, versions="0", flexible="0+"
):
    """Deletes the offsets for whole topics."""

    group_id: string
    """The share group to change; it must not have members, error 68."""
    topics: array[DeleteShareGroupOffsetsRequestTopic]
    """The topics to delete the offsets for, each with all partitions."""


class DeleteShareGroupOffsetsRequestTopic(Struct):
    """A topic to delete the offsets for."""

    topic_name: string
    """The name of the topic, whose partitions are all deleted."""


class DeleteShareGroupOffsetsResponse(Message, api_key=92, versions="0", flexible="0+"):
    """The result for each topic."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """The error of the whole request: 14, 15, or 16 find the coordinator again; 30 not authorized; 68 group has
    members; 69 group not found; 0 otherwise."""
    error_message: nullable[string] = None
    """The error message of the whole request; None on success."""
    responses: array[DeleteShareGroupOffsetsResponseTopic]
    """The results by topic."""


class DeleteShareGroupOffsetsResponseTopic(Struct):
    """The result for one topic."""

    topic_name: string
    """The name of the topic. Its offsets were deleted unless there is an error."""
    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    error_code: int16
    """0; 3 unknown topic; 29 not authorized; 56 storage error."""
    error_message: nullable[string] = None
    """The error message of the topic; None on success."""
