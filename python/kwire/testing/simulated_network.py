"""A network without sockets and without waiting: an event loop with a clock of its own, names, addresses, and faults.

    network = SimulatedNetwork()
    network.add_name("broker-1", ["10.0.0.1", "10.0.0.2"])
    network.listen("10.0.0.2", 9092, cluster.broker(1).accept)
    network.address("10.0.0.1").fault = NetworkFault.SILENT
    network.run(main())                         # `main` uses any client of kwire

The clock stands still while code runs, and jumps to the next timer when nothing else is to do. So an hour of timeouts
takes milliseconds, and a run does not depend on the speed of the machine. TLS, threads, and real sockets do not work.

| state of a connection | bytes                                                                    |
|-----------------------|--------------------------------------------------------------------------|
| open                  | arrive after the latency of the address, in their order                  |
| dead                  | are accepted and never arrive, and neither does the end of the connection |
| closed                | the other side learns it, unless the connection is dead                   |
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

T = TypeVar("T")

__all__ = ["NetworkFault", "SimulatedAddress", "SimulatedNetwork"]

LATENCY_S = 0.001
"""Seconds until bytes arrive in one direction."""


class NetworkFault(StrEnum):
    """A way in which an address fails. It also concerns open connections, except for REFUSING."""

    SILENT = "silent"
    """Packets are dropped: no connection is accepted, and nothing arrives any more."""
    REFUSING = "refusing"
    """Connections are refused."""
    HALF_OPEN = "half-open"
    """Connections are accepted, and nothing arrives."""


class SimulatedAddress:
    """An address of the network.

    Attributes:
        fault: its fault; None while it works.
        latency: seconds until bytes arrive in one direction.
        idle_limit: seconds without traffic after which a connection is forgotten without a sign; None for no limit.
        connections: number of connections that were accepted.
    """

    def __init__(self) -> None:
        self.fault: NetworkFault | None = None
        self.latency = LATENCY_S
        self.idle_limit: float | None = None
        self.connections = 0
        self.servers: dict[int, Callable[[], asyncio.Protocol]] = {}


class SimulatedNetwork:
    """Names, addresses, and a clock."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}
        self._addresses: dict[str, SimulatedAddress] = {}
        self.loop = _SimulatedLoop(self)

    def add_name(self, name: str, addresses: Iterable[str]) -> None:
        """Let a name have IPv4 addresses, in the order of the resolver."""
        self._names[name] = list(addresses)

    def address(self, address: str) -> SimulatedAddress:
        """Return an address; one that is new does not listen on any port."""
        return self._addresses.setdefault(address, SimulatedAddress())

    def listen(self, address: str, port: int, server: Callable[[], asyncio.Protocol]) -> None:
        """Accept connections.

        Args:
            server: returns the protocol of the server for each connection.
        """
        self.address(address).servers[port] = server

    def resolve(self, name: str) -> list[str]:
        """Return the addresses of a name.

        Raises:
            socket.gaierror: the name is unknown.
        """
        if name not in self._names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self._names[name]

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, and close the event loop. Raises RuntimeError if nothing can happen any more."""
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
            return runner.run(main)


class _Clock:
    """The selector of the loop: nothing is ever ready, and waiting only moves the time."""

    def __init__(self) -> None:
        self.now = 1000.0

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("the simulation stands still: every task waits for something that cannot happen")
        self.now += timeout
        return []


class _SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop whose time is simulated, and whose sockets are connected in memory."""

    def __init__(self, network: SimulatedNetwork) -> None:
        super().__init__()
        self._network = network
        self._selector = _Clock()
        self._targets: dict[int, tuple[SimulatedAddress, tuple[str, int]]] = {}

    def time(self) -> float:
        return self._selector.now

    def _process_events(self, event_list: list[Any]) -> None:
        del event_list  # there are none

    def _write_to_self(self) -> None:
        """Do nothing: the loop never waits for another thread."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        del options
        await asyncio.sleep(LATENCY_S)
        return [
            (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
            for address in self._network.resolve(host)
        ]

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        host, port = address[:2]
        target = self._network.address(host)
        if target.fault is NetworkFault.SILENT:
            await self.create_future()
        await asyncio.sleep(2 * target.latency)
        if target.fault is NetworkFault.REFUSING or port not in target.servers:
            raise ConnectionRefusedError(111, "Connection refused")
        self._targets[id(sock)] = target, (host, port)

    async def create_connection(self, protocol_factory: Callable[[], Any], *arguments: Any, **options: Any) -> Any:
        del arguments
        if options.get("ssl") is not None:
            raise ValueError("a simulated network has no TLS")
        sock: socket.socket = options["sock"]
        target, peer = self._targets.pop(id(sock))
        sock.close()
        target.connections += 1
        client, server = protocol_factory(), target.servers[peer[1]]()
        link = _Link(self, target)
        ends = _Transport(link, client, peer), _Transport(link, server, ("10.255.0.1", 1024))
        ends[0].other, ends[1].other = ends[1], ends[0]
        server.connection_made(ends[1])
        client.connection_made(ends[0])
        return ends[0], client


class _Link:
    """A connection: it dies with its address, or when nothing was sent for too long."""

    def __init__(self, loop: _SimulatedLoop, address: SimulatedAddress) -> None:
        self.loop = loop
        self.address = address
        self._is_dead = False
        self._used_at = loop.time()

    def carries(self) -> bool:
        """Return whether bytes that are sent now arrive."""
        now, limit = self.loop.time(), self.address.idle_limit
        if limit is not None and now - self._used_at > limit:
            self._is_dead = True
        self._used_at = now
        return not self._is_dead and self.address.fault not in (NetworkFault.SILENT, NetworkFault.HALF_OPEN)


class _Transport(asyncio.Transport):
    """One end of a connection in memory."""

    def __init__(self, link: _Link, protocol: Any, peer: tuple[str, int]) -> None:
        super().__init__({"peername": peer})
        self._link = link
        self._protocol = protocol
        self.arriving: deque[bytes | None] = deque()
        self._is_closed = False
        self.other: _Transport | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._is_closed:
            self._send(bytes(data))

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._close(None)

    def abort(self) -> None:
        self._close(None)

    def _close(self, error: Exception | None) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._send(None)
            self._link.loop.call_soon(self._protocol.connection_lost, error)

    def _send(self, data: bytes | None) -> None:
        """Let the other end receive bytes, or the end of the stream, unless they are lost on the way."""
        other = self.other
        if other is not None and self._link.carries():
            other.arriving.append(data)
            # Timers of one time have no order, so each takes what is next.
            self._link.loop.call_later(self._link.address.latency, other.receive)

    def receive(self) -> None:
        """Hand the next bytes that have arrived to the protocol."""
        data = self.arriving.popleft()
        if self._is_closed:
            return
        if data is None:
            self._close(None)
        elif isinstance(self._protocol, asyncio.BufferedProtocol):
            view = memoryview(data)
            while view and not self._is_closed:
                buffer = memoryview(self._protocol.get_buffer(-1))
                count = min(len(buffer), len(view))
                buffer[:count] = view[:count]
                self._protocol.buffer_updated(count)
                view = view[count:]
        else:
            self._protocol.data_received(data)
