"""One connection to one broker, on asyncio.

`kwire.protocol` interprets the bytes; this module moves them and measures time. Any number of requests may be in
flight; the broker responds in order. The first error ends the connection and all requests in flight. Callers get a
ConnectionFault, never another OSError.
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

__all__ = ["Connection", "TimedResponse"]

R = TypeVar("R", bound="Message")
log = logging.getLogger("kwire.client")

TIMEOUT = 30.0
"""Seconds to wait for a response: the default of `request.timeout.ms` in Kafka's clients."""


class TimedResponse(NamedTuple, Generic[R]):
    """A response that is not decoded yet.

    Attributes:
        response: the response.
        at: when it was complete, in UTC.
        duration_us: microseconds since the request was sent.
    """

    response: ReceivedResponse[R]
    at: datetime
    duration_us: int


class _RequestInFlight(NamedTuple):
    """A request without a response yet. `sent_at`: nanoseconds of `perf_counter_ns`."""

    sent: SentRequest[Any]
    result: asyncio.Future[TimedResponse[Any]]
    sent_at: int
    timer: asyncio.TimerHandle


class Connection:
    """An open connection. Use `async with await Connection.open(...)`, or `close` it."""

    def __init__(self, endpoint: Endpoint, *, client_id: str | None, timeout: float, max_size: int) -> None:
        self.endpoint = endpoint
        self.timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._protocol = ClientConnection(endpoint, client_id=client_id)
        self._receiver = FrameReceiver(max_size=max_size)
        self._in_flight: deque[_RequestInFlight] = deque()
        self._transport: asyncio.Transport | None = None
        self._negotiated: asyncio.Future[None] = self._loop.create_future()
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
        """Connect, and negotiate dialect and versions.

        Args:
            endpoint: the broker, as `host:port` or Endpoint.
            client_id: the client id of all requests.
            timeout: seconds to connect, to negotiate, and to wait for each response.
            max_size: the largest response to accept, in bytes.

        Raises:
            ConnectFailed: no connection could be made.
            ConnectionFault: the broker closed the connection, did not respond, or sent an invalid response.
        """
        if isinstance(endpoint, str):
            endpoint = Endpoint.parse(endpoint)
        self = cls(endpoint, client_id=client_id, timeout=timeout, max_size=max_size)
        await self._connect()
        await self._negotiate()
        return self

    async def _connect(self) -> None:
        endpoint, timeout = self.endpoint, self.timeout
        try:
            async with asyncio.timeout(timeout):
                await self._loop.create_connection(lambda: _StreamProtocol(self), endpoint.host, endpoint.port)
        except TimeoutError:
            raise ConnectFailed(endpoint, f"no connection within {timeout:g} s") from None
        except OSError as error:
            number = None if isinstance(error, gaierror) else error.errno
            raise ConnectFailed(endpoint, _describe(error), number) from error
        except (ValueError, OverflowError) as error:  # a broker may advertise an invalid host name or port
            raise ConnectFailed(endpoint, str(error)) from error

    async def _negotiate(self) -> None:
        """Wait until the versions are negotiated."""
        try:
            async with asyncio.timeout(self.timeout):
                # Not awaited itself: cancellation would cancel it, and later frames would be taken for responses.
                await asyncio.wait([self._negotiated])
            self._negotiated.result()
        except TimeoutError:
            self.fail(Timeout(self.endpoint, "ApiVersionsRequest", self.timeout, self._receiver.partial_bytes))
            raise self._fault or ConnectionClosed(self.endpoint, 0) from None
        except BaseException:
            self.abort()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def negotiated(self) -> NegotiatedVersions:
        """The dialect and versions of the broker."""
        negotiated = self._protocol.negotiated
        assert negotiated is not None, "an open connection has negotiated versions"
        return negotiated

    @property
    def fault(self) -> ConnectionFault | None:
        """The error that ended the connection; None while it is open."""
        return self._fault

    def submit(self, request: Request[R], *, version: int | None = None) -> asyncio.Future[TimedResponse[R]]:
        """Send a request and return a future of its response.

        Args:
            version: the API version; by default the highest one that client and broker have in common.

        Raises:
            NoCommonVersion: client and broker have no version in common. The connection stays open.
            EncodeError: the request cannot be encoded in this version. The connection stays open.
            ConnectionFault: the connection has ended.
        """
        if self._fault is not None:
            raise self._fault
        assert self._transport is not None
        sent = self._protocol.request(request, version=version)
        result: asyncio.Future[TimedResponse[Any]] = self._loop.create_future()
        timer = self._loop.call_later(self.timeout, self._time_out, sent)
        self._in_flight.append(_RequestInFlight(sent, result, perf_counter_ns(), timer))
        self._transport.write(sent.frame)
        return result

    async def send(self, request: Request[R], *, version: int | None = None) -> R:
        """Send a request and return its decoded response.

        Raises:
            ConnectionFault: the connection has ended, or ends before the response is complete.
            InvalidResponse: the response cannot be decoded. This ends the connection.
            NoCommonVersion: see `submit`.
            EncodeError: see `submit`.
        """
        timed = await self.submit(request, version=version)
        try:
            return timed.response.decode()
        except InvalidResponse as fault:
            self.fail(fault)
            raise

    def fail(self, fault: ConnectionFault) -> None:
        """End the connection because of an error that the caller found in a response."""
        if self._fault is None:
            log.debug("%s", fault)
            self._end(fault)

    def abort(self) -> None:
        """End the connection without waiting."""
        if self._fault is None:
            self._end(self._closed("by us"))

    async def close(self) -> None:
        """End the connection and wait until the transport is closed. Requests in flight fail with ConnectionClosed."""
        self.abort()
        await asyncio.shield(self._lost)

    # Callbacks of the stream protocol

    def _connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._protocol.request_api_versions().frame)

    def _get_buffer(self) -> memoryview:
        return self._receiver.get_buffer()

    def _buffer_updated(self, count: int) -> None:
        if self._fault is not None:
            return
        try:
            for payload in self._receiver.buffer_updated(count):
                self._receive(payload)
        except ConnectionFault as fault:
            self.fail(fault)
            return
        error = self._receiver.error
        if error is not None:
            self.fail(OversizedFrame(self.endpoint, error.size, error.max_size))

    def _receive(self, payload: bytes) -> None:
        if not self._negotiated.done():
            next_request = self._protocol.receive_api_versions(payload)
            if next_request is None:
                self._negotiated.set_result(None)
            elif self._transport is not None:
                self._transport.write(next_request.frame)
            return
        now = perf_counter_ns()
        response = self._protocol.receive(payload)
        request = self._in_flight.popleft()
        request.timer.cancel()
        if not request.result.done():  # it may be cancelled
            request.result.set_result(TimedResponse(response, datetime.now(UTC), (now - request.sent_at) // 1000))

    def _time_out(self, sent: SentRequest[Any]) -> None:
        name = type(sent.request).__name__
        self.fail(Timeout(self.endpoint, name, self.timeout, self._receiver.partial_bytes))

    def _connection_lost(self, error: Exception | None) -> None:
        if self._fault is None:
            self._end(self._closed(None if error is None else str(error)))
        if not self._lost.done():
            self._lost.set_result(None)

    def _closed(self, why: str | None) -> ConnectionClosed:
        return ConnectionClosed(self.endpoint, self._receiver.partial_bytes, why)

    def _end(self, fault: ConnectionFault) -> None:
        """End the connection: the oldest request fails with `fault`, later ones because the connection is closed."""
        self._fault = fault
        if self._transport is not None:
            self._transport.abort()
        if not self._negotiated.done():
            _set_exception(self._negotiated, fault)
        later = (
            fault if isinstance(fault, ConnectionClosed) else self._closed("by us, after an earlier response failed")
        )
        for request in self._in_flight:
            request.timer.cancel()
            if not request.result.done():
                _set_exception(request.result, fault)
            fault = later
        self._in_flight.clear()


class _StreamProtocol(asyncio.BufferedProtocol):
    """Forwards the callbacks of asyncio to a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._connection._connection_made(transport)  # noqa: SLF001

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint  # always -1
        return self._connection._get_buffer()  # noqa: SLF001

    def buffer_updated(self, nbytes: int) -> None:
        self._connection._buffer_updated(nbytes)  # noqa: SLF001

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection._connection_lost(exc)  # noqa: SLF001


def _set_exception(future: asyncio.Future[Any], error: Exception) -> None:
    """Set an exception and mark it as retrieved: the caller may be gone."""
    future.set_exception(error)
    future.exception()


def _describe(error: OSError) -> str:
    """Return the text of the operating system, which asyncio replaces with its own."""
    known = error.errno is not None and error.errno > 0 and not isinstance(error, gaierror)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}" if known and error.errno else str(error)
