"""The interface of a ZooKeeper session.

Every implementation guarantees:

- A store is one session. After the session expires, open a new store. Nothing carries over to it, so a client that
  created an ephemeral znode notices its deletion.
- Operations start when they are called, in the order of the calls, not when they are awaited. They are pipelined by
  `pending = [store.multi(ops) for ops in batches]`, followed by `for one in pending: await one`. A cancelled operation
  may still be applied.
- Events and responses arrive in ZooKeeper's order: a watch event that precedes a read is reported before the response
  of the read. Callbacks run in the thread of the event loop, must not block, and are called once for each watch.
- The end of a connection ends all watches, each with the event LOST. Reads after that event, which set the watches
  again, see all changes in between.
- ConnectionLost means that the outcome of an operation is unknown. Operations called without a connection wait for the
  next connection, or for the end of the session.
- Nothing is written to `/feature` or below it (within the chroot), because Kafka brokers act upon it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from kwire_cluster.zookeeper.errors import ConnectionLost, ForbiddenPath, NodeExists, NoNode, NotAuthorized, StoreError
from kwire_cluster.zookeeper.operations import (
    ANY_VERSION,
    Acl,
    Check,
    Create,
    Operation,
    OperationResult,
    SessionState,
    SetData,
    Stat,
    WatchEvent,
    Znode,
)

if TYPE_CHECKING:
    import asyncio

Result = TypeVar("Result")

Watch: TypeAlias = Callable[[WatchEvent], None]
ReadResult: TypeAlias = Znode | NotAuthorized | None
"""One result of `get_many`: the znode, an error if this session must not read it, or None if it does not exist."""

_COMMON_PATH = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+")
MAX_PACKET = 0xFFFFF
"""The maximum size of a request in bytes: the default of ZooKeeper's `jute.maxbuffer`."""


class Store(Protocol):
    """A session with a ZooKeeper ensemble.

    Methods that return a future have started the operation; the future raises its errors. An invalid path raises
    ValueError at once.
    """

    @property
    def session_id(self) -> int:
        """The id of the session: the `Stat.ephemeral_owner` of its ephemeral znodes."""

    @property
    def state(self) -> SessionState:
        """The state as of the last event that was delivered."""

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        """Call `listener` with every new state, in order with watch events. The result removes the listener."""

    def get(self, path: str, watch: Watch | None = None) -> asyncio.Future[Znode]:
        """Return a znode. Raises NoNode, and then sets no watch."""

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[ReadResult]]:
        """Return many znodes in the given order.

        A missing znode is None, and a znode that this session must not read is a NotAuthorized error. No watch
        is set on them.
        """

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        """Return the stat of a znode, or None if it does not exist; the watch then reports its creation.

        Raises NotAuthorized, and then sets no watch: ZooKeeper 3.9 requires the permission to read.
        """

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        """Return the sorted names of the children. The watch reports their creation and deletion. Raises NoNode."""

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        acl: tuple[Acl, ...] | None = None,
    ) -> asyncio.Future[str]:
        """Create a znode and return its path. Raises NodeExists, NoNode (the parent), or NoChildrenForEphemerals."""

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        """Replace the data if the znode has this version. Raises NoNode or BadVersion."""

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        """Delete the znode if it has this version. Raises NoNode, BadVersion, or NotEmpty."""

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        """Apply all operations as one change or not at all. Raises TransactionFailed with the first error."""

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        """Let the server catch up: later reads see everything written before this call."""

    async def close(self) -> None:
        """End the session. ZooKeeper deletes its ephemeral znodes at once, or after the timeout without a connection.

        Operations in progress may still be applied, or raise StoreClosed.
        """


async def make_path(store: Store, path: str) -> None:
    """Create a znode without data and its missing parents. The parents stay if a later creation fails."""
    missing = []
    while path != "/":
        try:
            await store.create(path)
        except NodeExists:
            break
        except NoNode:
            missing.append(path)
            path = path.rpartition("/")[0] or "/"
        else:
            break
    for child in reversed(missing):
        try:
            await store.create(child)
        except NodeExists:  # another client created it first
            continue


async def children_of(store: Store, path: str, watch: Watch) -> list[str]:
    """Return the names of the children of a znode, which is created if it is missing, and watch them.

    Raises:
        NotAuthorized: this session must not read or create it.
    """
    try:
        return await store.children(path, watch)
    except NoNode:
        await make_path(store, path)
        return await store.children(path, watch)


async def until_answered(operation: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat an operation until its outcome is known. Without a connection, it waits for one, so there is no pause."""
    while True:
        try:
            return await operation()
        except ConnectionLost:
            continue


def response_future(loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
    """Return a future for a response. See `retrieve_error`."""
    future: asyncio.Future[Any] = loop.create_future()
    retrieve_error(future)
    return future


def retrieve_error(future: asyncio.Future[Any]) -> None:
    """Let the error of a response count as retrieved.

    Requests are pipelined, and a caller that gets ConnectionLost for the first of them does not wait for the others.
    Otherwise, asyncio would log each of these as an exception that was never retrieved.
    """
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


def check_path(path: str) -> None:
    """Raise ValueError for an invalid path."""
    if _COMMON_PATH.fullmatch(path) is not None or path == "/":
        return
    if not path.startswith("/"):
        raise ValueError(f"invalid path {path!r}: it must start with /")
    if "\0" in path or not {"", ".", ".."}.isdisjoint(path[1:].split("/")):
        raise ValueError(f"invalid path {path!r}: no part may be empty, '.', or '..', or contain a null character")
    if not path.isascii():
        path.encode()  # raises UnicodeEncodeError, a ValueError, for a lone surrogate


def check_operation(operation: Operation) -> StoreError | None:
    """Return the error of an operation that must not be sent.

    Raises:
        ValueError: the path or the version is invalid.
        TypeError: the data are not bytes.
    """
    path = operation.path
    check_path(path)
    if not isinstance(operation, Create) and not ANY_VERSION <= operation.version <= 0x7FFF_FFFF:
        raise ValueError(f"invalid version {operation.version} for {path}")
    if isinstance(operation, (Create, SetData)) and not isinstance(operation.data, bytes):
        raise TypeError(f"the data of {path} must be bytes, not {type(operation.data).__name__}")
    if path.startswith("/feature") and path[8:9] in {"", "/"} and not isinstance(operation, Check):
        return ForbiddenPath(path)
    return None
