"""AllocateProducerIds (key 67): a block of producer ids for a broker (KIP-730, Kafka 3.0).

A broker requests it from the controller, and gives single ids to producers with InitProducerId.
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, int64


class AllocateProducerIdsRequest(Request["AllocateProducerIdsResponse"], api_key=67, versions="0", flexible="0+"):
    """Requests a block of unused ids."""

    broker_id: int32
    """The broker id (`node.id`) of the sender."""
    broker_epoch: int64 = -1
    """The epoch from its registration; error 77 if it has registered again since. -1 if unknown."""


class AllocateProducerIdsResponse(Message, api_key=67, versions="0", flexible="0+"):
    """The block."""

    throttle_time_ms: int32
    """The time in milliseconds that the client must wait because of a quota, or 0."""
    error_code: int16
    """0; 31 not authorized; 41 not the controller; 77 stale broker epoch."""
    producer_id_start: int64
    """The first id of the block, inclusive."""
    producer_id_len: int32
    """The number of consecutive ids, usually 1,000."""
