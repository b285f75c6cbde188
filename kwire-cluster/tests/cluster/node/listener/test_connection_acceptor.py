"""Accepting connections: an address that opens connections all the time leaves the loop to others."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from contextlib import asynccontextmanager
from time import perf_counter
from typing import TYPE_CHECKING

import pytest

from kwire_cluster import request_quotas
from kwire_cluster.node.listener.connection_limits import CloseReason, Limits
from kwire_cluster.node.listener.listener import Listener
from kwire_cluster.node.listener.node_connection import BYTE_SECONDS
from kwire_cluster.security.node_security import NodeSecurity
from kwire_cluster.security.sasl_authentication import ScramUsers
from tests.cluster.node.listener.test_listener import EchoDispatcher, RecordingObserver, framed
from tests.cluster.node.secured import node_settings, tls_properties
from tests.eventually import eventually
from tests.real_kafka.certificates import CertificateAuthority

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from pathlib import Path

    from kwire.protocol.server_connection import Frame
    from kwire_cluster.node.listener.connection_limits import ConnectedClient
    from kwire_cluster.request_quotas import Account

GREEDY, OTHER = "127.0.0.2", "127.0.0.3"


@pytest.fixture
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address over its quota is throttled even if the loop is idle."""
    monkeypatch.setattr(request_quotas, "IDLE_LOAD", 0.0)
    monkeypatch.setattr(request_quotas, "MAX_THROTTLE_SECONDS", 1e6)


@asynccontextmanager
async def listening(
    limits: Limits | None = None, tls: ssl.SSLContext | None = None, dispatcher: EchoDispatcher | None = None
) -> AsyncIterator[tuple[Listener, RecordingObserver]]:
    observer = RecordingObserver()
    listener = Listener(dispatcher or EchoDispatcher(), observer, limits, tls=tls)
    await listener.start("127.0.0.1")
    try:
        yield listener, observer
    finally:
        await listener.stop(1.0)


def account(listener: Listener, address: str = GREEDY) -> Account:
    return listener.connections.quotas.account(address)


def charge(listener: Listener, seconds: float) -> None:
    """Charge the greedy address for time that it has used while another address is active."""
    account(listener, OTHER).charge(0.001)
    account(listener).charge(seconds)


def forgive(listener: Listener) -> None:
    """Let the greedy address continue."""
    account(listener).throttled_until = 0.0


async def connected(listener: Listener, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(listener.host, listener.port, local_addr=(address, 0))


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a request, and check its answer."""
    writer.write(framed(b"hello"))
    async with asyncio.timeout(60):
        assert await reader.readexactly(len(framed(b"hello"))) == framed(b"hello")


def send_part_of_a_frame_and_reset(listener: Listener) -> None:
    with socket.create_connection((listener.host, listener.port), source_address=(GREEDY, 0)) as client:
        client.sendall(framed(b"hello")[:6])
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def client_hello() -> bytes:
    """Return the first message of a TLS handshake."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


@pytest.mark.usefixtures("never_idle")
async def test_connection_of_an_address_that_used_more_than_its_quota_is_opened_later() -> None:
    async with listening() as (listener, observer):
        charge(listener, 1e3)
        held = await connected(listener, GREEDY)
        other = await connected(listener, OTHER)
        await echo(*other)
        assert [client.host for client in observer.open] == [OTHER]
        forgive(listener)
        await echo(*held)
        for _, writer in (held, other):
            writer.close()


@pytest.mark.usefixtures("never_idle")
async def test_connection_that_is_reset_before_it_is_opened_is_dropped() -> None:
    async with listening() as (listener, observer):
        charge(listener, 1e3)
        for _ in range(20):
            send_part_of_a_frame_and_reset(listener)
        other = await connected(listener, OTHER)  # it is accepted after them
        await echo(*other)
        forgive(listener)
        later = await connected(listener, GREEDY)
        await echo(*later)
        assert [client.host for client in observer.open] == [OTHER, GREEDY]
        for _, writer in (other, later):
            writer.close()


@pytest.mark.usefixtures("never_idle")
async def test_connections_that_are_not_open_count_as_connections_of_their_address() -> None:
    async with listening(Limits(connections_per_address=3, reserved_per_address=0)) as (listener, observer):
        charge(listener, 1e3)
        clients = [await connected(listener, GREEDY) for _ in range(4)]
        await eventually(lambda: observer.closures)
        assert [reason for reason, _ in observer.closures] == [CloseReason.TOO_MANY_CONNECTIONS]
        assert await clients[-1][0].read() == b""
        forgive(listener)
        for client in clients[:3]:
            await echo(*client)
        for _, writer in clients:
            writer.close()


async def test_opening_connections_is_charged_to_their_address() -> None:
    async with listening() as (listener, _):
        clients = [await connected(listener, GREEDY) for _ in range(3)]
        for client in clients:
            await echo(*client)
        assert account(listener).charged_at > 0
        for _, writer in clients:
            writer.close()


async def test_invalid_request_is_charged_to_its_address() -> None:
    """A client that sent invalid requests on new connections got most of the loop."""

    class SlowRefusal(EchoDispatcher):
        def __call__(self, payload: bytes, client: ConnectedClient) -> Frame | Awaitable[Frame]:
            if payload == b"bad":
                ends = perf_counter() + 0.05
                while perf_counter() < ends:
                    pass
            return super().__call__(payload, client)

    async with listening(dispatcher=SlowRefusal()) as (listener, observer):
        reader, writer = await connected(listener, GREEDY)
        await echo(reader, writer)
        account(listener, OTHER).charge(0.001)
        started = perf_counter()
        writer.write(framed(b"bad"))
        assert await reader.read() == b""
        assert [reason for reason, _ in observer.closures] == [CloseReason.INVALID_REQUEST]
        assert account(listener).throttled_until > started + 0.04
        writer.close()


async def test_incomplete_frame_is_charged_to_its_address() -> None:
    async with listening() as (listener, _):
        reader, writer = await connected(listener, GREEDY)
        await echo(reader, writer)
        before = account(listener).throttled_until
        writer.write(framed(bytes(3_000_000))[:2_000_000])
        # The throttle time of a client that is alone grows by what it is charged.
        await eventually(lambda: account(listener).throttled_until > before + 1_000_000 * BYTE_SECONDS)
        writer.close()


async def test_tls_handshake_is_charged_even_if_the_client_never_completes_it(tmp_path: Path) -> None:
    properties = {**tls_properties(tmp_path, CertificateAuthority()), "listener.security.protocol.map": "ADMIN:SSL"}
    security = NodeSecurity(node_settings("127.0.0.1:2181", 1, properties), ScramUsers())
    async with listening(tls=security.tls) as (listener, observer):
        reader, writer = await connected(listener, GREEDY)
        opened = account(listener).charged_at
        writer.write(client_hello())
        assert await reader.read(1)
        assert account(listener).charged_at > opened
        assert not observer.open
        writer.close()


@pytest.mark.usefixtures("never_idle")
async def test_stop_closes_connections_that_are_not_open() -> None:
    async with listening() as (listener, observer):
        charge(listener, 1e3)
        reader, writer = await connected(listener, GREEDY)
        other = await connected(listener, OTHER)
        await echo(*other)
        await listener.stop(1.0)
        assert await reader.read() == b""
        assert GREEDY not in {client.host for client in observer.open}
        writer.close()
        other[1].close()
