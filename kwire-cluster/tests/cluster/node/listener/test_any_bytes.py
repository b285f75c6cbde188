"""Malformed frames get a response or close their connection with a log line, and affect no other connection."""

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
from kwire_cluster.node.listener.connection_limits import CloseReason
from tests.cluster.node.nodes import new_root, nodes
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

FRAMES = 10_000
CLIENTS = 32


def valid_frames() -> list[bytes]:
    """Return frames of every request of the dialect, in every version."""
    declared = [(cls, version) for cls in every("kip4") if describe(cls).kind == "request" for version in cls.versions]
    found: list[bytes] = []

    @settings(max_examples=3, phases=[Phase.generate])
    @given(st.data())
    def take(data: st.DataObject) -> None:
        for cls, version in declared:
            message = data.draw(messages(cls, version=version))
            found.append(frame.encode_request(message, version=version, correlation_id=1, client_id="fuzz"))

    take()
    return found


def mutated(frames: list[bytes], chance: random.Random) -> bytes:
    """Return a frame with bytes changed, removed, or inserted, and often its size corrected; or random bytes."""
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


def needs_reaction(data: bytes) -> bool:
    """Return whether the node must react: the frame is complete, or its size is invalid."""
    if len(data) < 4:
        return False
    [size] = struct.unpack_from(">i", data)
    return bool(size < 0 or size > 100 * 1024 * 1024 or len(data) >= 4 + size)


class Bystander:
    """A connection that sends ApiVersions requests continuously, and measures the CPU time until each response."""

    def __init__(self) -> None:
        self.responses = 0
        self.slowest = 0.0
        self.stopped = False

    async def send_requests(self, node: Node) -> None:
        request = frame.encode_request(ApiVersionsRequest(), version=0, correlation_id=9, client_id="bystander")
        reader, writer = await asyncio.open_connection(node.host, node.port)
        while not self.stopped:
            started = time.process_time()
            writer.write(request)
            response = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            self.slowest = max(self.slowest, time.process_time() - started)
            assert response[:4] == (9).to_bytes(4, "big")
            assert kwire.decode(ApiVersionsResponse, response[4:], version=0).error_code == 0
            self.responses += 1
            await asyncio.sleep(0.02)
        writer.close()


async def send_bytes(node: Node, data: bytes) -> tuple[str, str]:
    """Return our address, and what happened to the connection: answered, closed, or left by us."""
    reader, writer = await asyncio.open_connection(node.host, node.port)
    host, port = writer.get_extra_info("sockname")
    try:
        writer.write(data)
        if not needs_reaction(data):
            return f"{host}:{port}", "left"
        async with asyncio.timeout(60):
            try:
                response = await reader.read(1)
            except ConnectionResetError:
                response = b""
        return f"{host}:{port}", "answered" if response else "closed"
    finally:
        writer.close()


async def test_ten_thousand_malformed_frames(server: EmbeddedZooKeeper) -> None:
    chance = random.Random(5)
    frames = valid_frames()
    assert len(frames) > 40
    outcomes: list[tuple[str, str]] = []

    async def client(node: Node) -> None:
        outcomes.extend([await send_bytes(node, mutated(frames, chance)) for _ in range(FRAMES // CLIENTS + 1)])

    with structlog.testing.capture_logs() as events:
        async with nodes(await new_root(server), 1, connections=10_000) as [node]:
            bystander = Bystander()
            observing = asyncio.create_task(bystander.send_requests(node))
            async with asyncio.TaskGroup() as group:
                for _ in range(CLIENTS):
                    group.create_task(client(node))
            bystander.stopped = True
            await observing
            assert bystander.responses > 20
            assert bystander.slowest < 5

            # The node is responsive afterwards.
            after = Bystander()
            observing = asyncio.create_task(after.send_requests(node))
            await eventually(lambda: after.responses >= 5)
            after.stopped = True
            await observing
            assert after.slowest < 5
            assert node.metrics.faults == 0, [event for event in events if event["event"] == "request failed"]
            assert node.metrics.connections <= 2

    assert len(outcomes) >= FRAMES
    closed = node.metrics.closed
    assert closed.keys() <= {CloseReason.INVALID_FRAME, CloseReason.INVALID_REQUEST, CloseReason.DISCONNECTED}
    assert closed.total() >= sum(outcome == "closed" for _, outcome in outcomes)
    lines = [event for event in events if event["event"] == "connection closed"]
    assert all(event["detail"] for event in lines)
    assert {event["reason"] for event in lines} <= closed.keys()
    assert 0 < len(lines) + sum(event.get("skipped", 0) for event in lines) <= closed.total()
    assert {outcome for _, outcome in outcomes} == {"answered", "closed", "left"}
