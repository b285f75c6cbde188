"""Requests that a node passes on to another node for their senders, in Envelopes (KIP-590).

The other node authorizes such a request as if its sender had connected to it, and its log and audit name the sender.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar

from kwire import frame
from kwire.errors import KwireError
from kwire.messages.kafka.envelope import EnvelopeRequest
from kwire.protocol.client_connection import response_class

if TYPE_CHECKING:
    from kwire.authorization.subjects import Subject
    from kwire.client.connection_pool import ConnectionPool
    from kwire.declare import Message, Request
    from kwire.protocol.endpoint import Endpoint

R = TypeVar("R", bound="Message")


class ForwardingRefused(KwireError):
    """The other node does not handle a request that this node passes on."""

    def __init__(self, endpoint: Endpoint, error_code: int) -> None:
        super().__init__(endpoint, error_code)
        self.endpoint = endpoint
        self.error_code = error_code

    def __str__(self) -> str:
        return f"{self.endpoint} refuses to handle it: error {self.error_code}"


async def forward(connections: ConnectionPool, endpoint: Endpoint, payload: bytes, subject: Subject) -> bytes:
    """Return the response to the request of a sender, both without size prefixes.

    Raises:
        ForwardingRefused: the other node does not handle it.
        ConnectionFault: the other node cannot be reached, or does not respond.
    """
    request = EnvelopeRequest(
        request_data=payload,
        request_principal=subject.principal.encode(),
        client_host_address=ip_address(subject.host).packed if subject.host else b"",
    )
    response = await connections.send(endpoint, request)
    if response.error_code or response.response_data is None:
        raise ForwardingRefused(endpoint, response.error_code)
    return bytes(response.response_data)


async def forward_message(
    connections: ConnectionPool,
    endpoint: Endpoint,
    message: Request[R],
    version: int,
    subject: Subject,
    client_id: str | None,
) -> R:
    """Return the response to a message for the sender of the current request. Raises the errors of `forward`."""
    encoded = frame.encode_request(message, version=version, correlation_id=0, client_id=client_id)
    payload = await forward(connections, endpoint, encoded[4:], subject)
    response: Any = frame.decode_response(payload, response_class(type(message)), version=version).message
    decoded: R = response
    return decoded
