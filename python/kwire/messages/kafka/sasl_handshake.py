"""SaslHandshake (key 17): choose a SASL mechanism (KIP-43, Kafka 0.10).

It has no flexible version. All versions have the same bytes and differ in what follows on the connection.

Versions:
    0  SASL tokens follow without a header, each preceded by its size as an int32
    1  SASL tokens follow in SaslAuthenticate (KIP-152, Kafka 1.0)
"""

from __future__ import annotations

from kwire.declare import Message, Request, array, int16, string


class SaslHandshakeRequest(Request["SaslHandshakeResponse"], api_key=17, versions="0-1", dialect=("kafka", "kip4")):
    """Chooses a mechanism. Only ApiVersions may be sent before it on a SASL listener."""

    mechanism: string
    """The SASL mechanism, for example `PLAIN` or `SCRAM-SHA-512`."""


class SaslHandshakeResponse(Message, api_key=17, versions="0-1", dialect=("kafka", "kip4")):
    """Acceptance of the mechanism."""

    error_code: int16
    """0; 33 mechanism not enabled; 34 unexpected, for example on a listener without SASL."""
    mechanisms: array[string]
    """The mechanisms that are enabled on the listener."""
