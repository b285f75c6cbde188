"""The port: frames in, frames out, and nothing a peer does on one connection is felt on another.

Rules of this file.

* It knows frames, not messages. ``answer(payload, peer)`` is given what is behind the size, and returns a whole frame,
  or something to await for one; a large frame comes in parts, which are not joined. It raises ``Refused`` for what
  deserves no answer; the connection is closed then, and the log says who and why.
* ``known(received, start, at_most, peer)`` is asked first: whoever answers may know whole frames by their bytes, and
  answer a run of them without looking at each.
* Answers leave in the order of their requests. What can be answered at once is answered inside ``data_received``,
  without a task; one write a chunk, however many requests were in it.
* Memory that a peer can make us hold is bounded: by the largest frame, by the requests in flight, and by what waits to
  be sent. At a bound reading stops, so that the peer is slowed down by its own socket. Nothing is dropped for it.
* Time is bounded too. One sweep a second looks for connections that are idle, that have not finished a frame, or that
  do not read what they asked for.

The names of the limits are those of Kafka's settings where it has one.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kwire.protocol.server_shutdown import close_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    Frame: TypeAlias = bytes | tuple[bytes, ...]
    Answer: TypeAlias = Callable[[bytes, "Peer"], Frame | Awaitable[Frame]]
    Known: TypeAlias = Callable[[bytes, int, int, "Peer"], tuple[bytes, int, int] | None]
    """What is received, where the next frame begins in it, and how many bytes of answers are wanted at most, beyond the
    first answer, to: frames of answers, where their last request ends, and how many they are."""

SWEEP_SECONDS = 1.0
size_at = Struct(">i").unpack_from
GATHERED = 1 << 16
"""Bytes of answers that wait for those behind them, to leave in one write."""


class Refused(Exception):
    """A request that gets no answer: its connection is closed. ``reason`` goes into the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Limits(NamedTuple):
    """What a peer may use up; sizes in bytes, times in seconds."""

    frame: int = 100 * 1024 * 1024
    """The largest request (``socket.request.max.bytes``)."""
    in_flight: int = 64
    """Requests of one connection that are being worked on; more are not read."""
    unsent: int = 8 * 1024 * 1024
    """Answers that a connection has not taken; beyond it no more of its requests are read."""
    connections: int = 2048
    """At one time (``max.connections``); one more is closed at once."""
    idle: float = 600.0
    """Without a byte in either direction and nothing in flight (``connections.max.idle.ms``)."""
    half_frame: float = 30.0
    """From a frame's first byte to its last."""
    slow_reader: float = 30.0
    """For which a peer may leave answers unread."""


class Observer(Protocol):
    """Who is told what happens at the port. Called inside the event loop: it must not block."""

    def opened(self, peer: Peer) -> None: ...

    def closed(self, peer: Peer, reason: str | None) -> None:
        """``reason`` is None when the peer simply left, or we are shutting down."""

    def failed(self, peer: Peer, error: BaseException) -> None:
        """The answer to a request raised something else than Refused: a fault of ours. The connection is closed."""


class Peer:
    """Who is at the other end of a connection; stays the same object for its whole life."""

    __slots__ = ("address", "client_id", "received", "sent", "surplus_seen")

    def __init__(self, address: str) -> None:
        self.address = address
        self.client_id: str | None = None
        """As its last request said."""
        self.received = 0
        """Requests."""
        self.sent = 0
        """Answers."""
        self.surplus_seen = False
        """Whether it has been logged that this client sends bytes behind its requests."""

    def __repr__(self) -> str:
        return f"<Peer {self.address} client_id={self.client_id!r}>"


def nothing_is_known(_received: bytes, _start: int, _at_most: int, _peer: Peer) -> None:
    """Every frame has to be read."""


