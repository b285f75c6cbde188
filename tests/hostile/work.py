"""Workloads for `watched`.

Each function prepares the input and returns the function to measure and its memory limit in bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import kwire
from kwire._kwire import Plan
from tests.hostile.greedy import (
    CASES,
    FLEXIBLE,
    Arrays,
    Blobs,
    Identities,
    Numbers,
    Structs,
    TaggedStructs,
    Tags,
    Texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1 << 20
SIZE = MEGABYTE
MOST = b"\x7f\xff\xff\xff"
MOST_COMPACT = b"\xff\xff\xff\xff\x0f"

CLAIMS: dict[str, tuple[Any, int, bytes]] = {
    "2^31 - 1 numbers": (Numbers, 0, MOST),
    "2^31 - 1 identities": (Identities, 0, MOST),
    "2^31 - 1 texts": (Texts, 0, MOST),
    "2^31 - 1 structs": (Structs, 0, MOST),
    "2^31 - 1 arrays": (Arrays, 0, MOST),
    "2^32 - 2 structs of a byte": (TaggedStructs, FLEXIBLE, MOST_COMPACT),
    "2^31 - 1 arrays in an array": (Arrays, 0, b"\0\0\0\x01" + MOST),
    "a text of 32,767 bytes": (Texts, 0, b"\0\0\0\x01\x7f\xff"),
    "a text of 2^32 - 2 bytes": (Texts, FLEXIBLE, b"\x02" + MOST_COMPACT),
    "a blob of 2^31 - 1 bytes": (Blobs, 0, b"\0\0\0\x01" + MOST),
    "a blob of 2^32 - 2 bytes": (Blobs, FLEXIBLE, b"\x02" + MOST_COMPACT),
    "2^32 - 1 tags": (Tags, FLEXIBLE, MOST_COMPACT),
    "a tag of 2^32 - 1 bytes": (Tags, FLEXIBLE, b"\x01\x07" + MOST_COMPACT),
    "a known tag of 2^32 - 1 bytes": (TaggedStructs, FLEXIBLE, b"\x02\x01\x07" + MOST_COMPACT),
}
"""For each name, a message, a version, and the start of a body with a count that is too large."""


def decode(name: str) -> tuple[Callable[[], str], int]:
    [case] = [case for case in CASES if case.name == name]
    body = case.body(SIZE)
    warm(case.cls, case.version)
    return lambda: type(kwire.decode(case.cls, body, version=case.version)).__name__, 64 * len(body) + MEGABYTE


def decode_without_the_last_byte(name: str) -> tuple[Callable[[], str], int]:
    """All objects are created, and freed when the end of the input is missing."""
    [case] = [case for case in CASES if case.name == name]
    body = case.body(SIZE)[:-1]
    warm(case.cls, case.version)
    return lambda: error_of(case.cls, body, case.version), 64 * len(body) + MEGABYTE


def validate(name: str) -> tuple[Callable[[], str], int]:
    [case] = [case for case in CASES if case.name == name]
    body = case.body(8 * SIZE)
    warm(case.cls, case.version)

    def check() -> str:
        kwire.validate(case.cls, body, version=case.version)
        return "valid"

    return check, MEGABYTE


def claim(name: str) -> tuple[Callable[[], str], int]:
    cls, version, claim = CLAIMS[name]
    warm(cls, version)
    return lambda: error_of(cls, claim + bytes(100), version), MEGABYTE


def encode_small_after_large() -> tuple[Callable[[], str], int]:
    small, large = Blobs(items=(b"small",)), Blobs(items=(bytes(128 * MEGABYTE),))
    kwire.encode(small, version=0)
    kwire.encode(large, version=0)
    del large
    return lambda: str(len(kwire.encode(small, version=0))), MEGABYTE


def plan(text: str) -> tuple[Callable[[], str], int]:
    opening, innermost, closing = text.split(" ")
    nested = f"Nested v0 {opening * 10_000}{innermost}{closing * 10_000}"

    def parse() -> str:
        try:
            Plan(nested, [])
        except ValueError as error:
            return str(error)
        return "none"

    return parse, 64 * len(nested) + MEGABYTE


def warm(cls: Any, version: int) -> None:
    """Create what is created once: the plan, exception classes, and modules for tracebacks."""
    for beginning in range(3):
        error_of(cls, bytes(beginning), version)


def error_of(cls: Any, body: bytes, version: int) -> str:
    try:
        kwire.decode(cls, body, version=version)
    except kwire.DecodeError as error:
        return error.kind
    return "none"
