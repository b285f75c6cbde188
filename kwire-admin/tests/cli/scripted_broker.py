"""A TCP server that answers frames as a test says, and a client that sends bytes to it."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import contextmanager
from struct import pack
from typing import TYPE_CHECKING, Any

from kwire.frame import Splitter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[[bytes], bytes]


def sized(payload: bytes) -> bytes:
    return pack(">i", len(payload)) + payload


@contextmanager
def scripted_broker(answer: Answer) -> Iterator[str]:
    """Serve on a free port and yield the address. `answer` returns the frame to send for the payload of a request."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            splitter = Splitter()
            while data := self.request.recv(1 << 16):
                for payload in splitter.feed(data):
                    self.request.sendall(answer(payload))

    with raw_server(Handler) as address:
        yield address


@contextmanager
def raw_server(handler: Any) -> Iterator[str]:
    """Serve connections with a handler of `socketserver` and yield the address."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield "{}:{}".format(*server.server_address[:2])
    finally:
        server.shutdown()
        server.server_close()


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def receive_frame(connection: socket.socket) -> bytes:
    """Return the payload of the next frame."""
    (size,) = (int.from_bytes(receive(connection, 4), "big"),)
    return receive(connection, size)


def receive(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = connection.recv(size - len(found))
        assert more, f"the connection ended after {len(found)} of {size} bytes"
        found += more
    return found
