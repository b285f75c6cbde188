"""A session with a ZooKeeper ensemble: a `Store` on the event loop.

One task connects to one server after another, and reads the responses of each connection in the order in which the
server sent them. Requests are numbered when they are sent, at most `WINDOW` of them ahead of their responses. Others
wait, also for the next connection, and their outcome is not in doubt when a connection ends.

| state     | entered                                                       | requests                         |
|-----------|---------------------------------------------------------------|----------------------------------|
| SUSPENDED | at first, and when the connection ends                        | in flight: ConnectionLost        |
| CONNECTED | the server has accepted the session and its credentials       | are sent                         |
| EXPIRED   | the server knows the session no more, or rejects credentials  | raise the error, all later ones  |
| CLOSED    | `close`                                                       | raise StoreClosed, all later ones|
"""

from __future__ import annotations

import asyncio
import logging
import struct
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire_cluster.zookeeper import wire_format
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    MalformedResponse,
    NoNode,
    NotAuthorized,
    PacketTooLarge,
    SessionExpired,
    StoreClosed,
    StoreError,
    TransactionFailed,
    ZooKeeperAuthenticationFailed,
)
from kwire_cluster.zookeeper.operations import (
    ANY_VERSION,
    Create,
    Delete,
    Operation,
    SessionState,
    SetData,
    Stat,
    WatchEvent,
    WatchEventKind,
    Znode,
)
from kwire_cluster.zookeeper.server_addresses import ServerAddresses
from kwire_cluster.zookeeper.store import MAX_PACKET, check_operation, check_path, response_future, retrieve_error

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Sequence

    from kwire_cluster.zookeeper.operations import Acl, OperationResult
    from kwire_cluster.zookeeper.server_addresses import Server
    from kwire_cluster.zookeeper.store import ReadResult, Watch

WINDOW = 200
"""Larger windows are not faster, and more requests would have an unknown outcome when the connection ends."""
HANDSHAKES = 3
"""Number of handshakes in a row that may remain without a response within one session timeout."""
HANDSHAKE_SECONDS = 2.0
"""Minimum time for a handshake, however short the session timeout, including garbage collection and forks."""
SHORTEST_TIMEOUT = 0.1
"""Minimum session timeout that is accepted from a server: a shorter one would leave no time for a handshake."""
BEATS = 6
"""Number of pings within one session timeout."""
MAX_SILENT_BEATS = 4
"""Number of pings in a row without a message of the server, after which another server is tried: two thirds of the
session timeout, as in ZooKeeper's client. Beats are counted, because a loop that was busy has not heard the server."""
FIRST_PAUSE_SECONDS = 0.05
"""Pause after no server has accepted the session, doubled each time."""
MAX_PAUSE_SECONDS = 1.0
"""The longest pause, unless the session timeout is so short that the session could expire in it."""
CLOSE_SECONDS = 5.0
"""Timeout of the response to the end of a session, which then ends by its timeout."""

log = logging.getLogger("kwire_cluster.zookeeper")


class _Request(NamedTuple):
    """A request.

    Attributes:
        path: the znode, for errors.
        body: the bytes without length and transaction id.
        decode: returns the result in a response.
        future: receives the result.
        watch: the watch to set with the response, and its key.
        may_be_missing: True if the watch is also set on a missing znode, and the result is then None.
    """

    path: str
    body: bytes
    decode: Callable[[bytes], Any]
    future: asyncio.Future[Any]
    watch: tuple[Watch, tuple[str, bool]] | None = None
    may_be_missing: bool = False

    def complete(self, result: Any, error: StoreError | None = None) -> None:
        """Set the future unless it was cancelled."""
        if self.future.done():
            return
        if error is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class _SessionEnded(Exception):
    """The server has ended the session."""

    def __init__(self, error: type[StoreError]) -> None:
        super().__init__(error)
        self.error = error


