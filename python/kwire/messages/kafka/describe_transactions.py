"""DescribeTransactions (key 65): how far transactions are, by transactional id (KIP-664, Kafka 3.0).

Each transactional id has a coordinator (FindCoordinator, key type 1), which answers for it.
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, int16, int32, int64, string


class DescribeTransactionsRequest(Request["DescribeTransactionsResponse"], api_key=65, versions="0", flexible="0+"):
    """Asks a coordinator about some of its transactional ids."""

    transactional_ids: array[string]
    """The ids to look up (``transactional.id`` of producers); empty asks for nothing. ListTransactions finds them."""


class DescribeTransactionsResponse(Message, api_key=65, versions="0", flexible="0+"):
    """The transactions as their coordinator knows them."""

    throttle_time_ms: int32
    """Milliseconds the client has to hold back because of a quota, 0 for none."""
    transaction_states: array[TransactionState]
    """One entry an id of the request."""


class TransactionState(Struct):
    """The present or last transaction of one transactional id."""

    error_code: int16
    """0, 14 or 15 try again, 16 not the coordinator, 53 not permitted, 105 no such id."""
    transactional_id: string
    """The id that this entry is about."""
    transaction_state: string
    """``Empty``, ``Ongoing``, ``PrepareCommit``, ``PrepareAbort``, ``CompleteCommit``, ``CompleteAbort``,
    ``PrepareEpochFence`` or ``Dead``; empty on error."""
    transaction_timeout_ms: int32
    """Milliseconds after which the coordinator aborts a transaction that is still open (``transaction.timeout.ms``)."""
    transaction_start_time_ms: int64
    """When it was begun, in milliseconds since 1970; -1 when none has been."""
    producer_id: int64
    """The number under which its records stand in the logs; leads to DescribeProducers."""
    producer_epoch: int16
    """Raised when a successor takes the id over, which shuts older producers out."""
    topics: array[TopicData]
    """The partitions it has written to; empty once it is complete."""


class TopicData(Struct):
    """The partitions of one topic."""

    topic: string
    """The topic to which the partitions belong."""
    partitions: array[int32]
    """The numbers of the partitions; those the caller may not describe are left out with their topic."""
