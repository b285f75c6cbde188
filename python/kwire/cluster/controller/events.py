"""The event queue of the controller.

Everything the controller does starts as an event of this queue and is processed by one consumer, one event at a time.

- A change event means "read this path again", so equal change events in the queue are merged.
- The number of requests is limited because clients send them. The number of change events is limited by the number of
  watched znodes.
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

__all__ = ["ChangeEvent", "ControllerEvent", "EventQueue", "ReloadEvent", "RequestEvent"]


class ReloadEvent(NamedTuple):
    """Read the whole cluster state again."""


class ChangeEvent(NamedTuple):
    """The znode at `path` may have changed."""

    path: str


class RequestEvent(NamedTuple):
    """A request of a client.

    Attributes:
        work: creates the coroutine that processes the request.
        response: receives the result.
        context: the context variables of the caller, for its log messages.
    """

    work: Callable[[], Coroutine[Any, Any, Any]]
    response: asyncio.Future[Any]
    context: Context


ControllerEvent: TypeAlias = ReloadEvent | ChangeEvent | RequestEvent


class EventQueue:
    """A first-in, first-out queue of controller events that holds at most `limit` requests."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._events: deque[ControllerEvent] = deque()
        self._changes: set[ReloadEvent | ChangeEvent] = set()
        self._requests = 0
        self._closed = False
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._events)

    def enqueue_reload(self) -> None:
        """Reload the cluster state before all other events."""
        self._enqueue(ReloadEvent())

    def enqueue_change(self, path: str) -> None:
        """Process a possible change of the znode at `path`."""
        self._enqueue(ChangeEvent(path))

    def _enqueue(self, event: ReloadEvent | ChangeEvent) -> None:
        if event in self._changes:
            return
        self._changes.add(event)
        if isinstance(event, ReloadEvent):
            self._events.appendleft(event)
        else:
            self._events.append(event)
        self._filled.set()

    def enqueue_request(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> asyncio.Future[Any]:
        """Process a request and return the future of its result.

        Raises:
            QueueFull: too many requests are waiting.
        """
        if self._requests >= self._limit:
            raise QueueFull(self._limit)
        self._requests += 1
        response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._events.append(RequestEvent(work, response, copy_context()))
        self._filled.set()
        return response

    async def next(self) -> ControllerEvent | None:
        """Remove and return the next event, or return None once the queue is closed."""
        while not self._events:
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        event = self._events.popleft()
        if isinstance(event, RequestEvent):
            self._requests -= 1
        else:
            self._changes.discard(event)
        return event

    def take_changes(self, prefix: str) -> list[str]:
        """Remove all changes of paths that start with `prefix` and return these paths, to process them together."""
        taken = [event for event in self._events if isinstance(event, ChangeEvent) and event.path.startswith(prefix)]
        if taken:
            self._changes.difference_update(taken)
            self._events = deque(
                event for event in self._events if isinstance(event, RequestEvent) or event in self._changes
            )
        return [event.path for event in taken]

    def close(self, error: Callable[[], Exception]) -> None:
        """Empty the queue, complete every waiting request with an error, and accept no further events."""
        self._closed = True
        while self._events:
            event = self._events.popleft()
            if isinstance(event, RequestEvent) and not event.response.done():
                event.response.set_exception(error())
        self._changes.clear()
        self._requests = 0
        self._filled.set()
