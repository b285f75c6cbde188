"""TLS of listeners: bytes pass unchanged, memory is bounded and counted, and errors are reported to the client."""

from __future__ import annotations

import asyncio
import socket
import ssl
import tracemalloc
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import pytest

from kwire_cluster.node.listener.connection_limits import CloseReason, InvalidRequest, Limits
from kwire_cluster.node.listener.listener import Listener
from kwire_cluster.security.node_security import NodeSecurity
from kwire_cluster.security.sasl_authentication import ScramUsers
from tests.cluster.node.listener.test_listener import EchoDispatcher, RecordingObserver, framed
from tests.cluster.node.secured import node_settings, tls_properties
from tests.eventually import eventually
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from kwire.protocol.server_connection import Frame
    from kwire_cluster.node.listener.connection_limits import ConnectedClient

T = TypeVar("T")

LARGE = 20_000_000
"""Bytes that the system does not take for one connection."""


class Dispatcher(EchoDispatcher):
    """`large` gets a large response, `rejected` gets a response before the connection is closed."""

    def __call__(self, payload: bytes, client: ConnectedClient) -> Frame | Awaitable[Frame]:
        if payload == b"large":
            return framed(bytes(LARGE))
        if payload == b"rejected":
            return self._rejected()
        return super().__call__(payload, client)

    async def _rejected(self) -> Frame:
        raise InvalidRequest("rejected", CloseReason.AUTHENTICATION_FAILED, framed(b"why"))


@pytest.fixture(scope="module")
def server_tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    folder: Path = tmp_path_factory.mktemp("tls")
    properties = {**tls_properties(folder, CertificateAuthority()), "listener.security.protocol.map": "ADMIN:SSL"}
    context = NodeSecurity(node_settings("127.0.0.1:2181", 1, properties), ScramUsers()).tls
    assert context is not None
    return context


