"""RenewDelegationToken (key 39): let a delegation token live longer, within its maximum age (KIP-48, Kafka 1.1).

Versions:
    1  throttled clients are answered first, and have to wait by themselves (KIP-219)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, int16, int32, int64


class RenewDelegationTokenRequest(Request["RenewDelegationTokenResponse"], api_key=39, versions="0-2", flexible="2+"):
    """Only the token's owner and its renewers may send it, on a connection that they did not open with a token."""

    hmac: bytes
    """The token's secret, which is also what names it here."""
    renew_period_ms: int64
    """Milliseconds from now that the token shall live, cut at its maximum age; below 0 for the broker's
    ``delegation.token.expiry.time.ms``."""


class RenewDelegationTokenResponse(Message, api_key=39, versions="0-2", flexible="2+"):
    """How long the token now lives."""

    error_code: int16
    """0; 62 no such token; 63 not the sender's to renew; 64 not on this kind of connection; 66 it had expired."""
    expiry_timestamp_ms: int64
    """The new moment of expiry, in milliseconds since 1970 (UTC)."""
    throttle_time_ms: int32
    """Milliseconds the client is held back by a quota, 0 for none; from version 1 the client itself has to wait."""
