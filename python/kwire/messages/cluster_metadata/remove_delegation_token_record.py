"""RemoveDelegationTokenRecord: the deletion of a delegation token (KIP-900)."""

from __future__ import annotations

from kwire.declare import Message, string


class RemoveDelegationTokenRecord(Message, record_type=26, versions="0", flexible="0+"):
    """A delegation token is deleted."""

    token_id: string
    """The id that clients send as user name; it is not secret."""
