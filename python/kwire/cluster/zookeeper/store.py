"""``Store``: one ZooKeeper session, as the rest of kwire sees it.

Rules of this file: the interface and what every implementation promises; no implementation.

- **A store is a session.** When it expires the store is of no more use, and nothing is carried over to a new session
  behind the caller's back: whoever held an ephemeral node must notice that it is gone.
- **Operations begin when they are called**, in the order of the calls, not when they are awaited. So this is pipelined:
  ``pending = [store.multi(ops) for ops in batches]``, then ``for one in pending: await one``. An operation whose future
  is cancelled may take place nevertheless.
- **Events and answers arrive in ZooKeeper's order**: who has seen the answer to a read has seen every event of a watch
  that was fired before. Callbacks run in the event loop's thread, must not block, and are called once for a watch.
- **A lost connection ends all watches**: each is called with the event ``lost``. Reads that set them anew, made after
  that, see all that happened in between.
- **ConnectionLost**: what becomes of an operation under way when the connection ends is unknown. Operations called
  while there is no connection wait for the next one (or for the session's end), and are not in doubt before.
- Nothing is ever written at or below ``/feature`` (of the chroot), where real Kafka brokers would act upon it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kwire.cluster.zookeeper.errors import ForbiddenPath, NodeExists, NoNode, StoreError
from kwire.cluster.zookeeper.operations import (
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

__all__ = ["MAX_PACKET", "Store", "Watch", "check_operation", "check_path", "make_path"]

Watch: TypeAlias = Callable[[WatchEvent], None]

_USUAL_PATH = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+")
MAX_PACKET = 0xFFFFF
"""ZooKeeper's default ``jute.maxbuffer``: the longest request that a server reads, in bytes."""


class Store(Protocol):
    """A session. Every method that returns a future has begun its work; errors of the work come from the future.

    ValueError is raised at once for a path that no node can have.
    """

    @property
    def session_id(self) -> int:
        """What ``Stat.ephemeral_owner`` of this session's nodes says."""

    @property
    def state(self) -> SessionState:
        """As of the last event that the loop has seen."""

    def listen(self, listener: Callable[[SessionState], None]) -> Callable[[], None]:
        """Call ``listener`` with every new state, in order with watch events; the result ends that."""

    def get(self, path: str, watch: Watch | None = None) -> asyncio.Future[Znode]:
        """The node's data. Errors: NoNode, which leaves no watch."""

    def get_many(self, paths: Iterable[str], watch: Watch | None = None) -> asyncio.Future[list[Znode | None]]:
        """Many at once, in order; None where there is no node (and no watch was left)."""

    def exists(self, path: str, watch: Watch | None = None) -> asyncio.Future[Stat | None]:
        """The node's stat; None where there is none, and then the watch waits for its creation."""

    def children(self, path: str, watch: Watch | None = None) -> asyncio.Future[list[str]]:
        """The names of the children, sorted. The watch sees them come and go, not their data. Errors: NoNode."""

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        acl: tuple[Acl, ...] | None = None,
    ) -> asyncio.Future[str]:
        """Make a node; the result is its path. Errors: NodeExists, NoNode (its parent), NoChildrenForEphemerals."""

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> asyncio.Future[Stat]:
        """Replace the data if the node has this version. Errors: NoNode, BadVersion."""

    def delete(self, path: str, version: int = ANY_VERSION) -> asyncio.Future[None]:
        """Remove the node if it has this version. Errors: NoNode, BadVersion, NotEmpty."""

    def multi(self, operations: Sequence[Operation]) -> asyncio.Future[list[OperationResult]]:
        """All of them or none, as one change. Errors: TransactionFailed, whose ``error`` is the first refusal."""

    def sync(self, path: str = "/") -> asyncio.Future[None]:
        """Let the server catch up: later reads see all that was written anywhere before this was called."""

    async def close(self) -> None:
        """End the session: its ephemeral nodes go at once, unless there is no connection to say so.

        What is under way may still be done, or end with StoreClosed.
        """


async def make_path(store: Store, path: str, acl: tuple[Acl, ...] | None = None) -> None:
    """Create the node and those above it, as far as they are missing, without data.

    Not one change: parents stay when a later creation fails.
    """
    missing = []
    while path != "/":
        try:
            await store.create(path, acl=acl)
        except NodeExists:
            break
        except NoNode:
            missing.append(path)
            path = path.rpartition("/")[0] or "/"
        else:
            break
    for child in reversed(missing):
        try:
            await store.create(child, acl=acl)
        except NodeExists:  # somebody else was faster
            continue


def check_path(path: str) -> None:
    """ValueError unless a node can have this path."""
    if _USUAL_PATH.fullmatch(path) is not None or path == "/":
        return
    if not path.startswith("/"):
        raise ValueError(f"{path!r} is no path of a node: it must start with /")
    if "\0" in path or not {"", ".", ".."}.isdisjoint(path[1:].split("/")):
        raise ValueError(f"{path!r} is no path of a node: no part of it may be empty, '.' or '..', or hold a null")
    if not path.isascii():
        path.encode()  # half a surrogate pair is a ValueError too


def check_operation(operation: Operation) -> StoreError | None:
    """Why the operation is never sent. ValueError for a path or a version that no node can have; TypeError for data."""
    path = operation.path
    check_path(path)
    if not isinstance(operation, Create) and not ANY_VERSION <= operation.version <= 0x7FFF_FFFF:
        raise ValueError(f"{operation.version} is no version of {path}")
    # kazoo would find out in its connection's thread, and lose the connection by it.
    if isinstance(operation, (Create, SetData)) and not isinstance(operation.data, bytes):
        raise TypeError(f"the data of {path} must be bytes, not {type(operation.data).__name__}")
    if path.startswith("/feature") and path[8:9] in {"", "/"} and not isinstance(operation, Check):
        return ForbiddenPath(path)
    return None
