"""WriteTxnMarkers (key 27): write the outcome of transactions into partitions (KIP-98, Kafka 0.11).

Transaction coordinators send it to the leaders of the partitions, as does the admin command that aborts hanging
transactions (KIP-664).

Versions:
    1  flexible (KIP-482)
    2  transaction versions (KIP-1228)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int8, int16, int32, int64, string


class WriteTxnMarkersRequest(Request["WriteTxnMarkersResponse"], api_key=27, versions="0-2", flexible="1+"):
    """Writes commit or abort markers."""

    markers: array[WritableTxnMarker]
    """The markers to write, one for each transaction."""


class WritableTxnMarker(Struct):
    """The outcome of a transaction."""

    producer_id: int64
    """The producer id that the records of the transaction have."""
    producer_epoch: int16
    """The producer epoch of the transaction; error 47 if it is too old."""
    transaction_result: bool
    """True for commit, False for abort."""
    topics: array[WritableTxnMarkerTopic]
    """The partitions that receive the marker, by topic."""
    coordinator_epoch: int32
    """The epoch of the transaction coordinator; error 52 if it is too old."""
    transaction_version: int8 = field(since=2, default=0, ignorable=True)
    """The version of the transaction protocol: 0 or 1 with one epoch for many transactions; 2 with a new epoch for each
    (KIP-890)."""


class WritableTxnMarkerTopic(Struct):
    """The partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partition_indexes: array[int32]
    """The indexes of the partitions to write the marker to."""


class WriteTxnMarkersResponse(Message, api_key=27, versions="0-2", flexible="1+"):
    """The result for each partition."""

    markers: array[WritableTxnMarkerResult]
    """The results, one for each marker."""


class WritableTxnMarkerResult(Struct):
    """The results of one marker."""

    producer_id: int64
    """The producer id of the transaction, as in the request."""
    topics: array[WritableTxnMarkerTopicResult]
    """The results by topic, in no particular order."""


class WritableTxnMarkerTopicResult(Struct):
    """The results for the partitions of a topic."""

    name: string
    """The name of the topic, as given in the request."""
    partitions: array[WritableTxnMarkerPartitionResult]
    """The result for each partition of the request."""


class WritableTxnMarkerPartitionResult(Struct):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    error_code: int16
    """0; 3 unknown partition; 6 not the leader; 31 not authorized; 47 stale producer epoch; 52 stale coordinator
    epoch."""
