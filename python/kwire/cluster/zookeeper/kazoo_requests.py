"""The requests of a ``KazooStore``: how each is sent through kazoo, and what is made of its answer.

Rules of this file: ``send`` is called by whichever thread makes room in the window, once for every packet, and says
whether there are more; ``answered`` is called in kazoo's connection thread (or where kazoo refuses at once). Futures
are touched in the loop's thread only, through the inbox.
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

from kwire.cluster.zookeeper.errors import (
    AuthenticationFailed,
    BadVersion,
    ConnectionLost,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotAuthorized,
    NotEmpty,
    ServerError,
    SessionExpired,
    StoreError,
    TransactionFailed,
)
from kwire.cluster.zookeeper.operations import Create, Delete, Operation, SetData, Stat, WatchEvent, Znode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from kwire.cluster.zookeeper.kazoo_handler import AsyncResult, CallbackQueue
    from kwire.cluster.zookeeper.operations import Acl, OperationResult
    from kwire.cluster.zookeeper.store import Watch

__all__ = [
    "GetManyRequest",
    "KazooWatch",
    "ResponseCallback",
    "SingleRequest",
    "StoreRequest",
    "packet",
    "stat_of",
    "store_error",
    "transaction_results",
]

_ERRORS: dict[type[Exception], type[StoreError]] = {
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
    AuthFailedError: AuthenticationFailed,
}


def store_error(error: BaseException, path: str) -> BaseException:
    """What the store raises for what kazoo raised."""
    known = _ERRORS.get(type(error))  # type: ignore[arg-type]  # any other exception is simply not found
    if known is not None:
        return known(path)
    if isinstance(error, ZookeeperError):
        return ServerError(path, error.code, type(error).__name__)
    return error


def stat_of(told: Any) -> Stat:
    """From ``ZnodeStat`` of kazoo, which has the same fields in the same order."""
    return Stat._make(told)


ResponseCallback: TypeAlias = "Callable[[AsyncResult, type[StoreError] | None], None]"
"""What hears of a packet's answer. The second argument: how the session has ended, where that is why there is none."""


class StoreRequest(Protocol):
    """Something to be sent, in one packet or many."""

    @property
    def exhausted(self) -> bool:
        """Whether there is nothing more to send."""

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        """Give kazoo the next packet."""

    def fail(self, error: type[StoreError]) -> None:
        """The rest was not sent, and never will be."""


class SingleRequest:
    """SingleRequest packet, one answer. ``translate`` makes the result of kazoo's."""

    __slots__ = ("_call", "_future", "_inbox", "_path", "_translate", "exhausted")

    def __init__(
        self,
        inbox: CallbackQueue,
        future: asyncio.Future[Any],
        path: str,
        call: Callable[[Any], AsyncResult],
        translate: Callable[[Any], Any],
    ) -> None:
        self._inbox = inbox
        self._future = future
        self._path = path
        self._call = call
        self._translate = translate
        self.exhausted = False

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        self.exhausted = True
        return self._call(client), self._answered

    def fail(self, error: type[StoreError]) -> None:
        self._inbox.post(lambda: settle(self._future, None, error(self._path)))

    def _answered(self, reply: AsyncResult, ended: type[StoreError] | None) -> None:
        self._inbox.post(lambda: self._settle(reply, ended))

    def _settle(self, reply: AsyncResult, ended: type[StoreError] | None) -> None:
        if reply.exception is not None:
            settle(self._future, None, ended(self._path) if ended else store_error(reply.exception, self._path))
            return
        try:
            settle(self._future, self._translate(reply.value), None)
        except StoreError as error:
            settle(self._future, None, error)


class GetManyRequest:
    """The data of many nodes: a packet each, and the loop is told once, when all are there or one has failed."""

    __slots__ = ("_answered_count", "_failed", "_future", "_inbox", "_next", "_nodes", "_paths", "_watch")

    def __init__(
        self,
        inbox: CallbackQueue,
        future: asyncio.Future[list[Znode | None]],
        paths: Sequence[str],
        watch: Watch | None,
    ) -> None:
        self._inbox = inbox
        self._future = future
        self._paths = paths
        self._watch = watch
        self._nodes: list[Znode | None] = [None] * len(paths)
        self._next = 0
        self._answered_count = 0
        self._failed = False

    @property
    def exhausted(self) -> bool:
        return self._failed or self._next == len(self._paths)

    def send(self, client: Any) -> tuple[AsyncResult, ResponseCallback]:
        index = self._next
        self._next = index + 1
        path = self._paths[index]
        watch = None if self._watch is None else KazooWatch(self._watch, path)
        return client.get_async(path, watch), lambda reply, ended: self._answered(index, reply, ended)

    def fail(self, error: type[StoreError]) -> None:
        self._fail(error(self._paths[min(self._next, len(self._paths) - 1)]))

    def _answered(self, index: int, reply: AsyncResult, ended: type[StoreError] | None) -> None:
        """The store's lock is held, so answers are counted one after another."""
        if reply.exception is None:
            data, stat = reply.value
            self._nodes[index] = Znode(data or b"", stat_of(stat))
        elif not isinstance(reply.exception, NoNodeError):
            path = self._paths[index]
            self._fail(ended(path) if ended else store_error(reply.exception, path))
        self._answered_count += 1
        if self._answered_count == len(self._paths) and not self._failed:
            self._inbox.post(lambda: settle(self._future, self._nodes, None))

    def _fail(self, error: BaseException) -> None:
        if not self._failed:
            self._failed = True
            self._inbox.post(lambda: settle(self._future, None, error))


def settle(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    """Unless it was cancelled."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


_KINDS: dict[str, Any] = {
    EventType.CREATED: "created",
    EventType.CHANGED: "changed",
    EventType.DELETED: "deleted",
    EventType.CHILD: "children",
    EventType.NONE: "lost",
}


class KazooWatch:
    """A watch as kazoo keeps it: in sets, by which equal ones are one."""

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


def packet(operation: Operation, default_acl: tuple[Acl, ...], root: str) -> Any:
    """What kazoo's transaction is made of: its own methods check again what ``check_operation`` has."""
    path = f"{root}{operation.path}" if operation.path != "/" else root or "/"
    if isinstance(operation, Create):
        access = _access(default_acl if operation.acl is None else operation.acl)
        return serialization.Create(path, operation.data, access, operation.ephemeral | operation.sequential << 1)
    if isinstance(operation, SetData):
        return serialization.SetData(path, operation.data, operation.version)
    if isinstance(operation, Delete):
        return serialization.Delete(path, operation.version)
    return serialization.CheckVersion(path, operation.version)


@lru_cache(maxsize=64)
def _access(acl: tuple[Acl, ...]) -> list[Any]:
    """As kazoo wants it, which only reads it."""
    return [ACL(one.permissions, Id(one.scheme, one.identity)) for one in acl]


def transaction_results(operations: Sequence[Operation], results: list[Any]) -> list[OperationResult]:
    """Errors: TransactionFailed."""
    translated: list[OperationResult] = []
    for index, result in enumerate(results):
        if isinstance(result, str):
            translated.append(result)
        elif isinstance(result, tuple):
            translated.append(stat_of(result))
        elif result is True:
            translated.append(None)
        elif not isinstance(
            result, (RolledBackError, RuntimeInconsistency)
        ):  # those would have been fine by themselves
            error = store_error(result, operations[index].path)
            if not isinstance(error, StoreError):
                raise error
            raise TransactionFailed(operations, index, error)
    return translated
