"""Requests of a `KazooStore`: how they are sent through kazoo and how their responses are translated.

- `send` is called once for each packet, by the thread that makes room in the window.
- Response callbacks run in kazoo's connection thread, or in the calling thread if kazoo rejects a request at once.
- Futures are set only in the thread of the event loop, through the callback queue.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    ZookeeperError,
)
from kazoo.protocol import serialization
from kazoo.protocol.states import EventType
from kazoo.security import ACL, Id

from kwire_cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    MalformedResponse,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotAuthorized,
    NotEmpty,
    ServerError,
    SessionExpired,
    StoreError,
    TransactionFailed,
    ZooKeeperAuthenticationFailed,
)
from kwire_cluster.zookeeper.operations import (
    Create,
    Delete,
    Operation,
    SetData,
    Stat,
    WatchEvent,
    WatchEventKind,
    Znode,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from kwire_cluster.zookeeper.kazoo_handler import AsyncResult, CallbackQueue
    from kwire_cluster.zookeeper.operations import Acl, OperationResult
    from kwire_cluster.zookeeper.store import ReadResult, Watch

__all__ = [
    "GetManyRequest",
    "KazooWatch",
    "ResponseCallback",
    "SingleRequest",
    "StoreRequest",
    "stat_of",
    "store_error",
    "to_kazoo_operation",
    "transaction_results",
]

_ERRORS: dict[type[BaseException], type[StoreError]] = {
    NoNodeError: NoNode,
    NodeExistsError: NodeExists,
    BadVersionError: BadVersion,
    NotEmptyError: NotEmpty,
    NoChildrenForEphemeralsError: NoChildrenForEphemerals,
    NoAuthError: NotAuthorized,
    ConnectionLoss: ConnectionLost,
    ConnectionClosedError: ConnectionLost,
    OperationTimeoutError: ConnectionLost,
    SessionExpiredError: SessionExpired,
    AuthFailedError: ZooKeeperAuthenticationFailed,
}


def store_error(error: BaseException, path: str) -> StoreError:
    """Return the error of the store for an exception of kazoo."""
    error_class = _ERRORS.get(type(error))
    if error_class is not None:
        return error_class(path)
    if isinstance(error, ZookeeperError):
        return ServerError(path, error.code, type(error).__name__)
    return error if isinstance(error, StoreError) else MalformedResponse(path, str(error))


def stat_of(stat: Any) -> Stat:
    """Convert kazoo's `ZnodeStat`, which has the same fields in the same order."""
    return Stat._make(stat)


ResponseCallback: TypeAlias = "Callable[[AsyncResult, type[StoreError] | None], None]"
"""Called with the response of a packet and, if the session ended before the response, the error of the session."""


class StoreRequest(Protocol):
    """A request of one or more packets."""

    @property
    def exhausted(self) -> bool:
        """True once all packets are sent."""

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        """Give the next packet to kazoo."""

    def fail(self, error: type[StoreError]) -> None:
        """Fail: the remaining packets will not be sent."""


class SingleRequest:
    """A request of one packet. `translate` converts the result of kazoo."""

    __slots__ = ("_call", "_callbacks", "_future", "_path", "_translate", "exhausted")

    def __init__(
        self,
        callbacks: CallbackQueue,
        future: asyncio.Future[Any],
        path: str,
        call: Callable[[Any], AsyncResult],
        translate: Callable[[Any], Any],
    ) -> None:
        self._callbacks = callbacks
        self._future = future
        self._path = path
        self._call = call
        self._translate = translate
        self.exhausted = False

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        self.exhausted = True
        return self._call(client), self._on_response

    def fail(self, error: type[StoreError]) -> None:
        self._callbacks.post(lambda: complete(self._future, None, error(self._path)))

    def _on_response(self, response: AsyncResult, ended: type[StoreError] | None) -> None:
        self._callbacks.post(lambda: self._complete(response, ended))

    def _complete(self, response: AsyncResult, ended: type[StoreError] | None) -> None:
        if response.exception is not None:
            complete(self._future, None, ended(self._path) if ended else store_error(response.exception, self._path))
            return
        try:
            complete(self._future, self._translate(response.value), None)
        except StoreError as error:
            complete(self._future, None, error)
        except Exception as error:  # noqa: BLE001  # of a response that the server has malformed
            complete(self._future, None, MalformedResponse(self._path, str(error)))


