"""The data tree of a ZooKeeper server in memory: transactions, versions, and ephemeral owners.

A transaction is applied as a whole or not at all. It returns its changes in order, from which watches are fired.
Sources: ZooKeeper's `PrepRequestProcessor` and `DataTree`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kwire_cluster.zookeeper.errors import (
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    ServerError,
    StoreError,
    TransactionFailed,
)
from kwire_cluster.zookeeper.operations import ANY_VERSION, Check, Create, Delete, SetData, Stat, WatchEventKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire_cluster.zookeeper.operations import Acl, Operation, OperationResult

__all__ = ["DataTree", "ZnodeChange", "parent_of"]


class ZnodeChange(NamedTuple):
    """A change of one znode."""

    kind: WatchEventKind
    path: str


@dataclass(slots=True)
class _StoredZnode:
    data: bytes
    acl: tuple[Acl, ...]
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    creations: int = 0
    """Number of children ever created, which numbers sequential znodes."""
    children: set[str] = field(default_factory=set)

    def stat(self) -> Stat:
        return Stat(
            czxid=self.czxid,
            mzxid=self.mzxid,
            ctime=self.ctime,
            mtime=self.mtime,
            version=self.version,
            cversion=2 * self.creations - len(self.children),
            aversion=0,
            ephemeral_owner=self.owner,
            data_length=len(self.data),
            children_count=len(self.children),
            pzxid=self.pzxid,
        )


def parent_of(path: str) -> str:
    """Return the path of the parent; the root is its own parent."""
    return path.rpartition("/")[0] or "/"


class DataTree:
    """All znodes. `zxid` is the id of the last transaction."""

    def __init__(self) -> None:
        self.zxid = 0
        self._znodes = {"/": _StoredZnode(b"", (), 0, 0, 0, 0, 0, 0)}

    def get(self, path: str) -> _StoredZnode:
        """Return a znode, or raise NoNode."""
        try:
            return self._znodes[path]
        except KeyError:
            raise NoNode(path) from None

    def exists(self, path: str) -> bool:
        """Return whether the znode exists."""
        return path in self._znodes

    def paths(self) -> list[str]:
        """Return the sorted paths of all znodes except the root."""
        return sorted(self._znodes.keys() - {"/"})

    def owned_by(self, session_id: int) -> list[str]:
        """Return the sorted paths of the ephemeral znodes of a session."""
        return sorted(path for path, znode in self._znodes.items() if znode.owner == session_id)

    def apply(
        self, operations: Sequence[Operation], session_id: int, default_acl: tuple[Acl, ...]
    ) -> tuple[list[OperationResult], list[ZnodeChange]]:
        """Apply a transaction, or raise TransactionFailed and change nothing."""
        transaction = _Transaction(self._znodes, self.zxid + 1, session_id, default_acl)
        results: list[OperationResult] = []
        for index, operation in enumerate(operations):
            try:
                results.append(transaction.apply(operation))
            except StoreError as error:
                transaction.undo()
                raise TransactionFailed(operations, index, error) from None
        self.zxid += 1
        return results, transaction.changes


class _Transaction:
    def __init__(
        self, znodes: dict[str, _StoredZnode], zxid: int, session_id: int, default_acl: tuple[Acl, ...]
    ) -> None:
        self.changes: list[ZnodeChange] = []
        self._znodes = znodes
        self._zxid = zxid
        self._session_id = session_id
        self._default_acl = default_acl
        self._now = time.time_ns() // 1_000_000
        self._undo: list[Callable[[], None]] = []

    def apply(self, operation: Operation) -> OperationResult:
        match operation:
            case Create():
                return self._create(operation)
            case SetData():
                return self._set_data(operation)
            case Delete():
                self._delete(operation)
                return None
            case Check():
                self._existing(operation.path, operation.version)
                return None

    def undo(self) -> None:
        for step in reversed(self._undo):
            step()

    def _create(self, operation: Create) -> str:
        path = operation.path
        parent_path = parent_of(path)
        parent = self._znodes.get(parent_path)
        if parent is None:
            raise NoNode(path)
        if operation.sequential:
            path = f"{path}{parent.creations:010d}"
        if path in self._znodes:
            raise NodeExists(path)
        if parent.owner:
            raise NoChildrenForEphemerals(path)
        acl = self._default_acl if operation.acl is None else operation.acl
        owner = self._session_id if operation.ephemeral else 0
        self._znodes[path] = _StoredZnode(
            operation.data, acl, owner, self._zxid, self._zxid, self._zxid, self._now, self._now
        )
        name = path.rpartition("/")[2]
        before = parent.pzxid
        parent.children.add(name)
        parent.creations += 1
        parent.pzxid = self._zxid

        # A transaction that fails later undoes its operations in reverse order.
        def undo() -> None:
            del self._znodes[path]
            parent.children.discard(name)
            parent.creations -= 1
            parent.pzxid = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange(WatchEventKind.CREATED, path))
        return path

    def _set_data(self, operation: SetData) -> Stat:
        znode = self._existing(operation.path, operation.version)
        before = (znode.data, znode.version, znode.mzxid, znode.mtime)
        znode.data, znode.version, znode.mzxid, znode.mtime = operation.data, znode.version + 1, self._zxid, self._now

        def undo() -> None:
            znode.data, znode.version, znode.mzxid, znode.mtime = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange(WatchEventKind.CHANGED, operation.path))
        return znode.stat()

    def _delete(self, operation: Delete) -> None:
        path = operation.path
        if path == "/":
            raise ServerError(path, -8, "BadArgumentsError")
        znode = self._existing(path, operation.version)
        if znode.children:
            raise NotEmpty(path)
        parent = self._znodes[parent_of(path)]
        name = path.rpartition("/")[2]
        before = parent.pzxid
        del self._znodes[path]
        parent.children.discard(name)
        parent.pzxid = self._zxid

        def undo() -> None:
            self._znodes[path] = znode
            parent.children.add(name)
            parent.pzxid = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange(WatchEventKind.DELETED, path))

    def _existing(self, path: str, version: int) -> _StoredZnode:
        znode = self._znodes.get(path)
        if znode is None:
            raise NoNode(path)
        if version not in {ANY_VERSION, znode.version}:
            raise BadVersion(path)
        return znode
