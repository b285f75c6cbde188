"""Responses that a server, a proxy, or another program malforms: an error of the request, and a new connection."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.zookeeper import connect
from kwire_cluster.zookeeper.errors import ConnectionLost, MalformedResponse, ServerError, StoreError
from kwire_cluster.zookeeper.wire_format import LONGEST_RESPONSE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Response = Callable[[int], bytes]
"""Returns the bytes of a response by the transaction id of the request."""

STAT = bytes(68)
PING, CLOSE = 11, -11
"""Operation codes of requests that the server answers well."""


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def response(xid: int, body: bytes = b"", error: int = 0) -> bytes:
    return framed(struct.pack(">iqi", xid, 1, error) + body)


def names(count: int, *texts: bytes) -> bytes:
    return struct.pack(">i", count) + b"".join(struct.pack(">i", len(text)) + text for text in texts) + STAT


class Server:
    """A server that answers the requests of sessions with the same form of response.

    Attributes:
        connections: number of connections.
    """

    def __init__(self, form: Response) -> None:
        self.connections = 0
        self.form = form

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await _read(reader)
            writer.write(framed(struct.pack(">iiqi", 0, 4000, 1, 16) + bytes(17)))
            while True:
                xid, code = struct.unpack(">ii", (await _read(reader))[:8])
                if code == CLOSE:
                    writer.close()
                elif code == PING:
                    writer.write(response(-2))
                else:
                    writer.write(self.form(xid))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self.serve, "127.0.0.1")
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()


async def _read(reader: asyncio.StreamReader) -> bytes:
    [length] = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


INVALID: dict[str, Response] = {
    "negative length": lambda _: struct.pack(">i", -5),
    "length above the limit": lambda _: struct.pack(">i", LONGEST_RESPONSE + 1),
    "no content": lambda _: framed(b""),
    "part of a header": lambda _: framed(bytes(15)),
    "other transaction": lambda xid: response(xid + 77),
    "unknown error": lambda xid: response(xid, error=-4242),
    "no body": response,
    "huge count": lambda xid: response(xid, names(2**31 - 1)),
    "negative count": lambda xid: response(xid, names(-5)),
    "null name": lambda xid: response(xid, struct.pack(">ii", 1, -1) + STAT),
    "empty name": lambda xid: response(xid, names(1, b"")),
    "path as a name": lambda xid: response(xid, names(1, b"a/b")),
    "not UTF-8": lambda xid: response(xid, names(1, b"\xff\xfe")),
    "HTTP": lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("form", INVALID.values(), ids=INVALID)
async def test_invalid_response_fails_its_request(form: Response) -> None:
    server = Server(form)
    async with server.running() as address, asyncio.timeout(20):
        store = await connect(address, session_timeout=4)
        for attempt in range(1, 3):
            with pytest.raises(MalformedResponse, match="/topics: the response of ZooKeeper cannot be read") as failed:
                await store.children("/topics")
            assert failed.value.problem
            assert server.connections <= attempt  # it does not reconnect by itself
        server.form = lambda xid: response(xid, names(2, b"b", b"a"))
        assert await store.children("/topics") == ["a", "b"]
        await store.close()


async def test_large_responses_are_read() -> None:
    topics = sorted(b"topic-%0100d" % number for number in range(30_000))
    async with Server(lambda xid: response(xid, names(len(topics), *topics))).running() as address:
        store = await connect(address)
        assert [name.encode() for name in await store.children("/topics")] == topics
        await store.close()


async def test_random_responses_never_hang() -> None:
    random = Random("responses")

    def form(xid: int) -> bytes:
        content = bytearray(response(xid, names(2, b"first", b"second")))
        for _ in range(random.randint(1, 3)):
            content[random.randrange(4, len(content))] = random.choice((0, 1, 127, 128, 255))
        return bytes(content)

    async with Server(form).running() as address, asyncio.timeout(60):
        store = await connect(address, session_timeout=4)
        outcomes: list[type] = []
        for _ in range(150):
            try:
                outcomes.append(type(await store.children("/topics")))
            except StoreError as error:
                outcomes.append(type(error))
        await store.close()
    assert MalformedResponse in outcomes
    assert set(outcomes) <= {MalformedResponse, ConnectionLost, ServerError, list, *StoreError.__subclasses__()}
