"""The byte stream of a connection: TCP, with TLS or without. Errors of the operating system become ConnectFailed."""

from __future__ import annotations

import asyncio
import os
import ssl
from socket import gaierror
from typing import TYPE_CHECKING

from kwire.protocol import ConnectFailed, TlsHandshakeFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from socket import socket

    from kwire.client.connection_config import ConnectionConfig
    from kwire.client.security.tls import TlsConfig
    from kwire.protocol import Endpoint


async def open_stream(
    endpoint: Endpoint, config: ConnectionConfig, timeout: float, make_protocol: Callable[[], StreamProtocol]
) -> None:
    """Connect to an endpoint, and establish TLS if it is configured.

    Args:
        timeout: seconds for both together.
        make_protocol: returns the receiver of the stream.

    Raises:
        ConnectFailed: no connection could be made.
        TlsHandshakeFailed: broker and client do not trust each other, or one of them does not speak TLS.
        SecurityConfigError: a certificate, a key, or its password is invalid.
    """
    loop = asyncio.get_running_loop()
    tls = config.tls
    context = None if tls is None else tls.context
    open_socket = config.open_socket
    try:
        async with asyncio.timeout(timeout):
            server_name = None if context is None else endpoint.server_name
            if open_socket is None:
                await loop.create_connection(
                    make_protocol, endpoint.host, endpoint.port, ssl=context, server_hostname=server_name
                )
                return
            sock = await _open_socket(open_socket, endpoint)
            try:
                await loop.create_connection(make_protocol, sock=sock, ssl=context, server_hostname=server_name)
            except BaseException:
                sock.close()  # no transport may own it yet
                raise
    except TimeoutError:
        raise ConnectFailed(endpoint, f"no connection within {timeout:g} s") from None
    except ssl.SSLError as error:
        raise tls_failed(endpoint, tls, error) from error
    except OSError as error:
        if tls is not None and isinstance(error, ConnectionResetError):  # the handshake has begun
            raise tls_failed(endpoint, tls, error) from error
        number = None if isinstance(error, gaierror) else error.errno
        raise ConnectFailed(endpoint, _describe(error), number) from error
    except (ValueError, OverflowError) as error:  # a broker may advertise an invalid host name or port
        raise ConnectFailed(endpoint, str(error)) from error


async def _open_socket(open_socket: Callable[[Endpoint], Awaitable[socket]], endpoint: Endpoint) -> socket:
    """Return the caller's socket, which may come from a library of its own.

    Raises:
        ConnectFailed: the function has failed.
    """
    try:
        sock = await open_socket(endpoint)
        sock.setblocking(False)  # a blocking socket would stop the event loop
    except (OSError, asyncio.CancelledError):
        raise
    except Exception as error:
        raise ConnectFailed(endpoint, f"open_socket failed: {type(error).__name__}: {error}") from error
    return sock


def tls_failed(endpoint: Endpoint, tls: TlsConfig | None, error: OSError) -> TlsHandshakeFailed:
    """Return the error of a failed handshake, with its cause in plain words."""
    from kwire.client.security.tls import explain_tls_error

    has_certificate = tls is not None and tls.certificate is not None
    cause = explain_tls_error(error, endpoint.server_name, has_certificate=has_certificate)
    without_reason = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError)
    return TlsHandshakeFailed(endpoint, cause, retriable=without_reason)


class StreamProtocol(asyncio.BufferedProtocol):
    """Forwards the callbacks of asyncio to the functions of a connection."""

    def __init__(
        self,
        on_made: Callable[[asyncio.Transport], None],
        buffer: Callable[[], memoryview],
        on_updated: Callable[[int], None],
        on_paused: Callable[[], None],
        on_resumed: Callable[[], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self._on_made = on_made
        self._buffer = buffer
        self._on_updated = on_updated
        self._on_paused = on_paused
        self._on_resumed = on_resumed
        self._on_lost = on_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._on_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint  # always -1
        return self._buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._on_updated(nbytes)

    def pause_writing(self) -> None:
        self._on_paused()

    def resume_writing(self) -> None:
        self._on_resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(exc)


def _describe(error: OSError) -> str:
    """Return the text of the operating system, which asyncio replaces with its own."""
    has_text = error.errno is not None and error.errno > 0 and not isinstance(error, gaierror)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}" if has_text and error.errno else str(error)
