"""Limits of the connections of a listener, and what happens to connections that exceed them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeAlias

    from kwire._kwire import ResponseCache
    from kwire.cluster.security.sasl_authentication import SaslAuthentication
    from kwire.cluster.security.subjects import Subject

    Frame: TypeAlias = bytes | tuple[bytes | memoryview, ...]
    """A frame, or the parts of a large one, which are written one after another instead of being joined."""


class CloseReason(StrEnum):
    """Why a connection was closed, other than by the client between two requests or because the listener stops."""

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
    """The largest request (`socket.request.max.bytes`)."""
    broker_frame: int = 24 * 1024 * 1024
    """The largest request with the key of UpdateMetadata (`inter.broker.request.max.bytes`)."""
    unauthenticated_frame: int = 512 * 1024
    """The largest request before authentication by SASL (`sasl.server.max.receive.size` of Kafka)."""
    receive_buffer: int = 100 * 1024
    """Bytes that the system may keep for each connection before they are read (`socket.receive.buffer.bytes`)."""
    in_flight: int = 64
    """Requests of one connection that are being processed; further requests are not read."""
    unsent: int = 8 * 1024 * 1024
    """Bytes of responses that a client has not read; beyond it, no further requests are read."""
    memory: int = 32 * 1024 * 1024
    """Bytes that all connections may occupy together (`queued.max.request.bytes`); beyond it, those that occupy most
    are closed."""
    connections: int = 2048
    """Open connections (`max.connections`); a further one is for administration, or closed immediately."""
    connections_per_address: int = 1024
    """Open connections of one IP address (`max.connections.per.ip`)."""
    reserved: int = 32
    """Connections beyond `connections` and `connections_per_address`, for administration; chosen, not measured."""
    reserved_per_address: int = 4
    """Those of one IP address, beyond either limit: a command has one or two."""
    idle: float = 600.0
    """Time without a received byte and without a request in flight (`connections.max.idle.ms`)."""
    incomplete_frame: float = 30.0
    """Time from the first byte of a frame to its last."""
    unread_responses: float = 30.0
    """Time for which a client may leave responses unread."""


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
        "received",
        "responses",
        "sent",
        "subject",
    )

    def __init__(self, address: str) -> None:
        self.address = address
        self.host = ""
        """The IP address, as `kwire.cluster.security.subjects.normalized_host` returns it."""
        self.is_reserved = False
        """True if the connection exceeded a limit when it was opened, so that it is for administration only."""
        self.subject: Subject | None = None
        """Who the client is; None until that is known. It belongs to the dispatcher, as does `responses`."""
        self.authentication: SaslAuthentication | None = None
        """How the client must authenticate; None on a listener without SASL."""
        self.responses: ResponseCache | None = None
        """The cached responses to this subject."""
        self.client_id: str | None = None
        """The client id of the last request."""
        self.is_tool = False
        """True for the process of a tool, which cannot start another one."""
        self.items = 0
        """The number of elements in the arrays of the last request. It belongs to the dispatcher."""
        self.received = 0
        """The number of requests."""
        self.sent = 0
        """The number of responses."""

    def __repr__(self) -> str:
        return f"<ConnectedClient {self.address} client_id={self.client_id!r}>"


class Occupant(Protocol):
    """A connection, as far as its memory is concerned."""

    @property
    def ip_address(self) -> str:
        """The address of the client."""

    @property
    def occupied(self) -> int:
        """The bytes that are received but not answered, or not sent yet."""

    def close_for_memory(self, occupied: int) -> None:
        """Free the memory at once."""


def enforce_memory(connections: Collection[Occupant], limit: int) -> None:
    """Close connections until all together occupy at most `limit` bytes.

    Of the address that occupies most, the connection that occupies most is closed first. So many unfinished frames, or
    responses that are not read, cost their sender connections, and no one else.
    """
    sizes = {connection: connection.occupied for connection in connections}
    excess = sum(sizes.values()) - limit
    if excess <= 0:
        return
    by_address: dict[str, list[Occupant]] = {}
    for connection in sorted(sizes, key=sizes.__getitem__):
        by_address.setdefault(connection.ip_address, []).append(connection)
    totals = {address: sum(map(sizes.__getitem__, found)) for address, found in by_address.items()}
    while excess > 0:
        greediest = max(totals, key=totals.__getitem__)
        connection = by_address[greediest].pop()
        connection.close_for_memory(sizes[connection])
        totals[greediest] -= sizes[connection]
        excess -= sizes[connection]
