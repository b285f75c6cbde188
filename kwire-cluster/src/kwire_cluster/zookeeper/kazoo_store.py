"""A session with a ZooKeeper ensemble through kazoo.

- The thread of the event loop never blocks on kazoo.
- kazoo gets at most `WINDOW` requests at a time. The thread that receives a response passes on the next request,
  without the event loop. Requests that kazoo has not got when the connection ends wait for the next connection.
- After the end of the session, kazoo gets no more requests, because it would open a new session by itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionLoss, SessionExpiredError
from kazoo.protocol.states import KazooState, KeeperState

from kwire_cluster.zookeeper.errors import (
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
    ZooKeeperAuthenticationFailed,
)
from kwire_cluster.zookeeper.kazoo_connection import ReplacedConnection, UnreadableResponse
from kwire_cluster.zookeeper.kazoo_handler import CallbackQueue, EventLoopHandler
from kwire_cluster.zookeeper.kazoo_requests import (
    GetManyRequest,
    KazooWatch,
    SingleRequest,
    stat_of,
    to_kazoo_operation,
    transaction_results,
)
from kwire_cluster.zookeeper.operations import (
    ANY_VERSION,
    Create,
    Delete,
    Operation,
    SessionState,
    SetData,
    Stat,
    Znode,
)
from kwire_cluster.zookeeper.packet_size import request_size, transaction_size
from kwire_cluster.zookeeper.store import MAX_PACKET, check_operation, check_path, response_future

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cluster.zookeeper.kazoo_handler import AsyncResult
    from kwire_cluster.zookeeper.kazoo_requests import ResponseCallback, StoreRequest
    from kwire_cluster.zookeeper.operations import Acl, OperationResult
    from kwire_cluster.zookeeper.store import ReadResult, Watch

__all__ = ["WINDOW", "KazooStore"]

WINDOW = 200
"""Larger windows are not faster, and more requests would have an unknown outcome when the connection ends."""


class KazooStore:
    """A `Store` that `connect` creates."""

    def __init__(self, acl: tuple[Acl, ...], options: dict[str, Any]) -> None:
        """Create the client in the running event loop, with the options of KazooClient."""
        self._loop = asyncio.get_running_loop()
        self._callbacks = CallbackQueue(self._loop)
        self._acl = acl
        self._client = KazooClient(handler=EventLoopHandler(self._callbacks), **options)
        replaced = self._client._connection  # noqa: SLF001  # kazoo has no setting for it
        self._client._connection = ReplacedConnection(  # noqa: SLF001  # the same
            self._client, replaced.retry_sleeper, replaced.logger, replaced.sasl_options
        )
        self._client.add_listener(self._state_changed)
        self._session_id = 0
        self._state = SessionState.SUSPENDED
        self._listeners: list[Callable[[SessionState], None]] = []
        self._stopping: threading.Thread | None = None
        # Both threads use the following attributes, with the lock.
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

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def get(self, path: str, watch: Watch | None = None) -> asyncio.Future[Znode]:
        check_path(path)
        return self._request(path, lambda client: client.get_async(path, _kazoo_watch(watch, path)), _znode)

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[ReadResult]]:
        paths = list(paths)
        for path in paths:
            check_path(path)
        future: asyncio.Future[list[ReadResult]] = response_future(self._loop)
        if paths:
            self._send(GetManyRequest(self._callbacks, future, paths, watch))
        else:
            future.set_result([])
        return future

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        check_path(path)
        return self._request(
            path,
            lambda client: client.exists_async(path, _kazoo_watch(watch, path)),
            lambda stat: None if stat is None else stat_of(stat),
        )

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        check_path(path)
        return self._request(path, lambda client: client.get_children_async(path, _kazoo_watch(watch, path)), _names)

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
        error = check_operation(operation) or self._too_large(path, request_size(operation, self._acl, self._root))
        if error is not None:
            return self._failed(error)

        def created(results: list[Any]) -> OperationResult:
            try:
                return transaction_results((operation,), results)[0]
            except TransactionFailed as failed:
                raise failed.error from None

        # A transaction of one operation needs fewer callbacks than kazoo's create.
        return self._request(path, lambda client: self._commit(client, (operation,)), created)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        operation = SetData(path, data, version)
        error = check_operation(operation) or self._too_large(path, request_size(operation, self._acl, self._root))
        if error is not None:
            return self._failed(error)
        return self._request(path, lambda client: client.set_async(path, data, version), stat_of)

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        error = check_operation(Delete(path, version))
        if error is not None:
            return self._failed(error)
        return self._request(path, lambda client: client.delete_async(path, version), _nothing)

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        operations = tuple(operations)
        path = operations[0].path if operations else "/"
        size = transaction_size(operations, self._acl, self._root)
        error = next(filter(None, map(check_operation, operations)), None) or self._too_large(path, size)
        if error is not None:
            return self._failed(error)
        return self._request(
            path,
            lambda client: self._commit(client, operations),
            lambda results: transaction_results(operations, results),
        )

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        check_path(path)
        return self._request(path, lambda client: client.sync_async(path), _nothing)

    async def close(self) -> None:
        with self._lock:
            if self._final is None:
                self._end(StoreClosed)
                self._callbacks.post(lambda: self._notify(SessionState.CLOSED))
            self._stop()
        assert self._stopping is not None
        await asyncio.to_thread(self._stopping.join)

    def start(self) -> None:
        """Start to connect. Only `connect` calls this method."""
        self._client.start_async()

    def final_error(self) -> StoreError:
        """Return the error of a session that has ended. Only `connect` calls this method."""
        assert self._final is not None
        return self._final("/")

    # The following methods run in both threads.

    @property
    def _root(self) -> str:
        root: str = self._client.chroot
        return root

    def _request(
        self, path: str, call: Callable[[Any], AsyncResult], translate: Callable[[Any], Any]
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = response_future(self._loop)
        self._send(SingleRequest(self._callbacks, future, path, call, translate))
        return future

    def _send(self, request: StoreRequest) -> None:
        with self._lock:
            if self._final is not None:
                request.fail(self._final)
            else:
                self._outgoing.append(request)
                self._pump()

    def _pump(self) -> None:
        """Pass on requests while the window has room. The caller holds the lock."""
        if self._pumping:  # kazoo rejected a request at once, and this is its callback
            return
        self._pumping = True
        try:
            while self._outgoing and self._connected and self._in_flight < WINDOW:
                request = self._outgoing[0]
                if not request.exhausted:  # else it has failed in the meantime
                    self._in_flight += 1
                    response, callback = request.send(self._client)
                    response.rawlink(partial(self._on_response, callback=callback))
                if request.exhausted:
                    self._outgoing.popleft()
        finally:
            self._pumping = False

    def _on_response(self, response: AsyncResult, callback: ResponseCallback) -> None:
        with self._lock:
            self._in_flight -= 1
            connection_lost = isinstance(response.exception, (ConnectionLoss, SessionExpiredError, AuthFailedError))
            if connection_lost or isinstance(response.exception, UnreadableResponse):
                self._connected = False  # kazoo notifies its listeners only after it has failed all requests
            callback(response, self._final if connection_lost else None)
            self._pump()

    def _commit(self, client: Any, operations: Sequence[Operation]) -> AsyncResult:
        transaction = client.transaction()
        root, acl = self._root, self._acl
        transaction.operations = [to_kazoo_operation(operation, acl, root) for operation in operations]
        result: AsyncResult = transaction.commit_async()
        return result

    def _too_large(self, path: str, size: int) -> PacketTooLarge | None:
        return PacketTooLarge(path, size, MAX_PACKET) if size > MAX_PACKET else None

    def _failed(self, error: StoreError) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = response_future(self._loop)
        future.set_exception(error)
        return future

    def _state_changed(self, state: str) -> None:
        """Handle a state of kazoo. kazoo calls this method in its thread and waits for it."""
        with self._lock:
            if self._final is not None:
                return
            if state == KazooState.CONNECTED:
                session_id, _ = self._client.client_id
                self._connected = True
                self._callbacks.post(lambda: self._notify(SessionState.CONNECTED, session_id))
                self._pump()
            elif state == KazooState.SUSPENDED:
                self._connected = False
                self._callbacks.post(lambda: self._notify(SessionState.SUSPENDED))
            else:
                rejected = self._client.client_state == KeeperState.AUTH_FAILED
                self._end(ZooKeeperAuthenticationFailed if rejected else SessionExpired)
                self._callbacks.post(lambda: self._notify(SessionState.EXPIRED))
                self._stop()

    def _end(self, error: type[StoreError]) -> None:
        self._final = error
        self._connected = False
        while self._outgoing:
            self._outgoing.popleft().fail(error)

    def _stop(self) -> None:
        """Stop kazoo in another thread, because it waits for its own thread."""
        if self._stopping is None:
            self._stopping = threading.Thread(target=self._stop_client, name="zookeeper close", daemon=True)
            self._stopping.start()

    def _stop_client(self) -> None:
        self._client.stop()
        self._client.close()

    def _notify(self, state: SessionState, session_id: int = 0) -> None:
        self._state = state
        self._session_id = session_id or self._session_id
        for listener in list(self._listeners):
            try:
                listener(state)
            except Exception as error:  # noqa: BLE001  # a failing listener must not affect the others; the loop reports it
                self._loop.call_exception_handler({"message": f"{listener!r} failed on {state}", "exception": error})


def _kazoo_watch(watch: Watch | None, path: str) -> KazooWatch | None:
    return None if watch is None else KazooWatch(watch, path)


def _znode(result: tuple[bytes | None, Any]) -> Znode:
    data, stat = result
    return Znode(data or b"", stat_of(stat))


def _names(names: list[str | None]) -> list[str]:
    """Return the names of children, sorted.

    Raises:
        ValueError: one of them is not a name.
    """
    if not all(names) or "/" in "".join(filter(None, names)):
        raise ValueError("it has a child without a valid name")
    return sorted(filter(None, names))


def _nothing(_result: object) -> None:
    return None
