"""The listener: order of responses, limits on what a client may occupy, and isolation of connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import urllib.request
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient, InvalidRequest, Limits
from kwire_cluster.node.listener.listener import Listener
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from kwire.protocol.server_connection import Frame


class RecordingObserver:
    """Records the events of a listener."""

    def __init__(self) -> None:
        self.open: list[ConnectedClient] = []
        self.closures: list[tuple[CloseReason | None, str]] = []
        self.faults: list[BaseException] = []

    def opened(self, client: ConnectedClient) -> None:
        self.open.append(client)

    def closed(self, client: ConnectedClient, reason: CloseReason | None, detail: str) -> None:
        assert client in self.open
        self.closures.append((reason, detail))

    def failed(self, client: ConnectedClient, error: BaseException) -> None:
        assert client in self.open
        self.faults.append(error)

    def closed_by_node(self) -> list[tuple[CloseReason, str]]:
        return [(reason, detail) for reason, detail in self.closures if reason is not None]


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def in_parts(payload: bytes) -> tuple[bytes, ...]:
    frame = framed(payload)
    return frame[:6], frame[6:]


class EchoDispatcher:
    """Echoes requests. `later` waits for the gate, `bad` is an invalid request, `broken` raises, `parts` has parts.

    A request has as many elements as `items` says.
    """

    items = 0

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.requests = 0

    def __call__(self, payload: bytes, client: ConnectedClient) -> Frame | Awaitable[Frame]:
        client.client_id = "tester"
        client.items = self.items
        self.requests += 1
        if payload.startswith(b"later"):
            return self._later(payload)
        if payload.startswith(b"bad"):
            raise InvalidRequest("bad request")
        if payload.startswith(b"broken"):
            raise ZeroDivisionError
        if payload.startswith(b"parts"):
            return in_parts(payload)
        if payload.startswith(b"much"):
            return framed(bytes(1_000_000))
        return framed(payload)

    async def _later(self, payload: bytes) -> Frame:
        await self.gate.wait()
        if b"parts" in payload:
            return in_parts(payload)
        if b"invalid" in payload:
            raise InvalidRequest("invalid after all")
        if b"broken" in payload:
            raise ZeroDivisionError
        return framed(payload)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *payloads: bytes) -> None:
        self.writer.write(b"".join(map(framed, payloads)))

    async def receive(self) -> bytes:
        async with asyncio.timeout(60):
            [size] = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def closed(self) -> bool:
        async with asyncio.timeout(60):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


class Port:
    """A listener and its clients."""

    def __init__(self, limits: Limits) -> None:
        self.observer = RecordingObserver()
        self.dispatcher = EchoDispatcher()
        self.listener = Listener(self.dispatcher, self.observer, limits)
        self.clients: list[Client] = []

    async def client(self) -> Client:
        client = Client(*await asyncio.open_connection(self.listener.host, self.listener.port))
        self.clients.append(client)
        return client

    async def barrier(self) -> None:
        """Wait until the listener has processed what it has received."""
        async with asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(self.listener.host, self.listener.port)
            for _ in range(3):
                writer.write(framed(b"barrier"))
                await reader.readexactly(len(framed(b"barrier")))
            self.dispatcher.requests -= 3
            writer.close()

    async def wait_closed(self, reason: CloseReason, detail: str) -> None:
        """Wait until a connection is closed for this reason."""
        await eventually(
            lambda: any(reason is kind and detail in text for kind, text in self.observer.closed_by_node()), detail
        )


@asynccontextmanager
async def port(limits: Limits | None = None) -> AsyncIterator[Port]:
    opened = Port(limits or Limits())
    await opened.listener.start("127.0.0.1")
    try:
        yield opened
    finally:
        for client in opened.clients:
            client.writer.close()
        await opened.listener.stop(grace=1)
        assert not opened.listener.connections


async def test_responses_keep_the_order_of_requests() -> None:
    async with port() as at:
        client = await at.client()
        client.send(b"one", b"later two", b"three", b"later four", b"five")
        assert await client.receive() == b"one"
        at.dispatcher.gate.set()
        assert [await client.receive() for _ in range(4)] == [b"later two", b"three", b"later four", b"five"]


async def test_responses_in_parts_keep_the_order_of_requests() -> None:
    sent = [b"one", b"parts two", b"three", b"later four", b"parts five", b"later six, in parts", b"seven"]
    async with port() as at:
        client = await at.client()
        client.send(*sent)
        assert [await client.receive() for _ in range(3)] == sent[:3]
        at.dispatcher.gate.set()
        assert [await client.receive() for _ in range(4)] == sent[3:]


async def test_slow_reader_receives_large_responses_in_parts() -> None:
    """The parts exceed every socket buffer, so each is sent in several pieces."""
    sent = [b"parts" + bytes([number]) * 9_000_000 for number in range(3)] + [b"small"]
    async with port(Limits(unsent=1 << 20, frame=10_000_000)) as at:
        client = await at.client()
        client.send(*sent)
        for wanted in sent:
            await asyncio.sleep(0.05)
            assert await client.receive() == wanted
        assert not at.observer.faults


async def test_client_may_disconnect_before_a_response_in_parts() -> None:
    async with port() as at:
        client = await at.client()
        client.send(b"one", b"later parts" + bytes(9_000_000), b"parts" + bytes(9_000_000))
        assert await client.receive() == b"one"
        client.writer.transport.abort()
        at.dispatcher.gate.set()
        await eventually(lambda: not at.listener.connections)
        assert not at.observer.faults


@pytest.mark.parametrize("cut", range(1, 24))
async def test_frame_may_arrive_in_pieces(cut: int) -> None:
    async with port() as at:
        client = await at.client()
        data = framed(b"hello") + framed(b"") + framed(b"world, again")
        client.writer.write(data[:cut])
        await client.writer.drain()
        await at.barrier()
        client.writer.write(data[cut:])
        assert [await client.receive() for _ in range(3)] == [b"hello", b"", b"world, again"]


@pytest.mark.parametrize("size", [-1, -(2**31), 1025, 2**31 - 1, 0x48545450])
async def test_invalid_size_closes_the_connection(size: int) -> None:
    async with port(Limits(frame=1024)) as at:
        other, client = await at.client(), await at.client()
        client.send(b"before")
        client.writer.write(struct.pack(">i", size) + b"x" * 100)
        assert await client.receive() == b"before"
        assert await client.closed()
        reason = f"frame of {size} bytes, but between 0 and 1024 are allowed"
        if size == 0x48545450:
            reason = "received HTTP instead of Kafka's protocol"
        await at.wait_closed(CloseReason.INVALID_FRAME, reason)
        other.send(b"unharmed")
        assert await other.receive() == b"unharmed"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_http_client_is_named(method: str) -> None:
    async with port() as at:
        request = urllib.request.Request(f"http://127.0.0.1:{at.listener.port}/", method=method)
        with pytest.raises(OSError):  # noqa: PT011  # the kind depends on the system
            await asyncio.to_thread(
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open, request, timeout=10
            )
        await at.wait_closed(CloseReason.INVALID_FRAME, "received HTTP")


async def test_tls_client_is_named() -> None:
    def connect(port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            ssl.create_default_context().wrap_socket(client, server_hostname="localhost")

    async with port() as at:
        with pytest.raises(OSError):  # noqa: PT011  # the kind depends on the system
            await asyncio.to_thread(connect, at.listener.port)
        await at.wait_closed(CloseReason.INVALID_FRAME, "received TLS")


@pytest.mark.parametrize(
    ("request_", "reason", "detail"),
    [
        (b"bad", CloseReason.INVALID_REQUEST, "bad request"),
        (b"later invalid", CloseReason.INVALID_REQUEST, "invalid after all"),
        (b"broken", CloseReason.REQUEST_FAILED, "ZeroDivisionError while answering"),
        (b"later broken", CloseReason.REQUEST_FAILED, "ZeroDivisionError while answering"),
    ],
)
async def test_failed_request_closes_only_its_connection(request_: bytes, reason: CloseReason, detail: str) -> None:
    async with port() as at:
        at.dispatcher.gate.set()
        other, client = await at.client(), await at.client()
        client.send(b"before", request_, b"after")
        assert await client.receive() == b"before"
        assert await client.closed()
        await at.wait_closed(reason, detail)
        assert len(at.observer.faults) == (reason is CloseReason.REQUEST_FAILED)
        other.send(b"unharmed")
        assert await other.receive() == b"unharmed"


async def test_requests_in_flight_are_limited_and_none_is_lost() -> None:
    async with port(Limits(in_flight=4)) as at:
        client = await at.client()
        requests = [b"later %d" % number for number in range(50)]
        client.send(*requests)
        await eventually(lambda: at.dispatcher.requests >= 4)
        await at.barrier()
        assert at.dispatcher.requests == 4
        at.dispatcher.gate.set()
        assert [await client.receive() for _ in requests] == requests


async def test_reading_pauses_while_a_client_does_not_read() -> None:
    async with port(Limits(unsent=2_000_000)) as at:
        client = await at.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a read transport
        client.send(*[b"much"] * 40)
        await eventually(lambda: at.dispatcher.requests >= 2)
        await at.barrier()
        assert at.dispatcher.requests < 20
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]  # it is a read transport
        assert [len(await client.receive()) for _ in range(40)] == [1_000_000] * 40


async def test_client_that_never_reads_is_disconnected() -> None:
    async with port(Limits(unsent=100_000, unread_responses=0.5)) as at:
        client = await at.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a read transport
        client.send(*[b"much"] * 40)
        await at.wait_closed(CloseReason.UNREAD_RESPONSES, "responses not read for 0.5 s")


async def test_bytes_do_not_extend_the_time_of_an_incomplete_frame() -> None:
    async def send_slowly(client: Client) -> None:
        while True:
            client.writer.write(b".")
            await asyncio.sleep(0.2)

    async with port(Limits(incomplete_frame=1.5)) as at:
        client = await at.client()
        client.writer.write(struct.pack(">i", 1000))
        sending = asyncio.create_task(send_slowly(client))
        await at.wait_closed(CloseReason.INCOMPLETE_FRAME, "frame not completed within 1.5 s")
        sending.cancel()


async def test_idle_connection_is_closed_but_a_waiting_one_is_not() -> None:
    async with port(Limits(idle=1.5)) as at:
        idle, waiting = await at.client(), await at.client()
        waiting.send(b"later")
        assert await idle.closed()
        assert at.observer.closed_by_node() == [(CloseReason.IDLE, "idle for 1.5 s")]
        at.dispatcher.gate.set()
        assert await waiting.receive() == b"later"


async def test_connection_above_the_limit_is_closed() -> None:
    async with port(Limits(connections=2, reserved=0)) as at:
        first, _, third = await at.client(), await at.client(), await at.client()
        assert await third.closed()
        first.send(b"still here")
        assert await first.receive() == b"still here"
        await at.wait_closed(CloseReason.TOO_MANY_CONNECTIONS, "more than 2 connections")


async def test_disconnect_within_a_frame_is_reported() -> None:
    async with port() as at:
        client = await at.client()
        client.writer.write(framed(b"hello")[:7])
        await client.writer.drain()
        client.writer.close()
        await at.wait_closed(CloseReason.DISCONNECTED, "disconnected within a frame, after 7 bytes")


async def test_stop_answers_requests_in_flight() -> None:
    async with port() as at:
        client = await at.client()
        client.send(b"later")
        await eventually(lambda: at.dispatcher.requests)
        stopping = asyncio.create_task(at.listener.stop(grace=5))
        await eventually(lambda: not at.listener.is_listening)
        at.dispatcher.gate.set()
        assert await client.receive() == b"later"
        assert await client.closed()
        await stopping
        with pytest.raises(ConnectionRefusedError):
            await at.client()


async def test_stop_waits_no_longer_than_the_grace_period() -> None:
    async with port() as at:
        client = await at.client()
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is a read transport
        client.send(b"later", *[b"much"] * 40)
        await eventually(lambda: at.dispatcher.requests >= 2)
        async with asyncio.timeout(60):
            await at.listener.stop(grace=0.2)


@pytest.mark.parametrize("turns", range(6))
async def test_connection_accepted_during_stop_is_closed(turns: int) -> None:
    """The connection may be at any stage in asyncio: `turns` of the loop after the kernel has accepted it."""
    async with port() as at:
        with socket.create_connection((at.listener.host, at.listener.port), timeout=60) as late:
            for _ in range(turns):
                await asyncio.sleep(0)
            await at.listener.stop()
            try:
                assert await asyncio.to_thread(late.recv, 1) == b""
            except ConnectionResetError:
                assert not at.observer.open  # it was never accepted
        assert len(at.observer.open) == len(at.observer.closures)


# Limits of all connections together


async def test_unfinished_frames_occupy_a_bounded_amount_of_memory() -> None:
    """The connections that occupy most are closed, and small requests of others are answered."""
    async with port(Limits(memory=200_000, frame=100_000)) as at:
        other = await at.client()
        for _ in range(10):
            client = await at.client()
            client.writer.write(struct.pack(">i", 100_000) + bytes(60_000))
            await client.writer.drain()
            other.send(b"hello")
            assert await other.receive() == b"hello"
        await at.wait_closed(CloseReason.MEMORY, "of 200000 for all connections")
        await eventually(lambda: sum(one.occupied for one in at.listener.connections) <= 200_000 + 200_000 // 16)
        other.send(b"hello")
        assert await other.receive() == b"hello"


async def test_unread_responses_occupy_a_bounded_amount_of_memory() -> None:
    async with port(Limits(memory=5_000_000, unsent=50_000_000)) as at:
        other = await at.client()
        for _ in range(5):
            client = await at.client()
            client.send(*[b"much"] * 20)
            await client.writer.drain()
        await at.wait_closed(CloseReason.MEMORY, "of 5000000 for all connections")
        await eventually(lambda: sum(one.occupied for one in at.listener.connections) <= 5_000_000 * 17 // 16)
        other.send(b"hello")
        assert await other.receive() == b"hello"


async def test_requests_in_progress_occupy_a_bounded_amount_of_memory() -> None:
    """A connection with large requests in progress is not read further."""
    async with port(Limits(unsent=1_000_000)) as at:
        client = await at.client()
        client.send(*[b"later" + bytes(100_000)] * 20)
        await at.barrier()
        assert at.dispatcher.requests == 3
        at.dispatcher.gate.set()
        for _ in range(20):
            assert len(await client.receive()) == 100_005


async def test_requests_in_progress_occupy_more_if_they_have_many_elements() -> None:
    """Requests with 10,000 names of two bytes occupied twenty times what was counted."""
    async with port(Limits(memory=64_000_000)) as at:
        at.dispatcher.items = 100_000
        client = await at.client()
        client.send(b"later")
        await eventually(lambda: [one.occupied for one in at.listener.connections if one.occupied >= 6_400_000])
        at.dispatcher.gate.set()
        assert await client.receive() == b"later"


async def test_one_request_of_the_largest_size_may_be_in_progress() -> None:
    """An UpdateMetadata request with 200,000 partitions was counted as more than all connections may occupy."""
    async with port(Limits(memory=1_000_000, frame=900_000, unsent=10_000_000)) as at:
        client = await at.client()
        client.send(b"later" + bytes(800_000))
        await at.barrier()
        await asyncio.sleep(0)
        at.dispatcher.gate.set()
        assert len(await client.receive()) == 800_005
        at.dispatcher.gate.clear()
        for connection in (client, await at.client()):
            connection.send(b"later" + bytes(800_000))
        await at.wait_closed(CloseReason.MEMORY, "of 1000000 for all connections")


async def test_lost_connection_occupies_nothing() -> None:
    """Callbacks that wait for the share of a connection keep it for some seconds."""
    async with port() as at:
        client = await at.client()
        client.writer.write((2_000_000).to_bytes(4, "big") + bytes(1_000_000))
        await eventually(lambda: [one for one in at.listener.connections if one.occupied >= 1_000_000])
        [connection] = at.listener.connections
        client.writer.transport.abort()
        await eventually(lambda: not at.listener.connections)
        assert connection.occupied == 0


async def test_connections_of_one_address_are_limited() -> None:
    async with port(Limits(connections=10, connections_per_address=2, reserved_per_address=0)) as at:
        first, second, third = [await at.client() for _ in range(3)]
        assert await third.closed()
        await at.wait_closed(CloseReason.TOO_MANY_CONNECTIONS, "more than 2 connections of 127.0.0.1")
        elsewhere = Client(
            *await asyncio.open_connection(at.listener.host, at.listener.port, local_addr=("127.0.0.2", 0))
        )
        at.clients.append(elsewhere)
        for client in (first, second, elsewhere):
            client.send(b"hello")
            assert await client.receive() == b"hello"
        first.writer.close()
        await eventually(lambda: len(at.listener.connections) == 2)
        again = await at.client()
        again.send(b"hello")
        assert await again.receive() == b"hello"
