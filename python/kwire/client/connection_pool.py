"""Connections to the brokers of a cluster, at most one per endpoint, reopened on demand after a failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from kwire.client.connection import Connection
from kwire.client.connection_config import ConnectionConfig
from kwire.protocol.errors import ConnectionClosed

if TYPE_CHECKING:
    from kwire.declare import Message, Request
    from kwire.protocol.endpoint import Endpoint

__all__ = ["ConnectionPool", "PooledConnection"]

R = TypeVar("R", bound="Message")


class PooledConnection:
    """The connection to one endpoint.

    Changing `endpoint` affects the next connection. Every new connection negotiates API versions again.
    """

    def __init__(
        self, endpoint: Endpoint, *, client_id: str | None, timeout: float, config: ConnectionConfig | None = None
    ) -> None:
        self.endpoint = endpoint
        self._config = config
        self._client_id = client_id
        self._timeout = timeout
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._closed = False

    @property
    def is_open(self) -> bool:
        """True while a connection exists and has not failed."""
        return self._connection is not None and self._connection.fault is None

    @property
    def certificate_expiry(self) -> float | None:
        """The end of the peer's certificate in seconds since 1970; None without TLS or a connection."""
        return None if self._connection is None else self._connection.certificate_expiry

    async def get(self) -> Connection:
        """Return the open connection, connecting first if necessary.

        Raises:
            ConnectionFault: the broker cannot be reached, or this object is closed.
        """
        async with self._connecting:
            if self._connection is not None and self._connection.fault is not None:
                await self._connection.close()
                self._connection = None
            if self._connection is None and not self._closed:
                self._connection = await Connection.open(
                    self.endpoint, client_id=self._client_id, timeout=self._timeout, config=self._config
                )
            if self._closed:  # also if `close` was called while connecting
                await self._close_connection()
            if self._connection is None:
                raise ConnectionClosed(self.endpoint, 0, "by us")
            return self._connection

    async def close(self) -> None:
        """Close the connection. A connection that is being opened is closed as soon as it is open."""
        self._closed = True
        await self._close_connection()

    async def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


class ConnectionPool:
    """Connections to any number of endpoints, each opened when it is first used.

    Args:
        client_id: the client id of all requests.
        timeout: seconds to connect, and seconds to wait for each response.
        config: TLS and SASL; None for plaintext.
    """

    def __init__(self, *, client_id: str | None, timeout: float, config: ConnectionConfig | None = None) -> None:
        self._config = ConnectionConfig.check(config)
        self._client_id = client_id
        self._timeout = timeout
        self._connections: dict[Endpoint, PooledConnection] = {}
        self._closed = False

    async def get(self, endpoint: Endpoint) -> Connection:
        """Return the open connection to `endpoint`, connecting first if necessary.

        Raises:
            ConnectionFault: the broker cannot be reached, or the pool is closed.
        """
        if self._closed:
            raise ConnectionClosed(endpoint, 0, "by us")
        pooled = self._connections.get(endpoint)
        if pooled is None:
            pooled = PooledConnection(endpoint, client_id=self._client_id, timeout=self._timeout, config=self._config)
            self._connections[endpoint] = pooled
        return await pooled.get()

    async def send(self, endpoint: Endpoint, request: Request[R], *, version: int | None = None) -> R:
        """Send a request to `endpoint` and return its response.

        Args:
            version: the API version; by default the highest one that client and broker have in common.

        Raises:
            ConnectionFault: the broker cannot be reached, does not respond, or its response cannot be decoded.
            EncodeError: the request cannot be encoded in this version.
        """
        connection = await self.get(endpoint)
        return await connection.send(request, version=version)

    async def close(self) -> None:
        """Close all connections. Requests in flight fail with ConnectionClosed."""
        self._closed = True
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))
