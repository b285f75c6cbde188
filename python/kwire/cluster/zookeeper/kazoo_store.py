"""``KazooStore``: a session with a real ZooKeeper, over kazoo.

Rules of this file: the loop's thread never blocks on kazoo. kazoo is given at most ``WINDOW`` requests at a time; the
next one is given by whichever thread hears an answer, so that the loop has nothing to do with it. What was not given
yet when the connection ends waits for the next one, and is in no doubt. When the
session ends nothing more is given to kazoo, which would go on with a new session of its own accord.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionLoss, SessionExpiredError
from kazoo.protocol.states import KazooState, KeeperState

from kwire.cluster.zookeeper.errors import (
    AuthenticationFailed,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
)
from kwire.cluster.zookeeper.kazoo_handler import CallbackQueue, EventLoopHandler
from kwire.cluster.zookeeper.kazoo_requests import (
    GetManyRequest,
    KazooWatch,
    SingleRequest,
    packet,
    stat_of,
    transaction_results,
)
from kwire.cluster.zookeeper.operations import (
    ANY_VERSION,
    Create,
    Delete,
    Operation,
    SessionState,
    SetData,
    Stat,
    Znode,
)
from kwire.cluster.zookeeper.packet_size import request_size, transaction_size
from kwire.cluster.zookeeper.store import MAX_PACKET, check_operation, check_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.cluster.zookeeper.kazoo_handler import AsyncResult
    from kwire.cluster.zookeeper.kazoo_requests import ResponseCallback, StoreRequest
    from kwire.cluster.zookeeper.operations import Acl, OperationResult
    from kwire.cluster.zookeeper.store import Watch

__all__ = ["WINDOW", "KazooStore"]

WINDOW = 200
"""More at a time are not faster, and more would be in doubt when the connection ends."""


class KazooStore:
    """A ``Store``. Made by ``connect``."""

    def __init__(self, acl: tuple[Acl, ...], options: dict[str, Any]) -> None:
        """``options``: KazooClient's own. Must be made in a running event loop."""
        self._loop = asyncio.get_running_loop()
        self._inbox = CallbackQueue(self._loop)
        self._acl = acl
        self._client = KazooClient(handler=EventLoopHandler(self._inbox), **options)
        self._client.add_listener(self._state_changed)
        self._session_id = 0
        self._state: SessionState = "suspended"
        self._listeners: list[Callable[[SessionState], None]] = []
        self._stopping: threading.Thread | None = None
        # All below is touched by both threads, and only with the lock.
        self._lock = threading.RLock()
        self._outgoing: deque[StoreRequest] = deque()
        self._in_flight = 0
        self._connected = False
        self._pumping = False
        self._final: type[StoreError] | None = None

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def state(self) -> SessionState:
        return self._state

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def get(self, path: str, watch: Watch | None = None) -> asyncio.Future[Znode]:
        check_path(path)
        return self._ask(path, lambda client: client.get_async(path, _subscribed(watch, path)), _node)

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[Znode | None]]:
        paths = list(paths)
        for path in paths:
            check_path(path)
        future: asyncio.Future[list[Znode | None]] = self._loop.create_future()
        if paths:
            self._send(GetManyRequest(self._inbox, future, paths, watch))
        else:
            future.set_result([])
        return future

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        check_path(path)
        return self._ask(
            path,
            lambda client: client.exists_async(path, _subscribed(watch, path)),
            lambda told: None if told is None else stat_of(told),
        )

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        check_path(path)
        return self._ask(path, lambda client: client.get_children_async(path, _subscribed(watch, path)), sorted)

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        acl: tuple[Acl, ...] | None = None,
    ) -> asyncio.Future[str]:
        operation = Create(path, data, ephemeral, sequential, acl)
        refusal = check_operation(operation) or self._too_large(path, request_size(operation, self._acl, self._root))
        if refusal is not None:
            return self._refused(refusal)

        def created(results: list[Any]) -> OperationResult:
            try:
                return transaction_results((operation,), results)[0]
            except TransactionFailed as failed:
                raise failed.error from None

        # As a transaction of one: kazoo's own creation is three callbacks deep.
        return self._ask(path, lambda client: self._commit(client, (operation,)), created)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        operation = SetData(path, data, version)
        refusal = check_operation(operation) or self._too_large(path, request_size(operation, self._acl, self._root))
        if refusal is not None:
            return self._refused(refusal)
        return self._ask(path, lambda client: client.set_async(path, data, version), stat_of)

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        refusal = check_operation(Delete(path, version))
        if refusal is not None:
            return self._refused(refusal)
        return self._ask(path, lambda client: client.delete_async(path, version), _nothing)

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        operations = tuple(operations)
        path = operations[0].path if operations else "/"
        size = transaction_size(operations, self._acl, self._root)
        refusal = next(filter(None, map(check_operation, operations)), None) or self._too_large(path, size)
        if refusal is not None:
            return self._refused(refusal)
        return self._ask(
            path,
            lambda client: self._commit(client, operations),
            lambda results: transaction_results(operations, results),
        )

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        check_path(path)
        return self._ask(path, lambda client: client.sync_async(path), _nothing)

    async def close(self) -> None:
        with self._lock:
            if self._final is None:
                self._end(StoreClosed)
                self._inbox.post(lambda: self._tell("closed"))
            self._stop()
        assert self._stopping is not None
        await asyncio.to_thread(self._stopping.join)

    def start(self) -> None:
        """Begin to connect: for ``connect`` only."""
        self._client.start_async()

    def ended(self, path: str) -> StoreError:
        """What is raised now that the session is over: for ``connect`` only."""
        assert self._final is not None
        return self._final(path)

    # What follows runs in either thread.

    @property
    def _root(self) -> str:
        root: str = self._client.chroot
        return root

    def _ask(
        self, path: str, call: Callable[[Any], AsyncResult], translate: Callable[[Any], Any]
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        self._send(SingleRequest(self._inbox, future, path, call, translate))
        return future

    def _send(self, request: StoreRequest) -> None:
        with self._lock:
            if self._final is not None:
                request.fail(self._final)
            else:
                self._outgoing.append(request)
                self._pump()

    def _pump(self) -> None:
        """Give kazoo what the window has room for. The lock is held."""
        if self._pumping:  # kazoo refused at once, and this is its callback
            return
        self._pumping = True
        try:
            while self._outgoing and self._connected and self._in_flight < WINDOW:
                request = self._outgoing[0]
                if not request.exhausted:  # it may have failed meanwhile
                    self._in_flight += 1
                    reply, answered = request.send(self._client)
                    reply.rawlink(lambda reply, answered=answered: self._answered(reply, answered))  # type: ignore[misc]
                if request.exhausted:
                    self._outgoing.popleft()
        finally:
            self._pumping = False

    def _answered(self, reply: AsyncResult, answered: ResponseCallback) -> None:
        with self._lock:
            self._in_flight -= 1
            unanswered = isinstance(reply.exception, (ConnectionLoss, SessionExpiredError, AuthFailedError))
            if unanswered:
                self._connected = False  # kazoo says so to its listeners only after it has failed everything
            answered(reply, self._final if unanswered else None)
            self._pump()

    def _commit(self, client: Any, operations: Sequence[Operation]) -> AsyncResult:
        transaction = client.transaction()
        root, acl = self._root, self._acl
        transaction.operations = [packet(operation, acl, root) for operation in operations]
        reply: AsyncResult = transaction.commit_async()
        return reply

    def _too_large(self, path: str, size: int) -> PacketTooLarge | None:
        return PacketTooLarge(path, size, MAX_PACKET) if size > MAX_PACKET else None

    def _refused(self, refusal: StoreError) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        future.set_exception(refusal)
        return future

    def _state_changed(self, state: str) -> None:
        """Of the connection; called by kazoo in its thread before it goes on."""
        with self._lock:
            if self._final is not None:
                return
            if state == KazooState.CONNECTED:
                session_id, _ = self._client.client_id
                self._connected = True
                self._inbox.post(lambda: self._tell("connected", session_id))
                self._pump()
            elif state == KazooState.SUSPENDED:
                self._connected = False
                self._inbox.post(lambda: self._tell("suspended"))
            else:
                refused = self._client.client_state == KeeperState.AUTH_FAILED
                self._end(AuthenticationFailed if refused else SessionExpired)
                self._inbox.post(lambda: self._tell("expired"))
                self._stop()

    def _end(self, error: type[StoreError]) -> None:
        self._final = error
        self._connected = False
        while self._outgoing:
            self._outgoing.popleft().fail(error)

    def _stop(self) -> None:
        """End kazoo, which waits for its own thread, in another one."""
        if self._stopping is None:
            self._stopping = threading.Thread(target=self._stop_client, name="zookeeper close", daemon=True)
            self._stopping.start()

    def _stop_client(self) -> None:
        self._client.stop()
        self._client.close()

    def _tell(self, state: SessionState, session_id: int = 0) -> None:
        self._state = state
        self._session_id = session_id or self._session_id
        for listener in list(self._listeners):
            try:
                listener(state)
            except Exception as error:  # noqa: BLE001 - one bad listener must not silence the others: the loop reports it
                self._loop.call_exception_handler({"message": f"{listener!r} failed on {state}", "exception": error})


def _subscribed(watch: Watch | None, path: str) -> KazooWatch | None:
    return None if watch is None else KazooWatch(watch, path)


def _node(told: tuple[bytes | None, Any]) -> Znode:
    data, stat = told
    return Znode(data or b"", stat_of(stat))


def _nothing(_told: object) -> None:
    return None
