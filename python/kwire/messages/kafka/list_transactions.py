"""ListTransactions (key 66): the transactional ids that one broker coordinates (KIP-664, Kafka 3.0).

Made for finding transactions that hang; a cluster's are the sum of its brokers' answers.

Versions:
    1  by how long they have run (KIP-994, Kafka 3.8)
    2  by a pattern of their ids (KIP-1152, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class ListTransactionsRequest(Request["ListTransactionsResponse"], api_key=66, versions="0-2", flexible="0+"):
    """Asks one broker, for itself only. A transaction must pass every filter."""

    state_filters: array[string]
    """States wanted, such as ``Ongoing`` or ``PrepareCommit``; empty for all."""
    producer_id_filters: array[int64]
    """Producer ids wanted; empty for all."""
    duration_filter: int64 = field(since=1, default=-1)
    """Only transactions that have run longer than so many milliseconds; below 0 for all (KIP-994)."""
    transactional_id_pattern: nullable[string] = field(since=2, default=None)
    """A regular expression (RE2) that the whole transactional id must match; None or empty for all (KIP-1152)."""


class ListTransactionsResponse(Message, api_key=66, versions="0-2", flexible="0+"):
    """What the broker coordinates and the sender may see."""

    throttle_time_ms: int32
    """Milliseconds the client has to wait by itself because of a quota; 0 for none."""
    error_code: int16
    """0; 14 the broker is still loading its transactions; 15 its coordinator does not run; 128 not a good pattern."""
    unknown_state_filters: array[string]
    """States of the request that this broker has never heard of; the others were honoured."""
    transaction_states: array[TransactionState]
    """What passed the filters."""


class TransactionState(Struct):
    """A transactional id and what it is at; DescribeTransactions knows more."""

    transactional_id: string
    """The name that the producer gave itself."""
    producer_id: int64
    """The number that the cluster gave it."""
    transaction_state: string
    """Where its latest transaction stands: ``Empty``, ``Ongoing``, ``PrepareAbort``, ``CompleteCommit`` and so on."""
