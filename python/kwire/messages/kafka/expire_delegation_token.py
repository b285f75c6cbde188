"""ExpireDelegationToken (key 40): shorten, or end at once, the life of a delegation token (KIP-48, Kafka 1.1).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, int64


class ExpireDelegationTokenRequest(Request["ExpireDelegationTokenResponse"], api_key=40, versions="0-2", flexible="2+"):
    """Only the token's owner and its renewers may send it, on a connection that they did not open with a token."""

    hmac: bytes
    """The token's secret, which is also what names it here."""
    expiry_time_period_ms: int64
    """Milliseconds from now until the token expires, never beyond its maximum age; below 0 it is gone at once."""


class ExpireDelegationTokenResponse(Message, api_key=40, versions="0-2", flexible="2+"):
    """When the token ends."""

    error_code: int16
    """0; 62 no such token; 63 not the sender's to expire; 64 not on this kind of connection; 66 it had expired."""
    expiry_timestamp_ms: int64
    """The moment of expiry, in milliseconds since 1970 (UTC)."""
    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
