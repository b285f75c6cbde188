"""A relay forwards bytes unchanged, shows them to an observer, and ends connections as their peers do."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from kwire.client.relay import Relay
from kwire.protocol import ConnectFailed, Endpoint
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Observed:
    """Records what an observer is called with."""

    def __init__(self) -> None:
        self.from_client = bytearray()
        self.from_server = bytearray()
        self.failures: list[ConnectFailed] = []
        self.has_ended = False

    def forwarded_from_client(self, data: bytes) -> None:
        self.from_client += data

    def forwarded_from_server(self, data: bytes) -> None:
        self.from_server += data

    def connect_failed(self, error: ConnectFailed) -> None:
        self.failures.append(error)

    def ended(self) -> None:
        self.has_ended = True


class Running:
    def __init__(self, relay: Relay, address: Endpoint, observed: list[Observed]) -> None:
        self.relay = relay
        self.address = address
        self.observed = observed

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)


@asynccontextmanager
async def relaying(serve: Serve) -> AsyncIterator[Running]:
    """Relay to a server and close both at the end."""

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_and_close, "127.0.0.1", 0)
    observed: list[Observed] = []

    def observe(_client: Endpoint, broker: Endpoint) -> Observed:
        assert broker == target
        observed.append(Observed())
        return observed[-1]

    target = Endpoint(*server.sockets[0].getsockname()[:2])
    relay = Relay(target, observe)
    try:
        yield Running(relay, await relay.listen("127.0.0.1", 0), observed)
    finally:
        await relay.close()
        server.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def test_bytes_pass_unchanged_and_are_observed() -> None:
    sent = random.Random(1).randbytes(5_000_000)
    async with relaying(echo) as relay:
        reader, writer = await relay.connect()
        writer.write(sent)
        assert await reader.readexactly(len(sent)) == sent
        writer.close()
        [observed] = relay.observed
        await eventually(lambda: observed.has_ended)

    assert observed.from_client == observed.from_server == sent
    assert observed.failures == []


async def test_half_closed_connections_stay_open_in_the_other_direction() -> None:
    async def answer_at_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"received " + await reader.read())

    async with relaying(answer_at_the_end) as relay:
        reader, writer = await relay.connect()
        writer.write(b"everything")
        writer.write_eof()
        assert await reader.read() == b"received everything"
        writer.close()


async def test_connection_that_the_server_closes_is_closed_for_the_client() -> None:
    async def close(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)

    async with relaying(close) as relay:
        reader, writer = await relay.connect()
        writer.write(b"x")
        assert await reader.read() == b""
        writer.close()
        await eventually(lambda: relay.observed[0].has_ended)


async def test_reset_of_the_client_ends_the_connection_to_the_server() -> None:
    ended = asyncio.Event()

    async def wait_for_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await echo(reader, writer)
        finally:
            ended.set()

    async with relaying(wait_for_end) as relay:
        reader, writer = await relay.connect()
        writer.write(b"x")
        await reader.readexactly(1)
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        await asyncio.wait_for(ended.wait(), 20)
        await eventually(lambda: relay.observed[0].has_ended)


async def test_unreachable_server_is_reported_and_closes_the_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        target = Endpoint(*unused.getsockname()[:2])
    observed = Observed()
    relay = Relay(target, lambda _client, _broker: observed)
    address = await relay.listen("127.0.0.1", 0)

    reader, writer = await asyncio.open_connection(*address)
    assert await reader.read() == b""
    writer.close()
    await eventually(lambda: observed.has_ended)
    await relay.close()

    [error] = observed.failures
    assert error.endpoint == target
    assert isinstance(error, ConnectionError)


async def test_close_ends_open_and_new_connections() -> None:
    async with relaying(echo) as relay:
        connections = [await relay.connect() for _ in range(20)]  # some are not accepted yet
        await relay.relay.close()
        for reader, writer in connections:
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()
        assert all(observer.has_ended for observer in relay.observed)
        with pytest.raises(OSError, match="Connect call failed"):
            await relay.connect()
