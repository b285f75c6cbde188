"""The byte stream of a connection: TCP, with TLS or without. Errors of the operating system become ConnectFailed.

Some addresses of a name might not answer. They are tried in the order of the resolver: the next
one when an address has refused, or has accepted no connection for a quarter of a second (RFC 8305). So a silent address
costs a moment, and not the timeout.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import partial

from kwire._util.concurrency import running_loop, start_stream, timeout_after
from kwire._util.light_loop import running_light_loop
from kwire._util.light_sockets import sockets
from kwire._util.light_typing import TYPE_CHECKING, NamedTuple, TypeGuard
from kwire.client.race import first_success
from kwire.protocol import ConnectFailed, TlsHandshakeFailed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Sequence
    from socket import socket
    from typing import Any

    from kwire._util.stream_callbacks import StreamCallbacks
    from kwire.client.connection_config import ConnectionConfig
    from kwire.client.security.tls import TlsConfig
    from kwire.protocol import Endpoint

NEXT_ADDRESS_AFTER_S = 0.25
"""Seconds after which the next address of a name is tried: the "Connection Attempt Delay" of RFC 8305."""
KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""TCP's keep-alive: seconds without traffic until a probe, between two, and the number of probes without an answer.
Load balancers forget idle connections after 4 minutes and more (Azure 240 s, AWS 350 s, Google 600 s); the default of
Linux is two hours. TCP_KEEPALIVE is the name of TCP_KEEPIDLE on macOS."""


class ResolvedAddress(NamedTuple):
    """One address of an endpoint, as the resolver returns it."""

    family: int
    type: int
    protocol: int
    address: tuple[Any, ...]


async def resolve(endpoint: Endpoint, timeout: float) -> list[ResolvedAddress]:
    """Return the addresses of an endpoint in the order of the resolver.

    Raises:
        ConnectFailed: the name is unknown or invalid, or the resolver does not answer.
    """
    options = {"type": sockets.SOCK_STREAM, "proto": sockets.IPPROTO_TCP}
    try:
        if not 0 <= endpoint.port <= 0xFFFF:  # a broker may advertise anything, and resolvers take the lower 16 bits
            raise OverflowError("the port must be between 0 and 65535")
        try:  # an address needs neither the resolver nor its thread
            # As bytes: the codec that Python has for names imports its tables.
            host = endpoint.host.encode() if endpoint.host.isascii() else endpoint.host
            found = sockets.getaddrinfo(host, endpoint.port, **options, flags=sockets.AI_NUMERICHOST)
        except sockets.gaierror:
            async with timeout_after(timeout):
                found = await running_loop().getaddrinfo(endpoint.host, endpoint.port, **options)
    except TimeoutError:
        raise ConnectFailed(endpoint, f"no address of the name within {timeout:g} s") from None
    except OSError as error:
        raise ConnectFailed(endpoint, _describe(error)) from error
    except (ValueError, OverflowError) as error:
        raise ConnectFailed(endpoint, str(error)) from error
    return list(
        dict.fromkeys(ResolvedAddress(family, type, protocol, address) for family, type, protocol, _, address in found)
    )


async def open_stream(
    endpoint: Endpoint,
    addresses: Sequence[ResolvedAddress],
    config: ConnectionConfig,
    timeout: float,
    callbacks: StreamCallbacks,
    on_connected: Callable[[ResolvedAddress], None],
) -> None:
    """Connect to an endpoint, and establish TLS if it is configured.

    Args:
        addresses: the addresses of the endpoint, the preferred one first; not used if the configuration opens sockets.
        timeout: seconds for both together.
        callbacks: the receiver of the stream.
        on_connected: called with the address that is connected, before the handshake of TLS.

    Raises:
        ConnectFailed: no connection could be made.
        TlsHandshakeFailed: broker and client do not trust each other, or one of them does not speak TLS.
        SecurityConfigError: a certificate, a key, or its password is invalid.
    """
    tls = config.tls
    context = None if tls is None else tls.context
    has_connected = False
    try:
        async with timeout_after(timeout):
            if config.open_socket is None:
                # All addresses get their turn within half of the time, however many there are.
                delay = min(NEXT_ADDRESS_AFTER_S, timeout / 2 / max(len(addresses), 1))
                attempts = [partial(_connect, address) for address in addresses]
                sock, address = await first_success(attempts, delay, discard=_close)
                on_connected(address)
            else:
                sock = await _open_socket(config.open_socket, endpoint)
            has_connected = True
            try:
                _keep_alive(sock)
                await start_stream(sock, callbacks, context, None if context is None else endpoint.server_name)
            except (TypeError, ValueError):  # raised before a transport owns the socket
                sock.close()
                raise
    except TimeoutError as error:
        if error.errno is not None:  # the timeout of the operating system
            raise ConnectFailed(endpoint, _describe(error), error.errno) from error
        missing = "TLS handshake" if has_connected else "connection"
        raise ConnectFailed(endpoint, f"no {missing} within {round(timeout, 2):g} s") from None
    except OSError as error:
        # A reset means that the handshake has begun.
        if tls is not None and (is_tls_error(error) or (has_connected and isinstance(error, ConnectionResetError))):
            raise tls_failed(endpoint, tls, error) from error
        raise ConnectFailed(endpoint, _describe(error), error.errno) from error
    except (ValueError, OverflowError) as error:
        raise ConnectFailed(endpoint, str(error)) from error


