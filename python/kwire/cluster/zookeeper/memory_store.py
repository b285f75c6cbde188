"""``MemoryZooKeeper``: a ZooKeeper ensemble within the process, with as many sessions as wanted and every fault on demand.

Rules of this file: it does what ``Store`` promises and what a real server does, in the same order; requests take place
when they are called, and their answers arrive in a later turn of the event loop. Access control lists are kept, not
enforced. No time passes here: a session expires when the test says so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

from kwire.cluster.zookeeper.data_tree import Tree, ZnodeChange, parent_of
from kwire.cluster.zookeeper.errors import (
    ConnectionLost,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
)
from kwire.cluster.zookeeper.operations import (
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
    Znode,
)
from kwire.cluster.zookeeper.packet_size import request_size, transaction_size
from kwire.cluster.zookeeper.store import MAX_PACKET, check_operation, check_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kwire.cluster.zookeeper.store import Watch

__all__ = ["MemoryStore", "MemoryZooKeeper", "Verdict"]

Result = TypeVar("Result")
Verdict: TypeAlias = Literal["serve", "lose request", "lose answer"]
"""What becomes of a write. Losing cuts the connection, before the write takes place or after it; a new connection
follows in the next turn of the event loop."""


class MemoryZooKeeper:
    """The ensemble.

    ``interrupt``: asked about every write before it takes place, with the session and the operations; it may count
    them, cut the connection by its ``Verdict``, or raise to end the caller as a crash would.
    """

    def __init__(self) -> None:
        self.tree = Tree()
        self.interrupt: Callable[[MemoryStore, Sequence[Operation]], Verdict] | None = None
        self.running = True
        self._sessions: dict[int, MemoryStore] = {}
        self._last_session_id = 0x1000
        self._expired: set[int] = set()
        # Path, then who watches it; a dict for a set that keeps its order.
        self._data_watches: dict[str, dict[tuple[MemoryStore, Watch], None]] = {}
        self._child_watches: dict[str, dict[tuple[MemoryStore, Watch], None]] = {}

    def session(self, acl: tuple[Acl, ...] = OPEN_ACL_UNSAFE) -> MemoryStore:
        """A new session of the running event loop, connected."""
        self._last_session_id += 1
        session = MemoryStore(self, self._last_session_id, acl)
        self._sessions[session.session_id] = session
        return session

    def expire(self, session_id: int) -> None:
        """End a session as the server does when it hears nothing: its ephemeral nodes go.

        A client with a connection learns it at once, another one when it connects again.
        """
        session = self._sessions.get(session_id)
        had_connection = session is not None and session.is_connected
        self._expired.add(session_id)
        if session is not None:
            session.disconnect()
        self._remove_nodes(session_id)
        if session is not None and had_connection:
            session.reconnect()

    def stop(self) -> None:
        """Cut all connections, and take no new ones."""
        self.running = False
        for session in list(self._sessions.values()):
            session.disconnect()

    def start(self) -> None:
        """Take connections again: what sessions asked for meanwhile is done now."""
        self.running = True
        for session in list(self._sessions.values()):
            session.reconnect()

    def snapshot(self) -> dict[str, bytes]:
        """Every node's data by its path."""
        return {path: self.tree.node(path).data for path in self.tree.paths()}

    # The rest is for the sessions.

    def knows(self, session_id: int) -> bool:
        return session_id not in self._expired

    def end(self, session: MemoryStore) -> None:
        """The client closes its session: its nodes go at once."""
        self.forget_watches(session)
        self._remove_nodes(session.session_id)

    def forget(self, session: MemoryStore) -> None:
        """Nothing more happens to it."""
        self._sessions.pop(session.session_id, None)

    def _remove_nodes(self, session_id: int) -> None:
        for path in self.tree.owned_by(session_id):
            _, changes = self.tree.apply([Delete(path)], session_id, ())
            self.fire(changes)

    def watch_data(self, path: str, session: MemoryStore, watch: Watch | None) -> None:
        if watch is not None:
            self._data_watches.setdefault(path, {})[session, watch] = None

    def watch_children(self, path: str, session: MemoryStore, watch: Watch | None) -> None:
        if watch is not None:
            self._child_watches.setdefault(path, {})[session, watch] = None

    def forget_watches(self, session: MemoryStore) -> list[tuple[Watch, str]]:
        """Take away all watches of a session; the result is whom to tell, of which path."""
        forgotten = []
        for table in (self._data_watches, self._child_watches):
            for path, watches in list(table.items()):
                for one in [one for one in watches if one[0] is session]:
                    del watches[one]
                    forgotten.append((one[1], path))
                if not watches:
                    del table[path]
        return forgotten

    def fire(self, changes: Iterable[ZnodeChange]) -> None:
        for kind, path in changes:
            for session, watch in self._data_watches.pop(path, ()):
                session.tell(watch, WatchEvent(kind, path))
            if kind == "deleted":
                for session, watch in self._child_watches.pop(path, ()):
                    session.tell(watch, WatchEvent("deleted", path))
            if kind != "changed":
                parent = parent_of(path)
                for session, watch in self._child_watches.pop(parent, ()):
                    session.tell(watch, WatchEvent("children", parent))


