"""BeginTransactionRecord: the start of a metadata transaction (KIP-868)."""

from __future__ import annotations

from kwire.declare import Message, field, nullable, string


class BeginTransactionRecord(Message, record_type=23, versions="0", flexible="0+"):
    """The records up to EndTransactionRecord become effective together."""

    name: nullable[string] = field(tag=0, default=None)
    """A text for people; None if there is none."""
