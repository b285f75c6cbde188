"""EndTransactionRecord: the end of a metadata transaction (KIP-868)."""

from __future__ import annotations

from kwire.declare import Message


class EndTransactionRecord(Message, record_type=24, versions="0", flexible="0+"):
    """The records since BeginTransactionRecord become effective."""
