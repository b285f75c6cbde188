"""A server of asyncio streams that ends with its test."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kwire._util.light_loop import running_light_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


@asynccontextmanager
async def stream_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Serve connections to a free port, which is returned, while the block runs; then close all of them.

    What outlived the event loop would fail a later test as an unclosed transport. `serve` must end when its connection
    does. In a light loop, the server runs in a thread with an event loop of asyncio.
    """
    if running_light_loop() is None:
        async with _served_here(serve) as port:
            yield port
        return
    with asyncio.Runner() as runner, ThreadPoolExecutor(1) as thread:
        loop = runner.get_loop()
        server = _served_here(serve)
        running = thread.submit(loop.run_forever)
        try:
            yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            running.result()


@asynccontextmanager
async def _served_here(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
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