def client_tls(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = version
    return context


@asynccontextmanager
async def listening(tls: ssl.SSLContext, limits: Limits | None = None) -> AsyncIterator[Listener]:
    listener = Listener(Dispatcher(), RecordingObserver(), limits, tls=tls)
    await listener.start("127.0.0.1")
    try:
        yield listener
    finally:
        await listener.stop(0.5)


def closures(listener: Listener) -> list[tuple[CloseReason | None, str]]:
    assert isinstance(listener.connections.observer, RecordingObserver)
    return listener.connections.observer.closures


@asynccontextmanager
async def connected(
    listener: Listener, tls: ssl.SSLContext | None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(listener.host, listener.port, ssl=tls)
    try:
        async with asyncio.timeout(30):
            yield reader, writer
    finally:
        writer.transport.abort()


async def received(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_requests_and_responses_of_all_sizes_pass_unchanged(
    version: ssl.TLSVersion, server_tls: ssl.SSLContext
) -> None:
    payloads = [bytes([size % 251]) * size for size in (1, 16_383, 16_384, 16_385, 70_000, 1_000_003)]
    payloads += [b"parts" + payload for payload in payloads]
    async with listening(server_tls) as listener, connected(listener, client_tls(version)) as (reader, writer):
        for payload in payloads:
            writer.write(framed(payload))
        for payload in payloads:
            assert await received(reader) == payload


class ByteByByte:
    """A client whose bytes arrive one at a time."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received, self._unsent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = client_tls().wrap_bio(self._received, self._unsent)

    def echo(self, request: bytes) -> bytes:
        self._complete(self._tls.do_handshake)
        for byte in request:
            self._tls.write(bytes([byte]))
        response = b""
        while len(response) < len(request):
            response += self._complete(lambda: self._tls.read(100))
        self._socket.close()
        return response

    def _complete(self, step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self._send()
                self._received.write(self._socket.recv(1))
            finally:
                self._send()

    def _send(self) -> None:
        for byte in self._unsent.read():
            self._socket.send(bytes([byte]))


async def test_request_that_arrives_byte_by_byte_is_answered(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener:
        client = await asyncio.to_thread(ByteByByte, listener.host, listener.port)
        assert await asyncio.to_thread(client.echo, framed(b"hello")) == framed(b"hello")


async def test_open_connections_have_no_large_buffers(server_tls: ssl.SSLContext) -> None:
    """The TLS of asyncio keeps 256 KB for each connection."""

    def open_clients() -> list[ssl.SSLSocket]:
        address = (listener.host, listener.port)
        return [client_tls().wrap_socket(socket.create_connection(address)) for _ in range(20)]

    async with listening(server_tls) as listener:
        tracemalloc.start()
        try:
            clients = await asyncio.to_thread(open_clients)
            await eventually(lambda: len(listener.connections) == len(clients))
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held / len(clients) < 64 * 1024
        for client in clients:
            client.close()


async def test_responses_that_are_not_read_are_counted(server_tls: ssl.SSLContext) -> None:
    """The TLS of asyncio does not report what it has given to the socket's transport."""
    async with listening(server_tls, Limits(unsent=2 * LARGE)) as listener:
        with socket.create_connection((listener.host, listener.port)) as plain:
            client = await asyncio.to_thread(client_tls().wrap_socket, plain)
            await asyncio.to_thread(client.sendall, framed(b"large"))
            await eventually(lambda: sum(connection.occupied for connection in listener.connections) > LARGE // 4)
            client.close()


async def test_response_before_the_connection_is_closed_is_sent(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener, connected(listener, client_tls()) as (reader, writer):
        writer.write(framed(b"rejected"))
        assert await received(reader) == b"why"
        assert await reader.read() == b""
        assert closures(listener) == [(CloseReason.AUTHENTICATION_FAILED, "rejected")]


async def test_client_that_ends_tls_is_disconnected_without_an_error(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener, connected(listener, client_tls()) as (reader, writer):
        writer.write(framed(b"hello"))
        assert await received(reader) == b"hello"
        writer.close()
        await writer.wait_closed()
        await eventually(lambda: closures(listener))
        assert closures(listener) == [(None, "")]


async def test_handshake_that_is_malformed_is_answered_with_an_alert(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener, connected(listener, None) as (reader, writer):
        writer.write(b"\x16\x03\x01\x00\x05hello")
        assert (await reader.read())[:1] == b"\x15"
        assert not closures(listener), "the connection was never open"


async def test_bytes_that_are_not_tls_close_the_connection(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener, connected(listener, None) as (reader, writer):
        writer.write(framed(b"hello") + bytes(100))
        await reader.read()
        assert not closures(listener), "the connection was never open"


async def test_damaged_record_closes_the_connection(server_tls: ssl.SSLContext) -> None:
    async with listening(server_tls) as listener:
        with socket.create_connection((listener.host, listener.port)) as plain:
            client = await asyncio.to_thread(client_tls().wrap_socket, plain)
            await eventually(lambda: listener.connections)
            with socket.socket(fileno=client.detach()) as raw:
                raw.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
                await eventually(lambda: closures(listener))
        assert closures(listener) == [(None, "")]


async def test_handshake_of_unlimited_size_is_refused(server_tls: ssl.SSLContext) -> None:
    """OpenSSL would collect 128 KB of a ClientHello."""
    hello = b"\x01" + (100_000).to_bytes(3, "big") + b"\x03\x03" + bytes(100_000)
    records = [b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in pieces(hello, 16_000)]
    async with listening(server_tls) as listener, connected(listener, None) as (reader, writer):
        writer.write(b"".join(records[:5]))
        assert await reader.read() == b""
        assert not closures(listener), "the connection was never open"


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


async def test_incomplete_handshake_is_aborted(server_tls: ssl.SSLContext) -> None:
    limits = Limits(incomplete_frame=0.2)
    async with listening(server_tls, limits) as listener, connected(listener, None) as (reader, _):
        assert await reader.read() == b""
