"""Between kazoo's connection thread and the event loop.

Rules of this file: everything that kazoo has to tell (answers, watches, states) goes through one inbox, in the order in
which the server said it, and the loop is woken once for all that waits there. kazoo's own worker threads are not
started: nothing of ours runs in them.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

__all__ = ["BridgeHandler", "Inbox", "Reply"]


class Inbox:
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


class Reply:
    """What kazoo puts an answer into; as much of its ``AsyncResult`` as kazoo itself uses, without locks.

    A callback is called once, by whoever comes second: the thread that has the answer, or the one that links.
    """

    __slots__ = ("_callbacks", "exception", "ready", "value")

    def __init__(self) -> None:
        self.ready = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[Callable[[Reply], None]] = []

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

    def rawlink(self, callback: Callable[[Reply], None]) -> None:
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


class BridgeHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's handler of threads, whose callbacks go to the inbox instead of its workers."""

    timeout_exception = KazooTimeoutError

    def __init__(self, inbox: Inbox) -> None:
        super().__init__()
        self._inbox = inbox

    def start(self) -> None:
        """No workers."""
        self._running = True

    def stop(self) -> None:
        """No workers."""
        self._running = False

    def async_result(self) -> Reply:
        """What answers are put into."""
        return Reply()

    def dispatch_callback(self, callback: Any) -> None:
        """A watch has fired."""
        self._inbox.post(lambda: callback.func(*callback.args))

    def spawn(self, func: Callable[..., None], *args: Any, **keywords: Any) -> threading.Thread:
        """The connection's thread."""
        thread = threading.Thread(target=func, args=args, kwargs=keywords, name="zookeeper connection", daemon=True)
        thread.start()
        return thread
