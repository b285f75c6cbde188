"""Functions for a child process that measure their own memory and return the result."""

from __future__ import annotations

import gc
from collections import deque
from pathlib import Path

import kwire
from kwire.declare import Message, Struct, array, int32
from tests.soundness.declared import Leaf2, Small, replaced

OBJECTS_IN_A_FRAME = 5_000
FRAMES = 2_000


def resident() -> int:
    """Return the resident memory of this process in bytes (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError("VmRSS")


def grown_by_ten_million_objects() -> str:
    """Return the growth in bytes while ten million structs are decoded and freed."""
    body = kwire.encode(Small(leaves=tuple(Leaf2(text=str(n)) for n in range(OBJECTS_IN_A_FRAME - 1))), version=0)
    for _ in range(FRAMES // 20):
        kwire.decode(Small, body, version=0)
    before = resident()
    for _ in range(FRAMES):
        kwire.decode(Small, body, version=0)
    return str(resident() - before)


def grown_by_small_frames() -> str:
    """Return the growth for a million small frames that are also compared, hashed, and replaced."""
    body = kwire.encode(Small(number=1, name="a", leaves=(Leaf2(text="b"),)), version=0)
    first = kwire.decode(Small, body, version=0)
    gc.collect()
    before = 0
    for step in range(1_000_000):
        if step == 50_000:
            before = resident()
        again = kwire.decode(Small, body, version=0)
        if step % 10 == 0:
            assert again == first
            assert hash(again) == hash(first)
            replaced(again, name="c")
    return str(resident() - before)


def grown_by_refused_frames() -> str:
    """Return the growth for frames truncated at every offset, where partial objects must be freed."""
    body = kwire.encode(Small(number=1, name="a" * 100, leaves=(Leaf2(text="b" * 50),) * 20), version=0)
    before = 0
    for turn in range(400):
        if turn == 20:
            before = resident()
        for end in range(len(body)):
            try:
                kwire.decode(Small, body[:end], version=0)
            except kwire.DecodeError:
                continue
            raise AssertionError(end)
    return str(resident() - before)


class Replicas(Struct):
    leader: int32 = 0
    replicas: array[int32] = ()


class Placement(Message, versions="0"):
    partitions: array[Replicas] = ()


PARTITIONS = 20_000


def placement(first: int) -> bytes:
    """Return a message where every list of replicas occurs twice, and no other message has one of them."""
    lists = [(id, id + 1, id + 2, id + 3) for id in range(first, first + PARTITIONS // 2)]
    partitions = tuple([Replicas(leader=ids[0], replicas=ids) for ids in lists for _ in range(2)])
    return kwire.encode(Placement(partitions=partitions), version=0)


def grown_by_different_lists() -> str:
    """Return the growth in bytes for 600,000 lists of replicas in 60 messages, after the first messages."""
    before = 0
    for turn in range(60):
        if turn == 10:
            gc.collect()
            before = resident()
        kwire.decode(Placement, placement(1000 + turn * PARTITIONS), version=0)
    gc.collect()
    return str(resident() - before)


def kept_by_large_messages() -> str:
    """Return the growth in bytes that is left when 40 MB of structs have been freed."""
    # Written by hand, because objects that are encoded would be kept as well.
    count = 10_000
    body = count.to_bytes(4) + (bytes(3) + b"\5" + bytes(4)) * count
    kwire.decode(Placement, body, version=0)
    gc.collect()
    before = resident()
    held = [kwire.decode(Placement, body, version=0) for _ in range(100)]
    assert resident() - before > 40 << 20, "the messages take memory while they are held"
    held.clear()
    gc.collect()
    return str(resident() - before)


def grown_by_structs_of_many_messages() -> str:
    """Return the growth in bytes when a program keeps one struct of each of the last 300 messages."""
    body = kwire.encode(Small(leaves=tuple(Leaf2(text=str(n)) for n in range(OBJECTS_IN_A_FRAME - 1))), version=0)
    kept = deque([kwire.decode(Small, body, version=0).leaves[0]], maxlen=300)
    before = resident()
    for index in range(FRAMES):
        kept.append(kwire.decode(Small, body, version=0).leaves[index])
    return str(resident() - before)
