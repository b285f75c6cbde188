"""Any bytes on the port: an answer, or a closed connection with a line in the log; nobody else feels it."""

from __future__ import annotations

import asyncio
import random
import struct
import time
from typing import TYPE_CHECKING

import structlog
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kwire
from kwire import frame
from kwire.declare.introspect import describe
from kwire.messages import every
from kwire.messages.kip584.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.testing.strategies import messages
from tests.cluster.node.nodes import new_root, nodes, run, until

if TYPE_CHECKING:
    from kwire.cluster.node.node import Node
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

FRAMES = 10_000
AT_ONCE = 32


def seeds() -> list[bytes]:
    """Whole frames of every request of the dialect, in every version."""
    served = [(cls, version) for cls in every("kip4") if describe(cls).kind == "request" for version in cls.versions]
    found: list[bytes] = []

    @settings(max_examples=3, phases=[Phase.generate])
    @given(st.data())
    def take(data: st.DataObject) -> None:
        for cls, version in served:
            message = data.draw(messages(cls, version=version))
            found.append(frame.encode_request(message, version=version, correlation_id=1, client_id="fuzz"))

    take()
    return found


def mutated(frames: list[bytes], chance: random.Random) -> bytes:
    """One of them with bytes changed, taken out or put in, its size repaired or not; or nothing but noise."""
    if chance.random() < 0.1:
        return chance.randbytes(chance.randrange(1, 60))
    data = bytearray(chance.choice(frames))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data))
        change = chance.randrange(4)
        if change == 0:
            data[at] = chance.randrange(256)
        elif change == 1:
            del data[at : at + chance.randrange(1, 5)]
        elif change == 2:
            data[at:at] = chance.randbytes(chance.randrange(1, 5))
        else:
            data[at : at + 4] = chance.choice((b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"\x80\0\0\0"))
        if not data:
            data = bytearray(b"\0")
    if chance.random() < 0.7:
        data[:4] = struct.pack(">i", max(len(data) - 4, 0))
    return bytes(data)


def first_frame_is_whole(data: bytes) -> bool:
    """Whether the node knows what to do: it has a whole frame, or a size that it does not take."""
    if len(data) < 4:
        return False
    [size] = struct.unpack_from(">i", data)
    return bool(size < 0 or size > 100 * 1024 * 1024 or len(data) >= 4 + size)


class Bystander:
    """A connection that asks for versions all the time, and measures."""

    def __init__(self) -> None:
        self.answers = 0
        self.slowest = 0.0
        self.over = False

    async def ask(self, node: Node) -> None:
        asked = frame.encode_request(ApiVersionsRequest(), version=0, correlation_id=9, client_id="bystander")
        reader, writer = await asyncio.open_connection(node.host, node.port)
        while not self.over:
            begun = time.perf_counter()
            writer.write(asked)
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            self.slowest = max(self.slowest, time.perf_counter() - begun)
            assert answer[:4] == (9).to_bytes(4, "big")
            assert kwire.decode(ApiVersionsResponse, answer[4:], version=0).error_code == 0
            self.answers += 1
            await asyncio.sleep(0.02)
        writer.close()


async def offer(node: Node, data: bytes) -> tuple[str, str]:
    """Our address, and what became of the connection: answered, closed, or left by us."""
    reader, writer = await asyncio.open_connection(node.host, node.port)
    host, port = writer.get_extra_info("sockname")
    try:
        writer.write(data)
        if not first_frame_is_whole(data):
            return f"{host}:{port}", "left"
        async with asyncio.timeout(20):
            try:
                answer = await reader.read(1)
            except ConnectionResetError:
                answer = b""
        return f"{host}:{port}", "answered" if answer else "closed"
    finally:
        writer.close()


def test_ten_thousand_frames_that_nobody_meant(server: EmbeddedZooKeeper) -> None:
    chance = random.Random(5)
    frames = seeds()
    assert len(frames) > 40

    async def scene() -> None:
        outcomes: list[tuple[str, str]] = []

        async def client(node: Node) -> None:
            outcomes.extend([await offer(node, mutated(frames, chance)) for _ in range(FRAMES // AT_ONCE + 1)])

        async with nodes(await new_root(server), 1, connections=10_000) as [node]:
            bystander = Bystander()
            standing = asyncio.create_task(bystander.ask(node))
            async with asyncio.TaskGroup() as group:
                for _ in range(AT_ONCE):
                    group.create_task(client(node))
            bystander.over = True
            await standing
            assert bystander.answers > 20
            assert bystander.slowest < 5

            # And it answers in time, now that it is over.
            after = Bystander()
            standing = asyncio.create_task(after.ask(node))
            await until(lambda: after.answers >= 5, "it answers")
            after.over = True
            await standing
            assert after.slowest < 5
            assert node.metrics.faults == 0, [event for event in events if event["event"] == "a request failed"]
            assert node.metrics.connections <= 2

        assert len(outcomes) >= FRAMES
        told = {event["peer"]: event["reason"] for event in events if event["event"] == "connection closed"}
        assert all(told.values())
        untold = [peer for peer, outcome in outcomes if outcome == "closed" and peer not in told]
        assert not untold, f"{len(untold)} connections were closed without a word"
        kinds = {outcome for _, outcome in outcomes}
        assert kinds == {"answered", "closed", "left"}

    with structlog.testing.capture_logs() as events:
        run(scene())
