"""Connections from this node to the others: for metadata that its controller sends, and for commands it passes on.

Rules of this file: one connection a node, opened when something is to be said, and again after it ended. An address
that changed is another node.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from kwire.client.connection import Connection
from kwire.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from kwire.declare import Message, Request

R = TypeVar("R", bound="Message")


class Peers:
    """Connections by address. ``client_id``: by which the others' logs know this node."""

    def __init__(self, client_id: str, timeout: float = 10.0) -> None:
        self._client_id = client_id
        self._timeout = timeout
        self._connections: dict[Endpoint, Connection] = {}
        self._opening: dict[Endpoint, asyncio.Lock] = {}

    async def send(self, host: str, port: int, request: Request[R]) -> R:
        """Raises ConnectionFault."""
        connection = await self._connection(Endpoint(host, port))
        return await connection.send(request)

    async def _connection(self, endpoint: Endpoint) -> Connection:
        async with self._opening.setdefault(endpoint, asyncio.Lock()):
            connection = self._connections.get(endpoint)
            if connection is None or connection.fault is not None:
                connection = await Connection.open(endpoint, client_id=self._client_id, timeout=self._timeout)
                self._connections[endpoint] = connection
            return connection

    async def close(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))
