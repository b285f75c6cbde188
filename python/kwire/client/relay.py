"""A TCP relay: forwards bytes unchanged and shows them to an observer.

An observer is called after its bytes were forwarded, in the event loop. It can neither change nor delay them, except by
its own running time. A connection is half-closed where its peer half-closes it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from kwire._util.light_typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from kwire.protocol import ConnectFailed, Endpoint
from kwire.protocol.server_shutdown import close_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Observe: TypeAlias = "Callable[[Endpoint, Endpoint], RelayObserver]"

CHUNK = 64 * 1024
CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection to the broker: the default of `socket.connection.setup.timeout.ms`."""


class RelayObserver(Protocol):
    """Observes one connection."""

    def forwarded_from_client(self, data: bytes) -> None:
        """Process bytes from the client."""

    def forwarded_from_server(self, data: bytes) -> None:
        """Process bytes from the broker."""

    def connect_failed(self, error: ConnectFailed) -> None:
        """Process that the broker cannot be reached. The client's connection is closed, and `ended` follows."""

    def ended(self) -> None:
        """Process the end of the connection. Nothing follows."""


class Relay:
    """Listens on an address and forwards each connection to a broker.

    Args:
        target: the broker.
        observe: returns the observer of a new connection, from the addresses of the client and of the broker.
    """

    def __init__(self, target: Endpoint, observe: Observe) -> None:
        self.target = target
        self._observe = observe
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> Endpoint:
        """Start to accept connections and return the address; port 0 is a free one.

        Raises:
            OSError: the address cannot be listened on.
        """
        self._server = await asyncio.start_server(self._accepted, host, port)
        return Endpoint(*self._server.sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Stop to accept connections and close the open ones."""
        if self._server is not None:
            await close_server(self._server)
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._relay(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _relay(self, client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter) -> None:
        observer = self._observe(Endpoint(*client_writer.get_extra_info("peername")[:2]), self.target)
        try:
            broker_reader, broker_writer = await self._connect()
            try:
                await _forward_both(
                    _forward(client_reader, broker_writer, observer.forwarded_from_client),
                    _forward(broker_reader, client_writer, observer.forwarded_from_server),
                )
            finally:
                broker_writer.close()
        except ConnectFailed as error:
            observer.connect_failed(error)
        finally:
            client_writer.close()
            observer.ended()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):  # wait_for can lose a cancellation before Python 3.12
                return await asyncio.open_connection(self.target.host, self.target.port)
        except TimeoutError:
            raise ConnectFailed(self.target, f"no answer within {CONNECT_TIMEOUT:g} s") from None
        except OSError as error:
            raise ConnectFailed(self.target, str(error), error.errno) from error


async def _forward_both(*directions: Coroutine[Any, Any, None]) -> None:
    """Run both directions until they end, or until one of them is reset."""
    tasks = [asyncio.ensure_future(direction) for direction in directions]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, (OSError, asyncio.CancelledError)):
            raise result


async def _forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, forwarded: Callable[[bytes], None]
) -> None:
    """Forward one direction until its end.

    Raises:
        OSError: one of the connections was reset.
    """
    while data := await reader.read(CHUNK):
        writer.write(data)
        forwarded(data)
        await writer.drain()
    with suppress(OSError):  # the receiver has closed its side too
        writer.write_eof()
