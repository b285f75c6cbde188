"""Accepting connections, at the rate that the quotas of their addresses permit.

- A connection is cheap before it is opened: its transport, its TLS handshake, and its line in the log come later. So a
  connection of a throttled address stays a bare socket until the address is within its quota. One that the client has
  given up meanwhile is dropped.
- Accepting such connections has an account of its own (`RequestQuotas.own`). While that is throttled, new connections
  wait in the backlog of the system.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient
from kwire_cluster.node.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeAlias

    from kwire_cluster.node.listener.open_connections import OpenConnections
    from kwire_cluster.request_quotas import Account

    Open: TypeAlias = Callable[[socket.socket, Account], Coroutine[Any, Any, object]]
    """Opens a connection: creates its transport, and completes the TLS handshake."""

BACKLOG = 512
"""Maximum number of connections that wait in the system to be accepted. Chosen, not measured."""
MAX_ACCEPTS = 8
"""Maximum accepts per iteration of the loop: a client that reconnects constantly cannot starve others."""
CONNECTION_SECONDS = 0.0005
"""Seconds charged for opening and closing a connection: the system uses most of them, where nothing measures them.
Chosen, not measured."""
RETRY_SECONDS = 1.0
"""Pause in seconds after the system has rejected an accept, for example because too many files are open."""

log = logger(__name__)


class ConnectionAcceptor:
    """Accepts the connections of listening sockets.

    Args:
        sockets: bound sockets, which the acceptor closes.
        connections: the open connections, with their limits.
        open_connection: opens an accepted connection.
    """

    def __init__(self, sockets: list[socket.socket], connections: OpenConnections, open_connection: Open) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._connections = connections
        self._open_connection = open_connection
        self._pending: set[socket.socket] = set()
        """Accepted connections of throttled addresses."""
        self._opening: set[asyncio.Task[object]] = set()
        self._unopened: Counter[str] = Counter()
        """The number of connections by address that are pending or being opened."""
        for listening in sockets:
            listening.setblocking(False)
            # Accepted sockets inherit it.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, connections.limits.receive_buffer)
            listening.listen(BACKLOG)
            self._listen(listening)

    @property
    def is_listening(self) -> bool:
        """True until `stop` is called."""
        return bool(self._sockets)

    async def stop(self) -> None:
        """Accept no further connections. Pending ones are closed; connections that are being opened are open or closed
        when this returns.
        """
        sockets, self._sockets = self._sockets, []
        for listening in sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for accepted in self._pending:
            accepted.close()
        self._pending.clear()
        await asyncio.sleep(0)  # the transport of each accepted connection is created in this iteration of the loop
        await asyncio.sleep(0)  # and a connection without TLS is open after this one
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _listen(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept some connections, and open them unless their addresses are throttled."""
        quotas = self._connections.quotas
        for _ in range(MAX_ACCEPTS):
            started = perf_counter()
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.error("cannot accept connections, retrying", reason=str(error))
                self._loop.remove_reader(listening)
                self._loop.call_later(RETRY_SECONDS, self._listen, listening)
                return
            accepted.setblocking(False)
            account = quotas.account(address[0])
            exceeded = self._exceeded_limit(address[0])
            if exceeded is None:
                self._unopened[address[0]] += 1
                if not account.is_throttled:
                    self._open(accepted, address[0], account)
                    continue
                self._pending.add(accepted)
                account.call_when_allowed(partial(self._open_pending, accepted, address[0], account))
            else:
                self._refuse(accepted, address, exceeded)
            # A throttled client that goes on connecting must not occupy the loop with connections that are not opened.
            seconds = perf_counter() - started
            account.charge(seconds)
            quotas.own.charge(seconds)
            if quotas.own.is_throttled:
                self._loop.remove_reader(listening)
                quotas.own.call_when_allowed(partial(self._listen, listening))
                return

    def _exceeded_limit(self, ip_address: str) -> str | None:
        """Return the limit that a further connection exceeds; None if it is allowed, or reserved for administration."""
        limits, reserved, unopened = self._connections.limits, self._connections.reserved, self._unopened
        exceeded = self._connections.exceeded_limit(ip_address, unopened.total(), unopened[ip_address])
        if reserved.total() + unopened.total() < limits.reserved and (
            reserved[ip_address] + unopened[ip_address] < limits.reserved_per_address
        ):
            return None
        return exceeded

    def _refuse(self, accepted: socket.socket, address: tuple[Any, ...], detail: str) -> None:
        accepted.close()
        client = ConnectedClient(f"{address[0]}:{address[1]}")
        self._connections.observer.opened(client)
        self._connections.observer.closed(client, CloseReason.TOO_MANY_CONNECTIONS, detail)

    def _open_pending(self, accepted: socket.socket, ip_address: str, account: Account) -> None:
        """Open a pending connection, unless the acceptor has stopped, or the client has given up."""
        if accepted not in self._pending:
            return
        self._pending.discard(accepted)
        if has_disconnected(accepted):
            accepted.close()
            self._forget(ip_address)
        else:
            self._open(accepted, ip_address, account)

    def _open(self, accepted: socket.socket, ip_address: str, account: Account) -> None:
        account.charge(CONNECTION_SECONDS)
        task = self._loop.create_task(self._open_connection(accepted, account))
        self._opening.add(task)
        task.add_done_callback(partial(self._opened, ip_address))

    def _opened(self, ip_address: str, task: asyncio.Task[object]) -> None:
        self._opening.discard(task)
        self._forget(ip_address)

    def _forget(self, ip_address: str) -> None:
        self._unopened[ip_address] -= 1
        if not self._unopened[ip_address]:
            del self._unopened[ip_address]


def has_disconnected(accepted: socket.socket) -> bool:
    """Return whether the client has disconnected without sending a byte, or has reset the connection."""
    try:
        accepted.getpeername()  # fails after a reset, even if bytes arrived before
        return not accepted.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


async def bind(host: str, port: int) -> list[socket.socket]:
    """Return a bound socket for each address of a host; port 0 selects a free port.

    Raises:
        OSError: an address is not available.
    """
    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
    sockets = [bound.dup() for bound in server.sockets]
    server.close()
    return sockets
