"""A server of asyncio streams that ends with its test."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


@asynccontextmanager
async def stream_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Serve connections to a free port, which is returned, while the block runs; then close all of them.

    What outlived the event loop would fail a later test as an unclosed transport. `serve` must end when its connection
    does.
    """
    connections: list[tuple[asyncio.Task[Any], asyncio.StreamWriter]] = []

    async def register(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.append((task, writer))
        await serve(reader, writer)

    server = await asyncio.start_server(register, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for _, writer in connections:
            writer.close()
        for task, writer in connections:
            await asyncio.gather(task, writer.wait_closed(), return_exceptions=True)
