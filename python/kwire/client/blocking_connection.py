"""One connection to one broker, for programs without asyncio."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING
from kwire.client.connection import Connection
from kwire.client.loop_thread import BlockingClient, blocking

if TYPE_CHECKING:
    from typing import Unpack

    from kwire.client.connection_config import ConnectionOptions
    from kwire.protocol import ConnectionFault, Endpoint, NegotiatedVersions


class BlockingConnection(BlockingClient[Connection]):
    """An open connection. Use `with BlockingConnection(...)`, or `close` it.

    It has the arguments and errors of `Connection.open`. Threads may share it, and then their requests are in flight
    at the same time. After a fork, the child needs a connection of its own.
    """

    def __init__(self, endpoint: Endpoint | str, **options: Unpack[ConnectionOptions]) -> None:
        super().__init__("kwire-connection", Connection.open(endpoint, **options))

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
