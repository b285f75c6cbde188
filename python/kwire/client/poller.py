"""``Poller``: asks the brokers of a cluster for its metadata again and again, and tells what changed.

    async with Poller("broker-1:9092,broker-2:9092", interval=1.0) as poller:
        async for poll in poller:
            for difference in poll.events:
                print(poll.polled_at, poll.broker_id, difference)

Rules of this file: a task for each broker, which asks, reads and hands over one poll after the other; nothing is shared
between them but the queue and the list of who is there. A broker's view is its own: the same change is told by every
broker that is asked, each at the time at which it knew.

- **Brokers come and go.** The bootstrap servers name the first; every answer names the others. Who is no longer named,
  or does not answer, is asked on with growing pauses: his silence is data. One that others name anew is asked at once.
- **brokers="one"** asks one broker, and the next one as soon as that one fails.
- **Slow readers.** At most ``queue_size`` polls wait to be read. Then, with ``overflow="wait"``, no more are made until
  there is room; with ``overflow="drop"`` the oldest is dropped and counted. What is captured is never dropped.
- **Capture first.** A poll is handed to the capture before anybody can read it. The disk has a thread of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing, suppress
from random import Random
from typing import TYPE_CHECKING, Any, Literal, Self

from kwire.client.broker_poller import UNKNOWN_BROKER, BrokerPoller
from kwire.client.capture_thread import CaptureThread
from kwire.client.option_checks import check_choice, check_count, check_seconds
from kwire.client.poll import Poll, Statistics
from kwire.client.polled_requests import PolledRequest
from kwire.metadata.events import BrokerJoined
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable
    from types import TracebackType

    from kwire.capture import Capture
    from kwire.client.polled_requests import RequestFactory
    from kwire.declare import Request
    from kwire.protocol.negotiated_versions import Dialect

__all__ = ["Poller"]

log = logging.getLogger("kwire.client")

REBOOTSTRAP_REQUIRED = 129
"""Metadata from version 13 on: all that the client knows is out of date (KIP-1102)."""


class Poller:
    """While in an ``async with`` block, an asynchronous iterator of polls. For one block, one event loop, one reader.

    ``bootstrap``: ``host:port`` texts, or one with commas. ``interval``: seconds from one question about metadata to a
    broker's next. ``dialect``: ``"kafka"`` or ``"kip4"``; None finds it out. ``brokers``: ``"all"`` or ``"one"``.
    ``requests``: what else to ask, as (request, interval in seconds) or ``PolledRequest``. ``capture``: keeps every poll.
    ``timeout``: seconds for connecting and for each answer. ``longest_pause``: seconds between two attempts at a silent
    broker, at most; ``forget_after``: seconds of silence after which a broker that nobody lists is no longer asked.
    ``cluster_id``: for polls of clusters that do not tell it. Raises TypeError or ValueError, which name the option.
    """

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        interval: float = 1.0,
        dialect: Dialect | None = None,
        brokers: Literal["all", "one"] = "all",
        requests: Iterable[PolledRequest | tuple[Request[Any] | RequestFactory, float]] = (),
        capture: Capture | None = None,
        timeout: float = 5.0,
        longest_pause: float = 5.0,
        forget_after: float = 3600.0,
        queue_size: int = 32,
        overflow: Literal["wait", "drop"] = "wait",
        client_id: str | None = "kwire-poller",
        cluster_id: str | None = None,
    ) -> None:
        self.bootstrap = Endpoint.parse_all(bootstrap)
        self.requests = tuple(PolledRequest(*request) for request in requests)
        check_seconds("interval", interval)
        check_seconds("timeout", timeout)
        check_seconds("longest_pause", longest_pause)
        check_seconds("forget_after", forget_after, endless=True)
        check_count("queue_size", queue_size)
        check_choice("overflow", overflow, ("wait", "drop"))
        check_choice("dialect", dialect, (None, "kafka", "kip4"))
        check_choice("brokers", brokers, ("all", "one"))
        for ask in self.requests:
            check_seconds("interval of a request", ask.interval)
            check_choice("brokers of a request", ask.brokers, ("all", "one"))
        self.interval = interval
        self.dialect = dialect
        self.timeout = timeout
        self.longest_pause = max(longest_pause, interval)
        self.forget_after = forget_after
        self.client_id = client_id
        self.cluster_id = cluster_id
        self.statistics = Statistics()
        self.random = Random()  # noqa: S311  jitter
        self._one = brokers == "one"
        self._capture = capture
        self._capturing: CaptureThread | None = None
        self._queue_size = queue_size
        self._overflow = overflow
        self._queue: deque[Poll] = deque()
        self._changed = asyncio.Condition()
        self._watches: dict[int, BrokerPoller] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failure: BaseException | None = None
        self._begun = self._closed = False
        self._closing: asyncio.Task[None] | None = None
        self._start_again = asyncio.Event()

    async def __aenter__(self) -> Self:
        if self._begun:
            raise RuntimeError("a poller polls once: make a new one for another `with` block")
        self._begun = True
        if self._capture is not None:
            self._capturing = CaptureThread(self._capture)
        self._begin(self._ask_one() if self._one else self._ask_all())
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Poll]:
        return self

    async def __anext__(self) -> Poll:
        """The next poll; waits for it. Raises what the capture raised; StopAsyncIteration after ``close``."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._queue or self._failure is not None or self._closed)
            if self._queue:
                poll = self._queue.popleft()
                self._changed.notify_all()
                return poll
            if self._failure is not None:
                raise self._failure
            raise StopAsyncIteration

    async def run(self, seconds: float | None = None) -> None:
        """Poll for so long (None: until cancelled) without reading: for the capture's sake."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for _ in self:
                    pass

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """Who is asked, ascending, silent ones too."""
        return tuple(sorted(self._watches))

    async def close(self) -> None:
        """End all connections; what was polled is captured. Polls that were not read may still be. ``with`` does it.

        Whoever is cancelled meanwhile is so afterwards: the capture is waited for all the same.
        """
        closing = self._closing = self._closing or asyncio.get_running_loop().create_task(self._close())
        cancelled: asyncio.CancelledError | None = None
        while not closing.done():
            try:
                await asyncio.wait([closing])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled from closing.exception()
        closing.result()

    async def _close(self) -> None:
        self._closed = True
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with self._changed:
            self._changed.notify_all()
        if self._capturing is not None:
            await self._capturing.finish()

    # Whom to ask.

    async def _ask_all(self) -> None:
        """Find the brokers; again when none of them answers any more."""
        while True:
            self._start_again.clear()
            await self._discover()
            while not (self._start_again.is_set() or self._nobody_answers()):
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.longest_pause):
                        await self._start_again.wait()

    async def _discover(self) -> None:
        """PolledRequest bootstrap servers, one after the other, until one names brokers."""
        failures = 0
        while True:
            for endpoint in self.random.sample(self.bootstrap, len(self.bootstrap)):
                watch = BrokerPoller(self, UNKNOWN_BROKER, endpoint, ResponseTracker())
                try:
                    poll = await watch.introduce()
                finally:
                    await watch.close()
                if poll.error is not None:
                    await self.deliver(poll)
                else:
                    message: Any = poll.message
                    self._learn(message)
                    if message.brokers:
                        return
            failures += 1
            await asyncio.sleep(self.pause(failures))

    async def _ask_one(self) -> None:
        """Ask one broker until it fails, then the next: brokers that were named last, then bootstrap servers."""
        view = ResponseTracker()
        known: dict[Endpoint, int] = {}
        failed = 0
        while True:
            candidates = dict.fromkeys(
                [*self.random.sample(list(known), len(known)), *self.random.sample(self.bootstrap, len(self.bootstrap))]
            )
            for endpoint in candidates:
                watch = BrokerPoller(self, known.get(endpoint, UNKNOWN_BROKER), endpoint, view)
                self._watches = {watch.broker_id: watch}
                try:
                    async with aclosing(watch.polls()) as polls:
                        async for poll in polls:
                            await self.deliver(poll)
                            if poll.error is not None:
                                failed += 1
                                break
                            failed = 0
                            if _tells_brokers(poll):
                                told: Any = poll.message
                                known = {Endpoint(each.host, each.port): each.node_id for each in told.brokers}
                                self._watches = {watch.broker_id: watch}
                finally:
                    await watch.close()
                if failed >= len(candidates):
                    await asyncio.sleep(self.pause(failed - len(candidates) + 1))

    async def _ask_broker(self, watch: BrokerPoller) -> None:
        """Ask one broker for ever, or until it is forgotten."""
        try:
            async with aclosing(watch.polls()) as polls:
                async for poll in polls:
                    if poll.error is None:
                        self._take_in(poll)
                    await self.deliver(poll)
                    if watch.silent_for() > self.forget_after and not self._listed(watch.broker_id):
                        log.info("broker %d at %s is no longer asked", watch.broker_id, watch.endpoint)
                        break
        finally:
            self._watches.pop(watch.broker_id, None)
            await watch.close()

    def _take_in(self, poll: Poll) -> None:
        """Follow what an answer says of brokers."""
        message: Any = poll.message
        if getattr(message, "error_code", 0) == REBOOTSTRAP_REQUIRED:
            self._start_again.set()
        if _tells_brokers(poll):
            self._learn(message)
        for difference in poll.events:
            if isinstance(difference, BrokerJoined) and difference.broker_id in self._watches:
                self._watches[difference.broker_id].wake()

    def _learn(self, message: Any) -> None:
        for broker in message.brokers:
            endpoint = Endpoint(broker.host, broker.port)
            watch = self._watches.get(broker.node_id)
            if watch is None:
                watch = self._watches[broker.node_id] = BrokerPoller(self, broker.node_id, endpoint, ResponseTracker())
                self._begin(self._ask_broker(watch))
                continue
            watch.endpoint = endpoint
            if not watch.answers:
                watch.wake()

    def _nobody_answers(self) -> bool:
        return not any(watch.answers for watch in self._watches.values())

    def _listed(self, broker_id: int) -> bool:
        """Whether any broker that answers lists this one."""
        lists: list[Any] = [watch.view.believed for watch in self._watches.values() if watch.answers]
        return any(broker.node_id == broker_id for told in lists if told is not None for broker in told.brokers)

    # What watches need.

    def others(self, watch: BrokerPoller) -> list[ResponseTracker]:
        """What the other brokers that answer told."""
        return [each.view for each in self._watches.values() if each is not watch and each.answers]

    def speaks_for_all(self, watch: BrokerPoller) -> bool:
        """Whether that one is asked what one broker needs to be asked only: the one of the lowest id that answers."""
        return watch.broker_id == min((id for id, each in self._watches.items() if each.answers), default=None)

    def pause(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row; longer and longer, and never twice the same."""
        pause: float = min(self.longest_pause, max(self.interval, 0.1) * 2.0 ** min(failures - 1, 30))
        return pause * self.random.uniform(0.75, 1.0)

    async def deliver(self, poll: Poll) -> None:
        """Hand a poll to the capture and to the reader."""
        statistics = self.statistics
        statistics.polls += 1
        statistics.same += poll.same
        statistics.errors += poll.error is not None
        statistics.bytes += len(poll.payload or b"")
        if self._capturing is not None:
            await self._capturing.put(poll)
        async with self._changed:
            if self._overflow == "drop":
                if len(self._queue) >= self._queue_size:
                    self._queue.popleft()
                    statistics.dropped += 1
            else:
                await self._changed.wait_for(lambda: len(self._queue) < self._queue_size)
            self._queue.append(poll)
            statistics.longest_queue = max(statistics.longest_queue, len(self._queue))
            self._changed.notify_all()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A task that failed ends the polling: its error is raised to the reader."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self._failure is None:
            self._failure = error
            self._begin(self._tell_failure())

    async def _tell_failure(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _tells_brokers(poll: Poll) -> bool:
    """Whether an answer says something new, and believable, of who is there."""
    return poll.changed is not None and "brokers" in poll.changed.fields and not poll.suspect
