"""The listening socket of a node.

The listener knows frames, not messages. Requests go to two functions: `cached_responses`, which may answer a run of
requests by their bytes, and `dispatch`, which answers one request.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from kwire_cluster.node.listener.authentication import identify_by_connection
from kwire_cluster.node.listener.connection_acceptor import ConnectionAcceptor, bind
from kwire_cluster.node.listener.connection_limits import Limits, RequestHandlers
from kwire_cluster.node.listener.node_connection import NodeConnection
from kwire_cluster.node.listener.open_connections import OpenConnections
from kwire_cluster.node.listener.tls_connection import TlsConnection
from kwire_cluster.request_quotas import RequestQuotas

if TYPE_CHECKING:
    import socket
    import ssl

    from kwire_cluster.node.listener.connection_limits import (
        CachedResponses,
        ConnectedClient,
        Dispatch,
        Identify,
        Observer,
    )
    from kwire_cluster.request_quotas import Account

SWEEP_SECONDS = 1.0
"""Interval in seconds at which timeouts are checked."""


def no_cached_responses(_client: ConnectedClient, _received: bytes, _start: int, _limit: int) -> None:
    """Cache nothing."""


class Listener:
    """A listening socket and its connections.

    Args:
        dispatch: answers one request.
        observer: receives the events of connections.
        limits: the limits of connections; the defaults of `Limits` if None.
        cached_responses: may answer a run of requests by their bytes.
        identify: sets the subject of a new client, or how it must authenticate.
        tls: the context of TLS; None for plain connections.
        quotas: the accounts of clients, which the listeners of a node share.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        observer: Observer,
        limits: Limits | None = None,
        cached_responses: CachedResponses = no_cached_responses,
        identify: Identify = identify_by_connection,
        tls: ssl.SSLContext | None = None,
        quotas: RequestQuotas | None = None,
    ) -> None:
        self.handlers = RequestHandlers(dispatch, cached_responses, identify)
        self.connections = OpenConnections(observer, limits or Limits(), quotas or RequestQuotas())
        self._tls = tls
        self._acceptor: ConnectionAcceptor | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self.host = ""
        self.port = 0

    async def start(self, host: str, port: int = 0) -> None:
        """Start listening; `port` 0 selects a free port, which the attribute `port` then holds.

        Raises:
            OSError: the address is not available.
        """
        sockets = await bind(host, port)
        self.host, self.port = sockets[0].getsockname()[:2]
        self._acceptor = ConnectionAcceptor(sockets, self.connections, self._open)
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(), name=f"sweep :{self.port}")

    async def stop(self, grace: float = 5.0) -> None:
        """Stop accepting, answer requests in progress for at most `grace` seconds, and close all connections."""
        if self._acceptor is not None:
            await self._acceptor.stop()
        for connection in tuple(self.connections):
            connection.finish()
        try:
            async with asyncio.timeout(grace):
                await self.connections.wait_empty()
        except TimeoutError:
            for connection in tuple(self.connections):
                connection.abort()
            await self.connections.wait_empty()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)

    @property
    def is_listening(self) -> bool:
        """True while new connections are accepted."""
        return self._acceptor is not None and self._acceptor.is_listening

    async def _open(self, accepted: socket.socket, account: Account) -> None:
        """Create the transport of a connection, and wait until its TLS handshake is complete."""
        loop = asyncio.get_running_loop()
        connection = NodeConnection(self.connections, account, self.handlers)
        with suppress(OSError):  # the client has disconnected
            if self._tls is None:
                await loop.connect_accepted_socket(lambda: connection, accepted)
                return
            tls = TlsConnection(self._tls, connection, account, self.connections.limits.incomplete_frame)
            await loop.connect_accepted_socket(lambda: tls, accepted)
            try:
                await tls.opened
            except asyncio.CancelledError:
                tls.abort()
                raise

    async def _sweep(self) -> None:
        """Close connections whose timeouts have passed."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = clock()
            for connection in tuple(self.connections):
                connection.check_timeouts(now)
