"""DeleteRecords (key 21): delete the oldest records of partitions (KIP-107, Kafka 0.11).

The leader of each partition handles the request and rejects compacted topics.

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, string


class DeleteRecordsRequest(Request["DeleteRecordsResponse"], api_key=21, versions="0-2", flexible="2+"):
    """Moves the start offset of partitions forward, each partition on its own."""

    topics: array[DeleteRecordsTopic]
    """The topics and partitions to delete records from."""
    timeout_ms: int32
    """The time in milliseconds to wait until all live replicas have deleted the records; error 7 afterwards."""


class DeleteRecordsTopic(Struct):
    """A topic to delete records from."""

    name: string
    """The name of the topic; this API does not support topic ids."""
    partitions: array[DeleteRecordsPartition]
    """The partitions to delete records from, each with its new start offset."""


class DeleteRecordsPartition(Struct):
    """A partition and its new start offset."""

    partition_index: int32
    """The index of the partition within its topic."""
    offset: int64
    """The first offset to keep; -1 for the high watermark, which deletes all visible records."""


class DeleteRecordsResponse(Message, api_key=21, versions="0-2", flexible="2+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    topics: array[DeleteRecordsTopicResult]
    """The result for each topic of the request."""


class DeleteRecordsTopicResult(Struct):
    """The results for the partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[DeleteRecordsPartitionResult]
    """The result for each partition of the request."""


class DeleteRecordsPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic."""
    low_watermark: int64
    """The lowest start offset of the live replicas; -1 on error."""
    error_code: int16
    """0; 1 offset beyond the high watermark; 3 unknown partition; 6 not the leader; 7 timed out; 44 compacted topic."""
