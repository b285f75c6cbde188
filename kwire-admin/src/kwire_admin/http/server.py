"""Runs an application with uvicorn until a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn

from kwire._util import ready_file
from kwire._util.readable import printable
from kwire._util.watched_files import WatchedFiles
from kwire.errors import KwireError
from kwire.protocol.endpoint import Endpoint
from kwire_admin.http.access import HttpRole, is_loopback
from kwire_admin.http.connections import HEAD_TIMEOUT_S, HttpConnection

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path
    from types import FrameType

    from starlette.types import ASGIApp

    from kwire_admin.http.access import HttpCredential

__all__ = ["HttpOptions", "UnsafeAddress", "escape_control_characters", "parse_address", "serve"]

STOP_TIMEOUT_S = 5
"""Deadline in seconds of running requests after a signal."""
TICK_S = 1.0
"""Seconds after which the header `Date` is renewed: its unit."""


class UnsafeAddress(KwireError, ValueError):
    """The server would be open to everybody, or its certificate cannot be read."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Address, access, and limits of the server.

    Attributes:
        listen: its address; port 0 is a free one.
        tokens: the accepted tokens and certificates. Required unless the address is loopback.
        anonymous: role of requests without a token if there are no tokens.
        certificate: PEM file with the certificate chain; None for HTTP without TLS.
        key: PEM file with its private key; None if `certificate` contains it.
        client_authority: PEM file with the authority of client certificates; None to accept tokens only.
        ready_file: file that receives `url` and `pid` as JSON once the server listens.
    """

    listen: Endpoint
    tokens: Sequence[HttpCredential] = ()
    anonymous: HttpRole = HttpRole.READ
    certificate: Path | None = None
    key: Path | None = None
    ready_file: Path | None = None
    client_authority: Path | None = None

    def check(self) -> None:
        """Check that not everybody can use the server.

        Raises:
            UnsafeAddress: the address is not loopback, and there are no tokens; or certificates of clients have roles
                and cannot be verified.
        """
        if not self.tokens and not is_loopback(self.listen.host):
            raise UnsafeAddress(f"{self.listen} is not a loopback address: give --tokens FILE, or listen on 127.0.0.1")
        if self.client_authority is None and any(token.digest is None for token in self.tokens):
            raise UnsafeAddress("client certificates have roles: give --client-authority FILE to verify them")
        if self.client_authority is not None and self.certificate is None:
            raise UnsafeAddress("--client-authority requires --certificate")


def parse_address(text: str) -> Endpoint:
    """Return the address to listen on, `HOST:PORT` or `[ADDRESS]:PORT`.

    Raises:
        ValueError: the text is not an address.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit() and int(port) <= 0xFFFF):
        raise ValueError(f"{text!r} is not an address: write HOST:PORT")
    return Endpoint(host, int(port))


def serve(
    create: Callable[[Callable[[], int]], ASGIApp],
    options: HttpOptions,
    started: Callable[[str], None],
    end_streams: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve an application until SIGINT or SIGTERM.

    Args:
        create: returns the application, given a function that returns the number of open connections.
        options: address, access, and limits.
        started: called with the URL once the server listens.
        end_streams: ends the responses that have no end, before the server waits for the requests that still run.

    Raises:
        UnsafeAddress: see HttpOptions.check, or the certificate cannot be read.
        OSError: the address cannot be used.
    """
    options.check()
    context = _tls_context(options)
    listener = _bind(options.listen)
    host, port = listener.getsockname()[:2]
    url = f"{'http' if context is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}"
    config = uvicorn.Config(
        create(lambda: len(server.server_state.connections)),
        http=HttpConnection,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        log_config=None,
        ws="none",
        timeout_graceful_shutdown=STOP_TIMEOUT_S,
        ssl_context_factory=None if context is None else lambda _config, _default: context,
    )
    server = _Server(config, end_streams)

    def stop(_number: int, _frame: object) -> None:
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises a signal again once it has stopped
        signal.signal(number, stop)
    with asyncio.Runner(loop_factory=_EventLoop) as runner:
        runner.run(_run(server, listener, options.ready_file, url, started))


def escape_control_characters(record: logging.LogRecord) -> bool:
    """Escape a message, so that text from the network cannot forge a line or color a terminal. A filter of logging."""
    record.msg = printable(record.getMessage())
    record.args = None
    return True


class _EventLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers end TLS handshakes after HEAD_TIMEOUT_S; uvicorn has no option for it."""

    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = HEAD_TIMEOUT_S
        return await super().create_server(*arguments, **options)


class _Server(uvicorn.Server):
    """Ends streams before it waits for the requests that still run, and costs little while there are none."""

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], Awaitable[None]] | None) -> None:
        super().__init__(config)
        self._end_streams = end_streams
        self._loop: asyncio.AbstractEventLoop | None = None
        self._exits = asyncio.Event()

    async def main_loop(self) -> None:
        """Renew the header `Date` until a signal.

        uvicorn looks for the signal ten times a second instead, which was 40 % of the CPU time of an idle exporter.
        """
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._exits.wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._loop is not None:  # the handler of a signal does not wake the loop up
            self._loop.call_soon_threadsafe(self._exits.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._end_streams is not None:
            await self._end_streams()
        await super().shutdown(sockets)


async def _run(
    server: uvicorn.Server, listener: socket.socket, ready: Path | None, url: str, started: Callable[[str], None]
) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started:
        if ready is not None:
            ready_file.write_atomically(ready, {"url": url, "pid": os.getpid()})
        started(url)
    try:
        await serving
    finally:
        if ready is not None:
            ready_file.remove(ready)


def _tls_context(options: HttpOptions) -> ssl.SSLContext | None:
    """Return the context of all connections, which follows the files of the certificates when they are replaced."""
    if options.certificate is None:
        return None
    context = _read_context(options)
    files = [file for file in (options.certificate, options.key, options.client_authority) if file is not None]
    current = WatchedFiles(context, files, partial(_read_context, options), (UnsafeAddress,))

    def use_current(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = current.get()

    # OpenSSL calls it in each handshake, whether the client names the server or not.
    context.sni_callback = use_current
    return context


def _read_context(options: HttpOptions) -> ssl.SSLContext:
    """Return a context with the certificates as they are now. Raises UnsafeAddress if they cannot be read."""
    assert options.certificate is not None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.certificate, options.key)
    except OSError as error:  # an SSLError is one
        raise UnsafeAddress(f"cannot read the certificate {options.certificate} or its key: {error}") from None
    if options.client_authority is not None:
        context.verify_mode = ssl.CERT_OPTIONAL  # other clients have tokens
        try:
            context.load_verify_locations(options.client_authority)
        except OSError as error:
            raise UnsafeAddress(f"cannot read the authority {options.client_authority}: {error}") from None
    return context


def _bind(address: Endpoint) -> socket.socket:
    family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.create_server((address.host, address.port), family=family)
    # asyncio sets it for sockets with an explicit protocol only, which a created server does not have.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
