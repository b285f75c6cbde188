"""A ZooKeeper ensemble in memory, with any number of sessions and injected faults, for tests.

It has the guarantees of `Store` and the behavior of a ZooKeeper server. Requests are applied when they are called, and
responses arrive in a later iteration of the event loop. Access control lists are stored, but not enforced; `forbidden`
has the znodes that no session may use. Time plays no role: sessions expire when `expire` is called.
"""

from __future__ import annotations

import asyncio
from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    NotAuthorized,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
)
from kwire_cluster.zookeeper.operations import (
    ANY_VERSION,
    OPEN_ACL_UNSAFE,
    Acl,
    Create,
    Delete,
    Operation,
    OperationResult,
    SessionState,
    SetData,
    Stat,
    WatchEvent,
    WatchEventKind,
    Znode,
)
from kwire_cluster.zookeeper.store import MAX_PACKET, check_operation, check_path, response_future
from kwire_cluster.zookeeper.wire_format import request_size, transaction_body, write_body
from tests.cluster.data_tree import DataTree, ZnodeChange, parent_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cluster.zookeeper.store import ReadResult, Watch

__all__ = ["InjectedFault", "MemoryStore", "MemoryZooKeeper"]

Result = TypeVar("Result")


class InjectedFault(StrEnum):
    """A fault during a write. Both faults end the connection; the session reconnects in the next loop iteration."""

    NONE = "none"
    LOSE_REQUEST = "lose request"
    """The connection ends before the write is applied."""
    LOSE_RESPONSE = "lose response"
    """The connection ends after the write is applied."""


class MemoryZooKeeper:
    """The ensemble.

    Attributes:
        tree: the znodes.
        inject_fault: called before every write with the session and the operations. It may count them, return a fault,
            or raise an exception to simulate a crash of the caller.
        running: true if the ensemble accepts connections.
        forbidden: paths that no session may read or write, nor create or delete children of, as if their ACL named
            another user only.
    """

    def __init__(self) -> None:
        self.tree = DataTree()
        self.inject_fault: Callable[[MemoryStore, Sequence[Operation]], InjectedFault] | None = None
        self.running = True
        self.forbidden: set[str] = set()
        self._sessions: dict[int, MemoryStore] = {}
        self._last_session_id = 0x1000
        self._expired: set[int] = set()
        # Watches by path; the inner dict is an ordered set.
        self._data_watches: dict[str, dict[tuple[MemoryStore, Watch], None]] = {}
        self._child_watches: dict[str, dict[tuple[MemoryStore, Watch], None]] = {}

    def session(self, acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE) -> MemoryStore:
        """Open a connected session in the running event loop."""
        self._last_session_id += 1
        session = MemoryStore(self, self._last_session_id, acl)
        self._sessions[session.session_id] = session
        return session

    def expire(self, session_id: int) -> None:
        """End a session as a server does after the session timeout, and delete its ephemeral znodes.

        A connected client learns this at once, a disconnected one when it reconnects.
        """
        session = self._sessions.get(session_id)
        was_connected = session is not None and session.is_connected
        self._expired.add(session_id)
        if session is not None:
            session.disconnect()
        self._delete_ephemerals(session_id)
        if session is not None and was_connected:
            session.reconnect()

    def stop(self) -> None:
        """End all connections and accept no new ones."""
        self.running = False
        for session in list(self._sessions.values()):
            session.disconnect()

    def start(self) -> None:
        """Accept connections again, and process the requests that are waiting."""
        self.running = True
        for session in list(self._sessions.values()):
            session.reconnect()

    def snapshot(self) -> dict[str, bytes]:
        """Return the data of all znodes by path."""
        return {path: self.tree.get(path).data for path in self.tree.paths()}

    @property
    def has_pending_deliveries(self) -> bool:
        """True if responses, watch events, or states have not reached their sessions yet."""
        return any(session.has_pending_deliveries for session in self._sessions.values())

    # For the sessions

    def check_read(self, path: str) -> None:
        """Raise NotAuthorized for a forbidden znode."""
        if path in self.forbidden and self.tree.exists(path):
            raise NotAuthorized(path)

    def check_write(self, operations: Sequence[Operation]) -> None:
        """Raise TransactionFailed for the first operation that is forbidden."""
        for index, operation in enumerate(operations):
            path = operation.path
            checked = parent_of(path) if isinstance(operation, (Create, Delete)) else path
            if checked in self.forbidden and self.tree.exists(checked):
                raise TransactionFailed(operations, index, NotAuthorized(path))

    def is_alive(self, session_id: int) -> bool:
        """Return whether a session has not expired."""
        return session_id not in self._expired

    def end(self, session: MemoryStore) -> None:
        """Close a session and delete its ephemeral znodes."""
        self.remove_watches(session)
        self._delete_ephemerals(session.session_id)

    def remove_session(self, session: MemoryStore) -> None:
        """Forget a session that has ended."""
        self._sessions.pop(session.session_id, None)

    def _delete_ephemerals(self, session_id: int) -> None:
        for path in self.tree.owned_by(session_id):
            _, changes = self.tree.apply([Delete(path)], session_id, ())
            self.fire(changes)

    def watch_data(self, path: str, session: MemoryStore, watch: Watch | None) -> None:
        if watch is not None:
            self._data_watches.setdefault(path, {})[session, watch] = None

    def watch_children(self, path: str, session: MemoryStore, watch: Watch | None) -> None:
        if watch is not None:
            self._child_watches.setdefault(path, {})[session, watch] = None

    def remove_watches(self, session: MemoryStore) -> list[tuple[Watch, str]]:
        """Remove the watches of a session and return them with their paths."""
        removed = []
        for table in (self._data_watches, self._child_watches):
            for path, watches in list(table.items()):
                for key in [key for key in watches if key[0] is session]:
                    del watches[key]
                    removed.append((key[1], path))
                if not watches:
                    del table[path]
        return removed

    def fire(self, changes: Iterable[ZnodeChange]) -> None:
        for kind, path in changes:
            for session, watch in self._data_watches.pop(path, ()):
                session.notify(watch, WatchEvent(kind, path))
            if kind == WatchEventKind.DELETED:
                for session, watch in self._child_watches.pop(path, ()):
                    session.notify(watch, WatchEvent(WatchEventKind.DELETED, path))
            if kind != WatchEventKind.CHANGED:
                parent = parent_of(path)
                for session, watch in self._child_watches.pop(parent, ()):
                    session.notify(watch, WatchEvent(WatchEventKind.CHILDREN, parent))


