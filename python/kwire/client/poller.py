"""Poll the metadata of a cluster continuously and report what changes.

    async with Poller("broker-1:9092,broker-2:9092", interval=1.0) as poller:
        async for poll in poller:
            for event in poll.events:
                print(poll.polled_at, poll.broker_id, event)

Each broker is polled by a task of its own. Brokers learn about a change at different times and may contradict each
other, so every polled broker reports each change itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import aclosing, suppress
from functools import partial
from typing import Unpack

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, overload
from kwire.client.broker_poller import UNKNOWN_BROKER, BrokerPoller
from kwire.client.capture_thread import CaptureThread
from kwire.client.connection import MAX_RESPONSE_SIZE
from kwire.client.connection_config import ConnectionConfig
from kwire.client.connection_pool import SILENT_SHARE
from kwire.client.polled_requests import PolledRequest
from kwire.client.poller_options import PollerContext, PollerOptions
from kwire.client.race import first_success
from kwire.metadata.events import BrokerJoined
from kwire.metadata.response_tracker import ResponseTracker
from kwire.protocol import Endpoint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable
    from types import TracebackType

    from kwire.capture import Capture
    from kwire.client.poll import Poll, Statistics
    from kwire.client.polled_requests import RequestFactory
    from kwire.client.poller_options import PollerKeywords
    from kwire.declare import Request
    from kwire.messages.kafka.metadata import MetadataResponse
    from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataResponse_V1
    from kwire.protocol.negotiated_versions import Dialect

log = logging.getLogger("kwire.client")

M = TypeVar("M")

REBOOTSTRAP_REQUIRED = 129
"""Metadata from version 13 on: the client must start again from the bootstrap servers (KIP-1102)."""

MAX_SILENT_BROKERS = 500
"""Maximum number of polled brokers that have never responded. A response can list any number of brokers, and polling
one needs tasks and connections. Chosen: above the brokers of almost every cluster."""
CANCEL_AGAIN_S = 0.1
"""Seconds after which tasks that go on are cancelled again. Chosen: closing takes so long only by a rare accident."""


class Poller(Generic[M]):
    """Polls the brokers of a cluster; an asynchronous iterator of polls while in an `async with` block.

    A poller serves for one block, one event loop, and one reader. Brokers that do not respond are polled with
    exponential backoff, and their failed polls are reported; a broker that is listed again is polled at once.

    The type parameter is the type of `Poll.message`: MetadataResponse for Kafka, TopicMetadataResponse_V1 for KIP-4.
    With `requests` it is Any, unless a variable is annotated, as in
    `poller: Poller[MetadataResponse | DescribeConfigsResponse] = Poller(...)`.

    Args:
        bootstrap: bootstrap servers, as one comma-separated string or several `host:port` strings.
        interval: seconds between two Metadata requests to a broker.
        dialect: `kafka` or `kip4`; None detects it.
        brokers: `all` polls every broker; `one` polls one broker, and the next one when it fails.
        topics: `all` requests the topics from every polled broker; `one` from one broker that responds, and the next
            one when it fails. Memory then holds the topics once. The others list the brokers, unless their responses to
            further requests show that they respond.
        requests: further requests, as PolledRequest or (request, interval in seconds).
        capture: stores every poll. A poll is handed to the capture before it can be read.
        timeout: seconds to open a connection, and seconds to wait for each response. A poll fails after at most both.
        longest_pause: the longest pause in seconds between two attempts to reach a broker.
        forget_after: seconds without a response after which a broker that no other broker lists is not polled anymore.
        queue_size: maximum number of polls that wait to be read.
        overflow: the reaction to a full queue: `wait` stops polling until there is room, `drop` drops the oldest
            poll. Dropped polls are still captured.
        client_id: the client id of all requests.
        cluster_id: the cluster id of polls, for clusters that do not report it.
        max_size: the largest response to accept, in bytes.
        config: TLS and SASL of all connections; None for plaintext.

    Raises:
        TypeError: an option has the wrong type.
        ValueError: an option has a value out of range.
    """

    @overload
    def __init__(
        self: Poller[MetadataResponse],
        bootstrap: str | Iterable[str],
        *,
        dialect: Literal["kafka"],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Poller[TopicMetadataResponse_V1],
        bootstrap: str | Iterable[str],
        *,
        dialect: Literal["kip4"],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Poller[MetadataResponse | TopicMetadataResponse_V1],
        bootstrap: str | Iterable[str],
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    @overload
    def __init__(
        self: Poller[Any],
        bootstrap: str | Iterable[str],
        *,
        dialect: Dialect | None = None,
        requests: Iterable[PolledRequest | tuple[Request[Any] | RequestFactory, float]] = (),
        **options: Unpack[PollerKeywords],
    ) -> None: ...

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        *,
        interval: float = 1.0,
        dialect: Dialect | None = None,
        brokers: Literal["all", "one"] = "all",
        topics: Literal["all", "one"] = "all",
        requests: Iterable[PolledRequest | tuple[Request[Any] | RequestFactory, float]] = (),
        capture: Capture | None = None,
        timeout: float = 5.0,
        longest_pause: float = 5.0,
        forget_after: float = 3600.0,
        queue_size: int = 32,
        overflow: Literal["wait", "drop"] = "wait",
        client_id: str | None = "kwire-poller",
        cluster_id: str | None = None,
        max_size: int = MAX_RESPONSE_SIZE,
        config: ConnectionConfig | None = None,
    ) -> None:
        self.options = PollerOptions(
            bootstrap=Endpoint.parse_all(bootstrap, ConnectionConfig.check(config).security_protocol),
            interval=interval,
            dialect=dialect,
            brokers=brokers,
            topics=topics,
            requests=tuple(PolledRequest(*request) for request in requests),
            timeout=timeout,
            longest_pause=longest_pause,
            forget_after=forget_after,
            queue_size=queue_size,
            overflow=overflow,
            client_id=client_id,
            max_size=max_size,
            config=config,
        )
        self._context = PollerContext(self.options, self._deliver, self._sends_for_all, self._is_foreign, cluster_id)
        self._shared_tracker = ResponseTracker()
        self._capture = capture
        self._capture_thread: CaptureThread | None = None
        self._queue: deque[Poll[M]] = deque()
        self._queue_changed = asyncio.Condition()
        self._brokers: dict[int, BrokerPoller] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._started = self._closed = False
        self._closing: asyncio.Task[None] | None = None
        self._rebootstrap = asyncio.Event()

    async def __aenter__(self) -> Self:
        if self._started:
            raise RuntimeError("a poller can be used only once: create another one")
        self._started = True
        if self._capture is not None:
            self._capture_thread = CaptureThread(self._capture)
        self._start(self._poll_one() if self.options.brokers == "one" else self._poll_all())
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Poll[M]]:
        return self

    async def __anext__(self) -> Poll[M]:
        """Wait for the next poll and return it. Raises errors of the capture; StopAsyncIteration after `close`."""
        async with self._queue_changed:
            await self._queue_changed.wait_for(lambda: self._queue or self._error is not None or self._closed)
            if self._queue:
                poll = self._queue.popleft()
                self._queue_changed.notify_all()
                return poll
            if self._error is not None:
                raise self._error
            raise StopAsyncIteration

    async def run(self, seconds: float | None = None) -> None:
        """Poll without a reader, to fill the capture.

        Args:
            seconds: time to poll; None polls until it is canceled.
        """
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                async for _ in self:
                    pass
        except TimeoutError:
            if not limit.expired():  # an error of a request factory
                raise

    @property
    def statistics(self) -> Statistics:
        """Counters, which are updated while the poller runs."""
        return self._context.statistics

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ids of the polled brokers in ascending order, including brokers that do not respond."""
        return tuple(sorted(self._brokers))

    @property
    def agreed(self) -> M | None:
        """The last plausible response with topics of any broker, if one broker is asked for them (`topics="one"`)."""
        agreed: M | None = self._shared_tracker.agreed
        return agreed

    @property
    def certificate_expiries(self) -> dict[int, float]:
        """The end of each broker's TLS certificate in seconds since 1970, by broker id, for open connections."""
        expiries = {broker_id: broker.certificate_expiry for broker_id, broker in self._brokers.items()}
        return {broker_id: expiry for broker_id, expiry in expiries.items() if expiry is not None}

    async def close(self) -> None:
        """Close all connections and wait until the capture has every poll. The `async with` block calls it.

        Polls that were not read can still be read. If the caller is cancelled, the capture is still waited for.
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
        while self._tasks:
            for task in self._tasks:
                if not task.cancelling():  # a second cancellation would interrupt the closing of its connections
                    task.cancel()
            # Look again: a task is also `cancelling` at the moment when an asyncio.timeout inside it ends, and goes on.
            await asyncio.wait(self._tasks, timeout=CANCEL_AGAIN_S)
        async with self._queue_changed:
            self._queue_changed.notify_all()
        if self._capture_thread is not None:
            await self._capture_thread.finish()

    # brokers="all"

    async def _poll_all(self) -> None:
        """Discover the brokers, and again whenever none of them responds."""
        while True:
            # Cleared before the discovery: a broker that asks for one meanwhile is not ignored.
            self._rebootstrap.clear()
            await self._discover()
            while not self._rebootstrap.is_set() and any(broker.responds for broker in self._brokers.values()):
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(self.options.longest_pause, self.options.interval)):
                        await self._rebootstrap.wait()

    async def _discover(self) -> None:
        """Ask the bootstrap servers, in random order, until one of them lists brokers.

        The next one is asked when one is silent, so that it does not cost the timeout.
        """
        context = self._context

        async def ask(endpoint: Endpoint) -> Any:
            broker = BrokerPoller(context, UNKNOWN_BROKER, endpoint, ResponseTracker())
            try:
                poll = await broker.list_brokers()
            finally:
                await broker.close()
            if poll.message is None:
                await self._deliver(poll)
            if not getattr(poll.message, "brokers", ()):
                raise LookupError(endpoint)
            return poll.message

        failures = 0
        while True:
            endpoints = context.random.sample(self.options.bootstrap, len(self.options.bootstrap))
            try:
                attempts = [partial(ask, endpoint) for endpoint in endpoints]
                self._update_brokers(await first_success(attempts, self.options.timeout * SILENT_SHARE))
            except LookupError:
                failures += 1
                await asyncio.sleep(context.pause(failures))
            else:
                return

    async def _poll_broker(self, broker: BrokerPoller) -> None:
        """Poll a broker forever, or until it is forgotten."""
        try:
            async with aclosing(broker.polls()) as polls:
                reported: Any = None
                async for poll in polls:
                    reported = self._follow(broker, poll, reported)
                    await self._deliver(poll)
                    if self._is_forgotten(broker):
                        log.info("broker %d at %s is no longer polled", broker.broker_id, broker.endpoint)
                        break
        finally:
            self._brokers.pop(broker.broker_id, None)
            await broker.close()

    def _follow(self, broker: BrokerPoller, poll: Poll[Any], reported: Any) -> Any:
        """Poll the brokers that a broker lists, and at once the brokers that have joined; return the list.

        Args:
            reported: the list of the poll before.
        """
        if getattr(poll.message, "error_code", 0) == REBOOTSTRAP_REQUIRED:
            self._rebootstrap.set()
        # Compare by identity: the decoder returns the same tuple while the brokers are unchanged.
        agreed = broker.tracker.agreed
        if agreed is not None and agreed.brokers is not reported:
            reported = agreed.brokers
            self._update_brokers(agreed)
        for event in poll.events:
            if isinstance(event, BrokerJoined) and event.broker_id in self._brokers:
                self._brokers[event.broker_id].wake()
        return reported

    def _update_brokers(self, message: Any) -> None:
        """Poll the brokers that a response lists, at the endpoints that it lists.

        Brokers above `MAX_SILENT_BROKERS` are polled after others have responded, which calls this method again.
        """
        silent = sum(not broker.has_responded for broker in self._brokers.values())
        unpolled = 0
        for listed in message.brokers:
            endpoint = Endpoint(listed.host, listed.port)
            broker = self._brokers.get(listed.node_id)
            if broker is None and silent >= MAX_SILENT_BROKERS:
                unpolled += 1
            elif broker is None:
                silent += 1
                broker = BrokerPoller(self._context, listed.node_id, endpoint, self._new_tracker())
                self._brokers[listed.node_id] = broker
                self._start(self._poll_broker(broker))
            else:
                broker.endpoint = endpoint
                if not broker.responds:
                    broker.wake()
        if unpolled and not self._context.statistics.unpolled:
            log.warning(
                "%d brokers are listed, and %d of them have never responded: %d are not polled",
                len(message.brokers), silent, unpolled,
            )  # fmt: skip
        self._context.statistics.unpolled = unpolled

    def _new_tracker(self) -> ResponseTracker:
        """Return the tracker of a broker: of all brokers if one of them is asked for topics, so that a failover to
        another one shows what changed meanwhile.
        """
        return self._shared_tracker if self.options.topics == "one" else ResponseTracker()

    def _is_forgotten(self, broker: BrokerPoller) -> bool:
        """Return whether a broker has not responded for long, and no broker that responds lists it."""
        if broker.seconds_since_response() <= self.options.forget_after:
            return False
        responses = [broker.tracker.agreed for broker in self._brokers.values() if broker.responds]
        return not any(
            listed.node_id == broker.broker_id
            for response in responses
            if response is not None
            for listed in response.brokers
        )

    # brokers="one"

    async def _poll_one(self) -> None:
        """Poll one broker until it fails, then the next one, forever.

        Candidates are the brokers that the last agreed response lists, and then the bootstrap servers, each part in
        random order so that pollers spread over the cluster. Invariants: at most one broker is polled at a time;
        all share one tracker, so that changes during a failover are events; and there is no pause before each
        candidate has failed once in succession.
        """
        context, bootstrap = self._context, self.options.bootstrap
        tracker = ResponseTracker()
        listed: dict[Endpoint, int] = {}
        failures = 0
        while True:
            # An endpoint that is both a listed broker and a bootstrap server is tried once, with its id.
            candidates = dict.fromkeys(
                [
                    *context.random.sample(list(listed), len(listed)),
                    *context.random.sample(bootstrap, len(bootstrap)),
                ]
            )
            for endpoint in candidates:
                broker = BrokerPoller(context, listed.get(endpoint, UNKNOWN_BROKER), endpoint, tracker)
                responded = await self._poll_until_failure(broker)
                if tracker.agreed is not None:
                    listed = {Endpoint(broker.host, broker.port): broker.node_id for broker in tracker.agreed.brokers}
                failures = 1 if responded else failures + 1
                if failures >= len(candidates):
                    await asyncio.sleep(context.pause(failures - len(candidates) + 1))

    async def _poll_until_failure(self, broker: BrokerPoller) -> bool:
        """Poll a broker until a poll fails, and return whether any poll before succeeded."""
        self._brokers = {broker.broker_id: broker}
        responded = False
        try:
            async with aclosing(broker.polls()) as polls:
                async for poll in polls:
                    await self._deliver(poll)
                    if poll.error is not None:
                        break
                    responded = True
                    self._brokers = {broker.broker_id: broker}  # the first response has the id of a bootstrap server
        finally:
            await broker.close()
        return responded

    # For all brokers

    def _sends_for_all(self, broker_id: int) -> bool:
        """Return whether a broker has the lowest id of all that respond: it gets the requests for one broker."""
        return broker_id == min((id for id, poller in self._brokers.items() if poller.responds), default=None)

    def _is_foreign(self, broker_id: int, cluster_id: str) -> bool:
        """Return whether other brokers respond, and all of them as a cluster with another id."""
        ids = {
            poller.cluster_id
            for id, poller in self._brokers.items()
            if id != broker_id and poller.responds and poller.cluster_id is not None
        }
        return bool(ids) and cluster_id not in ids

    async def _deliver(self, poll: Poll[Any]) -> None:
        """Hand a poll to the capture, then to the reader."""
        statistics = self.statistics
        statistics.polls += 1
        statistics.same += poll.same
        statistics.errors += poll.error is not None
        statistics.bytes += len(poll.payload or b"")
        if self._capture_thread is not None:
            await self._capture_thread.put(poll)
        queue_size = self.options.queue_size
        async with self._queue_changed:
            if self.options.overflow == "drop":
                if len(self._queue) >= queue_size:
                    self._queue.popleft()
                    statistics.dropped += 1
            else:
                await self._queue_changed.wait_for(lambda: len(self._queue) < queue_size)
            self._queue.append(poll)
            statistics.longest_queue = max(statistics.longest_queue, len(self._queue))
            self._queue_changed.notify_all()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        """Remember the first error of a task, which is raised to the reader."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self._error is None:
            self._error = error
            self._start(self._notify_reader())

    async def _notify_reader(self) -> None:
        async with self._queue_changed:
            self._queue_changed.notify_all()
