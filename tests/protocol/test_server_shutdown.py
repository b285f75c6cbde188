"""`close_server` leaks no connection, at any stage of its setup."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kwire.protocol.server_shutdown import close_server


class RecordingProtocol(asyncio.Protocol):
    """Record the transport of each connection."""

    def __init__(self, transports: list[asyncio.Transport]) -> None:
        self._transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transports.append(transport)


@pytest.mark.parametrize("iterations", range(6))
async def test_accepted_connection_is_made_or_reset(iterations: int) -> None:
    """Close the server some loop iterations after the client connected; asyncio needs three to set a connection up."""
    loop = asyncio.get_running_loop()
    errors: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: errors.append(context))
    transports: list[asyncio.Transport] = []
    server = await loop.create_server(lambda: RecordingProtocol(transports), "127.0.0.1")
    with socket.create_connection(server.sockets[0].getsockname()[:2], timeout=60) as client:
        for _ in range(iterations):
            await asyncio.sleep(0)
        await close_server(server)
        made = len(transports)
        for transport in transports:
            transport.close()
        try:
            assert await asyncio.to_thread(client.recv, 1) == b""
        except ConnectionResetError:
            assert not made
    assert len(transports) == made
    assert not errors


async def test_server_of_a_loop_without_readers_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop of Windows does not implement `remove_reader`."""

    def remove_reader(_: int) -> bool:
        raise NotImplementedError

    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, "127.0.0.1")
    monkeypatch.setattr(loop, "remove_reader", remove_reader)
    await close_server(server)
    assert not server.is_serving()


async def test_server_may_be_closed_twice() -> None:
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1")
    await close_server(server)
    await close_server(server)
    assert not server.is_serving()
