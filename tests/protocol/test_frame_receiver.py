"""`FrameReceiver`: payloads do not depend on how the stream is read, and its buffer stays small."""

from __future__ import annotations

import tracemalloc
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.protocol.frame_receiver import MIN_BUFFER, SHRINK_AFTER, FrameReceiver


def framed(*payloads: bytes) -> bytes:
    return b"".join(pack(">i", len(payload)) + payload for payload in payloads)


def read(receiver: FrameReceiver, stream: bytes, portion: int) -> list[bytes]:
    """Feed a stream to the receiver, at most `portion` bytes per read."""
    payloads = []
    at = 0
    while at < len(stream):
        buffer = receiver.get_buffer()
        count = min(portion, len(buffer), len(stream) - at)
        buffer[:count] = stream[at : at + count]
        payloads += receiver.buffer_updated(count)
        at += count
    return payloads


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 400))
def test_payloads_do_not_depend_on_read_sizes(payloads: list[bytes], portion: int) -> None:
    assert read(FrameReceiver(), framed(*payloads), portion) == payloads


@pytest.mark.parametrize("portion", [1_000, MIN_BUFFER - 1, MIN_BUFFER, 1 << 20, 1 << 30])
def test_large_and_small_frames_alternate(portion: int) -> None:
    payloads = [bytes([n]) * size for n, size in enumerate([5, 3_000_000, 0, 65_532, 65_536, 1, 1_000_000, 262_140])]
    assert read(FrameReceiver(), framed(*payloads), portion) == payloads


def test_partial_bytes_are_counted() -> None:
    receiver = FrameReceiver()
    assert read(receiver, framed(b"whole") + framed(b"half of it")[:9], 1_000) == [b"whole"]
    assert receiver.partial_bytes == 9


@pytest.mark.parametrize("size", [-1, 101, 0x7FFF_FFFF])
def test_invalid_size_ends_the_stream_after_valid_payloads(size: int) -> None:
    receiver = FrameReceiver(max_size=100)
    assert read(receiver, framed(b"good") + pack(">i", size) + b"rest", 1_000) == [b"good"]
    assert receiver.error is not None
    assert (receiver.error.size, receiver.error.max_size) == (size, 100)
    assert read(receiver, framed(b"too late"), 1_000) == []


def test_claimed_size_alone_allocates_no_memory() -> None:
    tracemalloc.start()
    try:
        receiver = FrameReceiver()
        read(receiver, pack(">i", 100_000_000) + bytes(1_000), 1_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MIN_BUFFER


def test_large_buffer_is_kept_and_released_after_small_frames() -> None:
    receiver = FrameReceiver()
    read(receiver, framed(bytes(4_000_000)), 1 << 20)
    assert len(receiver.get_buffer()) >= 4_000_000
    read(receiver, framed(b"small") * SHRINK_AFTER, 1 << 20)
    read(receiver, framed(b"small"), 1 << 20)
    assert len(receiver.get_buffer()) == MIN_BUFFER


def test_buffer_is_released_between_frames_only() -> None:
    receiver = FrameReceiver()
    payloads = [b"x" * 300_000, b"y"]
    stream = framed(*payloads)
    received = []
    for at in range(0, len(stream), 70_001):
        received += read(receiver, stream[at : at + 70_001], 70_001)
        receiver.release()
    assert received == payloads
    read(receiver, framed(bytes(300_000)), 1 << 20)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        idle = [FrameReceiver() for _ in range(10)]
        assert tracemalloc.get_traced_memory()[0] - before < MIN_BUFFER
    finally:
        tracemalloc.stop()
    assert len(receiver.get_buffer()) > MIN_BUFFER
    receiver.release()
    assert len(receiver.get_buffer()) == MIN_BUFFER
    assert read(idle[0], framed(b"first"), 3) == [b"first"]


@pytest.mark.parametrize("count", [-5, -1, 10**9])
def test_impossible_count_of_bytes_is_rejected(count: int) -> None:
    receiver = FrameReceiver()
    receiver.get_buffer()[:2] = b"\0\0"
    assert receiver.buffer_updated(2) == []

    with pytest.raises(ValueError, match=f"count={count}: expected 0 to"):
        receiver.buffer_updated(count)
    assert receiver.partial_bytes == 2
