"""DescribeTransactions (key 65): the state of transactions by transactional id (KIP-664, Kafka 3.0).

The transaction coordinator of each id responds (FindCoordinator with key type 1).
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Request["DescribeTransactionsResponse"], api_key=65, versions="0", flexible="0+"):
    """Describes transactions of a coordinator."""

    transactional_ids: array[string]
    """The ids to look up (`transactional.id` of producers); empty for none. ListTransactions finds ids."""


class DescribeTransactionsResponse(Message, api_key=65, versions="0", flexible="0+"):
    """The described transactions."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    transaction_states: array[TransactionState]
    """The state for each id of the request."""


class TransactionState(Struct):
    """The current or last transaction of a transactional id."""

    error_code: int16
    """0; 14 or 15 retry; 16 not the coordinator; 53 not authorized; 105 unknown id."""
    transactional_id: string
    """The id that this entry describes."""
    transaction_state: string
    """`Empty`, `Ongoing`, `PrepareCommit`, `PrepareAbort`, `CompleteCommit`, `CompleteAbort`, `PrepareEpochFence`, or
    `Dead`; empty on error."""
    transaction_timeout_ms: int32
    """The time in milliseconds after which the coordinator aborts the transaction (`transaction.timeout.ms`)."""
    transaction_start_time_ms: int64
    """The start time in milliseconds since 1970; -1 if there was no transaction."""
    producer_id: int64
    """The producer id of its records, as in DescribeProducers."""
    producer_epoch: int16
    """The epoch of the producer, which increases when a new instance fences older ones."""
    topics: array[TopicData]
    """The partitions that the transaction has written to; empty once it is complete."""


class TopicData(Struct):
    """Partitions of a topic."""

    topic: string
    """The name of the topic that the partitions belong to."""
    partitions: array[int32]
    """The partition indexes. Topics that the client is not allowed to describe are left out."""
