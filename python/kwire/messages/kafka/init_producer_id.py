"""InitProducerId (key 22): a producer id for idempotent or transactional producers (KIP-98, Kafka 0.11).

With a transactional id, the coordinator also fences older producers and aborts their transaction. Without one, any
broker responds.

Versions:
    1  throttled clients are answered at once and must wait themselves (KIP-219)
    2  flexible (KIP-482)
    3  current producer id and epoch, to recover from fatal errors (KIP-360, Kafka 2.5)
    4  the client supports error 90: producer fenced (KIP-588)
    5  the client supports error 120: abort the transaction (KIP-890)
    6  two-phase commit (KIP-939)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int32, int64, nullable, string


class InitProducerIdRequest(Request["InitProducerIdResponse"], api_key=22, versions="0-6", flexible="2+"):
    """Requests a producer id and its epoch."""

    transactional_id: nullable[string]
    """The transactional id (`transactional.id`); None for an idempotent producer without transactions."""
    transaction_timeout_ms: int32
    """The time in milliseconds after which the coordinator aborts an open transaction (`transaction.timeout.ms`); error
    50 if above the limit of the broker. Ignored without a transactional id."""
    producer_id: int64 = field(since=3, default=-1)
    """The present producer id, to be kept with a higher epoch (KIP-360, Kafka 2.5); -1 for a new producer."""
    producer_epoch: int16 = field(since=3, default=-1)
    """The present epoch of the producer; error 90 if it is too old. -1 for a new producer."""
    enable2_pc: bool = field(since=6, default=False)
    """True if the transactions take part in a two-phase commit, so that they have no timeout (KIP-939)."""
    keep_prepared_txn: bool = field(since=6, default=False)
    """True to keep an open transaction instead of aborting it (KIP-939)."""


class InitProducerIdResponse(Message, api_key=22, versions="0-6", flexible="2+"):
    """The producer id and its epoch."""

    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
    error_code: int16
    """0; 15 or 16 find the coordinator again; 50 invalid timeout; 51 a concurrent change, retry; 53 not authorized; 90
    fenced."""
    producer_id: int64 = -1
    """The producer id, to be written into all batches; -1 on error."""
    producer_epoch: int16
    """The epoch of the producer id; -1 on error."""
    ongoing_txn_producer_id: int64 = field(since=6, default=-1)
    """The producer id of the open transaction that was kept (KIP-939); -1 if there is none."""
    ongoing_txn_producer_epoch: int16 = field(since=6, default=-1)
    """The producer epoch of the open transaction that was kept; -1 if there is none."""
