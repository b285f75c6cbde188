"""ProducerIdsRecord: a block of producer ids (KIP-730)."""

from __future__ import annotations

from kwire.declare import Message, int32, int64


class ProducerIdsRecord(Message, record_type=15, versions="0", flexible="0+"):
    """A block of producer ids is allocated to a broker."""

    broker_id: int32
    """The node id of the broker that uses the block."""
    broker_epoch: int64 = -1
    """The offset of the record that registered this incarnation; -1 if unknown."""
    next_producer_id: int64
    """The first id after the block."""
