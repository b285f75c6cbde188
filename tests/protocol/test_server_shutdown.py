"""A server that closes leaves no connection behind, wherever asyncio was with it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from kwire.protocol.server_shutdown import close_server


class Made(asyncio.Protocol):
    """What a server of these tests knows of a connection."""

    def __init__(self, transports: list[asyncio.Transport]) -> None:
        self._transports = transports

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transports.append(transport)


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_is_made_before_the_server_has_closed_or_is_reset(turns: int) -> None:
    """``turns`` of the loop after the kernel has connected the two, of which asyncio needs three."""

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        faults: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, fault: faults.append(fault))
        transports: list[asyncio.Transport] = []
        server = await loop.create_server(lambda: Made(transports), "127.0.0.1")
        with socket.create_connection(server.sockets[0].getsockname()[:2], timeout=10) as client:
            for _ in range(turns):
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
        assert not faults

    asyncio.run(scene())


def test_closing_again_does_nothing() -> None:
    async def scene() -> None:
        server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1")
        await close_server(server)
        await close_server(server)
        assert not server.is_serving()

    asyncio.run(scene())
