"""Connections: unfinished requests have deadlines and never keep out clients with a token; later requests are fast."""

from __future__ import annotations

import asyncio
import socket
import time
from http.client import HTTPConnection
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import uvicorn

from kwire.terminal.cluster import ClusterChoice
from kwire_admin.http import application as application_module
from kwire_admin.http import connections
from kwire_admin.http.access import HttpRole
from kwire_admin.http.application import application
from kwire_admin.http.change_feed import ChangeFeed
from kwire_admin.http.connections import MAX_CONNECTIONS
from tests.eventually import eventually, eventually_sync
from tests.http.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from kwire.testing import FakeCluster

TOKEN = "reader-0123456789abcdef"
UNFINISHED_HEAD = b"GET /api/v1/topics/list HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
UNFINISHED_BODY = (
    b"POST /api/v1/topics/create HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n{"
)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    file = tmp_path / "tokens.toml"
    file.write_text(f'[tokens.alice]\nrole = "read"\ntoken = "{TOKEN}"\n')
    file.chmod(0o600)
    return file


@pytest.fixture
def sockets() -> Iterator[list[socket.socket]]:
    opened: list[socket.socket] = []
    yield opened
    for connection in opened:
        connection.close()


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        return connection.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_later_requests_of_a_connection_take_no_longer_than_connections_of_their_own(cluster: FakeCluster) -> None:
    """With Nagle's algorithm, the body of a response waits for the client's delayed acknowledgment of the head."""
    with ServerProcess(cluster.bootstrap) as server:
        kept = HTTPConnection(urlsplit(server.url).netloc)
        times: dict[bool, list[float]] = {True: [], False: []}
        for number in range(40):
            is_kept = number % 2 == 0
            connection = kept if is_kept else HTTPConnection(urlsplit(server.url).netloc)
            started = time.perf_counter()
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            times[is_kept].append(time.perf_counter() - started)
            if not is_kept:
                connection.close()
        kept.close()
    assert median(times[True]) < 2 * median(times[False])


def test_unfinished_heads_do_not_keep_out_clients_with_a_token(
    cluster: FakeCluster, tokens: Path, sockets: list[socket.socket]
) -> None:
    with ServerProcess(cluster.bootstrap, "--tokens", tokens, token=TOKEN) as server:
        url = urlsplit(server.url)
        for _ in range(MAX_CONNECTIONS + 8):
            sockets.append(socket.create_connection((url.hostname, url.port)))
            sockets[-1].sendall(UNFINISHED_HEAD)
        assert server.get("/api/v1/topics/list").status == 200
        assert server.get("/", Authorization="").status == 200
        eventually_sync(lambda: is_closed(sockets[0]), "the stranger that opened first is closed")


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster) -> AsyncIterator[int]:
    """Run a server whose deadlines have passed almost at once, and return its port."""
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.2)
    monkeypatch.setattr(application_module, "BODY_TIMEOUT_S", 0.2)
    feed = ChangeFeed(cluster.bootstrap, 1.0)
    app = application(ClusterChoice(None, cluster.bootstrap), feed, anonymous=HttpRole.CHANGE)
    config = uvicorn.Config(app, http=connections.HttpConnection, log_config=None, ws="none")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    await eventually(lambda: server.started, "the server listens")
    yield listener.getsockname()[1]
    server.should_exit = True
    await serving
    await feed.close()


async def test_head_that_is_not_finished_ends_the_connection(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(UNFINISHED_HEAD)
    assert await reader.read() == b""
    writer.close()


async def test_a_byte_now_and_then_does_not_extend_the_deadline(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + UNFINISHED_HEAD)
    response = await reader.readuntil(b'{"status":"ok"}')
    assert response.startswith(b"HTTP/1.1 200")
    end = asyncio.create_task(reader.read())
    while not end.done():
        writer.write(b"x")
        await asyncio.sleep(0.01)
    assert end.exception() is not None or end.result() == b""
    writer.close()


async def test_body_that_is_not_finished_is_408(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(UNFINISHED_BODY)
    response = await reader.read()
    assert response.startswith(b"HTTP/1.1 408")
    assert b"the body was not received within 0.2 s" in response
    writer.close()


async def test_polling_ends_after_the_last_reader(monkeypatch: pytest.MonkeyPatch, cluster: FakeCluster) -> None:
    monkeypatch.setattr("kwire_admin.http.change_feed.READER_TIMEOUT_S", 0.05)
    feed = ChangeFeed(cluster.bootstrap, 0.02)
    stream = feed.stream(None)
    first = await anext(stream)
    await stream.aclose()
    await eventually(lambda: feed._task is None, "polling ends")
    again = feed.stream(first.split()[1])
    position = (await anext(again)).split()[1]
    assert position.partition("-")[0] != first.split()[1].partition("-")[0], "what happened meanwhile is not known"
    await again.aclose()
    await feed.close()


async def test_connections_that_have_authenticated_are_not_replaced(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    writer.write(request)
    await reader.readuntil(b'{"status":"ok"}')
    other_reader, other_writer = await asyncio.open_connection("127.0.0.1", port)
    other_writer.write(request)
    assert (await other_reader.read()).startswith(b"HTTP/1.1 503")
    writer.write(request)
    assert (await reader.readuntil(b'{"status":"ok"}')).startswith(b"HTTP/1.1 200")
    for end in (writer, other_writer):
        end.close()
