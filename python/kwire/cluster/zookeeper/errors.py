"""What a ``Store`` raises, and what reading a node's data does.

Rules of this file: one class for each thing that a caller can react to differently; every error names the path; what
ZooKeeper says and no class stands for is a ``ServerError`` with its code.

    KwireError
    ├── ZnodeError               the data of a node are wrong: whoever wrote them must change
    └── StoreError
        ├── NoNode, NodeExists, BadVersion, NotEmpty, NoChildrenForEphemerals, NotAuthorized   the operation was refused
        ├── TransactionFailed    one operation of a transaction was refused: none took place
        ├── PacketTooLarge       refused before it was sent
        ├── ForbiddenPath        refused before it was sent
        ├── ServerRefused        any other refusal of the server
        ├── ConnectionLost       what became of the operation is unknown
        ├── SessionExpired       the session is gone, and with it its ephemeral nodes and its watches
        ├── AuthenticationFailed the server knows the credentials to be wrong
        ├── StoreClosed          the caller itself closed the store
        └── Unreachable          no server took the connection
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.cluster.zookeeper.operations import Operation

__all__ = [
    "AuthenticationFailed",
    "BadVersion",
    "ConnectionLost",
    "ForbiddenPath",
    "NoChildrenForEphemerals",
    "NoNode",
    "NodeExists",
    "NotAuthorized",
    "NotEmpty",
    "PacketTooLarge",
    "ServerError",
    "SessionExpired",
    "StoreClosed",
    "StoreError",
    "TransactionFailed",
    "Unreachable",
    "ZnodeError",
]


class StoreError(KwireError):
    """The base of what a store raises. ``path``: of the node in question; of the first one for a transaction."""

    reason = "failed"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class NoNode(StoreError):
    """There is no such node; at a creation: its parent is missing."""

    reason = "no such node"


class NodeExists(StoreError):
    """A node that was to be created is there already."""

    reason = "exists already"


class BadVersion(StoreError):
    """The node's version is not the one that the operation demanded: somebody else wrote in between."""

    reason = "has another version than was demanded"


class NotEmpty(StoreError):
    """A node that was to be deleted has children."""

    reason = "has children"


class NoChildrenForEphemerals(StoreError):
    """An ephemeral node cannot have children."""

    reason = "is below an ephemeral node, which can have no children"


class NotAuthorized(StoreError):
    """The node's access control list does not permit it to the identities of this session."""

    reason = "not permitted to this session"


class TransactionFailed(StoreError):
    """A ``multi`` of which nothing took place, because one operation was refused.

    ``index``: of that operation; ``error``: why, as if it had been alone. ``operations``: the whole transaction.
    """

    def __init__(self, operations: Sequence[Operation], index: int, error: StoreError) -> None:
        KwireError.__init__(self, operations, index, error)
        self.path = error.path
        self.operations = tuple(operations)
        self.index = index
        self.error = error

    @property
    def operation(self) -> Operation:
        """The one that was refused."""
        return self.operations[self.index]

    def __str__(self) -> str:
        kind = type(self.operation).__name__.lower()
        return f"nothing written: operation {self.index} of {len(self.operations)} ({kind}) refused: {self.error}"


class PacketTooLarge(StoreError):
    """The request would be longer than ZooKeeper reads, which would answer by cutting the connection.

    ``size``, ``limit``: in bytes, as ``jute.maxbuffer`` counts them. Nothing was sent.
    """

    def __init__(self, path: str, size: int, limit: int) -> None:
        KwireError.__init__(self, path, size, limit)
        self.path = path
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.path}: the request has {self.size:,} bytes, ZooKeeper reads {self.limit:,}: not sent"


class ForbiddenPath(StoreError):
    """A path that kwire never writes: ``/feature``, upon which real brokers act."""

    reason = "real Kafka brokers act upon this node: kwire never writes it"


class ServerError(StoreError):
    """Any other refusal. ``code``: ZooKeeper's, such as -8 for bad arguments; ``name``: what its clients call it."""

    def __init__(self, path: str, code: int, name: str) -> None:
        KwireError.__init__(self, path, code, name)
        self.path = path
        self.code = code
        self.name = name

    def __str__(self) -> str:
        return f"{self.path}: refused by ZooKeeper: {self.name} ({self.code})"


class ConnectionLost(StoreError):
    """The connection ended before the answer came: a write may have taken place, or not.

    Read before you repeat it, or make the write conditional, so that a second one does no harm. What is asked for
    while there is no connection waits for the next one, so a retry need not sleep.
    """

    reason = "connection to ZooKeeper lost: whether it took place is unknown"


class SessionExpired(StoreError):
    """ZooKeeper has ended the session. The store is of no more use: open another one.

    An operation that was under way when the session ended may have taken place; later ones have not.
    """

    reason = "the ZooKeeper session has expired"


class AuthenticationFailed(StoreError):
    """The server refused the credentials of the session."""

    reason = "ZooKeeper refused the credentials"


class StoreClosed(StoreError):
    """The store was closed before the answer came, or before the question."""

    reason = "the store is closed"


class ZnodeError(KwireError, ValueError):
    """A node whose data are not what stands there by Kafka's rules.

    ``path``: the node's; ``key``: the faulty JSON key, dotted from the outermost, empty for the data as a whole;
    ``reason``: the rest of the sentence.
    """

    def __init__(self, path: str, key: str, reason: str) -> None:
        super().__init__(path, key, reason)
        self.path = path
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        where = f"{self.path}: {self.key}" if self.key else self.path
        return f"{where}: {self.reason}"


class Unreachable(StoreError):
    """No server of the ensemble took the connection in time. ``hosts``: as given; ``seconds``: how long was waited."""

    def __init__(self, hosts: str, seconds: float) -> None:
        KwireError.__init__(self, hosts, seconds)
        self.path = "/"
        self.hosts = hosts
        self.seconds = seconds

    def __str__(self) -> str:
        return f"no ZooKeeper server of {self.hosts} took the connection within {self.seconds:g} seconds"
