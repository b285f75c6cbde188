"""kazoo's connection with responses that cannot be read.

kazoo ends its thread at a response with an impossible length, another transaction id, or an unknown error code. The
session would seem to have expired, and the request of that response would wait for ever. Here, that request fails with
the reason and the connection is replaced, so a server that repeats the response fails each request once.
"""

from __future__ import annotations

from typing import Any

from kazoo.exceptions import ConnectionDropped, KazooException
from kazoo.protocol.connection import AUTH_XID, PING_XID, WATCH_XID, ConnectionHandler
from kazoo.protocol.serialization import ReplyHeader
from kazoo.retry import ForceRetryError

__all__ = ["LONGEST_RESPONSE", "ReplacedConnection", "UnreadableResponse"]

NOTICES = (WATCH_XID, PING_XID, AUTH_XID)
"""The transaction ids of messages that answer no request."""

SHORTEST_RESPONSE = 16
"""Bytes of the header of a response."""

LONGEST_RESPONSE = 64 << 20
"""Maximum bytes of a response. Chosen: the names of 500,000 znodes, and 16 times `jute.maxbuffer` of Java clients."""


class UnreadableResponse(Exception):
    """The response of a request cannot be read, and the connection is replaced."""


class ReplacedConnection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """The connection of a client, replaced after a response that cannot be read."""

    def _read_header(self, timeout: float) -> tuple[Any, bytes, int]:
        length = int.from_bytes(self._read(4, timeout), "big", signed=True)
        if not SHORTEST_RESPONSE <= length <= LONGEST_RESPONSE:
            raise ValueError(f"it has {length:,} bytes, expected {SHORTEST_RESPONSE} to {LONGEST_RESPONSE:,}")
        content = self._read(length, timeout)
        header, offset = ReplyHeader.deserialize(content, 0)
        pending = self.client._pending  # noqa: SLF001  # the base class does the same
        if header.xid not in NOTICES and pending and header.xid != pending[0][2]:
            raise ValueError(f"it has the transaction id {header.xid}, expected {pending[0][2]}")
        return header, content, offset

    def _connect(self, *address: Any) -> Any:
        try:
            return super()._connect(*address)
        except (OSError, KazooException, ForceRetryError, self.handler.timeout_exception):
            raise
        except Exception as error:  # the next attempt may reach another server
            raise ConnectionDropped(f"invalid response: {error}") from error

    def _read_socket(self, read_timeout: float) -> Any:
        pending = self.client._pending  # noqa: SLF001  # the base class does the same
        result = pending[0][1] if pending else None
        try:
            return super()._read_socket(read_timeout)
        except (KazooException, self.handler.timeout_exception):
            raise
        except Exception as error:
            if result is not None:
                result.set_exception(UnreadableResponse(str(error)))
            raise ConnectionDropped(f"invalid response: {error}") from error
