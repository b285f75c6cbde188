"""DescribeProducers (key 61): the idempotent and transactional producers of partitions (KIP-664, Kafka 2.8).

It finds the producer of a hanging transaction, which blocks consumers. The leader of each partition responds.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, nullable, string


class DescribeProducersRequest(Request["DescribeProducersResponse"], api_key=61, versions="0", flexible="0+"):
    """Requests the producers of partitions."""

    topics: array[TopicRequest]
    """The topics with partitions to describe."""


class TopicRequest(Struct):
    """Partitions of a topic to describe."""

    name: string
    """The name of the topic that the partitions belong to."""
    partition_indexes: array[int32]
    """The partitions, all led by the receiving broker."""


class DescribeProducersResponse(Message, api_key=61, versions="0", flexible="0+"):
    """The producers of each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    topics: array[TopicResponse]
    """The result for each topic of the request."""


class TopicResponse(Struct):
    """The partitions of a topic."""

    name: string
    """The name of the topic that the partitions belong to."""
    partitions: array[PartitionResponse]
    """The result for each partition of the request."""


class PartitionResponse(Struct):
    """A partition and its producers."""

    partition_index: int32
    """The index of the partition within its topic."""
    error_code: int16
    """0; 3 unknown partition; 6 not the leader; 17 invalid topic name; 29 not authorized."""
    error_message: nullable[string] = None
    """The error message; None if there is nothing to add to the error code."""
    active_producers: array[ProducerState]
    """The producers that the leader remembers; they expire after `producer.id.expiration.ms`."""


class ProducerState(Struct):
    """The state of a producer."""

    producer_id: int64
    """The producer id from InitProducerId; not the transactional id."""
    producer_epoch: int32
    """The epoch of the producer, which increases when a new instance fences older ones."""
    last_sequence: int32 = -1
    """The sequence number of the last record in this partition, used to detect duplicates; -1 if none."""
    last_timestamp: int64 = -1
    """The time of the last write to this partition in milliseconds since 1970; -1 if none."""
    coordinator_epoch: int32
    """The epoch of the coordinator that last ended a transaction of the producer here; -1 if none."""
    current_txn_start_offset: int64 = -1
    """The first offset of the open transaction, where `read_committed` consumers stop; -1 if none is open."""
