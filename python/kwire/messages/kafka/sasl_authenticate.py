"""SaslAuthenticate (key 36): one step of the SASL exchange that SaslHandshake starts (KIP-152, Kafka 1.0).

Before this API, SASL tokens were sent without a header, and a failed authentication closed the connection without an
error.

Versions:
    1  session lifetime (KIP-368, Kafka 2.2)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int64, nullable, string


class SaslAuthenticateRequest(
    Request["SaslAuthenticateResponse"], api_key=36, versions="0-2", flexible="2+", dialect=("kafka", "kip4")
):
    """The token of the client."""

    auth_bytes: bytes = field(sensitive=True)
    """The token that the SASL mechanism produced."""


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+", dialect=("kafka", "kip4")):
    """The token of the broker."""

    error_code: int16
    """0 continue, or done if the mechanism is complete; 58 authentication failed; 34 handshake missing."""
    error_message: nullable[string]
    """The reason of the failure, which may be shown to the user; None on success."""
    auth_bytes: bytes = field(sensitive=True)
    """The token for the next step of the client; empty at the end."""
    session_lifetime_ms: int64 = field(since=1, default=0, ignorable=True)
    """The time in milliseconds after which the broker closes the connection unless the client authenticates again
    (KIP-368, Kafka 2.2); 0 for no limit."""
