"""AddPartitionsToTxn (key 24): add partitions to a transaction before writing to them (KIP-98, Kafka 0.11).

Producers use versions 0 to 3. Brokers send the others to verify transactional batches, for many transactions at once.
With transaction version 2 (KIP-890), the brokers also add partitions themselves when a producer first writes to them.

Versions:
    1  throttled clients are answered at once and must wait themselves (KIP-219)
    2  the client supports error 90: producer fenced (KIP-588)
    3  flexible (KIP-482)
    4  several transactions; verification without adding; for brokers only (KIP-890, Kafka 3.5)
    5  the client supports error 120: abort the transaction (KIP-890)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, string


class AddPartitionsToTxnRequest(Request["AddPartitionsToTxnResponse"], api_key=24, versions="0-5", flexible="3+"):
    """Adds partitions to transactions, or verifies that they were added."""

    transactions: array[AddPartitionsToTxnTransaction] = field(since=4, default=())
    """The transactions with the partitions to add or to verify."""
    v3_and_below_transactional_id: string = field(until=3, default="")
    """The transactional id of the single transaction (`transactional.id`), up to version 3."""
    v3_and_below_producer_id: int64 = field(until=3, default=0)
    """The producer id that InitProducerId returned."""
    v3_and_below_producer_epoch: int16 = field(until=3, default=0)
    """The producer epoch from InitProducerId; error 90 if it is too old."""
    v3_and_below_topics: array[AddPartitionsToTxnTopic] = field(until=3, default=())
    """The partitions to add to the single transaction, by topic."""


class AddPartitionsToTxnTransaction(Struct, key="transactional_id"):
    """A transaction and the partitions to add."""

    transactional_id: string
    """The id that identifies the producer across restarts (`transactional.id`)."""
    producer_id: int64
    """The producer id of the batches to verify."""
    producer_epoch: int16
    """The producer epoch of the batches to verify."""
    verify_only: bool = False
    """True to check that the partitions are part of the transaction, without adding them (KIP-890, Kafka 3.5)."""
    topics: array[AddPartitionsToTxnTopic]
    """The partitions to add or to verify, grouped by topic name."""


class AddPartitionsToTxnTopic(Struct, key="name"):
    """Partitions of a topic."""

    name: string
    """The name that identifies the topic in the request."""
    partitions: array[int32]
    """The partition indexes within the topic."""


class AddPartitionsToTxnResponse(Message, api_key=24, versions="0-5", flexible="3+"):
    """The result for each partition."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16 = field(since=4, default=0, ignorable=True)
    """The error of the whole request, for example 31 not authorized; 0 otherwise."""
    results_by_transaction: array[AddPartitionsToTxnResult] = field(since=4, default=())
    """The results of the transactions, since version 4."""
    results_by_topic_v3_and_below: array[AddPartitionsToTxnTopicResult] = field(until=3, default=())
    """The results of the single transaction by topic, up to version 3."""


class AddPartitionsToTxnResult(Struct, key="transactional_id"):
    """The results for one transaction."""

    transactional_id: string
    """The id that identifies the producer across restarts (`transactional.id`)."""
    topic_results: array[AddPartitionsToTxnTopicResult]
    """The results by topic. An error of the transaction is repeated in each partition."""


class AddPartitionsToTxnTopicResult(Struct, key="name"):
    """The results for the partitions of a topic."""

    name: string
    """The name of the topic, as given in the request."""
    results_by_partition: array[AddPartitionsToTxnPartitionResult]
    """The result for each partition of the request."""


class AddPartitionsToTxnPartitionResult(Struct, key="partition_index"):
    """The result for one partition."""

    partition_index: int32
    """The index of the partition within its topic, starting at 0."""
    partition_error_code: int16
    """0; 3 unknown partition; 15 or 16 find the coordinator again; 29 or 53 not authorized; 48 no such transaction; 49
    unknown producer id; 51 a concurrent change, retry; 55 another partition failed; 90 fenced; 120 abort the
    transaction."""
