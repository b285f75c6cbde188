"""Accepting connections, as fast as the shares of their addresses permit.

- A connection costs little before it is opened: its transport, its TLS handshake, and its line in the log come later.
  So a connection of an address that has used more than its share of the loop is held as a bare socket, and is opened
  once the address is due. One that the client has given up meanwhile is dropped.
- Accepting connections that are held has a share of its own. When it is used up, new connections wait in the backlog of
  the system.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter, deque
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.cluster.loop_shares import CONNECTION_SECONDS, LoopShares
from kwire.cluster.node.connection_limits import CloseReason, ConnectedClient
from kwire.cluster.node.logs import logger

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import TypeAlias

    from kwire.cluster.loop_shares import ConnectionShare
    from kwire.cluster.node.connection_owner import ConnectionOwner

    Open: TypeAlias = Callable[[socket.socket, ConnectionShare], Coroutine[Any, Any, object]]
    """Opens a connection: creates its transport, and completes the TLS handshake."""

__all__ = ["ConnectionAcceptor", "bind"]

BACKLOG = 512
"""Connections that wait to be accepted."""
ACCEPTED_AT_ONCE = 8
"""Connections that are accepted in one iteration of the event loop, so that a client that connects all the time takes
turns with others."""
RETRY_SECONDS = 1.0
"""Pause after the system has rejected an accept, for example because too many files are open."""
HELD = "held connections"
"""The name of the share of accepting connections that are held."""

log = logger(__name__)


class _Held(NamedTuple):
    """A connection that is accepted, but not opened."""

    socket: socket.socket
    share: ConnectionShare


class ConnectionAcceptor:
    """Accepts the connections of listening sockets.

    Args:
        sockets: bound sockets, which the acceptor closes.
        owner: has the limits and the open connections.
        open_connection: opens an accepted connection.
    """

    def __init__(self, sockets: list[socket.socket], owner: ConnectionOwner, open_connection: Open) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._owner = owner
        self._open_connection = open_connection
        self._shares = LoopShares.of_loop()
        self._holding = self._shares.connection(HELD)
        self._held: dict[str, deque[_Held]] = {}
        self._opening: set[asyncio.Task[object]] = set()
        self._unopened: Counter[str] = Counter()
        """Connections by address that are held or being opened."""
        for listening in sockets:
            listening.setblocking(False)
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, owner.limits.receive_buffer)  # is inherited
            listening.listen(BACKLOG)
            self._listen(listening)

    @property
    def is_listening(self) -> bool:
        """Whether `stop` was not called yet."""
        return bool(self._sockets)

    async def stop(self) -> None:
        """Accept no further connections. Those that are not open are closed, or are open when this returns."""
        sockets, self._sockets = self._sockets, []
        for listening in sockets:
            self._loop.remove_reader(listening)
            listening.close()
        for held in self._held.values():
            for one in held:
                one.socket.close()
        self._held.clear()
        await asyncio.sleep(0)  # the transport of each accepted connection is created in this iteration of the loop
        await asyncio.sleep(0)  # and a connection without TLS is open after this one
        for task in self._opening:
            task.cancel()
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _listen(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept some connections, and open those of addresses that are due."""
        for _ in range(ACCEPTED_AT_ONCE):
            began = perf_counter()
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
            share = self._shares.connection(address[0])
            share.arrived(self._loop.time())
            exceeded = self._exceeded_limit(address[0])
            if exceeded is not None:
                self._refuse(accepted, address, exceeded)
            elif address[0] in self._held or not share.is_due(self._loop.time()):
                self._hold(address[0], _Held(accepted, share))
            else:
                self._open(address[0], _Held(accepted, share))
                continue
            if not self._charge(share, began):
                self._loop.remove_reader(listening)
                self._holding.call_when_due(partial(self._listen, listening))
                return

    def _charge(self, share: ConnectionShare, began: float) -> bool:
        """Charge the time for a connection that is not opened, and return whether further ones may be accepted."""
        now = self._loop.time()
        share.used = self._holding.used = perf_counter() - began
        share.settle(now)
        self._holding.settle(now)
        return self._holding.is_due(now)

    def _exceeded_limit(self, ip_address: str) -> str | None:
        """Return which limit does not permit a further connection of an address, not even one for administration."""
        owner, limits, unopened = self._owner, self._owner.limits, self._unopened
        exceeded = owner.exceeded_limit(ip_address, unopened.total(), unopened[ip_address])
        reserved = owner.reserved
        if reserved.total() + unopened.total() < limits.reserved and (
            reserved[ip_address] + unopened[ip_address] < limits.reserved_per_address
        ):
            return None
        return exceeded

    def _refuse(self, accepted: socket.socket, address: tuple[Any, ...], detail: str) -> None:
        accepted.close()
        client = ConnectedClient(f"{address[0]}:{address[1]}")
        self._owner.observer.opened(client)
        self._owner.observer.closed(client, CloseReason.TOO_MANY_CONNECTIONS, detail)

    def _hold(self, ip_address: str, connection: _Held) -> None:
        """Open a connection later."""
        self._unopened[ip_address] += 1
        held = self._held.setdefault(ip_address, deque())
        held.append(connection)
        if len(held) == 1:
            connection.share.call_when_due(partial(self._open_held, ip_address))

    def _open_held(self, ip_address: str) -> None:
        """Open connections of an address until it is not due any more."""
        held = self._held.get(ip_address)
        while held and held[0].share.is_due(self._loop.time()):
            began = perf_counter()
            connection = held.popleft()
            self._forget(ip_address)
            if has_disconnected(connection.socket):
                connection.socket.close()
                self._charge(connection.share, began)
            else:
                self._open(ip_address, connection)
        if held:
            held[0].share.call_when_due(partial(self._open_held, ip_address))
        else:
            self._held.pop(ip_address, None)

    def _open(self, ip_address: str, connection: _Held) -> None:
        share = connection.share
        share.used = CONNECTION_SECONDS
        share.settle(self._loop.time())
        self._unopened[ip_address] += 1
        task = self._loop.create_task(self._open_connection(connection.socket, share))
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
