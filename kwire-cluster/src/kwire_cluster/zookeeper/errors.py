"""Errors of a `Store` and of malformed znodes.

There is one class for each error that callers can handle differently, and every error has the path.

    KwireError
    ├── ZnodeError               the data of a znode are malformed
    └── StoreError
        ├── NoNode, NodeExists, BadVersion, NotEmpty, NoChildrenForEphemerals, NotAuthorized   the operation failed
        ├── TransactionFailed    one operation of a transaction failed, and nothing was applied
        ├── PacketTooLarge       the request is too large and was not sent
        ├── ForbiddenPath        kwire does not write this path
        ├── ServerError          any other error of the server
        ├── ConnectionLost       the outcome of the operation is unknown
        ├── SessionExpired       the session has ended, with its ephemeral znodes and watches
        ├── MalformedResponse    the response cannot be read, the outcome is unknown
        ├── ZooKeeperAuthenticationFailed the server rejected the credentials
        ├── StoreClosed          the caller closed the store
        └── Unreachable          no server accepted the connection
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.errors import KwireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.zookeeper.operations import Operation

__all__ = [
    "BadVersion",
    "ConnectionLost",
    "ForbiddenPath",
    "InvalidConnectString",
    "MalformedResponse",
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
    "ZooKeeperAuthenticationFailed",
]


class StoreError(KwireError):
    """Base class of the errors of a store.

    Attributes:
        path: the znode; for a transaction, the znode of the first operation.
    """

    reason = "failed"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class NoNode(StoreError):
    """The znode does not exist; for a creation, its parent does not exist."""

    reason = "no such znode"


class NodeExists(StoreError):
    """The znode to create already exists."""

    reason = "already exists"


class BadVersion(StoreError):
    """The znode has another version than expected: another client has written it."""

    reason = "has another version than expected"


class NotEmpty(StoreError):
    """The znode to delete has children."""

    reason = "has children"


class NoChildrenForEphemerals(StoreError):
    """The parent is ephemeral and cannot have children."""

    reason = "the parent is ephemeral and cannot have children"


class NotAuthorized(StoreError):
    """The access control list of the znode does not allow the operation to this session."""

    reason = "not authorized"


class TransactionFailed(StoreError):
    """A `multi` failed because of one operation, and nothing was applied.

    Attributes:
        operations: the operations of the transaction.
        index: the index of the failed operation.
        error: its error.
    """

    def __init__(self, operations: Sequence[Operation], index: int, error: StoreError) -> None:
        KwireError.__init__(self, operations, index, error)
        self.path = error.path
        self.operations = tuple(operations)
        self.index = index
        self.error = error

    @property
    def operation(self) -> Operation:
        """The operation that failed."""
        return self.operations[self.index]

    def __str__(self) -> str:
        kind = type(self.operation).__name__
        return f"transaction failed at operation {self.index} of {len(self.operations)} ({kind}): {self.error}"


class PacketTooLarge(StoreError):
    """The request is longer than ZooKeeper accepts and was not sent; ZooKeeper would close the connection.

    Attributes:
        size: the size of the request in bytes, as `jute.maxbuffer` counts it.
        limit: the maximum size in bytes.
    """

    def __init__(self, path: str, size: int, limit: int) -> None:
        KwireError.__init__(self, path, size, limit)
        self.path = path
        self.size = size
        self.limit = limit

    def __str__(self) -> str:
        return f"{self.path}: request not sent: it has {self.size:,} bytes, ZooKeeper accepts {self.limit:,}"


class ForbiddenPath(StoreError):
    """The path is `/feature` or below, which kwire never writes because Kafka brokers act upon it."""

    reason = "kwire does not write this znode, because Kafka brokers act upon it"


class ServerError(StoreError):
    """Any other error of the server.

    Attributes:
        code: ZooKeeper's error code, such as -8 for bad arguments.
        name: the name of the error.
    """

    def __init__(self, path: str, code: int, name: str) -> None:
        KwireError.__init__(self, path, code, name)
        self.path = path
        self.code = code
        self.name = name

    def __str__(self) -> str:
        return f"{self.path}: ZooKeeper error {self.name} ({self.code})"


class MalformedResponse(StoreError):
    """The response of the server cannot be read, so a write may have been applied or not. The connection was replaced.

    Attributes:
        problem: the fault of the response.
    """

    def __init__(self, path: str, problem: str) -> None:
        KwireError.__init__(self, path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"{self.path}: the response of ZooKeeper cannot be read, and the outcome is unknown ({self.problem}): check"
            " the address, and the limits of a proxy"
        )


class ConnectionLost(StoreError):
    """The connection ended before the response, so a write may have been applied or not.

    Read before you repeat a write, or make it conditional. Operations called without a connection wait for the next
    one, so a retry loop need not sleep.
    """

    reason = "connection to ZooKeeper lost, the outcome is unknown"


class SessionExpired(StoreError):
    """ZooKeeper has ended the session. Open another store.

    An operation in progress at that time may have been applied; later ones were not.
    """

    reason = "the ZooKeeper session has expired"


class ZooKeeperAuthenticationFailed(StoreError):
    """The server rejected the credentials of the session."""

    reason = "ZooKeeper rejected the credentials"


class StoreClosed(StoreError):
    """The store was closed before the response or before the request."""

    reason = "the store is closed"


class ZnodeError(KwireError, ValueError):
    """The data of a znode are not what Kafka's format requires.

    Attributes:
        path: the znode.
        key: the wrong JSON key, dotted from the outermost object, empty for the data as a whole.
        reason: the problem.
    """

    def __init__(self, path: str, key: str, reason: str) -> None:
        super().__init__(path, key, reason)
        self.path = path
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        location = f"{self.path}: {self.key}" if self.key else self.path
        return f"{location}: {self.reason}"


class InvalidConnectString(StoreError, ValueError):
    """The address of an ensemble is not `HOST:PORT,HOST:PORT/CHROOT`.

    Attributes:
        hosts: the address, without credentials.
        instead: the correction, as a part of a sentence.
    """

    def __init__(self, hosts: str, instead: str) -> None:
        KwireError.__init__(self, hosts, instead)
        self.path = "/"
        self.hosts = hosts
        self.instead = instead

    def __str__(self) -> str:
        return f"the address of ZooKeeper {self.hosts!r}: expected HOST:PORT,HOST:PORT/CHROOT, {self.instead}"


class Unreachable(StoreError):
    """No server of the ensemble accepted the connection in time.

    Attributes:
        hosts: the servers.
        seconds: the time waited.
    """

    is_unreachable = True

    def __init__(self, hosts: str, seconds: float) -> None:
        KwireError.__init__(self, hosts, seconds)
        self.path = "/"
        self.hosts = hosts
        self.seconds = seconds

    def __str__(self) -> str:
        return f"no ZooKeeper server of {self.hosts} accepted a connection within {self.seconds:g} seconds"
