"""``Controller``: stands for election, and while in office carries out what is asked, one event at a time.

Rules of this file: one queue, one consumer. Watches only put events in; requests wait their turn behind them. Whatever
shows that the office is lost (a write that the fence refused, the session's end, the office's node gone) ends the term
at once: all who wait are told so, and nothing is written any more. A controller lives as long as its store, which is a
session; after that, make another one with another store.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.cluster.controller import commands
from kwire.cluster.controller.change_handlers import look
from kwire.cluster.controller.controller_context import ControllerContext
from kwire.cluster.controller.election import Term, leave, make_paths, stand
from kwire.cluster.controller.errors import AdminError, NotController
from kwire.cluster.controller.events import EventQueue, Look
from kwire.cluster.controller.fenced_writer import Deposed
from kwire.cluster.controller.settings import ControllerSettings
from kwire.cluster.zookeeper.controllers import Controller as ControllerNode
from kwire.cluster.zookeeper.errors import ConnectionLost, SessionExpired, StoreClosed, ZnodeError
from kwire.messages.kip4.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from kwire.cluster.controller.backend import Outcome, TopicMoves, TopicNames
    from kwire.cluster.controller.events import Event, Request
    from kwire.cluster.controller.metadata_broadcast import Send
    from kwire.cluster.controller.state import Cluster, Topic
    from kwire.cluster.zookeeper.operations import SessionState, WatchEvent
    from kwire.cluster.zookeeper.store import Store
    from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
    from kwire.messages.kip4.create_topic_v2 import TopicCreation
    from kwire.messages.kip4.preferred_replica_leader_election import TopicPartitions
    from kwire.messages.kip4.structures import TopicReassignment

__all__ = ["Controller"]

log = logging.getLogger("kwire.cluster.controller")

Result = TypeVar("Result")

LEAVE_SECONDS = 2.0
"""For which a controller that stops waits for ZooKeeper."""
RETRY_SECONDS = 0.5
"""Before standing, or reading the state, again after something that should not have happened."""


class Controller:
    """A candidate, and the controller once it is elected. An ``AdminBackend``.

    ``store``: an open session of this event loop, shared with nobody who would close it. ``send(broker_id, message)``:
    delivers UpdateMetadata to a broker, itself included; it raises when it cannot, and is called again later.
    ``rng``: where automatic assignments begin.
    """

    def __init__(
        self,
        store: Store,
        broker_id: int,
        send: Send,
        settings: ControllerSettings | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self._store = store
        self._broker_id = broker_id
        self._send = send
        self._settings = settings or ControllerSettings()
        self._rng = rng or random.Random()  # noqa: S311 - spreads replicas, guards nothing
        self._office: ControllerContext | None = None
        self._queue: EventQueue | None = None
        self._may_stand = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._end_listening: Callable[[], None] | None = None
        self._loaded = asyncio.Event()

    # Life

    async def start(self) -> None:
        """Make what is missing of the paths that Kafka expects, and stand for election from now on."""
        while True:
            try:
                await make_paths(self._store)
            except ConnectionLost:
                continue
            break
        self._end_listening = self._store.listen(self._session_changed)
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"controller {self._broker_id}")

    async def stop(self) -> None:
        """Leave office, so that another broker can have it at once. The store stays open."""
        if self._end_listening is not None:
            self._end_listening()
            self._end_listening = None
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._store.state != "connected":  # the office goes with the session
            return
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await leave(self._store)
        except (TimeoutError, SessionExpired, StoreClosed) as error:
            log.info("controller %d leaves its office to the end of the session: %r", self._broker_id, error)

    @property
    def ended(self) -> bool:
        """Whether the session is gone, or ``stop`` was called: this controller will not come back."""
        return self._task is None or self._task.done()

    # State

    @property
    def broker_id(self) -> int:
        """Of this broker."""
        return self._broker_id

    @property
    def is_active(self) -> bool:
        """Whether it is in office, as far as it knows."""
        return self._queue is not None

    @property
    def epoch(self) -> int:
        """Of its term; 0 when it is not in office."""
        return self._office.term.epoch if self._office is not None else 0

    @property
    def cluster(self) -> Cluster | None:
        """The state as it is now; None when it is not in office or has not read it yet."""
        return self._office.cluster if self._office is not None and self._loaded.is_set() else None

    @property
    def behind(self) -> dict[int, int]:
        """How many changes each live broker has yet to be told: for metrics."""
        return self._office.announcer.behind if self._office is not None else {}

    @property
    def waiting(self) -> int:
        """Events in the queue: for metrics."""
        return len(self._queue) if self._queue is not None else 0

    async def wait_active(self) -> None:
        """Until it is in office and has read the cluster's state."""
        await self._loaded.wait()

    async def settled(self) -> None:
        """Until all that is in the queue now has been done."""
        await self._request(_nothing)

    # AdminBackend

    def check_active(self) -> None:
        """See ``AdminBackend``."""
        if self._queue is None:
            raise NotController(self._broker_id)

    async def create_topics(self, creations: Sequence[TopicCreation], client_id: str | None = None) -> list[Outcome]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.create_topics(office, creations, client_id, self._rng))

    async def alter_topics(self, alterations: Sequence[TopicAlteration]) -> list[Outcome]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.alter_topics(office, alterations, self._rng))

    async def delete_topics(self, names: Sequence[str]) -> list[Outcome]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.delete_topics(office, names))

    async def describe_topic(self, name: str) -> Topic:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.describe_topic(office, name))

    async def topic_names(self) -> TopicNames:
        """See ``AdminBackend``."""
        return await self._request(commands.topic_names)

    async def elect_preferred(self, topics: Sequence[TopicPartitions]) -> list[Outcome]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.elect_preferred(office, topics))

    async def reassign(self, topics: Sequence[TopicReassignment]) -> list[Outcome]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.reassign(office, topics))

    async def moves(self, topics: Sequence[TopicReassignment]) -> list[TopicMoves]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.moves(office, topics))

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int = -1) -> list[tuple[str, int]]:
        """See ``AdminBackend``."""
        return await self._request(lambda office: commands.controlled_shutdown(office, broker_id, broker_epoch))

    async def _request(self, work: Callable[[ControllerContext], Coroutine[Any, Any, Result]]) -> Result:
        queue, office = self._queue, self._office
        if queue is None or office is None:
            raise NotController(self._broker_id)
        result: Result = await queue.request(lambda: work(office))
        return result

    # Events

    def _seen(self, event: WatchEvent) -> None:
        """The one watch. It only puts events in."""
        if event.kind == "lost" or event.path == ControllerNode.path():
            self._may_stand.set()
        if self._queue is not None:
            self._queue.look("" if event.kind == "lost" else event.path)

    def _session_changed(self, state: SessionState) -> None:
        if state in {"expired", "closed"}:
            self._resign()
        self._may_stand.set()

    def _resign(self) -> None:
        """From now on every request is answered with 22; those that wait as well."""
        queue, self._queue = self._queue, None
        self._loaded.clear()
        if queue is not None:
            queue.close(lambda: NotController(self._broker_id))

    # The consumer

    async def _run(self) -> None:
        try:
            while True:
                self._may_stand.clear()
                try:
                    term = await stand(self._store, self._broker_id, self._seen)
                except ZnodeError as error:
                    log.error("no election is possible: %s", error)  # noqa: TRY400 - the node is at fault, not the code
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if term is None:
                    await self._may_stand.wait()
                    continue
                await self._serve(term)
                await leave(self._store)
        except (SessionExpired, StoreClosed) as gone:
            log.info("controller %d: %s", self._broker_id, gone)
        except Exception:  # nobody waits for this task: what ended it has to be said here
            log.exception("controller %d has failed", self._broker_id)
        finally:
            self._resign()

    async def _serve(self, term: Term) -> None:
        log.info("broker %d is controller, epoch %d", self._broker_id, term.epoch)
        queue = self._queue = EventQueue(self._settings.queue_size)
        office = self._office = ControllerContext(
            self._store, self._broker_id, term, queue, self._seen, self._send, self._settings
        )
        queue.look("")
        try:
            while self._queue is queue and (event := await queue.next()) is not None:
                await self._handle(event, office)
        except Deposed as deposed:
            log.warning("broker %d is no longer controller: %s", self._broker_id, deposed.reason)
        finally:
            self._resign()
            self._office = None
            await office.announcer.stop()

    async def _handle(self, event: Event, office: ControllerContext) -> None:
        if not isinstance(event, Look):
            await self._answer(event)
            return
        try:
            await look(office, event.what)
            if event.what == "":
                self._loaded.set()
        except (ConnectionLost, SessionExpired, StoreClosed) as error:
            if not isinstance(error, ConnectionLost):
                raise Deposed(str(error)) from error
            office.queue.look("")
        except Deposed:
            raise
        except Exception:  # whatever one node holds, the rest of the cluster goes on
            log.exception("could not follow a change of %s", event.what or "everything")
            if event.what == "":  # without the state there is nothing that it could do
                await asyncio.sleep(RETRY_SECONDS)
                office.queue.look("")

    async def _answer(self, request: Request) -> None:
        """Errors: Deposed, once the request has been told."""
        answer = request.answer
        if answer.cancelled():
            return
        try:
            value = await asyncio.get_running_loop().create_task(request.work(), context=request.context)
        except AdminError as refusal:
            _end(answer, refusal)
        except (Deposed, SessionExpired, StoreClosed) as error:
            _end(answer, NotController(self._broker_id))
            raise error if isinstance(error, Deposed) else Deposed(str(error)) from error
        except asyncio.CancelledError:
            _end(answer, NotController(self._broker_id))
            raise
        except Exception as error:  # noqa: BLE001 - it is logged, and told to who asked
            request.context.run(log.exception, "a request failed")
            _end(answer, AdminError(ErrorCode.ADMIN_REQUEST_FAILED, f"{type(error).__name__}: {error}"))
        else:
            if not answer.done():
                answer.set_result(value)


def _end(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


async def _nothing(office: ControllerContext) -> None:
    del office
