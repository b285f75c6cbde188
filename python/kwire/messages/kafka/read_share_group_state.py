"""ReadShareGroupState (key 84): read the stored state of share partitions (KIP-932, Kafka 4.0).

A partition leader sends it to the share coordinator when it starts to serve a share partition.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int8, int16, int32, int64, nullable, string, uuid


class ReadShareGroupStateRequest(Request["ReadShareGroupStateResponse"], api_key=84, versions="0", flexible="0+"):
    """Reads the delivery state of share partitions."""

    group_id: string
    """The share group that the state belongs to."""
    topics: array[ReadStateData]
    """The share partitions to read, by topic."""


class ReadStateData(Struct):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions to read the stored delivery state of."""


class PartitionData(Struct):
    """A share partition to read."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    leader_epoch: int32
    """The epoch of the requesting leader; error 74 if the coordinator has seen a higher one."""


class ReadShareGroupStateResponse(Message, api_key=84, versions="0", flexible="0+"):
    """The state of each partition."""

    results: array[ReadStateResult]
    """The results by topic, in no particular order."""


class ReadStateResult(Struct):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionResult]
    """The state of each partition of the request."""


class PartitionResult(Struct):
    """The state of one share partition."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 14, 15, or 16 find the share coordinator again; 69 group not found; 74 stale leader
    epoch."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    state_epoch: int32
    """The state epoch, which increases when the group is initialized again."""
    start_offset: int64
    """The offset of the first record with incomplete delivery; -1 if not initialized."""
    state_batches: array[StateBatch]
    """The ranges of records from the start offset on with their delivery state."""


class StateBatch(Struct):
    """The delivery state of a range of records."""

    first_offset: int64
    """The offset of the first record of the range, inclusive."""
    last_offset: int64
    """The offset of the last record of the range, inclusive."""
    delivery_state: int8
    """0 available; 2 acknowledged; 4 archived, which means rejected or delivered too often."""
    delivery_count: int16
    """Number of deliveries of the records."""
