"""The listening socket of a node, and what its connections may occupy together.

- The listener knows frames, not messages. Requests go to two functions: `cached_responses`, which may answer a run of
  requests by their bytes, and `dispatch`, which answers one request.
- Connections are isolated from each other (`server_connection`). The memory that all of them occupy together is
  bounded, and so is the number of connections of one address.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from kwire.cluster.node.authentication import identify_by_connection
from kwire.cluster.node.connection_acceptor import ConnectionAcceptor, bind
from kwire.cluster.node.connection_limits import Limits, enforce_memory
from kwire.cluster.node.server_connection import ServerConnection
from kwire.cluster.node.tls_connection import TlsConnection

if TYPE_CHECKING:
    import socket
    import ssl

    from kwire.cluster.loop_shares import ConnectionShare
    from kwire.cluster.node.connection_limits import ConnectedClient, Observer
    from kwire.cluster.node.connection_owner import CachedResponses, Dispatch, Identify

SWEEP_SECONDS = 1.0


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
        self._acceptor: ConnectionAcceptor | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._addresses: Counter[str] = Counter()
        self.reserved: Counter[str] = Counter()
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
        sockets = await bind(host, port)
        self.host, self.port = sockets[0].getsockname()[:2]
        self._acceptor = ConnectionAcceptor(sockets, self, self._open)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name=f"sweep :{self.port}")

    async def stop(self, grace: float = 5.0) -> None:
        """Stop accepting, answer requests in flight for at most `grace` seconds, and close all connections."""
        if self._acceptor is not None:
            await self._acceptor.stop()
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
        return self._acceptor is not None and self._acceptor.is_listening

    async def _open(self, accepted: socket.socket, share: ConnectionShare) -> None:
        """Create the transport of a connection, and wait until its TLS handshake is complete."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):  # the client has disconnected
            if self._tls is None:
                await loop.connect_accepted_socket(lambda: ServerConnection(self, share), accepted)
                return
            tls = TlsConnection(self._tls, ServerConnection(self, share), share, self.limits.incomplete_frame)
            await loop.connect_accepted_socket(lambda: tls, accepted)
            try:
                await tls.opened
            except asyncio.CancelledError:
                tls.abort()
                raise

    def add(self, connection: ServerConnection) -> None:
        """Register an open connection."""
        self.connections.add(connection)
        self._addresses[connection.ip_address] += 1
        self.reserved[connection.ip_address] += connection.client.is_reserved
        self._empty.clear()

    def exceeded_limit(self, ip_address: str, unopened: int = 0, unopened_of_address: int = 0) -> str | None:
        """Return which limit a further connection of an address exceeds, if any. See `ConnectionOwner`."""
        limits = self.limits
        if len(self.connections) + unopened >= limits.connections:
            return f"more than {limits.connections} connections"
        if self._addresses[ip_address] + unopened_of_address >= limits.connections_per_address:
            return f"more than {limits.connections_per_address} connections of {ip_address}"
        return None

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
        self.reserved[connection.ip_address] -= connection.client.is_reserved
        if not self._addresses[connection.ip_address]:
            del self._addresses[connection.ip_address], self.reserved[connection.ip_address]
        if not self.connections:
            self._empty.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = clock()
            for connection in tuple(self.connections):
                connection.check_timeouts(now)
