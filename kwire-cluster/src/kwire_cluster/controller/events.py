"""The event queue of the controller.

Everything the controller does starts as an event of this queue and is processed by one consumer, one event at a time.

- Clients take turns, and a request is processed after the changes that were known before it. The requests of a client
  over its quota wait (`request_quotas`); a request that has begun is completed, because everything else waits for it.
- A change event means "read this path again", so equal change events in the queue are merged.
- The number of requests is limited because clients send them: one client fills at most half of the queue. The number
  of change events is limited by the number of watched znodes.
- A change that cannot be processed is repeated with growing pauses, so that a znode that stays unusable neither keeps
  the consumer busy nor is forgotten.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import copy_context
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kwire_cluster.controller.errors import QueueFull
from kwire_cluster.request_quotas import current_account

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextvars import Context

    from kwire_cluster.request_quotas import Account


class ReloadEvent(NamedTuple):
    """Read the whole cluster state again."""


class ChangeEvent(NamedTuple):
    """The znode at `path` may have changed."""

    path: str


class RequestEvent(NamedTuple):
    """A request of a client.

    Attributes:
        number: its position among all events.
        work: creates the coroutine that processes the request.
        response: receives the result.
        context: the context variables of the caller, for its log messages and its account.
    """

    number: int
    work: Callable[[], Coroutine[Any, Any, Any]]
    response: asyncio.Future[Any]
    context: Context


ControllerEvent: TypeAlias = ReloadEvent | ChangeEvent | RequestEvent

MAX_RETRIES = 1000
"""Maximum number of paths with retries; above it, paths that no longer fail are forgotten. Chosen, not measured."""


class _Retry(NamedTuple):
    """The repetitions of one change; times in seconds, `forget_at` of the event loop's clock."""

    next_pause: float
    forget_at: float
    timer: asyncio.TimerHandle | None


class EventQueue:
    """The queue of controller events.

    Args:
        limit: the maximum number of waiting requests.
        backoff: the pause before the second repetition of a change in seconds, doubled for each further one.
        backoff_max: the longest pause in seconds.
    """

    def __init__(self, limit: int, backoff: float = 0.1, backoff_max: float = 5.0) -> None:
        self._limit = limit
        self._backoff = backoff
        self._backoff_max = backoff_max
        self._retries: dict[str, _Retry] = {}
        self._must_reload = False
        self._changes: dict[str, int] = {}
        """Paths of changes with their positions among all events."""
        self._requests: dict[Account | None, deque[RequestEvent]] = {}
        """Waiting requests of each client; None is the node itself."""
        self._rotation: deque[Account | None] = deque()
        """The clients that have waiting requests and are within their quotas, in the order of their turns."""
        self._numbers = count(1)
        self._closed = False
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return self._must_reload + len(self._changes) + sum(map(len, self._requests.values()))

    def enqueue_reload(self) -> None:
        """Reload the cluster state before all other events."""
        self._must_reload = True
        self._filled.set()

    def enqueue_change(self, path: str) -> None:
        """Process a possible change of the znode at `path`."""
        self._changes.setdefault(path, next(self._numbers))
        self._filled.set()

    def retry_change(self, path: str) -> None:
        """Process a change again: at once for the first time, and after growing pauses if it keeps failing."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        retry = self._retries.get(path)
        if retry is not None and retry.timer is not None:
            return
        if len(self._retries) > MAX_RETRIES:
            self._retries = {path: one for path, one in self._retries.items() if one.timer or one.forget_at > now}
        pause = 0.0 if retry is None or retry.forget_at <= now else retry.next_pause
        next_pause = min(max(2 * pause, self._backoff), self._backoff_max)
        timer = loop.call_later(pause, self._enqueue_retry, path) if pause else None
        self._retries[path] = _Retry(next_pause, now + pause + 2 * self._backoff_max, timer)
        if timer is None:
            self.enqueue_change(path)

    def _enqueue_retry(self, path: str) -> None:
        self._retries[path] = self._retries[path]._replace(timer=None)
        self.enqueue_change(path)

    def enqueue_request(
        self, work: Callable[[], Coroutine[Any, Any, Any]], *, is_continued: bool = False
    ) -> asyncio.Future[Any]:
        """Process a request and return the future of its result.

        Args:
            work: creates the coroutine that processes the request.
            is_continued: True for a further part of a request, which is accepted in any case.

        Raises:
            QueueFull: too many requests are waiting, of all clients or of this one.
        """
        context = copy_context()
        account = context.get(current_account)
        if not is_continued:
            self._check_room(account)
        response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        request = RequestEvent(next(self._numbers), work, response, context)
        if account in self._requests:
            self._requests[account].append(request)
        else:
            self._requests[account] = deque([request])
            self._take_turn(account)
        return response

    def _check_room(self, account: Account | None) -> None:
        if sum(map(len, self._requests.values())) >= self._limit:
            raise QueueFull(self._limit)
        limit = max(1, self._limit // 2)
        if account is not None and len(self._requests.get(account, ())) >= limit:
            raise QueueFull(limit, of_client=True)

    def _take_turn(self, account: Account | None) -> None:
        """Add a client with waiting requests to the rotation, once it is within its quota."""
        if account is not None and account.is_throttled:
            account.call_when_allowed(partial(self._take_turn, account))
        elif account in self._requests:  # they are gone once the queue is closed
            self._rotation.append(account)
            self._filled.set()

    async def next(self) -> ControllerEvent | None:
        """Remove and return the next event, or return None once the queue is closed."""
        while True:
            if self._must_reload:
                self._must_reload = False
                return ReloadEvent()
            self._end_turns_of_throttled()
            first = self._requests[self._rotation[0]][0] if self._rotation else None
            change = next(iter(self._changes), None)
            if change is not None and (first is None or self._changes[change] < first.number):
                del self._changes[change]
                return ChangeEvent(change)
            if first is not None:
                self._remove_first()
                return first
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()

    def _end_turns_of_throttled(self) -> None:
        """Remove clients from the front of the rotation that are over their quotas since they were added."""
        while self._rotation and (account := self._rotation[0]) is not None and account.is_throttled:
            self._take_turn(self._rotation.popleft())

    def _remove_first(self) -> None:
        """Remove the next request, and move its client to the end of the rotation."""
        account = self._rotation.popleft()
        waiting = self._requests[account]
        waiting.popleft()
        if waiting:
            self._rotation.append(account)
        else:
            del self._requests[account]

    def take_changes(self, prefix: str) -> list[str]:
        """Remove all changes of paths that start with `prefix` and return these paths, to process them together."""
        taken = [path for path in self._changes if path.startswith(prefix)]
        for path in taken:
            del self._changes[path]
        return taken

    def close(self, error: Callable[[], Exception]) -> None:
        """Empty the queue, complete every waiting request with an error, and accept no further events."""
        self._closed = True
        for retry in self._retries.values():
            if retry.timer is not None:
                retry.timer.cancel()
        self._retries.clear()
        for request in chain.from_iterable(self._requests.values()):
            if not request.response.done():
                request.response.set_exception(error())
        self._requests.clear()
        self._rotation.clear()
        self._must_reload = False
        self._changes.clear()
        self._filled.set()
