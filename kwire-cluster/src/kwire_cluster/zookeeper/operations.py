"""Operations on znodes, their results, and the events of a session, as immutable values with ZooKeeper's names."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

__all__ = [
    "ANY_VERSION",
    "CREATOR_ALL",
    "CREATOR_ALL_WORLD_READ",
    "OPEN_ACL_UNSAFE",
    "Acl",
    "Check",
    "Create",
    "Delete",
    "Operation",
    "OperationResult",
    "SessionState",
    "SetData",
    "Stat",
    "WatchEvent",
    "WatchEventKind",
    "Znode",
    "ZnodePermission",
]

ANY_VERSION = -1
"""Makes an operation unconditional."""


class SessionState(StrEnum):
    """The state of a session. EXPIRED and CLOSED are final."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """There is no connection. The session may still be alive."""
    EXPIRED = "expired"
    CLOSED = "closed"


class Stat(NamedTuple):
    """The metadata of a znode. Times are in milliseconds since 1970; czxid, mzxid, and pzxid are transaction ids."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    """Number of changes of the data since creation. Conditional operations compare it."""
    cversion: int
    aversion: int
    ephemeral_owner: int
    """Id of the session that owns an ephemeral znode, 0 for a persistent one."""
    data_length: int
    children_count: int
    pzxid: int


class Znode(NamedTuple):
    """The data of a znode, empty also if ZooKeeper has null, and its metadata."""

    data: bytes
    stat: Stat


class WatchEventKind(StrEnum):
    """The kind of a watch event."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"
    """A child was created or deleted."""
    LOST = "lost"
    """The connection ended, and the watch with it. The znode may have changed since, so read it again."""


class WatchEvent(NamedTuple):
    """An event that a watch reports."""

    kind: WatchEventKind
    path: str


class ZnodePermission:
    """Bits of `Acl.permissions`."""

    READ = 1
    WRITE = 2
    CREATE = 4
    DELETE = 8
    ADMIN = 16
    ALL = 31


class Acl(NamedTuple):
    """An entry of an access control list: `Acl(ZnodePermission.ALL, "digest", "user:<hash>")`."""

    permissions: int
    scheme: str
    identity: str


OPEN_ACL_UNSAFE = (Acl(ZnodePermission.ALL, "world", "anyone"),)
"""The ACL of Kafka's znodes unless `zookeeper.set.acl` is enabled."""

CREATOR_ALL = (Acl(ZnodePermission.ALL, "auth", ""),)
"""All permissions for the creator, none for others. The session must have credentials."""

CREATOR_ALL_WORLD_READ = (Acl(ZnodePermission.ALL, "auth", ""), Acl(ZnodePermission.READ, "world", "anyone"))
"""The ACL of Kafka's znodes if `zookeeper.set.acl` is enabled: all permissions for the creator, read for the world."""


class Create(NamedTuple):
    """Create a znode below an existing parent. The result is its path.

    Attributes:
        path: the path, or its prefix for a sequential znode.
        data: the data.
        ephemeral: true if the znode is deleted when the session ends.
        sequential: append a number of ten digits, which increases with every child created below the parent.
        acl: the access control list; None for the list with which the store was opened.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False
    acl: tuple[Acl, ...] | None = None


class SetData(NamedTuple):
    """Replace the data of a znode if it has this version. The result is the new `Stat`."""

    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    """Delete a znode without children if it has this version."""

    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    """Fail the transaction unless the znode exists and has this version. Only for `multi`."""

    path: str
    version: int = ANY_VERSION


Operation: TypeAlias = Create | SetData | Delete | Check
OperationResult: TypeAlias = str | Stat | None
"""The path for Create, the new Stat for SetData, None for the others."""
