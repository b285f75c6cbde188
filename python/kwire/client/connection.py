"""``Connection``: one TCP connection to one broker, on asyncio.

Rules of this file: bytes and time only; what they mean is said by ``kwire.protocol``. Any number of requests may be
under way at once; the broker answers them one after the other. The first fault ends the connection and everything that
is under way: whoever waits gets a ConnectionFault, never a bare OSError.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from datetime import UTC, datetime
from socket import gaierror
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

from kwire.frame import MAX_SIZE
from kwire.protocol import (
    ClientConnection,
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    Endpoint,
    FrameReceiver,
    InvalidResponse,
    NegotiatedVersions,
    OversizedFrame,
    ReceivedResponse,
    SentRequest,
    Timeout,
)

if TYPE_CHECKING:
    from types import TracebackType

    from kwire.declare import Message, Request

__all__ = ["Arrival", "Connection"]

R = TypeVar("R", bound="Message")
log = logging.getLogger("kwire.client")

TIMEOUT = 30.0
"""Seconds that an answer may take, as ``request.timeout.ms`` of Kafka's own clients."""


class Arrival(NamedTuple, Generic[R]):
    """An answer, and when it was complete. ``duration_us``: since the request was sent, in microseconds."""

    answer: ReceivedResponse[R]
    at: datetime
    duration_us: int


class _UnderWay(NamedTuple):
    """A request that waits for its answer. ``since``: when it was sent, in nanoseconds of ``perf_counter``."""

    sent: SentRequest[Any]
    arrival: asyncio.Future[Arrival[Any]]
    since: int
    timer: asyncio.TimerHandle


