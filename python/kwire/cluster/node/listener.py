"""The listening socket of a node, and what its connections may occupy together.

- The listener knows frames, not messages. Requests go to two functions: `cached_responses`, which may answer a run of
  requests by their bytes, and `dispatch`, which answers one request.
- Connections are isolated from each other (`server_connection`). The memory that all of them occupy together is
  bounded, and so is the number of connections of one address.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from typing import TYPE_CHECKING

from kwire.cluster.node.authentication import identify_by_connection
from kwire.cluster.node.connection_limits import Limits, enforce_memory
from kwire.cluster.node.server_connection import ServerConnection
from kwire.protocol.server_shutdown import close_server

if TYPE_CHECKING:
    import ssl

    from kwire.cluster.node.connection_limits import ConnectedClient, Observer
    from kwire.cluster.node.connection_owner import CachedResponses, Dispatch, Identify

SWEEP_SECONDS = 1.0
BACKLOG = 512
"""Connections that wait to be accepted."""
ACCEPTED_AT_ONCE = 8
"""Connections that are accepted in one iteration of the event loop, so that a client that connects all the time takes
turns with others."""


def no_cached_responses(_received: bytes, _start: int, _at_most: int, _client: ConnectedClient) -> None:
    """Cache nothing."""


class Listener:
    """A listening socket and its connections."""

    def __init__(
        self,
        dispatch: Dispatch,
        observer: Observer,
        limits: Limits | None = None,
        cached_responses: CachedResponses = no_cached_responses,
        identify: Identify = identify_by_connection,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.dispatch = dispatch
        self.cached_responses = cached_responses
        self.observer = observer
        self.identify = identify
        self._tls = tls
        self.limits = limits or Limits()
        self.connections: set[ServerConnection] = set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._addresses: Counter[str] = Counter()
        self.is_adding_up = False
        """Whether connections must wait before they start further requests, because memory is about to be checked."""
        self._growth = 0
        """Bytes that connections have added to what they occupy since all were added up."""
        self._empty = asyncio.Event()
        self._empty.set()
        self.host = ""
        self.port = 0

    async def start(self, host: str, port: int = 0) -> None:
        """Start listening; `port` 0 selects a free port, which the attribute `port` then holds.

        Raises:
            OSError: the address is not available.
        """
        loop = asyncio.get_running_loop()
        timeout = self.limits.incomplete_frame if self._tls is not None else None
        self._server = await loop.create_server(
            lambda: ServerConnection(self),
            host,
            port,
            backlog=ACCEPTED_AT_ONCE,
            ssl=self._tls,
            ssl_handshake_timeout=timeout,
        )
        for listening in self._server.sockets:
            with socket.fromfd(listening.fileno(), listening.family, listening.type) as same:
                same.setsockopt(
                    socket.SOL_SOCKET, socket.SO_RCVBUF, self.limits.receive_buffer
                )  # connections inherit it
                same.listen(BACKLOG)
        self.host, self.port = self._server.sockets[0].getsockname()[:2]
        self._sweeper = loop.create_task(self._sweep(), name=f"sweep :{self.port}")

    async def stop(self, grace: float = 5.0) -> None:
        """Stop accepting, answer requests in flight for at most `grace` seconds, and close all connections."""
        if self._server is not None:
            await close_server(self._server)
        for connection in tuple(self.connections):
            connection.finish()
        try:
            async with asyncio.timeout(grace):
                await self._empty.wait()
        except TimeoutError:
            for connection in tuple(self.connections):
                connection.abort()
            await self._empty.wait()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)

    @property
    def is_listening(self) -> bool:
        """Whether new connections are accepted."""
        return self._server is not None and self._server.is_serving()

    def add(self, connection: ServerConnection) -> None:
        """Register an open connection."""
        self.connections.add(connection)
        self._addresses[connection.ip_address] += 1
        self._empty.clear()

    def connections_of(self, ip_address: str) -> int:
        """Return the number of open connections of an address."""
        return self._addresses[ip_address]

    def occupied_more(self, size: int) -> None:
        """Note that a connection occupies more memory, and add up all connections if that matters."""
        before, threshold = self._growth, self.limits.memory // 16
        self._growth += size
        if before <= threshold < self._growth:
            self.is_adding_up = True
            asyncio.get_running_loop().call_soon(self._enforce_memory)

    def _enforce_memory(self) -> None:
        self._growth = 0
        self.is_adding_up = False
        enforce_memory(self.connections, self.limits.memory)

    def remove(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""
        self.connections.discard(connection)
        self._addresses[connection.ip_address] -= 1
        if not self._addresses[connection.ip_address]:
            del self._addresses[connection.ip_address]
        if not self.connections:
            self._empty.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = clock()
            for connection in tuple(self.connections):
                connection.check_timeouts(now)
