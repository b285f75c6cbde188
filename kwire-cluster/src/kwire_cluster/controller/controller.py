"""The controller of the cluster: elected through ZooKeeper, then one event at a time.

- Watches only enqueue events, and requests wait behind them. One task consumes the queue.
- Any sign that another controller was elected ends the term: a rejected fenced write, the end of the session, or the
  deletion of `/controller`. Waiting requests then fail with NotController and nothing more is written.
- A controller lives as long as its ZooKeeper session. Create a new one for a new session.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.messages.kip4.error_codes import ErrorCode
from kwire_cluster.config.live_config import LiveConfig
from kwire_cluster.config.node_settings import NodeSettings
from kwire_cluster.controller import feature_commands, replica_commands, topic_commands
from kwire_cluster.controller.change_handlers import process_event
from kwire_cluster.controller.controller_context import ControllerContext
from kwire_cluster.controller.controller_election import ElectedEpoch, elect, resign
from kwire_cluster.controller.errors import CommandError, NotController, RequestTimedOut
from kwire_cluster.controller.events import EventQueue, ReloadEvent, RequestEvent
from kwire_cluster.controller.feature_commands import NO_FEATURES
from kwire_cluster.controller.fenced_writer import ControllerMovedError, WriteConflict
from kwire_cluster.request_quotas import current_account
from kwire_cluster.zookeeper.controllers import ActiveController
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NotAuthorized,
    SessionExpired,
    StoreClosed,
    StoreError,
)
from kwire_cluster.zookeeper.operations import SessionState, WatchEventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from uuid import UUID

    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
    from kwire.messages.kip4.structures import TopicReassignment
    from kwire_cluster.controller.backend import Outcome, TopicNames, TopicReassignmentStatus
    from kwire_cluster.controller.cluster_state import Cluster
    from kwire_cluster.controller.events import ChangeEvent, ControllerEvent
    from kwire_cluster.controller.feature_commands import FeatureUpdateOutcome
    from kwire_cluster.controller.feature_rules import FeatureChange
    from kwire_cluster.controller.metadata_broadcast import Send
    from kwire_cluster.controller.topic_state import Topic
    from kwire_cluster.zookeeper.features import VersionedFeatures
    from kwire_cluster.zookeeper.operations import WatchEvent
    from kwire_cluster.zookeeper.store import Store

__all__ = ["Controller"]

log = logging.getLogger("kwire_cluster.controller")

Result = TypeVar("Result")

UNKNOWN = "unknown"
"""Author of the requests of a program that has no client, such as a benchmark."""

RESIGN_SECONDS = 2.0
"""Time that a stopping controller waits for ZooKeeper."""
LATE_CHECK_SECONDS = 1.0
"""Interval at which a request that takes longer than its limit checks whether ZooKeeper can be reached."""
RETRY_SECONDS = 0.5
"""Pause before the next election or reload after an unexpected error."""


class Controller:
    """A candidate for controller, and the controller once elected. Implements `AdminBackend`.

    Args:
        store: an open session of this event loop. Nothing else may close it.
        broker_id: the id of this broker.
        send: delivers UpdateMetadata to a broker, this one included. It raises if the broker is unavailable, and is
            then called again later.
        config: the settings of this broker.
        rng: chooses where automatic replica assignments start.
        known_topic_id: returns the id of a topic as this broker knows it, for topics that have lost theirs.
        known_features: returns the finalized features that this broker knows, for a znode that has lost its epoch.
    """

    def __init__(
        self,
        store: Store,
        broker_id: int,
        send: Send,
        config: LiveConfig | None = None,
        rng: random.Random | None = None,
        known_topic_id: Callable[[str], UUID | None] = lambda _name: None,
        known_features: Callable[[], VersionedFeatures] = lambda: NO_FEATURES,
    ) -> None:
        self._store = store
        self._broker_id = broker_id
        self._send = send
        self._config = config or LiveConfig(NodeSettings())
        self._rng = rng or random.Random()
        self._context: ControllerContext | None = None
        self._known_topic_id = known_topic_id
        self._known_features = known_features
        self._queue: EventQueue | None = None
        self._election_possible = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._remove_listener: Callable[[], None] | None = None
        self._loaded = asyncio.Event()

    # Life cycle

    async def start(self) -> None:
        """Start taking part in elections."""
        self._remove_listener = self._store.listen(self._session_changed)
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"controller {self._broker_id}")

    async def stop(self) -> None:
        """Resign, so that another broker can be elected at once. The store stays open."""
        if self._remove_listener is not None:
            self._remove_listener()
            self._remove_listener = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._store.state != SessionState.CONNECTED:  # `/controller` disappears with the session
            return
        try:
            async with asyncio.timeout(RESIGN_SECONDS):
                await resign(self._store)
        except (TimeoutError, SessionExpired, StoreClosed) as error:
            log.info("controller %d could not resign before its session ends: %r", self._broker_id, error)

    @property
    def is_stopped(self) -> bool:
        """True once the session has ended or `stop` was called. A stopped controller does not start again."""
        return self._task is None or self._task.done()

    # State

    @property
    def broker_id(self) -> int:
        """The id of this broker."""
        return self._broker_id

    @property
    def is_active(self) -> bool:
        """True while this broker is the controller, as far as it knows."""
        return self._queue is not None

    @property
    def epoch(self) -> int:
        """The controller epoch, 0 while this broker is not the controller."""
        return self._context.epoch if self._context is not None else 0

    @property
    def cluster(self) -> Cluster | None:
        """The current cluster state, None while this broker is not the controller or has not loaded the state."""
        return self._context.cluster if self._context is not None and self._loaded.is_set() else None

    @property
    def pending_updates(self) -> dict[int, int]:
        """The number of metadata changes that each live broker has not acknowledged, for metrics."""
        return self._context.broadcaster.pending_updates if self._context is not None else {}

    @property
    def queue_size(self) -> int:
        """The number of events in the queue, for metrics."""
        return len(self._queue) if self._queue is not None else 0

    async def wait_active(self) -> None:
        """Wait until this broker is the controller and has loaded the cluster state."""
        await self._loaded.wait()

    async def drain(self) -> None:
        """Wait until all events that are in the queue now have been processed."""
        await self._request(_no_operation)

    # AdminBackend

    def check_active(self) -> None:
        """See `AdminBackend`."""
        if self._queue is None:
            raise NotController(self._broker_id)

    async def create_topics(
        self,
        creations: Sequence[TopicCreation],
        client_id: str | None = None,
        *,
        author: str = UNKNOWN,
        validate_only: bool = False,
    ) -> list[Outcome]:
        """See `AdminBackend`."""
        request = topic_commands.TopicCreationRequest(
            creations, self._config.current, client_id, author, validate_only=validate_only
        )
        while not request.is_complete:
            try:
                request.outcomes += await self._request(request.create_chunk, is_continued=bool(request.outcomes))
            except RequestTimedOut as error:
                # Further chunks are not sent: a client that has waited for so long does not wait for each of them.
                request.give_up(error)
        return request.outcomes

    async def alter_topics(
        self, alterations: Sequence[TopicAlteration], *, author: str = UNKNOWN, validate_only: bool = False
    ) -> list[Outcome]:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: topic_commands.alter_topics(context, alterations, author, validate_only=validate_only)
        )

    async def delete_topics(
        self, names: Sequence[str], *, author: str = UNKNOWN, validate_only: bool = False
    ) -> list[Outcome]:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: topic_commands.delete_topics(context, names, author, validate_only=validate_only)
        )

    async def describe_topic(self, name: str) -> Topic:
        """See `AdminBackend`."""
        return await self._request(lambda context: topic_commands.describe_topic(context, name))

    async def list_topics(self) -> TopicNames:
        """See `AdminBackend`."""
        return await self._request(topic_commands.list_topics)

    async def elect_preferred_leaders(
        self, topics: Sequence[TopicPartitions], *, author: str = UNKNOWN, validate_only: bool = False
    ) -> list[Outcome]:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: replica_commands.elect_preferred_leaders(
                context, topics, author, validate_only=validate_only
            )
        )

    async def reassign_partitions(
        self, topics: Sequence[TopicReassignment], *, author: str = UNKNOWN, validate_only: bool = False
    ) -> list[Outcome]:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: replica_commands.reassign_partitions(context, topics, author, validate_only=validate_only)
        )

    async def verify_reassignments(self, topics: Sequence[TopicReassignment]) -> list[TopicReassignmentStatus]:
        """See `AdminBackend`."""
        return await self._request(lambda context: replica_commands.verify_reassignments(context, topics))

    async def update_features(
        self, changes: Sequence[FeatureChange], *, author: str = UNKNOWN, validate_only: bool = False
    ) -> FeatureUpdateOutcome:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: feature_commands.update_features(context, changes, author, validate_only=validate_only)
        )

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
        """See `AdminBackend`."""
        return await self._request(
            lambda context: replica_commands.controlled_shutdown(context, broker_id, broker_epoch)
        )

    async def send_full_metadata(self, broker_id: int) -> None:
        """See `AdminBackend`."""
        self.check_active()
        if self._context is not None:
            self._context.broadcaster.send_full(broker_id)

    async def _request(
        self, work: Callable[[ControllerContext], Coroutine[Any, Any, Result]], *, is_continued: bool = False
    ) -> Result:
        """Process a request, or the next part of one that was accepted before.

        Raises:
            RequestTimedOut: ZooKeeper cannot be reached.
        """
        queue, context = self._queue, self._context
        if queue is None or context is None:
            raise NotController(self._broker_id)
        limit = _TimeLimit(self._config.current.request_timeout_ms / 1000, self._store)
        response = queue.enqueue_request(lambda: limit.begin(work(context)), is_continued=is_continued)
        limit.start(response)
        try:
            result: Result = await response
        finally:
            limit.stop()
        return result

    # Producers of events

    def _watch_fired(self, event: WatchEvent) -> None:
        """Enqueue what a watch reports. All watches of the controller call this function."""
        lost = event.kind == WatchEventKind.LOST
        if lost or event.path == ActiveController.path():
            self._election_possible.set()
        if self._queue is None:
            return
        if lost:
            self._queue.enqueue_reload()
        else:
            self._queue.enqueue_change(event.path)

    def _session_changed(self, state: SessionState) -> None:
        if state in {SessionState.EXPIRED, SessionState.CLOSED}:
            self._on_resignation()
        self._election_possible.set()

    def _on_resignation(self) -> None:
        """Reject waiting and further requests with NotController."""
        queue, self._queue = self._queue, None
        self._loaded.clear()
        if queue is not None:
            queue.close(lambda: NotController(self._broker_id))

    # The consumer

    async def _run(self) -> None:
        try:
            while True:
                self._election_possible.clear()
                try:
                    elected = await elect(self._store, self._broker_id, self._watch_fired)
                except NotAuthorized as error:  # only a controller that may write its epoch can fence its writes
                    log.error("cannot elect a controller: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if elected is None:
                    await self._election_possible.wait()
                    continue
                await self._serve(elected)
                await resign(self._store)
        except (SessionExpired, StoreClosed) as error:
            log.info("controller %d stops: %s", self._broker_id, error)
        except Exception:  # no one awaits this task, so the error is logged here
            log.exception("controller %d failed", self._broker_id)
        finally:
            self._on_resignation()

    async def _serve(self, elected: ElectedEpoch) -> None:
        """Process events until another controller is elected or the session ends."""
        log.info("broker %d is the controller, epoch %d", self._broker_id, elected.epoch)
        settings = self._config.current
        queue = self._queue = EventQueue(
            settings.queued_requests, settings.retry_backoff_ms / 1000, settings.retry_backoff_max_ms / 1000
        )
        context = self._context = ControllerContext(
            self._store,
            self._broker_id,
            elected,
            queue,
            self._watch_fired,
            self._send,
            self._config,
            self._known_topic_id,
            self._known_features,
            self._rng,
        )
        queue.enqueue_reload()
        try:
            while self._queue is queue and (event := await queue.next()) is not None:
                await self._process(event, context)
        except ControllerMovedError as moved:
            log.warning("broker %d is no longer the controller: %s", self._broker_id, moved.reason)
        finally:
            self._on_resignation()
            self._context = None
            await context.broadcaster.stop()

    async def _process(self, event: ControllerEvent, context: ControllerContext) -> None:
        if isinstance(event, RequestEvent):
            await self._process_request(event)
            await context.trim_audit()  # after the response, and before the next request adds entries
        else:
            await self._process_change(event, context)

    async def _process_change(self, event: ReloadEvent | ChangeEvent, context: ControllerContext) -> None:
        reload = isinstance(event, ReloadEvent)
        try:
            await process_event(context, event)
            if reload:
                self._loaded.set()
        except ConnectionLost:
            context.queue.enqueue_reload()
        except (SessionExpired, StoreClosed) as error:
            raise ControllerMovedError(str(error)) from error
        except ControllerMovedError:
            raise
        except (StoreError, WriteConflict) as error:
            if isinstance(event, ReloadEvent):
                context.report(error)
                await self._reload_later(context)
            else:
                context.retry(event.path, error)
        except Exception:  # one malformed znode must not stop the controller
            log.exception("error processing event %s", event)
            if reload:
                await self._reload_later(context)

    async def _reload_later(self, context: ControllerContext) -> None:
        """Pause before another reload. Without the cluster state the controller can do nothing else."""
        await asyncio.sleep(RETRY_SECONDS)
        context.queue.enqueue_reload()

    async def _process_request(self, request: RequestEvent) -> None:
        """Run a request and complete its response.

        Raises:
            ControllerMovedError: another controller was elected; the response is complete.
        """
        response = request.response
        if response.done():  # the client does not wait for it any more
            return
        try:
            value = await asyncio.get_running_loop().create_task(_charged(request), context=request.context)
        except CommandError as error:
            _fail(response, error)
        except (ControllerMovedError, SessionExpired, StoreClosed) as error:
            _fail(response, NotController(self._broker_id))
            raise error if isinstance(error, ControllerMovedError) else ControllerMovedError(str(error)) from error
        except asyncio.CancelledError:
            _fail(response, NotController(self._broker_id))
            raise
        except Exception as error:  # noqa: BLE001  # logged here and reported to the client
            request.context.run(log.exception, "error processing a request")
            _fail(response, CommandError(ErrorCode.ADMIN_REQUEST_FAILED, f"{type(error).__name__}: {error}"))
        else:
            if not response.done():
                response.set_result(value)


class _TimeLimit:
    """Ends the wait for a response when ZooKeeper cannot be reached; work that is long only may take longer."""

    def __init__(self, seconds: float, store: Store) -> None:
        self._seconds = seconds
        self._store = store
        self._has_begun = False
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, work: Result) -> Result:
        """Note that the work begins, and return it."""
        self._has_begun = True
        return work

    def start(self, response: asyncio.Future[Any]) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, response)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expire(self, response: asyncio.Future[Any]) -> None:
        if response.done():
            return
        if self._store.state == SessionState.CONNECTED:
            self._timer = asyncio.get_running_loop().call_later(LATE_CHECK_SECONDS, self._expire, response)
        else:
            response.set_exception(RequestTimedOut(self._seconds, started=self._has_begun))


def _charged(request: RequestEvent) -> Coroutine[Any, Any, Any]:
    """Start a request, and charge its time to the client that sent it."""
    account = request.context.get(current_account)
    return request.work() if account is None else account.process(request.work())


def _fail(response: asyncio.Future[Any], error: Exception) -> None:
    if not response.done():
        response.set_exception(error)


async def _no_operation(context: ControllerContext) -> None:
    del context
