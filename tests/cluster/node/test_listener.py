"""The port: order of answers, bounds on what a peer may use up, and connections that do not feel one another."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from kwire.cluster.node.listener import Limits, Listener, Peer, Refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from kwire.cluster.node.listener import Frame


class Told:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.open: list[Peer] = []
        self.closures: list[tuple[str, str | None]] = []
        self.faults: list[BaseException] = []

    def opened(self, peer: Peer) -> None:
        self.open.append(peer)

    def closed(self, peer: Peer, reason: str | None) -> None:
        self.closures.append((peer.address, reason))

    def failed(self, peer: Peer, error: BaseException) -> None:
        assert peer in self.open
        self.faults.append(error)

    def reasons(self) -> list[str]:
        return [reason for _, reason in self.closures if reason is not None]


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def in_parts(payload: bytes) -> tuple[bytes, ...]:
    frame = framed(payload)
    return frame[:6], frame[6:]


class Work:
    """Answers: ``later`` ones wait until they are let go, ``bad`` ones are refused, ``broken`` ones raise."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = 0

    def __call__(self, payload: bytes, peer: Peer) -> Frame | Awaitable[Frame]:
        peer.client_id = "tester"
        self.begun += 1
        if payload.startswith(b"later"):
            return self._later(payload)
        if payload.startswith(b"bad"):
            raise Refused("a bad request")
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
        if b"refused" in payload:
            raise Refused("refused in the end")
        if b"broken" in payload:
            raise ZeroDivisionError
        return framed(payload)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, *payloads: bytes) -> None:
        self.writer.write(b"".join(map(framed, payloads)))

    async def receive(self) -> bytes:
        async with asyncio.timeout(10):
            [size] = struct.unpack(">i", await self.reader.readexactly(4))
            return await self.reader.readexactly(size)

    async def closed(self) -> bool:
        async with asyncio.timeout(10):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


class Port:
    def __init__(self, limits: Limits) -> None:
        self.told = Told()
        self.work = Work()
        self.listener = Listener(self.work, self.told, limits)
        self.clients: list[Client] = []

    async def client(self) -> Client:
        client = Client(*await asyncio.open_connection(self.listener.host, self.listener.port))
        self.clients.append(client)
        return client

    async def until(self, what: str) -> None:
        async with asyncio.timeout(10):
            while not any(what in reason for reason in self.told.reasons()):  # noqa: ASYNC110 - seen from outside
                await asyncio.sleep(0.01)


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


def test_answers_come_in_the_order_of_their_requests() -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.send(b"one", b"later two", b"three", b"later four", b"five")
            assert await client.receive() == b"one"
            at.work.gate.set()
            assert [await client.receive() for _ in range(4)] == [b"later two", b"three", b"later four", b"five"]

    asyncio.run(scene())


def test_answers_in_parts_keep_the_order() -> None:
    sent = [b"one", b"parts two", b"three", b"later four", b"parts five", b"later six, in parts", b"seven"]

    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.send(*sent)
            assert [await client.receive() for _ in range(3)] == sent[:3]
            at.work.gate.set()
            assert [await client.receive() for _ in range(4)] == sent[3:]
            assert at.told.open[0].sent == len(sent)

    asyncio.run(scene())


def test_large_answers_in_parts_reach_a_slow_reader_whole() -> None:
    """More than any socket holds, so that parts are cut anywhere, one behind the other."""
    sent = [b"parts" + bytes([number]) * 9_000_000 for number in range(3)] + [b"small"]

    async def scene() -> None:
        async with port(Limits(unsent=1 << 20)) as at:
            client = await at.client()
            client.send(*sent)
            for wanted in sent:
                await asyncio.sleep(0.05)
                assert await client.receive() == wanted
            assert not at.told.faults

    asyncio.run(scene())


def test_a_peer_that_leaves_before_an_answer_in_parts_is_no_fault() -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.send(b"one", b"later parts" + bytes(9_000_000), b"parts" + bytes(9_000_000))
            assert await client.receive() == b"one"
            client.writer.transport.abort()
            at.work.gate.set()
            async with asyncio.timeout(10):
                while at.listener.connections:  # noqa: ASYNC110 - seen from outside
                    await asyncio.sleep(0.01)
            assert not at.told.faults

    asyncio.run(scene())


@pytest.mark.parametrize("cut", range(1, 24))
def test_a_frame_may_come_in_any_pieces(cut: int) -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            data = framed(b"hello") + framed(b"") + framed(b"world, again")
            client.writer.write(data[:cut])
            await client.writer.drain()
            await asyncio.sleep(0.005)
            client.writer.write(data[cut:])
            assert [await client.receive() for _ in range(3)] == [b"hello", b"", b"world, again"]

    asyncio.run(scene())


