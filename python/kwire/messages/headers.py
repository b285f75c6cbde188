"""Request and response headers.

The version of a header is not negotiated. It follows from the message (`describe(cls).header_version(version)`).

Versions of the request header:
    0  only for ControlledShutdown version 0, which Kafka 4.0 removed
    1  for messages that are not flexible
    2  for flexible messages: adds tagged fields (KIP-482)

Versions of the response header:
    0  for messages that are not flexible, and for every ApiVersionsResponse
    1  for flexible messages: adds tagged fields (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, field, int16, int32, nullable, string


class RequestHeader(Message, versions="0-2", flexible="2+", dialect=("kafka", "kip4"), header=True):
    """The header of every request."""

    request_api_key: int16
    """The number of the API that the message after the header belongs to."""
    request_api_version: int16
    """The version of that API, used for both the request and its response."""
    correlation_id: int32
    """An id chosen by the client, which the response repeats. Responses are sent in the order of the requests."""
    client_id: nullable[string] = field(since=1, default="", ignorable=True, compact=False)
    """The client id (`client.id`) for logs, metrics, and quotas; None if not set. Its length is an int16 in version 2
    too, so that a broker can always parse it."""


class ResponseHeader(Message, versions="0-1", flexible="1+", dialect=("kafka", "kip4"), header=True):
    """The header of every response."""

    correlation_id: int32
    """The id from the request. Any id but the oldest pending request's means that the connection is
    broken."""
