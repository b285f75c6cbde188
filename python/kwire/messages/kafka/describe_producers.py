"""DescribeProducers (key 61): who writes to partitions with idempotence or in transactions (KIP-664, Kafka 2.8).

Finds the producer whose forgotten transaction keeps consumers from reading on. Each partition's leader answers for it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, nullable, string


class DescribeProducersRequest(Request["DescribeProducersResponse"], api_key=61, versions="0", flexible="0+"):
    """Asks about some partitions."""

    topics: array[TopicRequest]
    """The topics with partitions to look at."""


class TopicRequest(Struct):
    """Some partitions of one topic."""

    name: string
    """The topic to which the partitions belong."""
    partition_indexes: array[int32]
    """Which of its partitions; the broker that is asked must lead them."""


class DescribeProducersResponse(Message, api_key=61, versions="0", flexible="0+"):
    """The producers of each partition."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    topics: array[TopicResponse]
    """One entry a topic of the request."""


class TopicResponse(Struct):
    """The partitions of one topic."""

    name: string
    """The topic to which the partitions belong."""
    partitions: array[PartitionResponse]
    """One entry a partition of the request."""


class PartitionResponse(Struct):
    """One partition and its producers."""

    partition_index: int32
    """The number of the partition within its topic."""
    error_code: int16
    """0, 3 no such partition, 6 not the leader, 17 bad topic name, 29 not permitted."""
    error_message: nullable[string] = None
    """What exactly was wrong, in words; None when there is nothing to add to the code."""
    active_producers: array[ProducerState]
    """Those the leader remembers, also if they are gone by now: until ``producer.id.expiration.ms`` has passed."""


class ProducerState(Struct):
    """What the leader knows of one producer."""

    producer_id: int64
    """The number it was given when it started (InitProducerId); not its transactional id."""
    producer_epoch: int32
    """Raised when a successor takes the producer id over, which shuts older ones out."""
    last_sequence: int32 = -1
    """The number of its last record in this partition, by which repetitions are told; -1 when it has written none."""
    last_timestamp: int64 = -1
    """When it last wrote here, in milliseconds since 1970; -1 when it has not."""
    coordinator_epoch: int32
    """The epoch of the coordinator that last ended one of its transactions here; -1 when none has."""
    current_txn_start_offset: int64 = -1
    """Where its open transaction begins: consumers of committed data read no further. -1 when none is open."""
