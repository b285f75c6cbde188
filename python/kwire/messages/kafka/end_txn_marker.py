"""EndTxnMarker: the value of control records that commit or abort a transaction (KIP-98, Kafka 0.11).

It is preceded by its version as an int16. The key of the record says whether it commits or aborts.
"""

from __future__ import annotations

from kwire.declare import Message, int32


class EndTxnMarker(Message, versions="0"):
    """The end of a transaction in a partition."""

    coordinator_epoch: int32
    """The epoch of the transaction coordinator that wrote the marker, to fence earlier ones."""
