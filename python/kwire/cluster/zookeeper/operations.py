"""The values that go into a ``Store`` and come out of it.

Rules of this file: plain immutable values, no behaviour; names and meanings are ZooKeeper's own.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "ANY_VERSION",
    "CREATOR_ALL_WORLD_READ",
    "OPEN_ACL_UNSAFE",
    "Acl",
    "Check",
    "Create",
    "Delete",
    "Operation",
    "OperationResult",
    "Permission",
    "SessionState",
    "SetData",
    "Stat",
    "WatchEvent",
    "Znode",
]

ANY_VERSION = -1
"""Demands no version: the operation is not conditional."""

SessionState: TypeAlias = Literal["connected", "suspended", "expired", "closed"]
"""``suspended``: no connection, the session may live on; ``expired`` and ``closed`` are final."""


class Stat(NamedTuple):
    """What ZooKeeper tells of a node. Times in milliseconds since 1970, ``czxid`` and the like are transaction ids."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    """How often the data was written since creation; what conditional operations demand."""
    cversion: int
    aversion: int
    ephemeral_owner: int
    """The session that the node lives with; 0 for a persistent one."""
    data_length: int
    children_count: int
    pzxid: int


class Znode(NamedTuple):
    """A node's data (empty also where ZooKeeper has null) and what ZooKeeper tells of it."""

    data: bytes
    stat: Stat


class WatchEvent(NamedTuple):
    """What a watch has seen.

    ``lost``: the connection ended and the watch with it; what was watched may have changed since, so read it again.
    """

    kind: Literal["created", "changed", "deleted", "children", "lost"]
    path: str


class Permission:
    """Bits of ``Acl.permissions``."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


class Acl(NamedTuple):
    """Who may do what with a node: ``Acl(Permission.ALL, "digest", "user:<hash>")``."""

    permissions: int
    scheme: str
    identity: str


OPEN_ACL_UNSAFE = (Acl(Permission.ALL, "world", "anyone"),)
"""What Kafka puts on its nodes unless ``zookeeper.set.acl`` is on."""

CREATOR_ALL_WORLD_READ = (Acl(Permission.ALL, "auth", ""), Acl(Permission.READ, "world", "anyone"))
"""What Kafka puts on its nodes when ``zookeeper.set.acl`` is on: all to its creator, reading to everybody."""


class Create(NamedTuple):
    """Make a node; its parent must be there. ``acl`` None: what the store was opened with.

    ``sequential`` appends ten digits to the name, which grow with every creation below the parent; the result is the
    full path.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False
    acl: tuple[Acl, ...] | None = None


class SetData(NamedTuple):
    """Replace a node's data, if it has this version. The result is its new ``Stat``."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Remove a node that has no children, if it has this version."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Refuse the transaction unless the node exists and has this version. For ``multi`` only."""

    path: str
    version: int = ANY_VERSION


Operation: TypeAlias = Create | SetData | Delete | Check
OperationResult: TypeAlias = str | Stat | None
"""The path for a creation, the new Stat for a set, None for the others."""
