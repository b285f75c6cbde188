"""AbortedTxn: an entry of a transaction index, which belongs to a log segment (KIP-98, Kafka 0.11).

The index lists the aborted transactions of a segment. Fetch responses are filled from it.
"""

from __future__ import annotations

from kwire.declare import Message, int64


class AbortedTxn(Message, versions="0"):
    """An aborted transaction."""

    producer_id: int64
    """The producer id that the records of the transaction have."""
    first_offset: int64
    """The offset of the first record of the transaction."""
    last_offset: int64
    """The offset of the abort marker of the transaction."""
    last_stable_offset: int64
    """The last stable offset when the transaction was aborted: all transactions before it were complete."""