class GetManyRequest:
    """Reads of many znodes, one packet each, with one callback after the last response or the first error."""

    __slots__ = ("_callbacks", "_failed", "_future", "_next", "_paths", "_response_count", "_watch", "_znodes")

    def __init__(
        self,
        callbacks: CallbackQueue,
        future: asyncio.Future[list[ReadResult]],
        paths: Sequence[str],
        watch: Watch | None,
    ) -> None:
        self._callbacks = callbacks
        self._future = future
        self._paths = paths
        self._watch = watch
        self._znodes: list[ReadResult] = [None] * len(paths)
        self._next = 0
        self._response_count = 0
        self._failed = False

    @property
    def exhausted(self) -> bool:
        return self._failed or self._next == len(self._paths)

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        index = self._next
        self._next = index + 1
        path = self._paths[index]
        watch = None if self._watch is None else KazooWatch(self._watch, path)
        return client.get_async(path, watch), lambda response, ended: self._on_response(index, response, ended)

    def fail(self, error: type[StoreError]) -> None:
        self._fail(error(self._paths[min(self._next, len(self._paths) - 1)]))

    def _on_response(self, index: int, response: AsyncResult, ended: type[StoreError] | None) -> None:
        """Store one response. The caller holds the lock of the store."""
        if response.exception is None:
            data, stat = response.value
            self._znodes[index] = Znode(data or b"", stat_of(stat))
        elif isinstance(response.exception, NoAuthError):
            self._znodes[index] = NotAuthorized(self._paths[index])
        elif not isinstance(response.exception, NoNodeError):
            path = self._paths[index]
            self._fail(ended(path) if ended else store_error(response.exception, path))
        self._response_count += 1
        if self._response_count == len(self._paths) and not self._failed:
            self._callbacks.post(lambda: complete(self._future, self._znodes, None))

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._callbacks.post(lambda: complete(self._future, None, error))


def complete(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    """Set a future unless it was cancelled."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


_KINDS: dict[str, WatchEventKind] = {
    EventType.CREATED: WatchEventKind.CREATED,
    EventType.CHANGED: WatchEventKind.CHANGED,
    EventType.DELETED: WatchEventKind.DELETED,
    EventType.CHILD: WatchEventKind.CHILDREN,
    EventType.NONE: WatchEventKind.LOST,
}


class KazooWatch:
    """A watch for kazoo, which keeps watches in sets: equal watches must compare equal."""

    __slots__ = ("_path", "_watch")

    def __init__(self, watch: Watch, path: str) -> None:
        self._watch = watch
        self._path = path

    def __call__(self, event: Any) -> None:
        self._watch(WatchEvent(_KINDS[event.type], self._path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KazooWatch) and self._watch == other._watch and self._path == other._path

    def __hash__(self) -> int:
        return hash((self._watch, self._path))


def to_kazoo_operation(operation: Operation, default_acl: tuple[Acl, ...], root: str) -> Any:
    """Convert to an operation of kazoo's transaction, without repeating the checks of `check_operation`."""
    path = f"{root}{operation.path}" if operation.path != "/" else root or "/"
    if isinstance(operation, Create):
        kazoo_acl = _kazoo_acl(default_acl if operation.acl is None else operation.acl)
        return serialization.Create(path, operation.data, kazoo_acl, operation.ephemeral | operation.sequential << 1)
    if isinstance(operation, SetData):
        return serialization.SetData(path, operation.data, operation.version)
    if isinstance(operation, Delete):
        return serialization.Delete(path, operation.version)
    return serialization.CheckVersion(path, operation.version)


@lru_cache(maxsize=64)
def _kazoo_acl(acl: tuple[Acl, ...]) -> list[Any]:
    """Convert to a shared list of kazoo's type. kazoo does not change it."""
    return [ACL(one.permissions, Id(one.scheme, one.identity)) for one in acl]


def transaction_results(operations: Sequence[Operation], results: list[Any]) -> list[OperationResult]:
    """Convert the results of a transaction, or raise TransactionFailed."""
    translated: list[OperationResult] = []
    for index, result in enumerate(results):
        if isinstance(result, str):
            translated.append(result)
        elif isinstance(result, tuple):
            translated.append(stat_of(result))
        elif result is True:
            translated.append(None)
        elif not isinstance(result, (RolledBackError, RuntimeInconsistency)):
            # The operation itself failed, not only because of another one.
            error = store_error(result, operations[index].path)
            if not isinstance(error, StoreError):
                raise error
            raise TransactionFailed(operations, index, error)
    return translated
