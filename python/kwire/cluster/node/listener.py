"""The listening socket of a node: request frames in, response frames out.

- The listener knows frames, not messages. Requests go to two functions: `cached_responses`, which may answer a run of
  requests by their bytes, and `dispatch`, which answers one request.
- Responses leave in the order of their requests. A response that needs no waiting is sent from `data_received`, without
  a task, and the responses to all requests of one read leave in one write.
- A connection with much to do takes turns with the others: after some milliseconds it continues in a later iteration of
  the event loop.
- Connections are isolated from each other. The memory that a client can occupy is bounded by the largest frame, the
  requests in flight, and the unsent bytes. At a bound, reading pauses, so that the client is slowed down by its own
  socket; nothing is dropped.
- Time is bounded too: once a second, connections are closed that are idle, that have not completed a frame, or that do
  not read their responses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from enum import StrEnum
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwire.cluster.time_slice import SLICE_SECONDS
from kwire.frame import other_protocol
from kwire.messages.kafka.update_metadata import UpdateMetadataRequest
from kwire.protocol.server_shutdown import close_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    Frame: TypeAlias = bytes | tuple[bytes | memoryview, ...]
    """A frame, or the parts of a large one, which are written one after another instead of being joined."""
    Dispatch: TypeAlias = Callable[[bytes, "ConnectedClient"], Frame | Awaitable[Frame]]
    """Answers the payload of one frame. Raises InvalidRequest, which closes the connection."""
    CachedResponses: TypeAlias = Callable[[bytes, int, int, "ConnectedClient"], tuple[bytes, int, int] | None]
    """Takes the received bytes, the offset of the next request, and how many bytes of responses to return beyond the
    first. Returns frames, the offset behind the last answered request, and the number of requests."""

SWEEP_SECONDS = 1.0
MAX_BATCH = 1 << 16
"""Bytes of responses that are collected for one write."""

UPDATE_METADATA = UpdateMetadataRequest.api_key

size_at = Struct(">i").unpack_from
key_at = Struct(">h").unpack_from


class CloseReason(StrEnum):
    """Why a connection was closed, other than by the client between two requests or because the listener stops."""

    DISCONNECTED = "disconnected_within_frame"
    IDLE = "idle"
    INCOMPLETE_FRAME = "incomplete_frame"
    INVALID_FRAME = "invalid_frame"
    INVALID_REQUEST = "invalid_request"
    REQUEST_FAILED = "request_failed"
    TOO_MANY_CONNECTIONS = "too_many_connections"
    UNREAD_RESPONSES = "unread_responses"


class InvalidRequest(Exception):
    """A request that is not answered: its connection is closed, and the detail is logged."""

    def __init__(self, detail: str, reason: CloseReason = CloseReason.INVALID_REQUEST) -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason


class Limits(NamedTuple):
    """Limits of the connections; sizes in bytes, times in seconds."""

    frame: int = 4 * 1024 * 1024
    """The largest request (`socket.request.max.bytes`)."""
    broker_frame: int = 64 * 1024 * 1024
    """The largest request with the key of UpdateMetadata (`inter.broker.request.max.bytes`)."""
    in_flight: int = 64
    """Requests of one connection that are being processed; further requests are not read."""
    unsent: int = 8 * 1024 * 1024
    """Bytes of responses that a client has not read; beyond it, no further requests are read."""
    connections: int = 2048
    """Open connections (`max.connections`); a further one is closed immediately."""
    idle: float = 600.0
    """Time without a received byte and without a request in flight (`connections.max.idle.ms`)."""
    incomplete_frame: float = 30.0
    """Time from the first byte of a frame to its last."""
    unread_responses: float = 30.0
    """Time for which a client may leave responses unread."""


class Observer(Protocol):
    """Receives the events of a listener. It is called in the event loop and must not block."""

    def opened(self, client: ConnectedClient) -> None: ...

    def closed(self, client: ConnectedClient, reason: CloseReason | None, detail: str) -> None:
        """`reason` is None if the client disconnected between two requests, or the listener stops."""

    def failed(self, client: ConnectedClient, error: BaseException) -> None:
        """A request raised another exception than InvalidRequest. Its connection is closed."""


class ConnectedClient:
    """The client of one connection; the same object for the lifetime of the connection."""

    __slots__ = ("address", "client_id", "received", "sent")

    def __init__(self, address: str) -> None:
        self.address = address
        self.client_id: str | None = None
        """The client id of the last request."""
        self.received = 0
        """The number of requests."""
        self.sent = 0
        """The number of responses."""

    def __repr__(self) -> str:
        return f"<ConnectedClient {self.address} client_id={self.client_id!r}>"


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
    ) -> None:
        self.dispatch = dispatch
        self.cached_responses = cached_responses
        self.observer = observer
        self.limits = limits or Limits()
        self.connections: set[ServerConnection] = set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
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
        self._server = await loop.create_server(lambda: ServerConnection(self), host, port, backlog=512)
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
        self._empty.clear()

    def remove(self, connection: ServerConnection) -> None:
        """Unregister a closed connection."""
        self.connections.discard(connection)
        if not self.connections:
            self._empty.set()

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = clock()
            for connection in tuple(self.connections):
                connection.check_timeouts(now)


class ServerConnection(asyncio.Protocol):
    """One connection: the bytes that do not form a request yet, and the responses that are not sent yet."""

    __slots__ = (
        "_batch",
        "_batch_size",
        "_cached_responses",
        "_close_detail",
        "_close_reason",
        "_closing_since",
        "_dispatch",
        "_finishing",
        "_incomplete_since",
        "_limits",
        "_listener",
        "_loop",
        "_paused",
        "_pending",
        "_received_at",
        "_rest",
        "_transport",
        "_unread_since",
        "_yielded",
        "client",
    )

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._dispatch = listener.dispatch
        self._cached_responses = listener.cached_responses
        self._limits = listener.limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """Received bytes that are not processed: an incomplete frame, or frames that arrived while reading paused."""
        self._pending: deque[asyncio.Future[Frame]] = deque()
        """Responses in the order of their requests, from the first that is not complete."""
        self._batch: list[bytes] = []
        """Responses for the next write."""
        self._batch_size = 0
        self._received_at = self._loop.time()
        self._incomplete_since: float | None = None
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._paused = False
        self._yielded = False
        """Whether other connections have their turn."""
        self._finishing = False
        self._close_reason: CloseReason | None = None
        self._close_detail = ""
        self.client = ConnectedClient("?")

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=self._limits.unsent)
        address = transport.get_extra_info("peername")
        self.client.address = f"{address[0]}:{address[1]}" if address else "?"
        self._listener.add(self)
        self._listener.observer.opened(self.client)
        if len(self._listener.connections) > self._limits.connections:
            self.close(CloseReason.TOO_MANY_CONNECTIONS, f"more than {self._limits.connections} connections")

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # how a client leaves does not matter; why we close is in _close_reason
        self._listener.remove(self)
        for response in self._pending:
            response.cancel()
        self._pending.clear()
        self._transport = None
        if self._close_reason is None and self._rest and not self._finishing:
            self._close_reason = CloseReason.DISCONNECTED
            self._close_detail = f"disconnected within a frame, after {len(self._rest)} bytes"
        self._listener.observer.closed(self.client, self._close_reason, self._close_detail)

    def data_received(self, data: bytes) -> None:
        self._received_at = self._loop.time()
        if self._rest or self._paused:
            self._rest += data
            if not self._paused:
                self._process_rest()
            return
        processed = self._process(data)
        if processed < len(data):
            self._rest += data[processed:]
        self._update_incomplete_since()

    def pause_writing(self) -> None:
        self._unread_since = self._loop.time()
        self._pause_reading()

    def resume_writing(self) -> None:
        self._unread_since = None
        self._resume_reading()

    # Requests

    def _process_rest(self) -> None:
        if len(self._rest) >= self._rest_needed():
            received = bytes(self._rest)
            del self._rest[: self._process(received)]
        self._update_incomplete_since()

    def _rest_needed(self) -> int:
        """Return how many bytes the unprocessed rest must have to be worth processing: a frame, or an invalid size."""
        if len(self._rest) < 4:
            return 4
        size: int = size_at(self._rest)[0]
        limit = self._frame_limit(self._rest, 0, size)
        if limit is None:
            return 6
        return 4 + size if 0 <= size <= limit else 4

    def _frame_limit(self, data: bytes | bytearray, position: int, size: int) -> int | None:
        """Return the largest size of the frame at `position`, or None if that depends on bytes that are missing."""
        if not self._limits.frame < size <= self._limits.broker_frame:
            return self._limits.frame
        if len(data) < position + 6:
            return None
        return self._limits.broker_frame if key_at(data, position + 4)[0] == UPDATE_METADATA else self._limits.frame

    def _process(self, data: bytes) -> int:
        """Answer complete frames until a limit pauses reading, and return the number of bytes processed."""
        position = 0
        turn_ends = self._loop.time() + SLICE_SECONDS
        try:
            while not self._paused and not self._finishing:
                stop = self._answer_next(data, position)
                if stop == position:
                    break
                position = stop
                if position < len(data) and self._loop.time() > turn_ends:
                    self._yielded = True
                    self._pause_reading()
                    self._loop.call_soon(self._continue)
        except InvalidRequest as error:
            self._flush()
            self.close(error.reason, error.detail)
            return len(data)
        except Exception as error:  # noqa: BLE001  # a fault in one response must not affect other connections
            self._flush()
            self._fail(error)
            return len(data)
        self._flush()
        return position

    def _continue(self) -> None:
        """Continue after the turn of other connections."""
        self._yielded = False
        if self._transport is not None:
            self._resume_reading()

    def _answer_next(self, data: bytes, position: int) -> int:
        """Answer the request at `position`, and with it further ones that are cached.

        Returns:
            The offset behind the answered requests; `position` if the frame is not complete.
        """
        if len(data) - position < 4:
            return position
        client = self.client
        # Each response behind a pending one has to wait as a future of its own.
        cached = self._cached_responses(data, position, 0 if self._pending else MAX_BATCH - self._batch_size, client)
        if cached is not None:
            responses, stop, requests = cached
            client.received += requests
            self._respond(responses, requests)
            return stop
        size: int = size_at(data, position)[0]
        limit = self._frame_limit(data, position, size)
        if limit is None:
            return position
        if not 0 <= size <= limit:
            protocol = other_protocol(size)
            found = f", looks like {protocol}" if protocol else ""
            detail = f"frame of {size} bytes{found}: expected 0 to {limit}"
            raise InvalidRequest(detail, CloseReason.INVALID_FRAME)
        stop = position + 4 + size
        if stop > len(data):
            return position
        client.received += 1
        self._respond(self._dispatch(data[position + 4 : stop], client), 1)
        return stop

    # Responses

    def _respond(self, response: Frame | Awaitable[Frame], requests: int) -> None:
        """Send a response to so many requests, behind the responses that are pending."""
        if isinstance(response, bytes | tuple):
            if not self._pending:
                self._send(response, requests)
                return
            future: asyncio.Future[Frame] = self._loop.create_future()
            future.set_result(response)
        else:
            future = asyncio.ensure_future(response)
            future.add_done_callback(self._send_completed)
        self._pending.append(future)
        if len(self._pending) >= self._limits.in_flight:
            self._pause_reading()

    def _send_completed(self, future: asyncio.Future[Frame]) -> None:
        """Send the pending responses up to the first that is not complete."""
        if self._transport is None:
            if not future.cancelled():
                future.exception()  # the client has disconnected; the dispatcher has logged the error
            return
        while self._pending and self._pending[0].done():
            first = self._pending.popleft()
            error = asyncio.CancelledError() if first.cancelled() else first.exception()
            if error is not None:
                self._flush()
                if isinstance(error, InvalidRequest):
                    self.close(error.reason, error.detail)
                elif isinstance(error, asyncio.CancelledError):
                    self.close(CloseReason.REQUEST_FAILED, "request canceled")
                else:
                    self._fail(error)
                return
            self._send(first.result(), 1)
        self._flush()
        self._resume_reading()
        self._close_when_finished()

    def _send(self, response: Frame, requests: int) -> None:
        """Add a response to the batch, or write it if it is large."""
        self.client.sent += requests
        if isinstance(response, bytes) and len(response) <= MAX_BATCH:
            self._batch.append(response)
            self._batch_size += len(response)
            if self._batch_size > MAX_BATCH:
                self._flush()  # this may pause reading, if the client does not read
            return
        self._flush()
        for part in (response,) if isinstance(response, bytes) else response:
            if self._transport is not None:
                self._transport.write(part)

    def _flush(self) -> None:
        """Write the batch."""
        batch = self._batch
        if not batch:
            return
        if self._transport is not None:
            self._transport.write(batch[0] if len(batch) == 1 else b"".join(batch))
        batch.clear()
        self._batch_size = 0

    # Limits

    def _pause_reading(self) -> None:
        if not self._paused:
            self._paused = True
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._paused or self._yielded or self._unread_since is not None:
            return
        if len(self._pending) >= self._limits.in_flight:
            return
        self._paused = False
        self._process_rest()
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _update_incomplete_since(self) -> None:
        """Note when the first byte of an incomplete frame arrived; further bytes do not extend its time."""
        if not self._rest or self._paused:
            self._incomplete_since = None
        elif self._incomplete_since is None:
            self._incomplete_since = self._received_at

    def check_timeouts(self, now: float) -> None:
        """Close the connection if one of its time limits is exceeded."""
        limits = self._limits
        if self._closing_since is not None:
            if now - self._closing_since > limits.unread_responses:
                self.abort()
        elif self._unread_since is not None and now - self._unread_since > limits.unread_responses:
            self.close(CloseReason.UNREAD_RESPONSES, f"responses not read for {limits.unread_responses:g} s")
        elif self._incomplete_since is not None and now - self._incomplete_since > limits.incomplete_frame:
            detail = f"frame not completed within {limits.incomplete_frame:g} s, after {len(self._rest)} bytes"
            self.close(CloseReason.INCOMPLETE_FRAME, detail)
        elif not self._pending and self._unread_since is None and now - self._received_at > limits.idle:
            self.close(CloseReason.IDLE, f"idle for {limits.idle:g} s")

    # Closing

    def finish(self) -> None:
        """Answer the requests in flight, then close."""
        self._finishing = True
        self._close_when_finished()

    def _close_when_finished(self) -> None:
        if self._finishing and not self._pending:
            self.close()

    def _fail(self, error: BaseException) -> None:
        self._listener.observer.failed(self.client, error)
        self.close(CloseReason.REQUEST_FAILED, f"{type(error).__name__} while answering")

    def close(self, reason: CloseReason | None = None, detail: str = "") -> None:
        """Close the connection after the written responses are sent, if the client reads them."""
        if self._transport is None or self._transport.is_closing():
            return
        self._close_reason = reason
        self._close_detail = detail
        self._closing_since = self._loop.time()
        self._transport.close()
        if self._unread_since is not None and reason is not None:
            self.abort()  # the client does not read

    def abort(self) -> None:
        """Close the connection immediately, and discard unsent responses."""
        if self._transport is not None:
            self._transport.abort()
