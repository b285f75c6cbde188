"""AddOffsetsToTxn (key 25): add the offsets of a group to a transaction (KIP-98, Kafka 0.11).

The coordinator of the transaction adds the partition of `__consumer_offsets` that stores the group. TxnOffsetCommit
follows. Clients with transaction version 2 (KIP-890) do not need the request.

Versions:
    1  throttled clients are answered at once and must wait themselves (KIP-219)
    2  the client supports error 90: producer fenced (KIP-588)
    3  flexible (KIP-482)
    4  the client supports error 120: abort the transaction (KIP-890)
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, int64, string


class AddOffsetsToTxnRequest(Request["AddOffsetsToTxnResponse"], api_key=25, versions="0-4", flexible="3+"):
    """Adds the offsets of a group to the open transaction."""

    transactional_id: string
    """The id that identifies the producer across restarts (`transactional.id`)."""
    producer_id: int64
    """The producer id that the coordinator assigned to the transactional id."""
    producer_epoch: int16
    """The epoch of the producer id; error 90 if it is too old."""
    group_id: string
    """The group for which the transaction will commit offsets."""


class AddOffsetsToTxnResponse(Message, api_key=25, versions="0-4", flexible="3+"):
    """Outcome of adding the group."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 30 or 53 not authorized; 48 invalid state of the transaction; 49 unknown
    producer id; 51 a concurrent change, retry; 90 fenced; 120 abort the transaction."""
