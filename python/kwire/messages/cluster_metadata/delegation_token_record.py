"""DelegationTokenRecord: a delegation token (KIP-900)."""

from __future__ import annotations

from kwire.declare import Message, array, int64, string


class DelegationTokenRecord(Message, record_type=10, versions="0", flexible="0+"):
    """A delegation token is created or renewed."""

    owner: string
    """The principal for whom the token authenticates."""
    requester: string
    """The principal that asked for the token."""
    renewers: array[string]
    """The principals that may extend the expiration, besides the owner."""
    issue_timestamp: int64
    """The creation in milliseconds since 1970."""
    max_timestamp: int64
    """The limit of renewals in milliseconds since 1970."""
    expiration_timestamp: int64
    """The current expiration in milliseconds since 1970."""
    token_id: string
    """The id that clients send as user name; it is not secret."""
