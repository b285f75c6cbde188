"""What stands before every message: which API and version is asked, and which answer belongs to which question.

Versions are not negotiated: they follow from the message behind the header (``describe(cls).header_version(version)``).

Versions of the request header:
    1  for messages that are not flexible
    2  for flexible messages: adds a tag section (KIP-482)

Versions of the response header:
    0  for messages that are not flexible, and for every ApiVersionsResponse
    1  for flexible messages: adds a tag section (KIP-482)
"""

from __future__ import annotations

from kwire.declare import Message, field, int16, int32, nullable, string


class RequestHeader(Message, versions="1-2", flexible="2+", dialect=("kafka", "kip4")):
    """Tells the broker how to read what follows, and what to quote in its answer."""

    request_api_key: int16
    """Kafka's number for the API of the message behind this header."""
    request_api_version: int16
    """The version of that API in which the message is written, and in which the answer is wanted."""
    correlation_id: int32
    """Any number the client likes; the answer repeats it. Answers come in the order of the requests all the same."""
    client_id: nullable[string] = field(compact=False)
    """Who the client says it is (``client.id``): for logs, metrics and quotas; None when it does not say. Its length
    stays an int16 in version 2 too, so that a broker can read it whatever it makes of the rest."""


class ResponseHeader(Message, versions="0-1", flexible="1+", dialect=("kafka", "kip4")):
    """Tells the client which of its requests is answered."""

    correlation_id: int32
    """The number that the request carried; another one than the oldest unanswered means the connection is broken."""
