"""Sizes of ZooKeeper requests, to reject requests that are longer than ZooKeeper accepts.

A size does not include the length prefix of the packet, as `jute` counts it. Sources: ZooKeeper's `zookeeper.jute` and
`MultiOperationRecord`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kwire_cluster.zookeeper.operations import Create, SetData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.zookeeper.operations import Acl, Operation

__all__ = ["request_size", "transaction_size"]

_REQUEST_HEADER = 8  # correlation id and type
_MULTI_HEADER = 9  # type, done, error: before each operation and once at the end
_INTEGER = 4


def transaction_size(operations: Sequence[Operation], default_acl: Sequence[Acl], root: str = "") -> int:
    """Return the size of a `multi` in bytes. `root` is the chroot, which precedes every path."""
    root_size = len(root.encode())
    bodies = sum([_body(operation, default_acl, root_size) for operation in operations])
    return _REQUEST_HEADER + bodies + _MULTI_HEADER * (len(operations) + 1)


def request_size(operation: Operation, default_acl: Sequence[Acl], root: str = "") -> int:
    """Return the size of a single operation in bytes."""
    return _REQUEST_HEADER + _body(operation, default_acl, len(root.encode()))


def _body(operation: Operation, default_acl: Sequence[Acl], root: int) -> int:
    path = operation.path
    size = _INTEGER + root + (len(path) if path.isascii() else len(path.encode())) + _INTEGER  # flags, or version
    if isinstance(operation, Create):
        acl = default_acl if operation.acl is None else operation.acl
        size += _INTEGER + len(operation.data) + _acl_size(tuple(acl))
    elif isinstance(operation, SetData):
        size += _INTEGER + len(operation.data)
    return size


@lru_cache(maxsize=64)
def _acl_size(acl: tuple[Acl, ...]) -> int:
    return _INTEGER + sum(3 * _INTEGER + len(one.scheme.encode()) + len(one.identity.encode()) for one in acl)
