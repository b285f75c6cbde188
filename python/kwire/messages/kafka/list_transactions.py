"""ListTransactions (key 66): the transactional ids that a broker coordinates (KIP-664, Kafka 3.0).

It helps to find hanging transactions. The transactions of a cluster are those of all its brokers.

Versions:
    1  filter by duration (KIP-994, Kafka 3.8)
    2  filter by a pattern of the id (KIP-1152, Kafka 4.1)
"""

from __future__ import annotations

from kwire.declare import Message, Request, Struct, array, field, int16, int32, int64, nullable, string


class ListTransactionsRequest(Request["ListTransactionsResponse"], api_key=66, versions="0-2", flexible="0+"):
    """Requests the transactions of the receiving broker that match all filters."""

    state_filters: array[string]
    """The states to list, such as `Ongoing` or `PrepareCommit`; empty for all."""
    producer_id_filters: array[int64]
    """The producer ids to list; empty for all."""
    duration_filter: int64 = field(since=1, default=-1)
    """The minimum running time in milliseconds; negative for all (KIP-994)."""
    transactional_id_pattern: nullable[string] = field(since=2, default=None)
    """A regular expression (RE2) that the whole transactional id must match; None or empty for all (KIP-1152)."""


class ListTransactionsResponse(Message, api_key=66, versions="0-2", flexible="0+"):
    """The transactions that the broker coordinates and the client may describe."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 14 the broker is loading transactions; 15 the coordinator is not available; 128 invalid regular expression."""
    unknown_state_filters: array[string]
    """The states of the request that the broker does not know; it applies the others."""
    transaction_states: array[TransactionState]
    """The transactions that match all filters."""


class TransactionState(Struct):
    """A transactional id and its state. DescribeTransactions returns details."""

    transactional_id: string
    """The transactional id, set by `transactional.id` of the producer."""
    producer_id: int64
    """The producer id that the cluster assigned."""
    transaction_state: string
    """The state of the latest transaction: `Empty`, `Ongoing`, `PrepareAbort`, `CompleteCommit`, and so on."""
