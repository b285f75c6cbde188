"""``PooledConnection``: keeps at most one connection to an endpoint, and makes a new one when it is asked after a fault."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kwire.client.connection import Connection

if TYPE_CHECKING:
    from kwire.protocol import Endpoint

__all__ = ["PooledConnection"]


class PooledConnection:
    """``endpoint`` may be changed: it counts for the next connection. Versions are negotiated for each anew."""

    def __init__(self, endpoint: Endpoint, *, client_id: str | None, timeout: float) -> None:
        self.endpoint = endpoint
        self._client_id = client_id
        self._timeout = timeout
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()

    @property
    def up(self) -> bool:
        """Whether there is a connection that had no fault so far."""
        return self._connection is not None and self._connection.fault is None

    async def connection(self) -> Connection:
        """The connection there is, or a new one. Raises ConnectionFault."""
        async with self._connecting:
            connection = self._connection
            if connection is None or connection.fault is not None:
                if connection is not None:
                    await connection.close()
                self._connection = None
                connection = self._connection = await Connection.open(
                    self.endpoint, client_id=self._client_id, timeout=self._timeout
                )
            return connection

    async def close(self) -> None:
        """End the connection, if there is one."""
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
