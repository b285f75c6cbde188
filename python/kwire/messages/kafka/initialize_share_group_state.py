"""InitializeShareGroupState (key 83): create the stored state of share partitions (KIP-932, Kafka 4.0).

The group coordinator sends it to the share coordinator, which stores the state in `__share_group_state`.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, nullable, string, uuid


class InitializeShareGroupStateRequest(
    Request["InitializeShareGroupStateResponse"], api_key=83, versions="0", flexible="0+"
):
    """Creates or resets the state of share partitions."""

    group_id: string
    """The share group that the state belongs to."""
    topics: array[InitializeStateData]
    """The share partitions to initialize, by topic."""


class InitializeStateData(Struct):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions with their initial state."""


class PartitionData(Struct):
    """The initial state of a share partition."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    state_epoch: int32
    """The state epoch, which increases when the group is initialized again; error 124 if the stored one is higher."""
    start_offset: int64
    """The offset where delivery starts; -1 to determine it later from `share.auto.offset.reset`."""


class InitializeShareGroupStateResponse(Message, api_key=83, versions="0", flexible="0+"):
    """The result for each partition."""

    results: array[InitializeStateResult]
    """The results by topic, in no particular order."""


class InitializeStateResult(Struct):
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
    """0; 14, 15, or 16 find the share coordinator again; 42 invalid request; 124 stale state epoch."""
    error_message: nullable[string] = None
    """The error message; None on success."""
