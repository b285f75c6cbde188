"""ZooKeeper's tree of nodes, as a server keeps it: transactions, versions, ephemeral owners. No sessions, no watches.

Rules of this file: a transaction takes place as a whole or leaves no trace; what it changed is told as a list,
in order, so that watches can be fired from it. Sources: ZooKeeper's ``PrepRequestProcessor`` and ``DataTree``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from kwire.cluster.zookeeper.errors import (
    BadVersion,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
    ServerError,
    StoreError,
    TransactionFailed,
)
from kwire.cluster.zookeeper.operations import ANY_VERSION, Check, Create, Delete, SetData, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.cluster.zookeeper.operations import Acl, Operation, OperationResult

__all__ = ["Tree", "ZnodeChange", "parent_of"]


class ZnodeChange(NamedTuple):
    """One thing that happened to one node."""

    kind: Literal["created", "changed", "deleted"]
    path: str


@dataclass(slots=True)
class _TreeNode:
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
    """Of children, ever: where sequential names come from."""
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
    """The path of the node above; the root is above itself."""
    return path.rpartition("/")[0] or "/"


class Tree:
    """All nodes. ``zxid``: of the last transaction."""

    def __init__(self) -> None:
        self.zxid = 0
        self._nodes = {"/": _TreeNode(b"", (), 0, 0, 0, 0, 0, 0)}

    def node(self, path: str) -> _TreeNode:
        """The node. Errors: NoNode."""
        try:
            return self._nodes[path]
        except KeyError:
            raise NoNode(path) from None

    def has(self, path: str) -> bool:
        """Whether there is such a node."""
        return path in self._nodes

    def paths(self) -> list[str]:
        """Of all nodes but the root, sorted."""
        return sorted(self._nodes.keys() - {"/"})

    def owned_by(self, session_id: int) -> list[str]:
        """The session's ephemeral nodes, sorted."""
        return sorted(path for path, node in self._nodes.items() if node.owner == session_id)

    def apply(
        self, operations: Sequence[Operation], session_id: int, default_acl: tuple[Acl, ...]
    ) -> tuple[list[OperationResult], list[ZnodeChange]]:
        """Do all of it. Errors: TransactionFailed, and then nothing has changed."""
        transaction = _Transaction(self._nodes, self.zxid + 1, session_id, default_acl)
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
    def __init__(self, nodes: dict[str, _TreeNode], zxid: int, session_id: int, default_acl: tuple[Acl, ...]) -> None:
        self.changes: list[ZnodeChange] = []
        self._nodes = nodes
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
                return self._set(operation)
            case Delete():
                self._delete(operation)
                return None
            case Check():
                self._versioned(operation.path, operation.version)
                return None

    def undo(self) -> None:
        for step in reversed(self._undo):
            step()

    def _create(self, operation: Create) -> str:
        path = operation.path
        parent_path = parent_of(path)
        parent = self._nodes.get(parent_path)
        if parent is None:
            raise NoNode(path)
        if operation.sequential:
            path = f"{path}{parent.creations:010d}"
        if path in self._nodes:
            raise NodeExists(path)
        if parent.owner:
            raise NoChildrenForEphemerals(path)
        acl = self._default_acl if operation.acl is None else operation.acl
        owner = self._session_id if operation.ephemeral else 0
        self._nodes[path] = _TreeNode(
            operation.data, acl, owner, self._zxid, self._zxid, self._zxid, self._now, self._now
        )
        name = path.rpartition("/")[2]
        before = parent.pzxid
        parent.children.add(name)
        parent.creations += 1
        parent.pzxid = self._zxid

        def undo() -> None:
            del self._nodes[path]
            parent.children.discard(name)
            parent.creations -= 1
            parent.pzxid = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange("created", path))
        return path

    def _set(self, operation: SetData) -> Stat:
        node = self._versioned(operation.path, operation.version)
        before = (node.data, node.version, node.mzxid, node.mtime)
        node.data, node.version, node.mzxid, node.mtime = operation.data, node.version + 1, self._zxid, self._now

        def undo() -> None:
            node.data, node.version, node.mzxid, node.mtime = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange("changed", operation.path))
        return node.stat()

    def _delete(self, operation: Delete) -> None:
        path = operation.path
        if path == "/":
            raise ServerError(path, -8, "BadArgumentsError")
        node = self._versioned(path, operation.version)
        if node.children:
            raise NotEmpty(path)
        parent = self._nodes[parent_of(path)]
        name = path.rpartition("/")[2]
        before = parent.pzxid
        del self._nodes[path]
        parent.children.discard(name)
        parent.pzxid = self._zxid

        def undo() -> None:
            self._nodes[path] = node
            parent.children.add(name)
            parent.pzxid = before

        self._undo.append(undo)
        self.changes.append(ZnodeChange("deleted", path))

    def _versioned(self, path: str, version: int) -> _TreeNode:
        node = self._nodes.get(path)
        if node is None:
            raise NoNode(path)
        if version not in {ANY_VERSION, node.version}:
            raise BadVersion(path)
        return node
