"""Functions for a child process that inspects all tracked objects while a message is decoded."""

from __future__ import annotations

import gc
from typing import Any

import kwire
from kwire.declare import Message, Struct, array, int32, string


class Part(Struct):
    numbers: array[int32] = ()
    names: array[string] = ()


class Whole(Message, versions="0"):
    parts: array[Part] = ()


class OpenPart(Part):
    """A class with a dict, so that the garbage collector tracks everything that can hold its instances."""

    __slots__ = ("__dict__",)


class OpenWhole(Message, versions="0"):
    parts: array[OpenPart] = ()


def objects_seen_in_callbacks(kind: str) -> str:
    """Decode with a collection at each allocation. Return the number of collections; each reads all tuples."""
    cls: Any
    part: Any
    cls, part = {"adopted": (Whole, Part), "collected": (OpenWhole, OpenPart)}[kind]
    whole = cls(parts=tuple([part(numbers=tuple(range(n % 7)), names=("a" * n, "b")) for n in range(50)]))
    body = kwire.encode(whole, version=0)
    kwire.decode(cls, body, version=0)
    collections = 0

    def read_all(phase: str, _: dict[str, int]) -> None:
        nonlocal collections
        for tracked in gc.get_objects():
            # Reading an element or a field that has not been set fails.
            if type(tracked) is tuple:
                list(tracked)
            elif isinstance(tracked, Part):
                assert len(tracked.numbers) + len(tracked.names) < 9
            elif isinstance(tracked, Whole | OpenWhole):
                assert tracked.parts is not None
        collections += phase == "start"

    gc.collect()
    gc.freeze()
    gc.set_threshold(1)
    gc.callbacks.append(read_all)
    try:
        decoded = kwire.decode(cls, body, version=0)
    finally:
        gc.callbacks.clear()
    assert decoded == whole
    return str(collections)