class ZooKeeperStore:
    """A `Store` that `connect` creates.

    Args:
        servers: hosts and ports.
        root: the chroot; empty, or a path.
        session_timeout: the requested session timeout in seconds.
        acl: the access control list of znodes that are created without one.
        credentials: schemes with their secrets.
        tls: the TLS context; None for plaintext.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        root: str,
        session_timeout: float,
        acl: tuple[Acl, ...],
        credentials: Sequence[tuple[str, str]],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._server_count = len(servers)
        self._addresses = ServerAddresses(servers)
        self._root = root
        self._requested_timeout = session_timeout
        self._timeout = session_timeout
        """The session timeout in seconds: the requested one, until a server has decided."""
        self._acl = acl
        self._credentials = credentials
        self._tls = tls
        self._session_id = 0
        self._password = bytes(16)
        self._last_zxid = 0
        self._state = SessionState.SUSPENDED
        self._final: type[StoreError] | None = None
        self._listeners: dict[Callable[[SessionState], None], None] = {}
        self._outgoing: deque[_Request] = deque()
        self._in_flight: deque[tuple[int, _Request]] = deque()
        self._xid = 0
        self._is_flush_scheduled = False
        self._watches: dict[tuple[str, bool], dict[Watch, None]] = {}
        """Watches by the path in the ensemble, and whether they are watches of children; the inner dict is a set."""
        self._writer: asyncio.StreamWriter | None = None
        """The connection of the session; None without one."""
        self._silent_beats = 0
        """The number of pings since the last message of the server that shows that it processes requests."""
        self._heartbeat: asyncio.TimerHandle | None = None
        self.opened: asyncio.Future[None] = response_future(self._loop)
        """Completes when the session is connected, or ends. Only `connect` waits for it."""
        self._task = self._loop.create_task(self._run(), name="zookeeper session")

    @property
    def session_id(self) -> int:
        return self._session_id

    @property
    def state(self) -> SessionState:
        return self._state

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def get(self, path: str, watch: Watch | None = None) -> asyncio.Future[Znode]:
        return self._read(wire_format.GET_DATA, path, watch, wire_format.decode_znode)

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        return self._read(wire_format.EXISTS, path, watch, wire_format.decode_stat)

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        return self._read(wire_format.GET_CHILDREN, path, watch, wire_format.decode_names)

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[ReadResult]]:
        paths = list(paths)
        for path in paths:
            check_path(path)
        task = self._loop.create_task(_collect([self.get(path, watch) for path in paths]))
        retrieve_error(task)
        return task

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        acl: tuple[Acl, ...] | None = None,
    ) -> asyncio.Future[str]:
        decode = partial(wire_format.decode_path, root=self._root)
        return self._write(Create(path, data, ephemeral, sequential, acl), decode)

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        return self._write(SetData(path, data, version), wire_format.decode_stat)

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        return self._write(Delete(path, version), _nothing)

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        operations = tuple(operations)
        error = next(filter(None, map(check_operation, operations)), None)
        if error is not None:
            return self._failed(error)
        path = operations[0].path if operations else "/"
        body = wire_format.transaction_body(operations, self._acl, self._root)
        return self._request(path, body, partial(wire_format.decode_results, operations=operations, root=self._root))

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        check_path(path)
        return self._request(path, wire_format.sync_body(wire_format.rooted(path, self._root)), _nothing)

    async def close(self) -> None:
        writer = self._writer
        if self._final is None:
            self._end(StoreClosed, SessionState.CLOSED)
            if writer is not None:
                writer.write(wire_format.CLOSE)
        try:
            if writer is not None:
                await asyncio.wait([self._task], timeout=CLOSE_SECONDS)  # the server ends the connection
        finally:
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    # Requests

    def _read(self, code: int, path: str, watch: Watch | None, decode: Callable[[bytes], Any]) -> asyncio.Future[Any]:
        check_path(path)
        rooted = wire_format.rooted(path, self._root)
        body = wire_format.read_body(code, rooted, watch=watch is not None)
        watched = None if watch is None else (watch, (rooted, code == wire_format.GET_CHILDREN))
        return self._request(path, body, decode, watched, may_be_missing=code == wire_format.EXISTS)

    def _write(self, operation: Operation, decode: Callable[[bytes], Any]) -> asyncio.Future[Any]:
        error = check_operation(operation)
        if error is not None:
            return self._failed(error)
        return self._request(operation.path, wire_format.write_body(operation, self._acl, self._root), decode)

    def _request(
        self,
        path: str,
        body: bytes,
        decode: Callable[[bytes], Any],
        watch: tuple[Watch, tuple[str, bool]] | None = None,
        *,
        may_be_missing: bool = False,
    ) -> asyncio.Future[Any]:
        size = wire_format.request_size(body)
        if size > MAX_PACKET:
            return self._failed(PacketTooLarge(path, size, MAX_PACKET))
        if self._final is not None:
            return self._failed(self._final(path))
        future = response_future(self._loop)
        self._outgoing.append(_Request(path, body, decode, future, watch, may_be_missing))
        self._schedule_flush()
        return future

    def _failed(self, error: StoreError) -> asyncio.Future[Any]:
        future = response_future(self._loop)
        future.set_exception(error)
        return future

    def _schedule_flush(self) -> None:
        """Send requests in the next iteration of the loop: many at once take one system call."""
        if not self._is_flush_scheduled and self._outgoing:
            self._is_flush_scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_scheduled = False
        if self._writer is None:
            return
        frames = []
        while self._outgoing and len(self._in_flight) < WINDOW:
            request = self._outgoing.popleft()
            self._xid = self._xid % 0x7FFF_FFFF + 1
            self._in_flight.append((self._xid, request))
            frames.append(wire_format.framed(self._xid, request.body))
        self._writer.write(b"".join(frames))

    # The connection

    async def _run(self) -> None:
        """Keep the session connected until it ends."""
        pause = FIRST_PAUSE_SECONDS
        try:
            while True:
                for host, address in await self._addresses.in_turn(self._handshake_seconds()):
                    self._addresses.used(address)
                    if await self._serve(host, address):
                        pause = FIRST_PAUSE_SECONDS
                    if self._final is not None:
                        return
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS, self._timeout / 8)
        except _SessionEnded as ended:
            self._end(ended.error, SessionState.EXPIRED)
        finally:
            self._addresses.close()

    def _handshake_seconds(self) -> float:
        """Return the timeout of a handshake: several of them may fail before the session expires."""
        handshakes = max(self._server_count, min(HANDSHAKES, int(self._timeout / HANDSHAKE_SECONDS)), 1)
        return self._timeout / handshakes

    async def _serve(self, host: str, address: Server) -> bool:
        """Connect to a server, read its responses until the connection ends, and return whether it took the session.

        Raises:
            _SessionEnded: the session has expired, or its credentials are rejected.
        """
        server_hostname = host if self._tls is not None else None
        writer = None
        try:
            async with asyncio.timeout(self._handshake_seconds()):
                reader, writer = await asyncio.open_connection(*address, ssl=self._tls, server_hostname=server_hostname)
                await self._introduce(reader, writer)
            self._connected(writer)
            while True:
                self._receive(await wire_format.next_message(reader))
        except (OSError, EOFError) as error:  # the next attempt may reach another server
            log.info("the connection to the ZooKeeper server %s:%s ended: %r", *address, error)
        except (ValueError, struct.error) as error:
            log.info("the ZooKeeper server %s:%s sent a malformed message: %s", *address, error)
            if self._in_flight:  # repeated, the request would fail again
                _, request = self._in_flight.popleft()
                request.complete(None, MalformedResponse(request.path, str(error)))
        finally:
            if writer is not None:
                writer.transport.abort()
            was_connected = self._writer is not None
            if was_connected:
                self._disconnected()
        return was_connected

    async def _introduce(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin the session, or continue it."""
        timeout_ms = round(self._requested_timeout * 1000)
        writer.write(wire_format.connect_request(self._last_zxid, timeout_ms, self._session_id, self._password))
        timeout_ms, session_id, password = wire_format.decode_connected(await wire_format.next_message(reader))
        if timeout_ms <= 0:
            raise _SessionEnded(SessionExpired)
        if not session_id or self._session_id not in {0, session_id}:
            raise ValueError(f"it accepts the session {session_id:#x} instead of {self._session_id:#x}")
        for credentials in self._credentials:
            writer.write(wire_format.auth_request(*credentials))
            xid, _, error = wire_format.RESPONSE.unpack_from(await wire_format.next_message(reader))
            if xid != wire_format.AUTH_XID:
                raise ValueError(f"it has the transaction id {xid}, expected {wire_format.AUTH_XID}")
            if error:
                raise _SessionEnded(ZooKeeperAuthenticationFailed)
        self._session_id, self._password = session_id, password
        self._timeout = max(timeout_ms / 1000, SHORTEST_TIMEOUT)

    def _connected(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._silent_beats = 0
        self._beat()
        self._notify(SessionState.CONNECTED)
        if not self.opened.done():
            self.opened.set_result(None)
        self._schedule_flush()

    def _beat(self) -> None:
        """Keep the session alive, and end a connection without responses in time to try another server."""
        if self._writer is None:
            return
        if self._silent_beats == MAX_SILENT_BEATS:
            log.info("the ZooKeeper server does not respond")
            self._writer.transport.abort()
            return
        self._silent_beats += 1
        self._writer.write(wire_format.PING)
        self._heartbeat = self._loop.call_later(self._timeout / BEATS, self._beat)

    def _disconnected(self) -> None:
        self._writer = None
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        if self._final is not None:
            return
        self._fail_in_flight(ConnectionLost)
        self._notify(SessionState.SUSPENDED)
        watches, self._watches = self._watches, {}
        for (path, _), callbacks in watches.items():
            self._call_all(callbacks, WatchEvent(WatchEventKind.LOST, self._unrooted(path)))

    def _receive(self, message: bytes) -> None:
        """Process a response or an event.

        Raises:
            ValueError, struct.error: it is malformed, so the connection must end.
        """
        xid, zxid, code = wire_format.RESPONSE.unpack_from(message)
        if xid != wire_format.PING_XID or not self._in_flight:  # a ping does not overtake requests, unless one is lost
            self._silent_beats = 0
        if xid == wire_format.WATCH_XID:
            self._fire(*wire_format.decode_event(message))
        elif xid != wire_format.PING_XID and self._in_flight:
            expected, request = self._in_flight[0]
            if xid != expected:
                raise ValueError(f"it has the transaction id {xid}, expected {expected}")
            result, error = _decode(request, message, code)
            if zxid > 0:
                self._last_zxid = zxid
            self._in_flight.popleft()
            if request.watch is not None and error is None:
                watch, key = request.watch
                self._watches.setdefault(key, {})[watch] = None
            request.complete(result, error)
            self._schedule_flush()

    def _fire(self, kind: WatchEventKind, path: str) -> None:
        callbacks: list[Watch] = []
        if kind is not WatchEventKind.CHILDREN:
            callbacks += self._watches.pop((path, False), ())
        if kind in {WatchEventKind.CHILDREN, WatchEventKind.DELETED}:
            callbacks += self._watches.pop((path, True), ())
        self._call_all(callbacks, WatchEvent(kind, self._unrooted(path)))

    def _unrooted(self, path: str) -> str:
        return path.removeprefix(self._root) or "/"

    # The end of the session, and its listeners

    def _end(self, error: type[StoreError], state: SessionState) -> None:
        self._final = error
        self._watches.clear()
        self._fail_in_flight(error)
        while self._outgoing:
            request = self._outgoing.popleft()
            request.complete(None, error(request.path))
        self._notify(state)
        if not self.opened.done():
            self.opened.set_exception(error("/"))

    def _fail_in_flight(self, error: type[StoreError]) -> None:
        while self._in_flight:
            _, request = self._in_flight.popleft()
            request.complete(None, error(request.path))

    def _notify(self, state: SessionState) -> None:
        self._state = state
        self._call_all(list(self._listeners), state)

    def _call_all(self, callbacks: Iterable[Callable[[Any], None]], argument: object) -> None:
        for callback in callbacks:
            try:
                callback(argument)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  # the others go on; the loop reports it
                message = f"{callback!r} failed on {argument!r}"
                self._loop.call_exception_handler({"message": message, "exception": error})


def _decode(request: _Request, message: bytes, code: int) -> tuple[Any, StoreError | None]:
    """Return the result in a response, or its error."""
    if not code:
        try:
            return request.decode(message), None
        except TransactionFailed as failed:
            return None, failed
    error = wire_format.store_error(code, request.path)
    return None, None if request.may_be_missing and isinstance(error, NoNode) else error


async def _collect(reads: Sequence[asyncio.Future[Znode]]) -> list[ReadResult]:
    results: list[ReadResult] = []
    for read in reads:
        try:
            results.append(await read)
        except NoNode:
            results.append(None)
        except NotAuthorized as error:
            results.append(error)
    return results


def _nothing(_response: bytes) -> None:
    return None
