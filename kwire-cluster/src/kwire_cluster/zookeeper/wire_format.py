"""Bytes of ZooKeeper's protocol: requests, responses, and events.

A request is its transaction id and a body: the code of the operation, and its fields. A response is a header
(`RESPONSE`) and fields. The decoders take the whole response and raise ValueError or struct.error if it is malformed.
Sources: `zookeeper.jute` of ZooKeeper 3.9, and `MultiOperationRecord` for transactions.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING

from kwire_cluster.zookeeper.errors import (
    BadVersion,
    ConnectionLost,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotAuthorized,
    NotEmpty,
    ServerError,
    SessionExpired,
    StoreError,
    TransactionFailed,
    ZooKeeperAuthenticationFailed,
)
from kwire_cluster.zookeeper.operations import Check, Create, Delete, SetData, Stat, WatchEventKind, Znode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from kwire_cluster.zookeeper.operations import Acl, Operation, OperationResult

EXISTS, GET_DATA, GET_CHILDREN, SYNC = 3, 4, 8, 9
"""Codes of operations with a path."""
_OPERATIONS = {Create: 1, Delete: 2, SetData: 5, Check: 13}
_MULTI = 14
_ERROR = -1
"""The code in a response to a transaction for an operation that was not applied."""

WATCH_XID, PING_XID, AUTH_XID = -1, -2, -4
"""Transaction ids of messages that are not numbered."""

_INT = Struct(">i")
_FRAME = Struct(">ii")
_MULTI_HEADER = Struct(">i?i")
_CONNECT = Struct(">iqiqi")
_CONNECTED = Struct(">iiq")
_STAT = Struct(">qqqqiiiqiiq")
RESPONSE = Struct(">iqi")
"""Header of a response: transaction id, id of the last change that the server has seen, error code."""

LONGEST_RESPONSE = 64 << 20
"""Maximum bytes of a response. Chosen: the names of 500,000 znodes, and 16 times `jute.maxbuffer` of Java clients."""

_ERRORS: Mapping[int, type[StoreError]] = {
    -4: ConnectionLost,
    -7: ConnectionLost,
    -101: NoNode,
    -102: NotAuthorized,
    -103: BadVersion,
    -108: NoChildrenForEphemerals,
    -110: NodeExists,
    -111: NotEmpty,
    -112: SessionExpired,
    -115: ZooKeeperAuthenticationFailed,
}
_OTHER_ERRORS = {
    -1: "SystemError",
    -2: "RuntimeInconsistency",
    -3: "DataInconsistency",
    -5: "MarshallingError",
    -6: "Unimplemented",
    -8: "BadArguments",
    -9: "UnknownSession",
    -100: "ApiError",
    -114: "InvalidAcl",
    -118: "SessionMoved",
    -119: "NotReadOnly",
    -120: "EphemeralOnLocalSession",
    -122: "RequestTimeout",
    -124: "SessionClosedRequireSaslAuth",
    -125: "QuotaExceeded",
    -127: "ThrottledOp",
}
"""Names of `KeeperException.Code`."""
_NOT_APPLIED = {0, -2}
"""Errors of operations in a transaction that failed because of another one."""


def store_error(code: int, path: str) -> StoreError:
    """Return the error for a code. Raises ValueError for an unknown one."""
    if code in _ERRORS:
        return _ERRORS[code](path)
    if code not in _OTHER_ERRORS:
        raise ValueError(f"it has the unknown error {code}")
    return ServerError(path, code, _OTHER_ERRORS[code])


# Requests


def framed(xid: int, body: bytes) -> bytes:
    """Return a request with its length."""
    return _FRAME.pack(len(body) + _INT.size, xid) + body


def connect_request(last_zxid: int, timeout_ms: int, session_id: int, password: bytes) -> bytes:
    """Return the first message of a connection, with its length; it has no transaction id."""
    content = _CONNECT.pack(0, last_zxid, timeout_ms, session_id, len(password)) + password + b"\0"
    return _INT.pack(len(content)) + content


def auth_request(scheme: str, secret: str) -> bytes:
    """Return the request that adds credentials to a session, with its length."""
    return framed(AUTH_XID, _FRAME.pack(100, 0) + _text(scheme) + _text(secret))


PING = framed(PING_XID, _INT.pack(11))
CLOSE = framed(0, _INT.pack(-11))


def read_body(code: int, path: str, *, watch: bool) -> bytes:
    """Return the body of a request that reads a znode, and watches it if `watch` is true."""
    return _INT.pack(code) + _text(path) + (b"\1" if watch else b"\0")


def sync_body(path: str) -> bytes:
    """Return the body of a request that lets the server catch up."""
    return _INT.pack(SYNC) + _text(path)


def write_body(operation: Operation, default_acl: tuple[Acl, ...], root: str = "") -> bytes:
    """Return the body of a request that writes a znode. `root` is the chroot, which precedes its path."""
    return _INT.pack(_OPERATIONS[type(operation)]) + _fields(operation, default_acl, root)


def transaction_body(operations: Sequence[Operation], default_acl: tuple[Acl, ...], root: str = "") -> bytes:
    """Return the body of a transaction."""
    parts = [_INT.pack(_MULTI)]
    for operation in operations:
        parts.append(_MULTI_HEADER.pack(_OPERATIONS[type(operation)], False, -1))
        parts.append(_fields(operation, default_acl, root))
    parts.append(_MULTI_HEADER.pack(-1, True, -1))
    return b"".join(parts)


def request_size(body: bytes) -> int:
    """Return the size of a request as the server counts it: without the length."""
    return _INT.size + len(body)


def rooted(path: str, root: str) -> str:
    """Return a path below a chroot."""
    return f"{root}{path}" if path != "/" else root or "/"


def _fields(operation: Operation, default_acl: tuple[Acl, ...], root: str) -> bytes:
    path = _text(rooted(operation.path, root))
    if isinstance(operation, Create):
        acl = _acl_fields(default_acl if operation.acl is None else operation.acl)
        return path + _buffer(operation.data) + acl + _INT.pack(operation.ephemeral | operation.sequential << 1)
    if isinstance(operation, SetData):
        path += _buffer(operation.data)
    return path + _INT.pack(operation.version)


@lru_cache(maxsize=64)
def _acl_fields(acl: tuple[Acl, ...]) -> bytes:
    entries = [_INT.pack(one.permissions) + _text(one.scheme) + _text(one.identity) for one in acl]
    return _INT.pack(len(acl)) + b"".join(entries)


def _text(text: str) -> bytes:
    return _buffer(text.encode())


def _buffer(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


# Responses


async def next_message(reader: asyncio.StreamReader) -> bytes:
    """Read a message from the server, and return it without its length."""
    length = int.from_bytes(await reader.readexactly(_INT.size), "big", signed=True)
    if not RESPONSE.size <= length <= LONGEST_RESPONSE:
        raise ValueError(f"it has {length:,} bytes, expected {RESPONSE.size} to {LONGEST_RESPONSE:,}")
    return await reader.readexactly(length)


def decode_connected(response: bytes) -> tuple[int, int, bytes]:
    """Return the session timeout in milliseconds, 0 for a session that has expired, the session, and its password."""
    _, timeout_ms, session_id = _CONNECTED.unpack_from(response)
    return timeout_ms, session_id, _read_buffer(response, _CONNECTED.size)[0]


def decode_event(message: bytes) -> tuple[WatchEventKind, str]:
    """Return the event of a watch, and the path, which begins with the chroot."""
    kind, _ = _FRAME.unpack_from(message, RESPONSE.size)
    kinds = {
        1: WatchEventKind.CREATED,
        2: WatchEventKind.DELETED,
        3: WatchEventKind.CHANGED,
        4: WatchEventKind.CHILDREN,
    }
    if kind not in kinds:
        raise ValueError(f"it has the unknown event {kind}")
    return kinds[kind], _read_path(message, RESPONSE.size + _FRAME.size, "")[0]


def decode_stat(response: bytes, at: int = RESPONSE.size) -> Stat:
    """Return the stat of a znode."""
    return Stat._make(_STAT.unpack_from(response, at))


def decode_znode(response: bytes) -> Znode:
    """Return a znode."""
    data, at = _read_buffer(response, RESPONSE.size)
    return Znode(data, decode_stat(response, at))


def decode_names(response: bytes) -> list[str]:
    """Return the names of children, sorted."""
    [count] = _INT.unpack_from(response, RESPONSE.size)
    if count < 0:
        raise ValueError(f"it has {count:,} children")
    at = RESPONSE.size + _INT.size
    names = []
    for _ in range(count):
        name, at = _read_text(response, at)
        if not name or "/" in name:
            raise ValueError("it has a child without a valid name")
        names.append(name)
    return sorted(names)


def decode_path(response: bytes, root: str = "") -> str:
    """Return the path of a created znode. `root` is the chroot, with which it begins."""
    return _read_path(response, RESPONSE.size, root)[0]


def decode_results(response: bytes, operations: Sequence[Operation], root: str = "") -> list[OperationResult]:
    """Return the results of a transaction.

    Raises:
        TransactionFailed: an operation failed, not only because of another one.
    """
    results: list[OperationResult] = []
    at = RESPONSE.size
    for index, operation in enumerate(operations):
        code, _, _ = _MULTI_HEADER.unpack_from(response, at)
        at += _MULTI_HEADER.size
        if code == _ERROR:
            [error] = _INT.unpack_from(response, at)
            at += _INT.size
            if error not in _NOT_APPLIED:
                raise TransactionFailed(operations, index, store_error(error, operation.path))
        elif isinstance(operation, Create):
            path, at = _read_path(response, at, root)
            results.append(path)
        elif isinstance(operation, SetData):
            results.append(decode_stat(response, at))
            at += _STAT.size
        else:
            results.append(None)
    if len(results) != len(operations):
        raise ValueError("it has no error of a transaction that failed")
    return results


def _read_path(response: bytes, at: int, root: str) -> tuple[str, int]:
    """Return a path without the chroot, and the offset behind it."""
    path, at = _read_text(response, at)
    if not path.startswith(f"{root}/"):
        raise ValueError(f"it has the path {path!r}, expected one below {root or '/'}")
    return path.removeprefix(root), at


def _read_text(response: bytes, at: int) -> tuple[str, int]:
    data, at = _read_buffer(response, at)
    return data.decode(), at


def _read_buffer(response: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes at an offset, empty for null, and the offset behind them."""
    [length] = _INT.unpack_from(response, at)
    at += _INT.size
    end = at + max(length, 0)
    if end > len(response):
        raise ValueError(f"it ends within a field of {length:,} bytes")
    return response[at:end], end
