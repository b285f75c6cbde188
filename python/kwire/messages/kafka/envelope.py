"""Envelope (key 58): a request that a broker forwards to the controller (KIP-590, Kafka 2.8).

The controller handles the inner request with the principal of the original client.
"""

from __future__ import annotations

from kwire.declare import Message, Request, field, int16, nullable


class EnvelopeRequest(Request["EnvelopeResponse"], api_key=58, versions="0", flexible="0+", dialect=("kafka", "kip4")):
    """Forwards a request."""

    request_data: bytes = field(sensitive=True)
    """The header and body of the inner request, without its size."""
    request_principal: nullable[bytes]
    """The principal of the client, by default an int16 version and DefaultPrincipalData; None if
    unknown."""
    client_host_address: bytes
    """The IP address of the client, as 4 or 16 bytes."""


class EnvelopeResponse(Message, api_key=58, versions="0", flexible="0+", dialect=("kafka", "kip4")):
    """The response to the forwarded request."""

    response_data: nullable[bytes] = field(default=None, sensitive=True)
    """The header and body of the inner response; None on error."""
    error_code: int16
    """0; 31 not authorized to forward; 41 not the controller; 42 invalid inner request; 97 the principal cannot be
    decoded. Errors of the inner request are in the inner response."""
