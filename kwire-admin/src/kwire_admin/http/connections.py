"""HTTP connections with deadlines and with room for clients that have authenticated.

A connection is a stranger until one of its requests has authenticated. Strangers cost memory and file descriptors, and
every program can open them, so:

- A request head must be complete HEAD_TIMEOUT_S after the connection opened or the previous response was sent. The
  time does not start again with each byte (slowloris).
- While MAX_CONNECTIONS are open, a new connection replaces the stranger that opened first. A client with a token sends
  it at once, so it is never that stranger. Only if all connections have authenticated, the new one is answered 503.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from kwire.authorization.subjects import distinguished_name
from kwire_admin.http.responses import refuse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle

__all__ = ["CERTIFICATE", "CONNECTION", "HEAD_TIMEOUT_S", "MAX_CONNECTIONS", "HttpConnection"]

CERTIFICATE = "certificate"
"""Key of the state of a request: the name of the verified client certificate."""
CONNECTION = "connection"
"""Key of the state of a request: its HttpConnection."""
HEAD_TIMEOUT_S = 10.0
"""Deadline in seconds of a TLS handshake, of a request head, and of the rest of a body behind its response. Chosen, not
measured; a head is one packet."""
MAX_CONNECTIONS = 512
"""Maximum number of connections of a server. Half of the usual limit of 1,024 file descriptors."""


class HttpConnection(H11Protocol):
    """A connection of uvicorn whose requests know it and the name of the client's certificate.

    Attributes:
        has_authenticated: True once a request of this connection was allowed.
        opened_at: time of the event loop at which the connection opened.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self.has_authenticated = False
        self.opened_at = self.loop.time()
        self._head_timer: asyncio.TimerHandle | None = None
        self._state: dict[str, Any] = {CONNECTION: self}
        tls = transport.get_extra_info("ssl_object")
        certificate: dict[str, Any] | None = tls.getpeercert() if isinstance(tls, ssl.SSLObject) else None
        if certificate:
            self._state[CERTIFICATE] = distinguished_name(certificate["subject"])
        self._application, self.app = self.app, self._serve
        self._make_room()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_head()

    def _await_head(self) -> None:
        """Run the timer of the head exactly while no request runs."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _make_room(self) -> None:
        """Close the stranger that opened first if there are too many connections."""
        connections = [connection for connection in self.connections if isinstance(connection, HttpConnection)]
        if len(connections) <= MAX_CONNECTIONS:
            return
        strangers = [connection for connection in connections if not connection.has_authenticated]
        oldest = min(strangers, key=lambda stranger: stranger.opened_at)
        if oldest is self:
            self._application = _refuse_connection
        else:
            oldest.transport.abort()
            # The transport reports its end in the next iteration of the loop, and many clients connect in one.
            self.connections.discard(oldest)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {}).update(self._state)
        await self._application(scope, receive, send)


async def _refuse_connection(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request for which the server has no connection."""
    response = refuse(503, "TooManyConnections", f"all {MAX_CONNECTIONS} connections are in use: try again later")
    response.headers["Retry-After"] = "1"
    response.headers["Connection"] = "close"
    await response(scope, receive, send)
