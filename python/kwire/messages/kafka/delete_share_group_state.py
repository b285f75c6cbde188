"""DeleteShareGroupState (key 86): delete the stored state of share partitions (KIP-932, Kafka 4.0).

The group coordinator sends it to the share coordinator when a share group, its offsets, or a topic are deleted.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, nullable, string, uuid


class DeleteShareGroupStateRequest(Request["DeleteShareGroupStateResponse"], api_key=86, versions="0", flexible="0+"):
    """Deletes the state of share partitions."""

    group_id: string
    """The share group that the state belongs to."""
    topics: array[DeleteStateData]
    """The share partitions to delete, by topic."""


class DeleteStateData(Struct):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions; their stored state is deleted."""


class PartitionData(Struct):
    """A share partition to delete."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""


class DeleteShareGroupStateResponse(Message, api_key=86, versions="0", flexible="0+"):
    """The result for each partition."""

    results: array[DeleteStateResult]
    """The results by topic, in no particular order."""


class DeleteStateResult(Struct):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionResult]
    """The result for each partition of the request."""


class PartitionResult(Struct):
    """The result for one partition."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 14, 15, or 16 find the share coordinator again; 42 invalid request; 69 group not
    found."""
    error_message: nullable[string] = None
    """The error message; None on success."""
