"""DeleteRecords (key 21): drops the oldest records of partitions before their time (KIP-107, Kafka 0.11).

Each partition's leader answers for it; compacted topics are refused.

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(Request["DeleteRecordsResponse"], api_key=21, versions="0-2", flexible="2+"):
    """Moves the start of some partitions forward, each for itself."""

    topics: array[DeleteRecordsTopic]
    """Where records shall go, grouped by topic."""
    timeout_ms: int32
    """Milliseconds to wait until all live replicas have dropped the records; then the partition answers 7."""


class DeleteRecordsTopic(Struct):
    """The partitions of one topic."""

    name: string
    """To which the partitions below belong; this API knows no topic ids."""
    partitions: array[DeleteRecordsPartition]
    """The partitions to delete from, with the new start of each."""


class DeleteRecordsPartition(Struct):
    """One partition and where it shall begin."""

    partition_index: int32
    """The number of the partition within its topic."""
    offset: int64
    """The first record to keep: those before it go. -1 for the high watermark: all that consumers can see goes."""


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    """What became of each partition."""

    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
    topics: array[DeleteRecordsTopicResult]
    """One entry a topic of the request."""


class DeleteRecordsTopicResult(Struct):
    """What became of the partitions of one topic."""

    name: string
    """The topic to which the partitions belong."""
    partitions: array[DeleteRecordsPartitionResult]
    """One entry a partition of the request."""


class DeleteRecordsPartitionResult(Struct):
    """Where one partition begins now."""

    partition_index: int32
    """The number of the partition within its topic."""
    low_watermark: int64
    """The smallest offset at which any live replica still begins; -1 on error."""
    error_code: int16
    """0, 1 offset beyond the high watermark, 3 no such partition, 6 not the leader, 7 timed out, 44 compacted topic."""
