"""Children of a znode, for the tools of nodes that list what ZooKeeper stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kwire_admin.operations.parameters import InvalidArgument
from kwire_cluster.zookeeper.errors import NoNode, NotAuthorized
from kwire_cluster.zookeeper.store import check_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire_cluster.zookeeper.store import ReadResult, Store

__all__ = ["check_child", "data_of", "read_children"]

FORBIDDEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\uf8ff\\ufff0-\\uffff]")
"""Characters that ZooKeeper does not accept in a path."""
READ_AT_ONCE = 500
"""Znodes that are requested and decoded in one step of the event loop. Chosen, not measured."""


async def read_children(store: Store, parent: str) -> AsyncIterator[tuple[str, ReadResult]]:
    """Read the children of a znode as they are now, by name in alphabetical order."""
    await store.sync(parent)
    try:
        names = sorted(await store.children(parent))
    except NoNode:
        return
    for start in range(0, len(names), READ_AT_ONCE):
        part = names[start : start + READ_AT_ONCE]
        for name, znode in zip(part, await store.get_many(f"{parent}/{name}" for name in part), strict=True):
            if znode is not None:
                yield name, znode


def data_of(znode: ReadResult) -> bytes:
    """Return the data of a znode.

    Raises:
        NotAuthorized: the node cannot read it.
    """
    if znode is None:
        return b""
    if isinstance(znode, NotAuthorized):
        raise znode
    return znode.data


def check_child(name: str, path: str, kind: str) -> None:
    """Check that a name is one part of a path.

    Args:
        name: the name.
        path: the path of the znode of the name, which has four parts.
        kind: such as `a user`, for the error.

    Raises:
        InvalidArgument: it is not.
    """
    invalid = InvalidArgument(f"{name[:100]!r} is not the name of {kind}")
    if not name or path.count("/") != 3 or FORBIDDEN.search(path):
        raise invalid
    try:
        check_path(path)
    except ValueError:
        raise invalid from None
