"""EndTxn (key 26): commit or abort a transaction (KIP-98, Kafka 0.11).

Versions:
    1  throttled clients are answered at once and must wait themselves (KIP-219)
    2  the client supports error 90: producer fenced (KIP-588)
    3  flexible (KIP-482)
    4  the client supports error 120: abort the transaction (KIP-890)
    5  a new producer epoch for every transaction (KIP-890, Kafka 4.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int32, int64, string


class EndTxnRequest(Request["EndTxnResponse"], api_key=26, versions="0-5", flexible="3+"):
    """Ends the open transaction of a producer."""

    transactional_id: string
    """The id that identifies the producer across restarts (`transactional.id`)."""
    producer_id: int64
    """The producer id that the coordinator assigned to the transactional id."""
    producer_epoch: int16
    """The epoch of the producer id; error 90 if it is too old."""
    committed: bool
    """True to commit the transaction, False to abort it."""


class EndTxnResponse(Message, api_key=26, versions="0-5", flexible="3+"):
    """Decision of the outcome. The markers are written afterwards."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 48 invalid state of the transaction; 49 unknown producer id; 51 a
    concurrent change, retry; 53 not authorized; 90 fenced; 120 abort the transaction."""
    producer_id: int64 = field(since=5, default=-1, ignorable=True)
    """The producer id for the next transaction, which is a new one when the epochs are used up (KIP-890); -1 on
    error."""
    producer_epoch: int16 = field(since=5, default=-1, ignorable=True)
    """The producer epoch for the next transaction; -1 on error."""