async def _open_socket(open_socket: Callable[[Endpoint], Awaitable[socket]], endpoint: Endpoint) -> socket:
    """Return the caller's socket, which may come from a library of its own.

    Raises:
        ConnectFailed: the function has failed.
    """
    try:
        sock = await open_socket(endpoint)
        sock.setblocking(False)  # a blocking socket would stop the event loop
    except OSError:
        raise
    except Exception as error:
        raise ConnectFailed(endpoint, f"open_socket failed: {type(error).__name__}: {error}") from error
    return sock


async def _connect(address: ResolvedAddress) -> tuple[socket, ResolvedAddress]:
    sock = _new_socket(address)
    try:
        sock.setblocking(False)
        await running_loop().sock_connect(sock, address.address)
    except BaseException:
        sock.close()
        raise
    return sock, address


def _new_socket(address: ResolvedAddress) -> socket:
    """Return a socket that the event loop can use."""
    if running_light_loop() is not None:
        return sockets.socket(address.family, address.type, address.protocol)
    import socket

    return socket.socket(address.family, address.type, address.protocol)


def _close(connected: tuple[socket, ResolvedAddress]) -> None:
    connected[0].close()


def _keep_alive(sock: socket) -> None:
    """Let the system find out that an idle connection is dead, and keep it known on the way."""
    if sock.family not in {sockets.AF_INET, sockets.AF_INET6}:
        return
    with suppress(OSError):  # a nicety: the connection works without it
        sock.setsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE, 1)
        for name, value in KEEP_ALIVE.items():
            if hasattr(sockets, name):
                sock.setsockopt(sockets.IPPROTO_TCP, getattr(sockets, name), value)


def is_tls_error(error: BaseException | None) -> TypeGuard[OSError]:
    """Return whether an error is one of TLS. Without TLS, its module is not imported."""
    ssl = sys.modules.get("ssl")
    return ssl is not None and isinstance(error, ssl.SSLError)


def tls_failed(endpoint: Endpoint, tls: TlsConfig | None, error: OSError) -> TlsHandshakeFailed:
    """Return the error of a failed handshake, with its cause in plain words."""
    import ssl

    from kwire.client.security.tls import explain_tls_error

    has_certificate = tls is not None and tls.certificate is not None
    cause = explain_tls_error(error, endpoint.server_name, has_certificate=has_certificate)
    without_reason = not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError)
    return TlsHandshakeFailed(endpoint, cause, retriable=without_reason)


def _describe(error: OSError) -> str:
    """Return the text of the operating system, which asyncio replaces with its own."""
    has_text = error.errno is not None and error.errno > 0 and not isinstance(error, sockets.gaierror)
    return f"[Errno {error.errno}] {os.strerror(error.errno)}" if has_text and error.errno else str(error)


def certificate_expiry(transport: asyncio.Transport) -> float | None:
    """Return the end of the peer's verified certificate in seconds since 1970; None without TLS or verification."""
    tls = transport.get_extra_info("ssl_object")
    certificate = tls.getpeercert() if tls is not None else None
    if not certificate:
        return None
    import ssl

    return ssl.cert_time_to_seconds(certificate["notAfter"])
