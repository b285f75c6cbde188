"""ReadShareGroupStateSummary (key 87): read the start offsets of share partitions (KIP-932, Kafka 4.0).

The group coordinator sends it to the share coordinator to describe the offsets of a share group. Kafka 3.9 had another,
unstable version 0 without the leader epoch in the response.

Versions:
    1  number of records with complete delivery (KIP-1226, Kafka 4.2)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string, uuid


class ReadShareGroupStateSummaryRequest(
    Request["ReadShareGroupStateSummaryResponse"], api_key=87, versions="0-1", flexible="0+"
):
    """Reads the start offsets of share partitions."""

    group_id: string
    """The share group that the state belongs to."""
    topics: array[ReadStateSummaryData]
    """The share partitions to read, by topic."""


class ReadStateSummaryData(Struct):
    """The partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionData]
    """The partitions to read the start offset of."""


class PartitionData(Struct):
    """A share partition to read."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    leader_epoch: int32
    """The leader epoch that the sender knows; -1 to skip the check."""


class ReadShareGroupStateSummaryResponse(Message, api_key=87, versions="0-1", flexible="0+"):
    """The start offset of each partition."""

    results: array[ReadStateSummaryResult]
    """The results by topic, in no particular order."""


class ReadStateSummaryResult(Struct):
    """The results for the partitions of a topic."""

    topic_id: uuid
    """The topic id, different from earlier topics' with the same name (KIP-516)."""
    partitions: array[PartitionResult]
    """The summary of each partition of the request."""


class PartitionResult(Struct):
    """The summary of one share partition."""

    partition: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 14, 15, or 16 find the share coordinator again; 69 group not found; 74 stale leader
    epoch."""
    error_message: nullable[string] = None
    """The error message; None on success."""
    state_epoch: int32
    """The state epoch, which increases when the group is initialized again."""
    leader_epoch: int32
    """The leader epoch in the stored state."""
    start_offset: int64
    """The offset of the first record with incomplete delivery; -1 if not initialized."""
    delivery_complete_count: int32 = field(since=1, default=-1, ignorable=True)
    """The number of offsets from the start offset on with complete delivery (KIP-1226, Kafka 4.2); -1 if
    unknown."""
