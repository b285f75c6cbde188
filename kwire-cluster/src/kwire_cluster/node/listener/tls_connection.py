"""TLS of one connection of a listener, with bounded memory and measured time.

- asyncio's own TLS keeps a buffer of 256 KB for each connection and up to 512 KB that arrive while reading pauses. It
  does not report encrypted bytes that are not sent. Here, OpenSSL holds some kilobytes. All other bytes are in the
  socket's transport and in the connection, and are counted (`NodeConnection.occupied`).
- A handshake takes a listener as long as hundreds of requests. It is charged to the address of the client, as is
  decryption. Encryption is part of sending a response, which the connection measures.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire_cluster.node.listener.node_connection import NodeConnection
    from kwire_cluster.request_quotas import Account

PIECE = 1 << 14
"""Bytes that pass OpenSSL at once, as many as a TLS record has. OpenSSL keeps buffers of this size."""
RECORDS_AT_ONCE = 4
"""Records that are sent in one write."""
MAX_HANDSHAKE = 1 << 16
"""Bytes that a client may send for a handshake, most of them its certificates."""


class TlsConnection(asyncio.Transport, asyncio.Protocol):
    """The protocol of a socket, and the transport of the connection that it decrypts for.

    Args:
        context: the context of the listener.
        connection: receives what is decrypted. It is made once the handshake is complete.
        account: the account of the address.
        handshake_timeout: seconds that the handshake may take.

    Attributes:
        opened: is done when the handshake is complete, or when the client has disconnected before.
    """

    __slots__ = (
        "_account",
        "_connection",
        "_handshake_bytes",
        "_is_open",
        "_loop",
        "_received",
        "_socket",
        "_timeout",
        "_timer",
        "_tls",
        "_unsent",
        "opened",
    )

    def __init__(
        self, context: ssl.SSLContext, connection: NodeConnection, account: Account, handshake_timeout: float
    ) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._connection = connection
        self._account = account
        self._received = ssl.MemoryBIO()
        self._unsent = ssl.MemoryBIO()
        """Encrypted bytes on their way to the socket."""
        self._tls = context.wrap_bio(self._received, self._unsent, server_side=True)
        self._socket: asyncio.Transport | None = None
        self._timeout = handshake_timeout
        self._timer: asyncio.TimerHandle | None = None
        self._handshake_bytes = 0
        self._is_open = False
        """True once the handshake is complete."""
        self.opened: asyncio.Future[None] = self._loop.create_future()

    # The protocol of the socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._socket = transport
        self._timer = self._loop.call_later(self._timeout, self.abort)

    def data_received(self, data: bytes) -> None:
        account = self._connection.account if self._is_open else self._account
        account.run(partial(self._process, data))

    def _process(self, data: bytes) -> None:
        was_open = self._is_open
        decrypted: list[bytes] = []
        try:
            has_ended = self._decrypt(memoryview(data), decrypted)
        except ssl.SSLError:
            has_ended = True
        if self._unsent.pending and self._socket is not None:
            self._socket.write(self._unsent.read())  # the response of the handshake, or an alert
        if self._is_open and not was_open:
            self._open()
        if self._is_open and not self.is_closing():
            # Without a byte, the connection only checks whether its client is throttled.
            self._connection.process(decrypted[0] if len(decrypted) == 1 else b"".join(decrypted))
        if has_ended:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._socket = None
        if self._timer is not None:
            self._timer.cancel()
        if self._is_open:
            self._connection.connection_lost(exc)
        elif not self.opened.done():
            self.opened.set_result(None)

    def pause_writing(self) -> None:
        if self._is_open:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._is_open:
            self._connection.resume_writing()

    # TLS

    def _decrypt(self, data: memoryview, decrypted: list[bytes]) -> bool:
        """Decrypt received bytes, and return whether the client has ended the connection, or must not continue.

        Raises:
            SSLError: the bytes are invalid.
        """
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            self._received.write(piece)
            if not self._is_open:
                self._handshake_bytes += len(piece)
                with suppress(ssl.SSLWantReadError):
                    self._tls.do_handshake()
                    self._is_open = True
            if self._is_open:
                if self._read_into(decrypted):
                    return True
            elif self._handshake_bytes > MAX_HANDSHAKE:
                return True
        return False

    def _read_into(self, decrypted: list[bytes]) -> bool:
        """Add the bytes of complete records, and return whether the client has ended the connection."""
        with suppress(ssl.SSLWantReadError):
            while True:
                part = self._tls.read(PIECE)
                if not part:
                    return True
                decrypted.append(part)
        return False

    def _open(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._connection.connection_made(self)
        if not self.opened.done():
            self.opened.set_result(None)

    # The transport of the connection

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Encrypt and send bytes."""
        if self._socket is None or self._socket.is_closing():
            return
        view = memoryview(data)
        records: list[bytes] = []
        try:
            for start in range(0, len(view), PIECE):
                self._tls.write(view[start : start + PIECE])
                records.append(self._unsent.read())
                if len(records) == RECORDS_AT_ONCE:
                    self._socket.write(b"".join(records))
                    records.clear()
        except ssl.SSLError:  # the client has begun a message of TLS, without its end
            self.abort()
        else:
            self._socket.write(b"".join(records))

    def close(self) -> None:
        """Close the connection after what is written is sent. The client is not awaited."""
        if self._socket is None or self._socket.is_closing():
            return
        if self._is_open:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self._socket.write(self._unsent.read())
        self._socket.close()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._socket is not None:
            self._socket.abort()

    def is_closing(self) -> bool:
        """Return whether the connection is closed, or is about to be."""
        return self._socket is None or self._socket.is_closing()

    def pause_reading(self) -> None:
        """Read nothing from the socket. What is read already has been passed on."""
        if self._socket is not None:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Read from the socket again."""
        if self._socket is not None:
            self._socket.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits of encrypted bytes that are not sent."""
        if self._socket is not None:
            self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """Return the number of encrypted bytes that are not sent."""
        return 0 if self._socket is None else self._socket.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the `ssl.SSLObject` as `ssl_object`, and what the socket's transport knows."""
        if name == "ssl_object":
            return self._tls
        return default if self._socket is None else self._socket.get_extra_info(name, default)
