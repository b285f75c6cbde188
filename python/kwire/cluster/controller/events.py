"""The controller's queue: everything that it does begins as one of these events, one at a time.

Rules of this file: what watches see is put in once however often it is seen before its turn, since an event means "look
again". Requests are bounded, because peers make them; what watches see is bounded by the number of nodes watched.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kwire.cluster.controller.errors import QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

__all__ = ["Event", "EventQueue", "Look", "Request"]


class Look(NamedTuple):
    """Something in ZooKeeper may have changed. ``what``: a path, or empty for everything."""

    what: str


class Request(NamedTuple):
    """Something that somebody waits for. ``work`` begins when its turn comes, in the context of who asked: for logs."""

    work: Callable[[], Coroutine[Any, Any, Any]]
    answer: asyncio.Future[Any]
    context: Context


Event: TypeAlias = Look | Request


class EventQueue:
    """First in, first out. ``limit``: how many requests may wait."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._events: deque[Event] = deque()
        self._looks: set[Look] = set()
        self._requests = 0
        self._closed = False
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._events)

    def look(self, what: str) -> None:
        """Look at this path again; at everything for an empty one, which comes before all that waits."""
        event = Look(what)
        if event in self._looks:
            return
        self._looks.add(event)
        if what:
            self._events.append(event)
        else:
            self._events.appendleft(event)
        self._filled.set()

    def request(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Future[Any]:
        """Put work in; the result is its. Errors: QueueFull, at once."""
        if self._requests >= self._limit:
            raise QueueFull(self._limit)
        self._requests += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._events.append(Request(work, answer, copy_context()))
        self._filled.set()
        return answer

    async def next(self) -> Event | None:
        """The next event, which is out of the queue then; None once the queue is closed."""
        while not self._events:
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        event = self._events.popleft()
        if isinstance(event, Look):
            self._looks.discard(event)
        else:
            self._requests -= 1
        return event

    def take_looks(self, below: str) -> list[str]:
        """Take out all looks at paths below this one, which may as well be done at once."""
        taken = [event.what for event in self._events if isinstance(event, Look) and event.what.startswith(below)]
        if taken:
            self._events = deque(
                event for event in self._events if not (isinstance(event, Look) and event.what.startswith(below))
            )
            self._looks.difference_update(map(Look, taken))
        return taken

    def close(self, error: Callable[[], Exception]) -> None:
        """Empty the queue, for good: whoever waits gets the error."""
        self._closed = True
        while self._events:
            event = self._events.popleft()
            if isinstance(event, Request) and not event.answer.done():
                event.answer.set_exception(error())
        self._looks.clear()
        self._requests = 0
        self._filled.set()
