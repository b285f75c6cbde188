"""RenewDelegationToken (key 39): extend the expiry time of a delegation token (KIP-48, Kafka 1.1).

Versions:
    1  throttled responses are sent at once, and the client must wait (KIP-219)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int32, int64


class RenewDelegationTokenRequest(Request["RenewDelegationTokenResponse"], api_key=39, versions="0-2", flexible="2+"):
    """Renews a token. Allowed for its owner and renewers, on a connection not authenticated by a token."""

    hmac: bytes = field(sensitive=True)
    """The secret of the token, which identifies it."""
    renew_period_ms: int64
    """The time in milliseconds until the new expiry, limited by the maximum lifetime; negative for
    `delegation.token.expiry.time.ms` of the broker."""


class RenewDelegationTokenResponse(Message, api_key=39, versions="0-2", flexible="2+"):
    """The new expiry time."""

    error_code: int16
    """0; 62 token not found; 63 not the owner or a renewer; 64 not allowed on this connection; 66 already expired."""
    expiry_timestamp_ms: int64
    """The new expiry time in milliseconds since 1970 (UTC)."""
    throttle_time_ms: int32
    """The time in milliseconds that the request was throttled because of a quota, or 0. Since version 1, the client
    must wait instead of the broker."""
