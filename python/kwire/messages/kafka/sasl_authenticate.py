"""SaslAuthenticate (key 36): one step of the SASL exchange that SaslHandshake began (KIP-152, Kafka 1.0).

Before it existed the tokens went over the connection bare, so that a refusal was a closed connection without a word.

Versions:
    1  sessions that end (KIP-368, Kafka 2.2)
    2  flexible (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, int64, nullable, string


class SaslAuthenticateRequest(Request["SaslAuthenticateResponse"], api_key=36, versions="0-2", flexible="2+"):
    """The client's part of a step."""

    auth_bytes: bytes
    """The token that the mechanism produced; what it holds is the mechanism's own affair."""


class SaslAuthenticateResponse(Message, api_key=36, versions="0-2", flexible="2+"):
    """The broker's part of a step."""

    error_code: int16
    """0 go on, or done when the mechanism says so; 58 refused; 34 not now: the handshake comes first."""
    error_message: nullable[string]
    """Why it was refused, in words that may be shown to the user; None on success."""
    auth_bytes: bytes
    """The broker's token for the client's next step; empty when it has no more to say."""
    session_lifetime_ms: int64 = field(since=1, default=0, ignorable=True)
    """Milliseconds after which the broker closes the connection unless the client has authenticated again over it
    (KIP-368, Kafka 2.2); 0 for never."""
