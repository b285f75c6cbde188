"""WriteShareGroupState (key 85): store the state of share partitions (KIP-932, Kafka 4.0).

The leader of a share partition sends it to the share coordinator whenever the delivery state of records changes.

Versions:
    1  number of records with complete delivery (KIP-1226, Kafka 4.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, nullable, string, uuid


class WriteShareGroupStateRequest(Request["WriteShareGroupStateResponse"], api_key=85, versions="0-1", flexible="0+"):
    """Stores the delivery state of share partitions."""

    group_id: string
    """The share group that the state belongs to."""
    topics: array[WriteStateData]
    """The share partitions to write, by topic."""


class WriteStateData(Struct):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions with their changed state."""


class PartitionData(Struct):
    """The changed state of a share partition."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    state_epoch: int32
    """The state epoch from ReadShareGroupState; error 124 if the stored one is higher."""
    leader_epoch: int32
    """The epoch of the requesting leader; error 74 if the coordinator has seen a higher one."""
    start_offset: int64
    """The offset of the first record with incomplete delivery; -1 to keep the stored one."""
    delivery_complete_count: int32 = field(since=1, default=-1, ignorable=True)
    """The number of offsets from the start offset on with complete delivery, needed to compute the lag (KIP-1226,
    Kafka 4.2); -1 if unknown."""
    state_batches: array[StateBatch]
    """The ranges of records that changed their state."""


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


class WriteShareGroupStateResponse(Message, api_key=85, versions="0-1", flexible="0+"):
    """The result for each partition."""

    results: array[WriteStateResult]
    """The results by topic, in no particular order."""


class WriteStateResult(Struct):
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
    """0; 3 unknown partition; 14, 15, or 16 find the share coordinator again; 69 group not found; 74 stale leader
    epoch; 124 stale state epoch."""
    error_message: nullable[string] = None
    """The error message; None on success."""