class _Response(NamedTuple):
    future: asyncio.Future[Any]
    path: str
    value: object
    error: BaseException | None


class _Event(NamedTuple):
    watch: Watch
    event: WatchEvent


class _Request(NamedTuple):
    """A request. `writes` is empty for a read."""

    work: Callable[[], object]
    future: asyncio.Future[Any]
    path: str
    writes: tuple[Operation, ...]


class MemoryStore:
    """A session of a `MemoryZooKeeper`: a `Store`. `state` is the view of the client, which lags behind the server."""

    def __init__(self, memory: MemoryZooKeeper, session_id: int, acl: tuple[Acl, ...]) -> None:
        self._memory = memory
        self._session_id = session_id
        self._acl = acl
        self._loop = asyncio.get_running_loop()
        self._connected = True
        self._state = SessionState.CONNECTED
        self._final: type[StoreError] | None = None
        self._listeners: list[Callable[[SessionState], None]] = []
        self._waiting: deque[_Request] = deque()
        self._in_flight: deque[_Response | _Event | SessionState] = deque()
        self._flush_scheduled = False

    # Faults

    @property
    def is_connected(self) -> bool:
        """True if the server sees a connection."""
        return self._connected

    @property
    def has_pending_deliveries(self) -> bool:
        """True if responses, watch events, or states have not been delivered yet."""
        return bool(self._in_flight)

    def disconnect(self) -> None:
        """End the connection. Responses in flight are lost, although their writes are applied, and all watches end."""
        if not self._connected:
            return
        self._connected = False
        lost: list[_Event] = []
        for delivery in list(self._in_flight):
            if isinstance(delivery, _Event):
                lost.append(delivery)
                self._in_flight.remove(delivery)
        self._in_flight = deque(
            delivery._replace(error=ConnectionLost(delivery.path)) if isinstance(delivery, _Response) else delivery
            for delivery in self._in_flight
        )
        self._deliver(SessionState.SUSPENDED)
        lost += [
            _Event(watch, WatchEvent(WatchEventKind.LOST, path)) for watch, path in self._memory.remove_watches(self)
        ]
        for watch, event in lost:
            self._deliver(_Event(watch, WatchEvent(WatchEventKind.LOST, event.path)))

    def reconnect(self) -> None:
        """Connect again. If the session is still alive, process the waiting requests, else end it."""
        if self._connected or self._final is not None or not self._memory.running:
            return
        if not self._memory.is_alive(self._session_id):
            self._end(SessionState.EXPIRED, SessionExpired)
            return
        self._connected = True
        self._deliver(SessionState.CONNECTED)
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            request = waiting.popleft()
            if self._connected:
                self._serve(request)
            else:  # a request lost the connection again
                self._waiting.append(request)

    # Store

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
        return self._request(path, lambda: self._get(path, watch))

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[ReadResult]]:
        paths = list(paths)
        for path in paths:
            check_path(path)
        return self._request(paths[0] if paths else "/", lambda: [self._read(path, watch) for path in paths])

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        check_path(path)
        return self._request(path, lambda: self._exists(path, watch))

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        check_path(path)
        return self._request(path, lambda: self._children(path, watch))

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        acl: tuple[Acl, ...] | None = None,
    ) -> asyncio.Future[str]:
        return cast("asyncio.Future[str]", self._write_one(Create(path, data, ephemeral, sequential, acl)))

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        return cast("asyncio.Future[Stat]", self._write_one(SetData(path, data, version)))

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        return cast("asyncio.Future[None]", self._write_one(Delete(path, version)))

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        operations = tuple(operations)
        path = operations[0].path if operations else "/"
        error = next(filter(None, map(check_operation, operations)), None) or _packet_error(
            path, request_size(transaction_body(operations, self._acl))
        )
        if error is not None:
            return self._failed(error)
        return self._request(path, lambda: self._apply(operations), operations)

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        check_path(path)
        return self._request(path, lambda: None)

    async def close(self) -> None:
        if self._final is None:
            if self._connected:
                self._memory.end(self)
            else:  # the server is not notified: ephemeral znodes stay until the session expires
                self._memory.remove_watches(self)
            self._in_flight = deque(
                delivery._replace(error=StoreClosed(delivery.path)) if isinstance(delivery, _Response) else delivery
                for delivery in self._in_flight
                if not isinstance(delivery, _Event)
            )
            self._connected = False
            self._end(SessionState.CLOSED, StoreClosed)
        self._flush()

    # For the ensemble

    def notify(self, watch: Watch, event: WatchEvent) -> None:
        self._deliver(_Event(watch, event))

    # Server side

    def _get(self, path: str, watch: Watch | None) -> Znode:
        znode = self._memory.tree.get(path)
        self._memory.check_read(path)
        self._memory.watch_data(path, self, watch)
        return Znode(znode.data, znode.stat())

    def _read(self, path: str, watch: Watch | None) -> ReadResult:
        try:
            return self._get(path, watch) if self._memory.tree.exists(path) else None
        except NotAuthorized as error:
            return error

    def _exists(self, path: str, watch: Watch | None) -> Stat | None:
        self._memory.check_read(path)
        self._memory.watch_data(path, self, watch)
        return self._memory.tree.get(path).stat() if self._memory.tree.exists(path) else None

    def _children(self, path: str, watch: Watch | None) -> list[str]:
        names = sorted(self._memory.tree.get(path).children)
        self._memory.check_read(path)
        self._memory.watch_children(path, self, watch)
        return names

    def _apply(self, operations: Sequence[Operation]) -> list[OperationResult]:
        self._memory.check_write(operations)
        results, changes = self._memory.tree.apply(operations, self._session_id, self._acl)
        self._memory.fire(changes)
        return results

    def _apply_one(self, operation: Create | SetData | Delete) -> OperationResult:
        try:
            return self._apply([operation])[0]
        except TransactionFailed as failed:
            raise failed.error from None

    # Requests and responses

    def _write_one(self, operation: Create | SetData | Delete) -> asyncio.Future[OperationResult]:
        error = check_operation(operation) or _packet_error(
            operation.path, request_size(write_body(operation, self._acl))
        )
        if error is not None:
            return self._failed(error)
        return self._request(operation.path, lambda: self._apply_one(operation), (operation,))

    def _failed(self, error: StoreError) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = response_future(self._loop)
        future.set_exception(error)
        return future

    def _request(
        self, path: str, work: Callable[[], Result], writes: tuple[Operation, ...] = ()
    ) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = response_future(self._loop)
        if self._final is not None:
            future.set_exception(self._final(path))
        elif self._connected:
            self._serve(_Request(work, future, path, writes))
        else:
            self._waiting.append(_Request(work, future, path, writes))
        return future

    def _serve(self, request: _Request) -> None:
        inject_fault = self._memory.inject_fault
        fault = InjectedFault.NONE
        if request.writes and inject_fault is not None:
            fault = inject_fault(self, request.writes)
        if not self._connected:  # `inject_fault` has disconnected the session
            self._deliver(_Response(request.future, request.path, None, ConnectionLost(request.path)))
            return
        value: object = None
        error: StoreError | None = None
        if fault != InjectedFault.LOSE_REQUEST:
            try:
                value = request.work()
            except StoreError as store_error:
                error = store_error
        self._deliver(_Response(request.future, request.path, value, error))
        if fault != InjectedFault.NONE:
            self.disconnect()
            self._loop.call_soon(self.reconnect)

    def _end(self, state: SessionState, error: type[StoreError]) -> None:
        self._final = error
        self._memory.remove_session(self)
        self._deliver(state)
        while self._waiting:
            request = self._waiting.popleft()
            self._deliver(_Response(request.future, request.path, None, error(request.path)))

    def _deliver(self, delivery: _Response | _Event | SessionState) -> None:
        self._in_flight.append(delivery)
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_scheduled = False
        while self._in_flight:
            delivery = self._in_flight.popleft()
            if isinstance(delivery, _Response):
                if delivery.future.done():  # cancelled
                    continue
                if delivery.error is not None:
                    delivery.future.set_exception(delivery.error)
                else:
                    delivery.future.set_result(delivery.value)
            elif isinstance(delivery, _Event):
                self._call(delivery.watch, delivery.event)
            else:
                self._state = delivery
                for listener in list(self._listeners):
                    self._call(listener, delivery)

    def _call(self, callback: Callable[[Any], None], argument: object) -> None:
        try:
            callback(argument)
        except Exception as error:  # noqa: BLE001  # a failing callback must not affect the others; the loop reports it
            self._loop.call_exception_handler({"message": f"{callback!r} failed on {argument!r}", "exception": error})


def _packet_error(path: str, size: int) -> PacketTooLarge | None:
    return PacketTooLarge(path, size, MAX_PACKET) if size > MAX_PACKET else None
