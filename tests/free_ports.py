"""Ports for servers that are started later."""

from __future__ import annotations

import socket
from contextlib import ExitStack

__all__ = ["free_ports"]


def free_ports(count: int) -> list[int]:
    """Return different free ports of 127.0.0.1.

    Each of them has had a connection, and the system does not assign a port to another program while it remembers one
    (TIME_WAIT, about a minute). A server that sets SO_REUSEADDR, as servers of Java and asyncio do, can listen there.
    """
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        for server in listening:
            with socket.create_connection(server.getsockname()) as client:
                server.accept()[0].close()  # the side that closes first keeps the port
                client.recv(1)
        return [int(server.getsockname()[1]) for server in listening]
