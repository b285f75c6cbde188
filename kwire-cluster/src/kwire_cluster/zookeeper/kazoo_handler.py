"""Callbacks from kazoo's connection thread to the event loop.

Responses, watch events, and session states go through one queue, in the order in which the server sent them. The loop
wakes up once for all queued callbacks. kazoo's worker threads are not started.
"""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

__all__ = ["AsyncResult", "CallbackQueue", "EventLoopHandler", "WakeupPair"]


class CallbackQueue:
    """Callbacks to run in the thread of the event loop, in order."""

    __slots__ = ("_awake", "_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], None]] = deque()
        self._awake = False

    def post(self, call: Callable[[], None]) -> None:
        """Add a callback from any thread."""
        self._waiting.append(call)
        if not self._awake:
            self._awake = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop is closed
                self._waiting.clear()

    def _drain(self) -> None:
        self._awake = False  # before the loop below: later callbacks wake the event loop again or are seen below
        waiting = self._waiting
        while waiting:
            call = waiting.popleft()
            try:
                call()
            except Exception as error:  # noqa: BLE001  # a failing callback must not affect the others; the loop reports it
                self._loop.call_exception_handler(
                    {"message": f"callback of a ZooKeeper session failed: {call!r}", "exception": error}
                )


class AsyncResult:
    """The part of kazoo's `AsyncResult` that kazoo itself uses, without locks.

    The callback runs exactly once: immediately if the result is set, else in the thread that sets it.
    """

    __slots__ = ("_callbacks", "exception", "ready", "value")

    def __init__(self) -> None:
        self.ready = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[Callable[[AsyncResult], None]] = []

    def set(self, value: Any = None) -> None:
        """Set the result."""
        if not self.ready:
            self.value = value
            self.ready = True
            self._call()

    def set_exception(self, exception: BaseException) -> None:
        """Set an exception as the result."""
        if not self.ready:
            self.exception = exception
            self.ready = True
            self._call()

    def rawlink(self, callback: Callable[[AsyncResult], None]) -> None:
        """Call `callback` once the result is set, at once if it is set already."""
        self._callbacks.append(callback)
        if self.ready:
            self._call()

    def get(self) -> Any:
        """Return the result, which must be set."""
        if self.exception is not None:
            raise self.exception
        return self.value

    def _call(self) -> None:
        while self._callbacks:
            try:
                callback = self._callbacks.pop()  # only one of two threads gets it
            except IndexError:
                return
            callback(self)


class WakeupPair:
    """The pair of sockets with which kazoo wakes its thread: one byte sent and received for each request.

    kazoo's own pair blocks the sender after a few hundred bytes, even if the sender is the thread that should receive.
    This pair counts the bytes and holds a real byte only while the count is positive.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._inner, self._outer = socket.socketpair()

    def fileno(self) -> int:
        """Return a file descriptor that is readable while there are bytes to receive."""
        return self._inner.fileno()

    def send(self, data: bytes) -> int:
        """Send without blocking."""
        with self._lock:
            if self._count == 0:
                self._outer.send(b"\0")
            self._count += len(data)
        return len(data)

    def recv(self, limit: int) -> bytes:
        """Receive without blocking, or raise BlockingIOError."""
        with self._lock:
            if self._count == 0:
                raise BlockingIOError
            taken = min(limit, self._count)
            self._count -= taken
            if self._count == 0:
                self._inner.recv(1)
        return b"\0" * taken

    def close(self) -> None:
        """Close both ends. Closing again has no effect."""
        self._inner.close()
        self._outer.close()


class EventLoopHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's threading handler, with callbacks in the event loop instead of worker threads."""

    timeout_exception = KazooTimeoutError

    def __init__(self, callbacks: CallbackQueue) -> None:
        super().__init__()
        self._callbacks = callbacks

    def start(self) -> None:
        """Start without worker threads."""
        self._running = True

    def stop(self) -> None:
        """Stop without worker threads."""
        self._running = False

    def create_socket_pair(self) -> tuple[WakeupPair, WakeupPair]:
        """Create the pair that wakes the connection thread."""
        doorbell = WakeupPair()
        return doorbell, doorbell

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], _: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Select with one system call. kazoo selects several times for each request, and its own select needs five."""
        if timeout is not None and timeout < 0:
            raise ValueError("timeout must not be negative")
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLIN)
        for writer in writers:
            poll.register(writer, select.POLLOUT)
        ready = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
        if any(event & select.POLLNVAL for event in ready.values()):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return (
            [reader for reader in readers if reader.fileno() in ready],
            [writer for writer in writers if writer.fileno() in ready],
            [],
        )

    def async_result(self) -> AsyncResult:
        """Create a result."""
        return AsyncResult()

    def dispatch_callback(self, callback: Any) -> None:
        """Run a watch callback in the event loop."""
        self._callbacks.post(lambda: callback.func(*callback.args))

    def spawn(self, func: Callable[..., None], *args: Any, **keywords: Any) -> threading.Thread:
        """Start the connection thread."""
        thread = threading.Thread(target=func, args=args, kwargs=keywords, name="zookeeper connection", daemon=True)
        thread.start()
        return thread
