"""The end of an asyncio server, for the two of ours.

Rule of this file: a connection that the kernel has already handed over is one of the server's, and is there to be ended
like the others when the server has closed. ``asyncio.Server.close`` alone leaves it out
(https://github.com/python/cpython/issues/109564): closed between a connection's accept and its transport, its socket is
never closed; closed a moment later, the connection is made on a server that has ended, and nobody ends it.
"""

from __future__ import annotations

import asyncio


async def close_server(server: asyncio.Server) -> None:
    """Accept nothing more; every connection that was accepted has been made when this returns.

    ``connection_made`` has then been called for each of them. What waits in the backlog is reset. May be called again.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    await asyncio.sleep(0)  # a connection that was accepted gets its transport in this turn of the loop
    await asyncio.sleep(0)  # and is made in this one
    server.close()