class _Answer(NamedTuple):
    future: asyncio.Future[Any]
    path: str
    value: object
    error: BaseException | None


class _Event(NamedTuple):
    watch: Watch
    event: WatchEvent


class _Waiting(NamedTuple):
    work: Callable[[], object]
    future: asyncio.Future[Any]
    path: str
    writes: tuple[Operation, ...]


class MemoryStore:
    """One session of a ``MemoryZooKeeper``; a ``Store``. ``state`` is the client's view, which follows the server's."""

    def __init__(self, memory: MemoryZooKeeper, session_id: int, acl: tuple[Acl, ...]) -> None:
        self._memory = memory
        self._session_id = session_id
        self._acl = acl
        self._loop = asyncio.get_running_loop()
        self._connected = True
        self._state: SessionState = "connected"
        self._final: type[StoreError] | None = None
        self._listeners: list[Callable[[SessionState], None]] = []
        self._waiting: deque[_Waiting] = deque()
        self._arriving: deque[_Answer | _Event | SessionState] = deque()
        self._flush_scheduled = False

    # Faults.

    @property
    def is_connected(self) -> bool:
        """As the server sees it."""
        return self._connected

    def disconnect(self) -> None:
        """Cut the connection. Answers on their way are lost, though their writes took place; watches are gone."""
        if not self._connected:
            return
        self._connected = False
        lost: list[_Event] = []
        for arriving in list(self._arriving):
            if isinstance(arriving, _Event):
                lost.append(arriving)
                self._arriving.remove(arriving)
        self._arriving = deque(
            arriving._replace(error=ConnectionLost(arriving.path)) if isinstance(arriving, _Answer) else arriving
            for arriving in self._arriving
        )
        self._arrive("suspended")
        lost += [_Event(watch, WatchEvent("lost", path)) for watch, path in self._memory.forget_watches(self)]
        for watch, event in lost:
            self._arrive(_Event(watch, WatchEvent("lost", event.path)))

    def reconnect(self) -> None:
        """Connect again, and learn whether the session still lives; what was asked for meanwhile is done now."""
        if self._connected or self._final is not None or not self._memory.running:
            return
        if not self._memory.knows(self._session_id):
            self._end("expired", SessionExpired)
            return
        self._connected = True
        self._arrive("connected")
        waiting, self._waiting = self._waiting, deque()
        while waiting:
            one = waiting.popleft()
            if self._connected:
                self._serve(one)
            else:  # one of them lost the connection again
                self._waiting.append(one)

    # Store.

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
        return self._ask(path, lambda: self._get(path, watch))

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[Znode | None]]:
        paths = list(paths)
        for path in paths:
            check_path(path)
        return self._ask(paths[0] if paths else "/", lambda: [self._get_if_there(path, watch) for path in paths])

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        check_path(path)
        return self._ask(path, lambda: self._exists(path, watch))

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        check_path(path)
        return self._ask(path, lambda: self._children(path, watch))

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
        refusal = next(filter(None, map(check_operation, operations)), None) or _too_large(
            path, transaction_size(operations, self._acl)
        )
        if refusal is not None:
            return self._refused(refusal)
        return self._ask(path, lambda: self._apply(operations), operations)

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        check_path(path)
        return self._ask(path, lambda: None)

    async def close(self) -> None:
        if self._final is None:
            if self._connected:
                self._memory.end(self)
            else:  # the server does not hear of it: the nodes stay until the session expires
                self._memory.forget_watches(self)
            self._arriving = deque(
                arriving._replace(error=StoreClosed(arriving.path)) if isinstance(arriving, _Answer) else arriving
                for arriving in self._arriving
                if not isinstance(arriving, _Event)
            )
            self._connected = False
            self._end("closed", StoreClosed)
        self._flush()

    # For the ensemble.

    def tell(self, watch: Watch, event: WatchEvent) -> None:
        self._arrive(_Event(watch, event))

    # What the server does.

    def _get(self, path: str, watch: Watch | None) -> Znode:
        node = self._memory.tree.node(path)
        self._memory.watch_data(path, self, watch)
        return Znode(node.data, node.stat())

    def _get_if_there(self, path: str, watch: Watch | None) -> Znode | None:
        return self._get(path, watch) if self._memory.tree.has(path) else None

    def _exists(self, path: str, watch: Watch | None) -> Stat | None:
        self._memory.watch_data(path, self, watch)
        return self._memory.tree.node(path).stat() if self._memory.tree.has(path) else None

    def _children(self, path: str, watch: Watch | None) -> list[str]:
        names = sorted(self._memory.tree.node(path).children)
        self._memory.watch_children(path, self, watch)
        return names

    def _apply(self, operations: Sequence[Operation]) -> list[OperationResult]:
        results, changes = self._memory.tree.apply(operations, self._session_id, self._acl)
        self._memory.fire(changes)
        return results

    def _apply_one(self, operation: Create | SetData | Delete) -> OperationResult:
        try:
            return self._apply([operation])[0]
        except TransactionFailed as failed:
            raise failed.error from None

    # How a request goes there and back.

    def _write_one(self, operation: Create | SetData | Delete) -> asyncio.Future[OperationResult]:
        refusal = check_operation(operation) or _too_large(operation.path, request_size(operation, self._acl))
        if refusal is not None:
            return self._refused(refusal)
        return self._ask(operation.path, lambda: self._apply_one(operation), (operation,))

    def _refused(self, refusal: StoreError) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        future.set_exception(refusal)
        return future

    def _ask(self, path: str, work: Callable[[], Result], writes: tuple[Operation, ...] = ()) -> asyncio.Future[Result]:
        future: asyncio.Future[Result] = self._loop.create_future()
        if self._final is not None:
            future.set_exception(self._final(path))
        elif self._connected:
            self._serve(_Waiting(work, future, path, writes))
        else:
            self._waiting.append(_Waiting(work, future, path, writes))
        return future

    def _serve(self, one: _Waiting) -> None:
        interrupt = self._memory.interrupt
        verdict: Verdict = interrupt(self, one.writes) if one.writes and interrupt is not None else "serve"
        if not self._connected:  # the interruption itself did that
            self._arrive(_Answer(one.future, one.path, None, ConnectionLost(one.path)))
            return
        value: object = None
        error: StoreError | None = None
        if verdict != "lose request":
            try:
                value = one.work()
            except StoreError as refusal:
                error = refusal
        self._arrive(_Answer(one.future, one.path, value, error))
        if verdict != "serve":
            self.disconnect()
            self._loop.call_soon(self.reconnect)

    def _end(self, state: SessionState, error: type[StoreError]) -> None:
        self._final = error
        self._memory.forget(self)
        self._arrive(state)
        while self._waiting:
            one = self._waiting.popleft()
            self._arrive(_Answer(one.future, one.path, None, error(one.path)))

    def _arrive(self, arriving: _Answer | _Event | SessionState) -> None:
        self._arriving.append(arriving)
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_scheduled = False
        while self._arriving:
            arriving = self._arriving.popleft()
            if isinstance(arriving, _Answer):
                if arriving.future.done():  # cancelled
                    continue
                if arriving.error is not None:
                    arriving.future.set_exception(arriving.error)
                else:
                    arriving.future.set_result(arriving.value)
            elif isinstance(arriving, _Event):
                self._call(arriving.watch, arriving.event)
            else:
                self._state = arriving
                for listener in list(self._listeners):
                    self._call(listener, arriving)

    def _call(self, callback: Callable[[Any], None], argument: object) -> None:
        try:
            callback(argument)
        except Exception as error:  # noqa: BLE001 - one bad watcher must not silence the others: the loop reports it
            self._loop.call_exception_handler({"message": f"{callback!r} failed on {argument!r}", "exception": error})


def _too_large(path: str, size: int) -> PacketTooLarge | None:
    return PacketTooLarge(path, size, MAX_PACKET) if size > MAX_PACKET else None