@pytest.mark.parametrize("size", [-1, -(2**31), 1025, 2**31 - 1, 0x48545450])
def test_a_size_that_is_not_allowed_closes_the_connection_and_says_so(size: int) -> None:
    async def scene() -> None:
        async with port(Limits(frame=1024)) as at:
            other, client = await at.client(), await at.client()
            client.send(b"before")
            client.writer.write(struct.pack(">i", size) + b"x" * 100)
            assert await client.receive() == b"before"
            assert await client.closed()
            await at.until(f"a frame of {size} bytes: between 0 and 1024 are allowed")
            other.send(b"unharmed")
            assert await other.receive() == b"unharmed"

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (b"bad", "a bad request"),
        (b"later refused", "refused in the end"),
        (b"broken", "ZeroDivisionError while answering"),
        (b"later broken", "ZeroDivisionError while answering"),
    ],
)
def test_a_request_without_an_answer_ends_its_connection_only(request_: bytes, reason: str) -> None:
    async def scene() -> None:
        async with port() as at:
            at.work.gate.set()
            other, client = await at.client(), await at.client()
            client.send(b"before", request_, b"after")
            assert await client.receive() == b"before"
            assert await client.closed()
            await at.until(reason)
            assert len(at.told.faults) == ("Zero" in reason)
            other.send(b"unharmed")
            assert await other.receive() == b"unharmed"

    asyncio.run(scene())


def test_only_so_many_requests_are_in_flight_and_none_is_lost() -> None:
    async def scene() -> None:
        async with port(Limits(in_flight=4)) as at:
            client = await at.client()
            requests = [b"later %d" % number for number in range(50)]
            client.send(*requests)
            async with asyncio.timeout(20):
                while at.work.begun < 4:  # noqa: ASYNC110 - seen from outside
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert at.work.begun == 4
            at.work.gate.set()
            assert [await client.receive() for _ in requests] == requests

    asyncio.run(scene())


def test_a_peer_that_does_not_read_is_not_read_from_and_loses_nothing_when_it_does() -> None:
    async def scene() -> None:
        async with port(Limits(unsent=2_000_000)) as at:
            client = await at.client()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport, whatever is declared
            client.send(*[b"much"] * 40)
            await asyncio.sleep(0.3)
            assert 2 <= at.work.begun < 20
            client.writer.transport.resume_reading()  # type: ignore[attr-defined]  # as above
            assert [len(await client.receive()) for _ in range(40)] == [1_000_000] * 40

    asyncio.run(scene())


def test_a_peer_that_never_reads_is_cut_off() -> None:
    async def scene() -> None:
        async with port(Limits(unsent=100_000, slow_reader=0.5)) as at:
            client = await at.client()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
            client.send(*[b"much"] * 40)
            await at.until("answers not read for 0.5 s")

    asyncio.run(scene())


def test_half_a_frame_has_its_time_however_often_a_byte_of_it_comes() -> None:
    async def scene() -> None:
        async with port(Limits(half_frame=1.5)) as at:
            client = await at.client()
            client.writer.write(struct.pack(">i", 1000))
            drops = asyncio.create_task(drip(client))
            await at.until("a frame not finished within 1.5 s")
            drops.cancel()

    async def drip(client: Client) -> None:
        while True:
            client.writer.write(b".")
            await asyncio.sleep(0.2)

    asyncio.run(scene())


def test_an_idle_connection_is_closed_and_a_busy_one_is_not() -> None:
    async def scene() -> None:
        async with port(Limits(idle=1.5)) as at:
            idle, waiting = await at.client(), await at.client()
            waiting.send(b"later")
            assert await idle.closed()
            assert at.told.reasons() == ["idle for 1.5 s"]
            at.work.gate.set()
            assert await waiting.receive() == b"later"

    asyncio.run(scene())


def test_one_connection_too_many_is_closed_at_once() -> None:
    async def scene() -> None:
        async with port(Limits(connections=2)) as at:
            first, _, third = await at.client(), await at.client(), await at.client()
            assert await third.closed()
            first.send(b"still here")
            assert await first.receive() == b"still here"
            await at.until("more than 2 connections")

    asyncio.run(scene())


def test_who_leaves_in_the_middle_of_a_frame_is_noted() -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.writer.write(framed(b"hello")[:7])
            await client.writer.drain()
            client.writer.close()
            await at.until("left in the middle of a frame, 7 bytes of it sent")

    asyncio.run(scene())


def test_stopping_answers_what_is_in_flight() -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.send(b"later")
            while not at.work.begun:  # noqa: ASYNC110 - seen from outside
                await asyncio.sleep(0.01)
            stopping = asyncio.create_task(at.listener.stop(grace=5))
            await asyncio.sleep(0.05)
            at.work.gate.set()
            assert await client.receive() == b"later"
            assert await client.closed()
            await stopping
            with pytest.raises(OSError, match="Connect call failed"):
                await at.client()

    asyncio.run(scene())


def test_stopping_does_not_wait_for_ever() -> None:
    async def scene() -> None:
        async with port() as at:
            client = await at.client()
            client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # as above
            client.send(b"later", *[b"much"] * 40)
            await asyncio.sleep(0.1)
            async with asyncio.timeout(3):
                await at.listener.stop(grace=0.2)

    asyncio.run(scene())


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_comes_while_it_stops_is_not_left_behind(turns: int) -> None:
    """However far asyncio has got with it: ``turns`` of the loop after the kernel has connected the two."""

    async def scene() -> None:
        async with port() as at:
            with socket.create_connection((at.listener.host, at.listener.port), timeout=10) as late:
                for _ in range(turns):
                    await asyncio.sleep(0)
                await at.listener.stop()
                try:
                    assert await asyncio.to_thread(late.recv, 1) == b""
                except ConnectionResetError:
                    assert not at.told.open  # it was never accepted
            assert len(at.told.open) == len(at.told.closures)

    asyncio.run(scene())
