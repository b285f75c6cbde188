"""AbortTransactionRecord: the abort of a metadata transaction (KIP-868)."""

from __future__ import annotations

from kwire.declare import Message, field, nullable, string


class AbortTransactionRecord(Message, record_type=25, versions="0", flexible="0+"):
    """The records since BeginTransactionRecord have no effect."""

    reason: nullable[string] = field(tag=0, default=None)
    """A text for people; None if there is none."""