class Listener:
    """A listening socket and its connections."""

    def __init__(
        self, answer: Answer, observer: Observer, limits: Limits | None = None, known: Known = nothing_is_known
    ) -> None:
        self._answer = answer
        self._known = known
        self._observer = observer
        self.limits = limits or Limits()
        self.connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self.host = ""
        self.port = 0

    async def start(self, host: str, port: int = 0) -> None:
        """Listen; port 0 is a free one, which ``port`` tells. Raises OSError when the address cannot be had."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connect, host, port, backlog=512)
        self.host, self.port = self._server.sockets[0].getsockname()[:2]
        self._sweeper = loop.create_task(self._sweep(), name=f"sweep :{self.port}")

    async def stop(self, grace: float = 5.0) -> None:
        """Accept nothing more, answer what is in flight for at most ``grace`` seconds, close everything."""
        if self._server is not None:
            await close_server(self._server)
        for connection in tuple(self.connections):
            connection.finish()
        try:
            async with asyncio.timeout(grace):
                await self._empty.wait()
        except TimeoutError:
            for connection in tuple(self.connections):
                connection.cut()
            await self._empty.wait()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)

    def opened(self, connection: Connection) -> None:
        self.connections.add(connection)
        self._empty.clear()

    def closed(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._empty.set()

    def _connect(self) -> Connection:
        return Connection(self, self._answer, self._known, self._observer, self.limits)

    async def _sweep(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = clock()
            for connection in tuple(self.connections):
                connection.look_at_the_clock(now)


class Connection(asyncio.Protocol):
    """One peer: the bytes it has sent that are no frame yet, and the answers that it has not got yet."""

    __slots__ = (
        "_answer",
        "_closing_since",
        "_finishing",
        "_half_since",
        "_heard",
        "_known",
        "_limits",
        "_listener",
        "_loop",
        "_observer",
        "_paused",
        "_pending",
        "_reason",
        "_rest",
        "_transport",
        "_unread_since",
        "peer",
    )

    def __init__(self, listener: Listener, answer: Answer, known: Known, observer: Observer, limits: Limits) -> None:
        self._listener = listener
        self._answer = answer
        self._known = known
        self._observer = observer
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        """What was received and not yet answered: half a frame, or frames behind a bound."""
        self._pending: deque[asyncio.Future[Frame]] = deque()
        """Answers on their way, in the order of their requests."""
        self._heard = self._loop.time()
        self._half_since: float | None = None
        self._unread_since: float | None = None
        self._closing_since: float | None = None
        self._paused = False
        self._finishing = False
        self._reason: str | None = None
        self.peer = Peer("?")

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=self._limits.unsent)
        address = transport.get_extra_info("peername")
        self.peer.address = f"{address[0]}:{address[1]}" if address else "?"
        self._listener.opened(self)
        self._observer.opened(self.peer)
        if len(self._listener.connections) > self._limits.connections:
            self.abort(f"more than {self._limits.connections} connections")

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # how a peer leaves is its own affair; why we close is in _reason
        self._listener.closed(self)
        for answer in self._pending:
            answer.cancel()
        self._pending.clear()
        self._transport = None
        if self._reason is None and self._rest and not self._finishing:
            self._reason = f"left in the middle of a frame, {len(self._rest)} bytes of it sent"
        self._observer.closed(self.peer, self._reason)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        if self._rest or self._paused:
            self._rest += data
            if not self._paused:
                self._consume_rest()
            return
        taken = self._consume(data)
        if taken < len(data):
            self._rest += data[taken:]
        self._mind_the_rest()

    def pause_writing(self) -> None:
        self._unread_since = self._loop.time()
        self._slow_down()

    def resume_writing(self) -> None:
        self._unread_since = None
        self._speed_up()

    # Requests

    def _consume_rest(self) -> None:
        received = bytes(self._rest) if len(self._rest) >= self._wanted() else b""
        if received:
            taken = self._consume(received)
            del self._rest[:taken]
        self._mind_the_rest()

    def _wanted(self) -> int:
        """Bytes that the first frame of the rest has, its size included; it may not be complete yet."""
        if len(self._rest) < 4:
            return 4
        size: int = size_at(self._rest)[0]
        return 4 + size if 0 <= size <= self._limits.frame else 4

    def _consume(self, data: bytes) -> int:
        """Answer the whole frames in ``data``, until there are none or a bound is reached; how many bytes that took."""
        position, end, gathered = 0, len(data), 0
        peer, largest = self.peer, self._limits.frame
        ready: list[bytes] = []
        answer: Frame | Awaitable[Frame]
        try:
            while end - position >= 4 and not self._finishing:
                # Behind answers on their way each one waits by itself.
                found = self._known(data, position, 0 if self._pending else GATHERED - gathered, peer)
                if found is not None:
                    answer, position, requests = found
                    peer.received += requests
                else:
                    size: int = size_at(data, position)[0]
                    if not 0 <= size <= largest:
                        raise Refused(f"a frame of {size} bytes: between 0 and {largest} are allowed")
                    stop = position + 4 + size
                    if stop > end:
                        break
                    peer.received += 1
                    answer = self._answer(data[position + 4 : stop], peer)
                    position, requests = stop, 1
                if isinstance(answer, bytes) and not self._pending:
                    peer.sent += requests
                    ready.append(answer)
                    gathered += len(answer)
                    if gathered <= GATHERED:
                        continue
                    self._send(ready)  # which may be more than the peer has room for, and then reading stops
                    gathered = 0
                elif isinstance(answer, tuple) and not self._pending:
                    self._send(ready)
                    self._send_parts(answer)
                    gathered = 0
                else:
                    self._pending.append(self._later(answer))
                    if len(self._pending) >= self._limits.in_flight:
                        self._slow_down()
                if self._paused:
                    break
        except Refused as refused:
            self._send(ready)
            self.abort(refused.reason)
            return end
        except Exception as error:  # noqa: BLE001 - a fault in one answer must not take other connections along
            self._send(ready)
            self._fail(error)
            return end
        self._send(ready)
        return position

    def _later(self, answer: Frame | Awaitable[Frame]) -> asyncio.Future[Frame]:
        future: asyncio.Future[Frame]
        if isinstance(answer, bytes | tuple):
            future = self._loop.create_future()
            future.set_result(answer)
        else:
            future = asyncio.ensure_future(answer)
            future.add_done_callback(self._answered)
        return future

    def _answered(self, future: asyncio.Future[Frame]) -> None:
        if self._transport is None:
            if not future.cancelled():
                future.exception()  # the peer has left; whoever makes answers logs its own faults
            return
        ready: list[bytes] = []
        while self._pending and self._pending[0].done():
            first = self._pending.popleft()
            if first.cancelled():
                self._send(ready)
                self.abort("its request was given up")
                return
            error = first.exception()
            if error is not None:
                self._send(ready)
                if isinstance(error, Refused):
                    self.abort(error.reason)
                else:
                    self._fail(error)
                return
            answer = first.result()
            if isinstance(answer, bytes):
                self.peer.sent += 1
                ready.append(answer)
            else:
                self._send(ready)
                self._send_parts(answer)
        self._send(ready)
        self._speed_up()
        self._close_when_finished()

    def _send(self, ready: list[bytes]) -> None:
        if not ready or self._transport is None:
            return
        # Small answers leave in one write. A large one is not copied to join it with others.
        if len(ready) == 1 or sum(map(len, ready)) > GATHERED:
            for answer in ready:
                self._transport.write(answer)
        else:
            self._transport.write(b"".join(ready))
        ready.clear()

    def _send_parts(self, parts: tuple[bytes, ...]) -> None:
        """In one system call where nothing waits before them: a small part that leaves by itself wakes the reader for
        nothing, and joined they would be copied.
        """
        transport = self._transport
        if transport is None:
            return
        self.peer.sent += 1
        left = 0
        if not transport.is_closing() and not transport.get_write_buffer_size():
            # Full or broken: the transport is about to find that out by itself, and deals with it.
            with suppress(OSError):
                left = os.writev(transport.get_extra_info("socket").fileno(), parts)
        for part in parts:
            if left < len(part):
                transport.write(memoryview(part)[left:])
            left = max(left - len(part), 0)

    # Bounds

    def _slow_down(self) -> None:
        if not self._paused:
            self._paused = True
            if self._transport is not None and not self._transport.is_closing():
                self._transport.pause_reading()

    def _speed_up(self) -> None:
        if not self._paused or self._unread_since is not None or len(self._pending) >= self._limits.in_flight:
            return
        self._paused = False
        self._consume_rest()
        if not self._paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _mind_the_rest(self) -> None:
        """A half frame's time runs from its first byte, and does not start again with each further one."""
        if not self._rest or self._paused:
            self._half_since = None
        elif self._half_since is None:
            self._half_since = self._heard

    def look_at_the_clock(self, now: float) -> None:
        limits = self._limits
        if self._closing_since is not None:
            if now - self._closing_since > limits.slow_reader:
                self.cut()
        elif self._unread_since is not None and now - self._unread_since > limits.slow_reader:
            self.abort(f"answers not read for {limits.slow_reader:g} s")
        elif self._half_since is not None and now - self._half_since > limits.half_frame:
            self.abort(f"a frame not finished within {limits.half_frame:g} s, {len(self._rest)} bytes of it sent")
        elif not self._pending and self._unread_since is None and now - self._heard > limits.idle:
            self.abort(f"idle for {limits.idle:g} s")

    # The end

    def finish(self) -> None:
        """Answer what is in flight, then close."""
        self._finishing = True
        self._close_when_finished()

    def _close_when_finished(self) -> None:
        if self._finishing and not self._pending:
            self.abort(None)

    def _fail(self, error: BaseException) -> None:
        self._observer.failed(self.peer, error)
        self.abort(f"{type(error).__name__} while answering")

    def abort(self, reason: str | None) -> None:
        """Close; answers already handed to the socket are still sent, as long as the peer takes them."""
        if self._transport is None or self._transport.is_closing():
            return
        self._reason = reason
        self._closing_since = self._loop.time()
        self._transport.close()
        if self._unread_since is not None and reason is not None:
            self.cut()  # it does not read: there is no use in waiting for it

    def cut(self) -> None:
        """Close at once, whatever was not sent."""
        if self._transport is not None:
            self._transport.abort()
