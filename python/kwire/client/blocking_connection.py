"""One connection to one broker, for programs without asyncio."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.connection import MAX_RESPONSE_SIZE, TIMEOUT, Connection
from kwire.client.loop_thread import BlockingClient, blocking

if TYPE_CHECKING:
    from kwire.client.connection_config import ConnectionConfig
    from kwire.protocol import ConnectionFault, Endpoint, NegotiatedVersions

__all__ = ["BlockingConnection"]


class BlockingConnection(BlockingClient[Connection]):
    """An open connection. Use `with BlockingConnection(...)`, or `close` it.

    It has the arguments and errors of `Connection.open`. Threads may share it, and then their requests are in flight
    at the same time. After a fork, the child needs a connection of its own.
    """

    def __init__(
        self,
        endpoint: Endpoint | str,
        *,
        client_id: str | None = "kwire",
        timeout: float = TIMEOUT,
        max_size: int = MAX_RESPONSE_SIZE,
        config: ConnectionConfig | None = None,
    ) -> None:
        opening = Connection.open(endpoint, client_id=client_id, timeout=timeout, max_size=max_size, config=config)
        super().__init__("kwire-connection", opening)

    send = blocking(Connection.send)

    @property
    def endpoint(self) -> Endpoint:
        """The broker."""
        return self.client.endpoint

    @property
    def negotiated(self) -> NegotiatedVersions:
        """The dialect and versions of the broker."""
        return self.client.negotiated

    @property
    def fault(self) -> ConnectionFault | None:
        """The error that ended the connection; None while it is open."""
        return self.client.fault
