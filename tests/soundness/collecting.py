"""Functions for a child process that measure their own memory and return the result."""

from __future__ import annotations

import gc
from pathlib import Path

import kwire
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
