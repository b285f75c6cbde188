"""Servers that end connections anywhere, leave requests without a response, or lie about the session."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from kwire_cluster.zookeeper import Create, Credentials, WatchEvent, WatchEventKind, connect
from kwire_cluster.zookeeper.errors import (
    ConnectionLost,
    MalformedResponse,
    SessionExpired,
    StoreClosed,
    StoreError,
    ZooKeeperAuthenticationFailed,
)
from tests.cluster.zookeeper.test_invalid_responses import framed, names, response
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kwire_cluster.zookeeper.zookeeper_store import ZooKeeperStore

PING, AUTH, CLOSE, CHILDREN = 11, 100, -11, 8


class UnreliableServer:
    """A server with one session.

    Attributes:
        cut: number of bytes after which the next connections end; None for no end.
        answers: false if it answers only handshakes and pings.
        body: the body of its responses.
        timeout_ms: the session timeout of the next handshakes.
        session_id: the session of the next handshakes.
        auth_error: the error of the next credentials.
        connections: the number of connections.
        credentials: the credentials that it has received.
        requests: the operation codes that it has received, except for pings.
    """

    def __init__(self) -> None:
        self.cut: int | None = None
        self.answers = True
        self.body = names(1, b"child")
        self.timeout_ms = 4000
        self.session_id = 1
        self.auth_error = 0
        self.connections = 0
        self.credentials: list[bytes] = []
        self.requests: list[int] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1")
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        left = self.cut
        try:
            request = await _read(reader)
            answer = framed(struct.pack(">iiqi", 0, self.timeout_ms, self.session_id, 16) + bytes(17))
            while True:
                writer.write(answer if left is None else answer[:left])
                if left is not None:
                    left -= len(answer)
                    if left <= 0:
                        break
                request = await _read(reader)
                xid, code = struct.unpack_from(">ii", request)
                if code == CLOSE:
                    break
                answer = self._answer(xid, code, request)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _answer(self, xid: int, code: int, request: bytes) -> bytes:
        if code == PING:
            return response(-2)
        if code == AUTH:
            self.credentials.append(request[12:])
            return response(-4, error=self.auth_error)
        self.requests.append(code)
        return response(xid, self.body) if self.answers else b""


async def _read(reader: asyncio.StreamReader) -> bytes:
    [length] = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


async def _disconnect(store: ZooKeeperStore) -> None:
    """End the connection of a session, which reconnects at once."""
    states: list[str] = []
    remove = store.listen(states.append)
    store._writer.transport.abort()  # type: ignore[union-attr]  # the connection of a connected session
    await eventually(lambda: states)
    remove()


async def test_connection_that_ends_at_any_byte_costs_one_request() -> None:
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(60):
        store = await connect(address, credentials=[Credentials("digest", "user:secret")])
        for cut in range(1, 130, 8):
            server.cut = cut
            await _disconnect(store)
            seen: list[WatchEvent] = []
            waiting = [store.children("/topics", seen.append) for _ in range(300)]
            connections = server.connections
            await eventually(lambda: server.connections >= connections + 2)  # noqa: B023  # called in this iteration
            server.cut = None
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(one) for one in outcomes} <= {list, ConnectionLost}
            assert await store.children("/topics") == ["child"]
            assert seen in ([], [WatchEvent(WatchEventKind.LOST, "/topics")])
        assert set(server.credentials) == {struct.pack(">i6si11s", 6, b"digest", 11, b"user:secret")}
        assert len(server.credentials) > 16  # with each connection
        await store.close()


async def test_request_without_response_ends_although_pings_are_answered() -> None:
    server = UnreliableServer()
    server.timeout_ms = 600
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address)
        server.answers = False
        for _ in range(2):
            with pytest.raises(ConnectionLost):
                await store.children("/topics")
        server.answers = True
        assert await store.children("/topics") == ["child"]
        assert server.requests == [CHILDREN] * 3  # none was repeated
        await store.close()


async def test_other_session_is_not_taken_for_the_own() -> None:
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address)
        for session_id in (2, 0, -1):
            server.session_id = session_id
            store._writer.transport.abort()  # type: ignore[union-attr]  # its connection ends
            connections = server.connections
            await eventually(lambda: server.connections >= connections + 2)  # noqa: B023  # called in this iteration
            assert (store.state, store.session_id) == ("suspended", 1)
            server.session_id = 1
            assert await store.children("/topics") == ["child"]
        await store.close()


@pytest.mark.parametrize("fault", ["expired", "rejected"])
async def test_session_that_ends_in_a_handshake_fails_all_requests(fault: str) -> None:
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address, credentials=[Credentials("digest", "user:secret")])
        error: type[StoreError] = SessionExpired if fault == "expired" else ZooKeeperAuthenticationFailed
        server.answers = False
        requests = [store.children("/topics") for _ in range(1000)]
        await eventually(lambda: len(server.requests) == 200)
        if fault == "expired":
            server.timeout_ms = 0
        else:
            server.auth_error = -115
        store._writer.transport.abort()  # type: ignore[union-attr]  # its connection ends
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        assert [type(one) for one in outcomes] == [ConnectionLost] * 200 + [error] * 800
        with pytest.raises(error):
            await store.children("/topics")
        await store.close()
        assert store.state == "expired"


async def test_timeout_of_the_server_decides_how_long_handshakes_take() -> None:
    server = UnreliableServer()
    server.timeout_ms = 300
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address, session_timeout=3600)
        server.cut = 0  # nothing is answered
        server.answers = False
        lost = store.children("/topics")
        with pytest.raises(ConnectionLost):
            await lost
        server.cut = None
        server.answers = True
        assert await store.children("/topics") == ["child"]
        await store.close()


async def test_next_connection_goes_to_another_server() -> None:
    servers = [UnreliableServer() for _ in range(3)]
    order: list[str] = []
    async with AsyncExitStack() as stack, asyncio.timeout(30):
        addresses = [await stack.enter_async_context(server.running()) for server in servers]
        store = await connect(",".join(addresses))
        for _ in range(40):
            peer = store._writer.get_extra_info("peername")  # type: ignore[union-attr]  # the server of the connection
            order.append(peer)
            await _disconnect(store)
            await store.children("/topics")
        await store.close()
    assert all(one != following for one, following in pairwise(order))


@pytest.mark.parametrize("fault", ["late", "failing"])
async def test_name_server_does_not_cost_the_session(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, lookups = asyncio.get_running_loop(), list[str]()
    look_up = loop.getaddrinfo

    async def fail(host: str, *_: Any, **__: Any) -> Any:
        lookups.append(host)
        if fault == "failing":
            raise socket.gaierror(socket.EAI_AGAIN, "no name server")
        await asyncio.Event().wait()

    server = UnreliableServer()
    server.timeout_ms = 300
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(f"localhost:{address.partition(':')[2]}")

        async def only_addresses(host: str, *rest: Any, **options: Any) -> Any:
            return await (fail if host == "localhost" else look_up)(host, *rest, **options)

        monkeypatch.setattr(loop, "getaddrinfo", only_addresses)
        for _ in range(3):
            await _disconnect(store)
            assert await store.children("/topics") == ["child"]
        assert len(lookups) == 1 if fault == "late" else lookups
        await store.close()
        assert not [task for task in asyncio.all_tasks() if "zookeeper" in task.get_name()]


async def test_cancelled_error_of_a_listener_does_not_end_the_session() -> None:
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address)
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        store.listen(lambda _: cancelled.result())
        await _disconnect(store)
        assert await store.children("/topics") == ["child"]
        await store.close()
    assert len(reported) == 3  # suspended, connected, closed


async def test_invalid_path_fails_a_creation() -> None:
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(30):
        store = await connect(address)
        for server.body in (struct.pack(">i", -1), struct.pack(">i", 0), struct.pack(">i2s", 2, b"no")):
            with pytest.raises(MalformedResponse):
                await store.create("/topic")
        await store.close()


async def test_close_at_any_time_ends_every_request() -> None:
    chance = random.Random("close")
    server = UnreliableServer()
    async with server.running() as address, asyncio.timeout(60):
        for _ in range(40):
            store = await connect(address)
            requests: list[asyncio.Future[Any]] = [store.children("/topics") for _ in range(chance.randrange(600))]
            requests.append(store.multi([Create("/topic")]))
            server.cut = chance.choice((None, 1, 30, 90))
            if chance.random() < 0.5:
                store._writer.transport.abort()  # type: ignore[union-attr]  # its connection ends
            for _ in range(chance.randrange(30)):
                await asyncio.sleep(0)
            chance.choice(requests).cancel()
            closing = [asyncio.create_task(store.close()) for _ in range(2)]
            if chance.random() < 0.5:
                await asyncio.sleep(0)
                closing[0].cancel()
            await asyncio.gather(*closing, return_exceptions=True)
            server.cut = None
            assert all(request.done() for request in requests)
            errors = [one.exception() for one in requests if not one.cancelled() and one.exception() is not None]
            assert {type(error) for error in errors} <= {StoreClosed, ConnectionLost, MalformedResponse}
            with pytest.raises(StoreError):
                await store.children("/topics")
            assert not [task for task in asyncio.all_tasks() if "zookeeper" in task.get_name()]