class Connection:
    """Use ``async with await Connection.open(...)``, or ``close`` it."""

    def __init__(self, endpoint: Endpoint, *, client_id: str | None, timeout: float, max_size: int) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._protocol = ClientConnection(endpoint, client_id=client_id)
        self._receiver = FrameReceiver(max_size=max_size)
        self._under_way: deque[_UnderWay] = deque()
        self._transport: asyncio.Transport | None = None
        self._welcomed: asyncio.Future[None] = self._loop.create_future()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._fault: ConnectionFault | None = None

    @classmethod
    async def open(
        cls,
        endpoint: Endpoint | str,
        *,
        client_id: str | None = "kwire",
        timeout: float = TIMEOUT,
        max_size: int = MAX_SIZE,
    ) -> Self:
        """Connect, and ask for dialect and versions. ``timeout``: seconds for this, and for each later answer.

        ``max_size``: bytes that an answer may have. Raises ConnectFailed, or whatever fault the first words met with.
        """
        if isinstance(endpoint, str):
            endpoint = Endpoint.parse(endpoint)
        self = cls(endpoint, client_id=client_id, timeout=timeout, max_size=max_size)
        try:
            async with asyncio.timeout(timeout):
                await self._loop.create_connection(lambda: _Stream(self), endpoint.host, endpoint.port)
        except TimeoutError:
            raise ConnectFailed(endpoint, f"no connection within {timeout:g} s") from None
        except OSError as error:
            raise ConnectFailed(endpoint, _why(error)) from error
        except (ValueError, OverflowError) as error:  # brokers may advertise what is no host name, or no port
            raise ConnectFailed(endpoint, str(error)) from error
        try:
            async with asyncio.timeout(timeout):
                # Not awaited itself: whoever is cancelled would cancel it, and what arrives would be taken for answers.
                await asyncio.wait([self._welcomed])
            self._welcomed.result()
        except TimeoutError:
            self.fail(Timeout(endpoint, "ApiVersionsRequest", timeout, self._receiver.partial_bytes))
            raise self._fault or ConnectionClosed(endpoint, 0) from None
        except BaseException:
            self.abort()
            raise
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def negotiated(self) -> NegotiatedVersions:
        """What the broker told of itself."""
        negotiated = self._protocol.negotiated
        assert negotiated is not None, "an open connection has negotiated"
        return negotiated

    @property
    def fault(self) -> ConnectionFault | None:
        """What ended the connection; None while it is good."""
        return self._fault

    def begin(self, request: Request[R], *, version: int | None = None) -> asyncio.Future[Arrival[R]]:
        """Send at once; the answer comes when it comes. ``version``: the highest common one unless told.

        Raises NoCommonVersion or EncodeError, which harm nobody, and the fault of a connection that has ended.
        """
        if self._fault is not None:
            raise self._fault
        assert self._transport is not None
        sent = self._protocol.request(request, version=version)
        arrival: asyncio.Future[Arrival[Any]] = self._loop.create_future()
        timer = self._loop.call_later(self.timeout, self._late, sent)
        self._under_way.append(_UnderWay(sent, arrival, perf_counter_ns(), timer))
        self._transport.write(sent.frame)
        return arrival

    async def ask(self, request: Request[R], *, version: int | None = None) -> Arrival[R]:
        """Send, and wait for the answer, which is not decoded. Raises as ``begin``, and what ended the connection."""
        return await self.begin(request, version=version)

    async def send(self, request: Request[R], *, version: int | None = None) -> R:
        """Send, wait for the answer, and decode it. Raises as ``ask``, and InvalidResponse, which ends the connection."""
        arrival = await self.begin(request, version=version)
        try:
            return arrival.answer.decode()
        except InvalidResponse as fault:
            self.fail(fault)
            raise

    def fail(self, fault: ConnectionFault) -> None:
        """End the connection because of what was found in an answer."""
        if self._fault is None:
            log.debug("%s", fault)
            self._end(fault)

    def abort(self) -> None:
        """End the connection without waiting for anything."""
        if self._fault is None:
            self._end(self._closed("by us"))

    async def close(self) -> None:
        """End the connection, and wait until it is gone. What is under way ends with ConnectionClosed."""
        self.abort()
        await asyncio.shield(self._lost)

    # What the stream tells.

    def _made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._protocol.request_api_versions().frame)

    def _buffer(self) -> memoryview:
        return self._receiver.get_buffer()

    def _arrived(self, count: int) -> None:
        if self._fault is not None:
            return
        try:
            for payload in self._receiver.buffer_updated(count):
                self._take(payload)
        except ConnectionFault as fault:
            self.fail(fault)
            return
        refusal = self._receiver.error
        if refusal is not None:
            self.fail(OversizedFrame(self.endpoint, refusal.size, refusal.max_size))

    def _take(self, payload: bytes) -> None:
        if not self._welcomed.done():
            again = self._protocol.receive_api_versions(payload)
            if again is None:
                self._welcomed.set_result(None)
            elif self._transport is not None:
                self._transport.write(again.frame)
            return
        now = perf_counter_ns()
        answer = self._protocol.receive(payload)
        under_way = self._under_way.popleft()
        under_way.timer.cancel()
        if not under_way.arrival.done():  # it may have been cancelled
            arrival = Arrival(answer, datetime.now(UTC), (now - under_way.since) // 1000)
            under_way.arrival.set_result(arrival)

    def _late(self, sent: SentRequest[Any]) -> None:
        name = type(sent.request).__name__
        self.fail(Timeout(self.endpoint, name, self.timeout, self._receiver.partial_bytes))

    def _gone(self, error: Exception | None) -> None:
        if self._fault is None:
            self._end(self._closed(None if error is None else str(error)))
        if not self._lost.done():
            self._lost.set_result(None)

    def _closed(self, why: str | None) -> ConnectionClosed:
        return ConnectionClosed(self.endpoint, self._receiver.partial_bytes, why)

    def _end(self, fault: ConnectionFault) -> None:
        """The oldest request met with the fault; those behind it only with the end of the connection."""
        self._fault = fault
        if self._transport is not None:
            self._transport.abort()
        if not self._welcomed.done():
            self._welcomed.set_exception(fault)
            self._welcomed.exception()  # seen, also when nobody waits any more
        behind = fault if isinstance(fault, ConnectionClosed) else self._closed("by us, for an earlier answer's fault")
        for under_way in self._under_way:
            under_way.timer.cancel()
            if not under_way.arrival.done():
                under_way.arrival.set_exception(fault)
                under_way.arrival.exception()  # likewise
            fault = behind
        self._under_way.clear()


class _Stream(asyncio.BufferedProtocol):
    """Hands what asyncio has to say to its connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._connection._made(transport)  # noqa: SLF001  two halves of one thing

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint  # -1 always
        return self._connection._buffer()  # noqa: SLF001

    def buffer_updated(self, nbytes: int) -> None:
        self._connection._arrived(nbytes)  # noqa: SLF001

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection._gone(exc)  # noqa: SLF001


def _why(error: OSError) -> str:
    """What the system said, in its own words: asyncio puts others in their place."""
    known = error.errno is not None and error.errno > 0 and not isinstance(error, gaierror)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}" if known and error.errno else str(error)
