"""Limits of connections, reasons for closing them, and the client of a connection."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from kwire.authorization.subjects import Subject
    from kwire.protocol.server_connection import Frame
    from kwire_cluster.security.sasl_authentication import SaslAuthentication

    Dispatch: TypeAlias = Callable[[bytes, "ConnectedClient"], Frame | Awaitable[Frame]]
    """Answers the payload of one frame. Raises InvalidRequest, which closes the connection."""
    Identify: TypeAlias = Callable[["ConnectedClient", asyncio.BaseTransport], None]
    """Sets the subject of a new client, or how it must authenticate."""
    CachedResponses: TypeAlias = Callable[["ConnectedClient", bytes, int, int], tuple[bytes, int] | None]
    """Finds responses for `ServerConnection.answer_run`."""


class CloseReason(StrEnum):
    """Reason for closing a connection, unless the client disconnected between two requests or the listener stops."""

    AUTHENTICATION_FAILED = "authentication_failed"
    DISCONNECTED = "disconnected_within_frame"
    IDLE = "idle"
    INCOMPLETE_FRAME = "incomplete_frame"
    INVALID_FRAME = "invalid_frame"
    INVALID_REQUEST = "invalid_request"
    MEMORY = "memory"
    NOT_READY = "not_ready"
    REQUEST_FAILED = "request_failed"
    SESSION_ENDED = "session_ended"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    UNAUTHENTICATED = "unauthenticated"
    UNREAD_RESPONSES = "unread_responses"


class InvalidRequest(Exception):
    """A request after which the connection is closed, and the detail is logged.

    Attributes:
        response: the frame that is sent before; None if the request is not answered.
    """

    def __init__(
        self, detail: str, reason: CloseReason = CloseReason.INVALID_REQUEST, response: Frame | None = None
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason
        self.response = response


class Limits(NamedTuple):
    """Limits of the connections; sizes in bytes, times in seconds."""

    frame: int = 4 * 1024 * 1024
    """Maximum size of a request (`socket.request.max.bytes`)."""
    broker_frame: int = 24 * 1024 * 1024
    """Maximum size of a request with the key of UpdateMetadata (`inter.broker.request.max.bytes`)."""
    unauthenticated_frame: int = 512 * 1024
    """Maximum size of a request before authentication by SASL (`sasl.server.max.receive.size` of Kafka)."""
    receive_buffer: int = 100 * 1024
    """Receive buffer of the system for each connection (`socket.receive.buffer.bytes`)."""
    in_flight: int = 64
    """Maximum number of requests in progress for each connection; further requests are not read."""
    unsent: int = 8 * 1024 * 1024
    """Maximum size of the unsent responses of a connection; above it, no further requests are read."""
    memory: int = 32 * 1024 * 1024
    """Maximum memory of all connections together (`queued.max.request.bytes`); above it, the largest connections are
    closed."""
    connections: int = 2048
    """Maximum number of open connections (`max.connections`); a further one is reserved, or closed immediately."""
    connections_per_address: int = 1024
    """Maximum number of open connections for each IP address (`max.connections.per.ip`)."""
    reserved: int = 32
    """Maximum number of reserved connections: above the two limits, for administration. Chosen, not measured."""
    reserved_per_address: int = 4
    """Maximum number of reserved connections for each IP address: a command has one or two."""
    idle: float = 600.0
    """Timeout without a received byte and without a request in progress (`connections.max.idle.ms`)."""
    incomplete_frame: float = 30.0
    """Timeout of a frame, from its first byte to its last."""
    unread_responses: float = 30.0
    """Timeout of responses that the client does not read."""


class RequestHandlers(NamedTuple):
    """The functions that a connection calls."""

    dispatch: Dispatch
    cached_responses: CachedResponses
    identify: Identify


class Observer(Protocol):
    """Receives the events of a listener. It is called in the event loop and must not block."""

    def opened(self, client: ConnectedClient) -> None: ...

    def closed(self, client: ConnectedClient, reason: CloseReason | None, detail: str) -> None:
        """`reason` is None if the client disconnected between two requests, or the listener stops."""

    def failed(self, client: ConnectedClient, error: BaseException) -> None:
        """A request raised another exception than InvalidRequest. Its connection is closed."""


class ConnectedClient:
    """The client of one connection; the same object for the lifetime of the connection."""

    __slots__ = (
        "address",
        "authentication",
        "client_id",
        "host",
        "is_reserved",
        "is_tool",
        "items",
        "subject",
        "validates_only",
    )

    def __init__(self, address: str) -> None:
        self.address = address
        self.host = ""
        """The IP address, as `kwire.authorization.subjects.normalized_host` returns it."""
        self.is_reserved = False
        """True if the connection exceeded a limit when it was opened, so that it is for administration only."""
        self.subject: Subject | None = None
        """The authenticated user; None before authentication. Set by `identify`, or by the handler of SASL."""
        self.authentication: SaslAuthentication | None = None
        """The exchange of SASL; None on a listener without SASL."""
        self.client_id: str | None = None
        """The client id of the last request."""
        self.is_tool = False
        """True for the process of a tool, which cannot start another one."""
        self.validates_only = False
        """True if its requests are dry runs."""
        self.items = 0
        """The number of elements in the arrays of the last request, which the dispatcher counts."""

    def __repr__(self) -> str:
        return f"<ConnectedClient {self.address} client_id={self.client_id!r}>"
