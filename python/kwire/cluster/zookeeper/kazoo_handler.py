"""Between kazoo's connection thread and the event loop.

Rules of this file: everything that kazoo has to tell (answers, watches, states) goes through one inbox, in the order in
which the server said it, and the loop is woken once for all that waits there. kazoo's own worker threads are not
started: nothing of ours runs in them.
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
    """What is to be called in the loop's thread, in order."""

    __slots__ = ("_awake", "_loop", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], None]] = deque()
        self._awake = False

    def post(self, call: Callable[[], None]) -> None:
        """From any thread."""
        self._waiting.append(call)
        if not self._awake:
            self._awake = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:  # the loop is closed: nobody is left who could hear of it
                self._waiting.clear()

    def _drain(self) -> None:
        self._awake = False  # before looking: what is appended from now on wakes the loop again, or is seen below
        waiting = self._waiting
        while waiting:
            call = waiting.popleft()
            try:
                call()
            except Exception as error:  # noqa: BLE001 - one bad callback must not silence the others: the loop reports it
                self._loop.call_exception_handler(
                    {"message": f"callback of a store failed: {call!r}", "exception": error}
                )


class AsyncResult:
    """What kazoo puts an answer into; as much of its ``AsyncResult`` as kazoo itself uses, without locks.

    A callback is called once, by whoever comes second: the thread that has the answer, or the one that links.
    """

    __slots__ = ("_callbacks", "exception", "ready", "value")

    def __init__(self) -> None:
        self.ready = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[Callable[[AsyncResult], None]] = []

    def set(self, value: Any = None) -> None:
        """The answer."""
        if not self.ready:
            self.value = value
            self.ready = True
            self._call()

    def set_exception(self, exception: BaseException) -> None:
        """Why there is none."""
        if not self.ready:
            self.exception = exception
            self.ready = True
            self._call()

    def rawlink(self, callback: Callable[[AsyncResult], None]) -> None:
        """Call it when there is an answer, at once if there is one."""
        self._callbacks.append(callback)
        if self.ready:
            self._call()

    def get(self) -> Any:
        """The answer, which must be there."""
        if self.exception is not None:
            raise self.exception
        return self.value

    def _call(self) -> None:
        while self._callbacks:
            try:
                callback = self._callbacks.pop()  # of two threads one gets it
            except IndexError:
                return
            callback(self)


class WakeupPair:
    """The pair of sockets with which kazoo wakes its thread: a byte sent for each request, one received for each.

    kazoo's own pair takes a few hundred bytes and then blocks whoever sends, be it the thread that should receive.
    This one only counts, and has a byte in a real pair as long as there is something to receive.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._inner, self._outer = socket.socketpair()

    def fileno(self) -> int:
        """Readable while there is something to receive."""
        return self._inner.fileno()

    def send(self, data: bytes) -> int:
        """Never blocks."""
        with self._lock:
            if self._count == 0:
                self._outer.send(b"\0")
            self._count += len(data)
        return len(data)

    def recv(self, limit: int) -> bytes:
        """Never blocks: BlockingIOError when there is nothing."""
        with self._lock:
            if self._count == 0:
                raise BlockingIOError
            taken = min(limit, self._count)
            self._count -= taken
            if self._count == 0:
                self._inner.recv(1)
        return b"\0" * taken

    def close(self) -> None:
        """Both ends; more than once does no harm."""
        self._inner.close()
        self._outer.close()


class EventLoopHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's handler of threads, whose callbacks go to the inbox instead of its workers."""

    timeout_exception = KazooTimeoutError

    def __init__(self, inbox: CallbackQueue) -> None:
        super().__init__()
        self._inbox = inbox

    def start(self) -> None:
        """No workers."""
        self._running = True

    def stop(self) -> None:
        """No workers."""
        self._running = False

    def create_socket_pair(self) -> tuple[WakeupPair, WakeupPair]:
        """What wakes the connection's thread."""
        doorbell = WakeupPair()
        return doorbell, doorbell

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], _: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """In one system call, and kazoo makes several selects for each request; its own takes five of them."""
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
        """What answers are put into."""
        return AsyncResult()

    def dispatch_callback(self, callback: Any) -> None:
        """A watch has fired."""
        self._inbox.post(lambda: callback.func(*callback.args))

    def spawn(self, func: Callable[..., None], *args: Any, **keywords: Any) -> threading.Thread:
        """The connection's thread."""
        thread = threading.Thread(target=func, args=args, kwargs=keywords, name="zookeeper connection", daemon=True)
        thread.start()
        return thread
