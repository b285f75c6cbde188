"""Sniffed traffic on its way from the relay to the output.

The event loop of the relay pairs frames and puts exchanges into a queue with a limit of bytes. A thread decodes and
prints them, so that neither decoding nor a slow terminal delays the traffic. Exchanges that do not fit are counted
instead of shown.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from time import perf_counter

from kwire._util.light_typing import TYPE_CHECKING, NamedTuple
from kwire.protocol import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.protocol import ConnectFailed, Endpoint, Exchange
    from kwire.protocol.negotiated_versions import Dialect

MAX_QUEUED_BYTES = 64 * 1024 * 1024
OVERHEAD = 1_000
"""Bytes that an exchange counts for besides its payloads."""
BLOCKED = 5.0
"""Seconds after which an output that takes nothing is blocked."""


class SniffedConnection(NamedTuple):
    """A relayed connection: its number, from 1, and both ends."""

    number: int
    client: Endpoint
    broker: Endpoint


class Sniffed(NamedTuple):
    """An exchange, or the `problem` of a connection, at a time in UTC."""

    connection: SniffedConnection
    at: datetime
    exchange: Exchange | None = None
    problem: str = ""

    @property
    def size(self) -> int:
        if self.exchange is None:
            return OVERHEAD
        return OVERHEAD + len(self.exchange.request or b"") + len(self.exchange.response or b"")


class Filter(NamedTuple):
    """Selects the exchanges of API keys by dialect and of client ids; None selects all."""

    apis: frozenset[tuple[str, int]] | None = None
    client_ids: frozenset[str] | None = None

    def accepts(self, exchange: Exchange) -> bool:
        return (self.apis is None or (exchange.dialect, exchange.api_key) in self.apis) and (
            self.client_ids is None or exchange.client_id in self.client_ids
        )


class SniffedQueue:
    """A queue that never blocks its writer. What does not fit is counted."""

    def __init__(self) -> None:
        self._bytes = 0
        self._items: deque[Sniffed] = deque()
        self._closed = False
        self._changed = threading.Condition()
        self.dropped = 0

    def put(self, item: Sniffed) -> None:
        with self._changed:
            if self._bytes + item.size > MAX_QUEUED_BYTES and self._items:
                self.dropped += 1
                return
            self._items.append(item)
            self._bytes += item.size
            self._changed.notify()

    def get(self) -> Sniffed | None:
        """Wait for the next item; None when the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed)
            if not self._items:
                return None
            item = self._items.popleft()
            self._bytes -= item.size
            return item

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()


class Clock:
    """Monotonic times, and the time of day that they stand for."""

    def __init__(self) -> None:
        self._start = datetime.now(UTC)
        self._started = perf_counter()

    def now(self) -> float:
        return perf_counter()

    def time_of(self, at: float) -> datetime:
        return self._start + timedelta(seconds=at - self._started)


class ConnectionSniffer:
    """The observer of one relayed connection: puts its exchanges into the queue."""

    def __init__(
        self,
        connection: SniffedConnection,
        queue: SniffedQueue,
        clock: Clock,
        shown: Filter,
        dialect: Dialect | None,
    ) -> None:
        self._connection = connection
        self._queue = queue
        self._clock = clock
        self._shown = shown
        self._conversation: Conversation | None = Conversation(connection.broker, dialect=dialect)
        self._reported: set[str] = set()

    def forwarded_from_client(self, data: bytes) -> None:
        if self._conversation is not None:
            self._observe(lambda conversation, at: conversation.receive_from_client(data, at))

    def forwarded_from_server(self, data: bytes) -> None:
        self._observe(lambda conversation, at: conversation.receive_from_server(data, at))

    def connect_failed(self, error: ConnectFailed) -> None:
        self._report(str(error))

    def ended(self) -> None:
        self._observe(lambda conversation, _at: conversation.end())
        if self._conversation is not None:
            for sender, size in zip(("client", "broker"), self._conversation.partial_bytes, strict=True):
                if size:
                    self._report(f"the connection ended after {size} bytes of a frame from the {sender}")

    def _observe(self, step: Callable[[Conversation, float], list[Exchange]]) -> None:
        conversation, at = self._conversation, self._clock.now()
        if conversation is None:
            return
        try:
            exchanges = step(conversation, at)
        except Exception as error:  # noqa: BLE001  # the traffic must go on
            self._conversation = None
            self._report(f"decoding stops for this connection because of an internal error: {type(error).__name__}")
            return
        for exchange in exchanges:
            if self._shown.accepts(exchange):
                self._queue.put(Sniffed(self._connection, self._clock.time_of(at), exchange))
        for sender, fault in (("client", conversation.client_error), ("broker", conversation.server_error)):
            if fault is not None:
                self._report(f"decoding stops for bytes from the {sender}: {fault}")

    def _report(self, problem: str) -> None:
        """Report a problem of the connection once."""
        if problem not in self._reported:
            self._reported.add(problem)
            self._queue.put(Sniffed(self._connection, self._clock.time_of(self._clock.now()), problem=problem))


class Printer(threading.Thread):
    """Prints what is in the queue to stdout until it is closed.

    It writes to the file descriptor: a thread that blocks in a write must not hold the lock of `sys.stdout` when the
    process ends.

    Args:
        queue: the queue.
        text: returns the lines of an item; empty for an item to skip.
        dropped_text: returns the line about exchanges that were dropped.
        count: the number of items to print; None for all.
        finished: called when `count` items are printed or the output fails.

    Attributes:
        error: the reason why the output failed, such as BrokenPipeError.
    """

    def __init__(
        self,
        queue: SniffedQueue,
        text: Callable[[Sniffed], str],
        dropped_text: Callable[[int], str],
        count: int | None,
        finished: Callable[[], None],
    ) -> None:
        super().__init__(name="kwire sniff output", daemon=True)
        self._queue = queue
        self._text = text
        self._dropped_text = dropped_text
        self._left = count
        self._written = 0
        self._finished = finished
        self.error: OSError | None = None

    def run(self) -> None:
        reported = 0
        try:
            while (item := self._queue.get()) is not None:
                if self._left == 0:
                    continue
                text = self._text(item)
                # The note about dropped frames stands before the first frame that follows them.
                if self._queue.dropped > reported:
                    text = self._dropped_text(self._queue.dropped - reported) + text
                    reported = self._queue.dropped
                if not text:
                    continue
                self._write(text)
                if self._left is not None and item.exchange is not None:
                    self._left -= 1
                    if self._left == 0:
                        self._finished()
        except OSError as error:
            self.error = error
            self._finished()

    def drain(self) -> None:
        """Wait until everything in the closed queue is printed, or the output is blocked."""
        written = -1
        while self.is_alive() and written != self._written:
            written = self._written
            self.join(BLOCKED)

    def _write(self, text: str) -> None:
        left = memoryview(text.encode("utf-8", "backslashreplace"))
        while left:
            count = os.write(sys.stdout.fileno(), left)
            left = left[count:]
            self._written += count
