"""Orderly shutdown of an asyncio server.

`asyncio.Server.close` alone leaks connections that were accepted just before
(https://github.com/python/cpython/issues/109564): a connection closed between its accept and the creation of its
transport never closes its socket, and one created later belongs to a server that has already closed.
"""

from __future__ import annotations

import asyncio
import contextlib


async def close_server(server: asyncio.Server) -> None:
    """Stop accepting connections and wait until every accepted one is set up.

    When this returns, `connection_made` was called for each accepted connection, so the caller can close them all.
    Connections in the backlog are reset. Closing a server twice is allowed.
    """
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # the event loop of Windows has no readers to remove
        for listening in server.sockets:
            loop.remove_reader(listening.fileno())
    await asyncio.sleep(0)  # the transport of an accepted connection is created in this iteration of the loop
    await asyncio.sleep(0)  # and connection_made is called in this one
    server.close()
