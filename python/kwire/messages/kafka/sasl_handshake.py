"""SaslHandshake (key 17): agree on a SASL mechanism (KIP-43, Kafka 0.10).

It never became flexible: its versions have the same bytes and differ in what follows on the connection.

Versions:
    0  the tokens follow bare, each behind an int32 size
    1  the tokens follow in SaslAuthenticate (KIP-152, Kafka 1.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, int16, string


class SaslHandshakeRequest(Request["SaslHandshakeResponse"], api_key=17, versions="0-1"):
    """Only ApiVersions may come before it on a SASL listener."""

    mechanism: string
    """The mechanism that the client wants, such as ``PLAIN`` or ``SCRAM-SHA-512``."""


class SaslHandshakeResponse(Message, api_key=17, versions="0-1"):
    """Whether the exchange may begin."""

    error_code: int16
    """0; 33 the broker does not offer the mechanism; 34 not expected now, as on a listener without SASL."""
    mechanisms: array[string]
    """All that the broker offers on this listener, so that a client can choose again."""
