"""Messages and bodies that need the most memory for their size.

The worst elements are the smallest, with an object for every byte or two. Messages of Kafka have larger elements, so
these messages are declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from kwire.declare import (
    Message,
    Struct,
    array,
    field,
    float64,
    int8,
    int32,
    int64,
    maybe,
    nullable,
    string,
    uuid,
    zero,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSIC, FLEXIBLE = 0, 1
"""The versions of the messages in this module."""


class OneByte(Struct):
    x: int8


class FewBytes(Struct):
    x: int8
    y: int8
    z: int8


class Nested(Struct):
    inner: OneByte
    y: int8


class OnlyTags(Struct):
    """A struct of one byte in flexible versions, the empty tagged fields."""

    x: int32 = field(since=1, tag=7, default=0)
    gone: string = field(until=0, default="")


class Tracked(Struct, weakref=True):
    """A struct with instances tracked by the garbage collector."""

    x: int8


class Bytes(Message, versions="0-1", flexible="1+"):
    items: array[int8]


class Booleans(Message, versions="0-1", flexible="1+"):
    items: array[bool]


class Numbers(Message, versions="0-1", flexible="1+"):
    items: array[int32]


class LongNumbers(Message, versions="0-1", flexible="1+"):
    items: array[int64]


class Doubles(Message, versions="0-1", flexible="1+"):
    items: array[float64]


class Identities(Message, versions="0-1", flexible="1+"):
    items: array[uuid]


class Texts(Message, versions="0-1", flexible="1+"):
    items: array[string]


class Blobs(Message, versions="0-1", flexible="1+"):
    items: array[bytes]


class Arrays(Message, versions="0-1", flexible="1+"):
    items: array[array[int8]]


class Maybes(Message, versions="0-1", flexible="1+"):
    items: array[maybe[int8]]


class Structs(Message, versions="0-1", flexible="1+"):
    items: array[OneByte]


class LargerStructs(Message, versions="0-1", flexible="1+"):
    items: array[FewBytes]


class NestedStructs(Message, versions="0-1", flexible="1+"):
    items: array[Nested]


class NullableStructs(Message, versions="0-1", flexible="1+"):
    items: array[nullable[OneByte]]


class TaggedStructs(Message, versions="0-1", flexible="1+"):
    items: array[OnlyTags] = field(since=1, default=zero)


class TrackedStructs(Message, versions="0-1", flexible="1+"):
    items: array[Tracked]


class Tags(Message, versions="0-1", flexible="1+"):
    """A struct that only has tagged fields."""


class Greedy(NamedTuple):
    """A message with a function `body(size)` that returns a body of about that size."""

    name: str
    cls: Any
    version: int
    body: Callable[[int], bytes]

    def __repr__(self) -> str:
        return self.name


def uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def classic(element: bytes) -> Callable[[int], bytes]:
    def body(size: int) -> bytes:
        count = size // len(element)
        return count.to_bytes(4, "big") + element * count

    return body


def flexible(element: bytes) -> Callable[[int], bytes]:
    def body(size: int) -> bytes:
        count = size // len(element)
        return uvarint(count + 1) + element * count + b"\0"

    return body


def distinct(width: int) -> Callable[[int], bytes]:
    """Return different large numbers."""

    def body(size: int) -> bytes:
        count = size // width
        step = (1 << (8 * width - 1)) // (count + 1)
        return count.to_bytes(4, "big") + b"".join((1000 + i * step).to_bytes(width, "big") for i in range(count))

    return body


def distinct_structs(size: int) -> bytes:
    """Return structs that caches of the engine do not find."""
    count = size // 3
    return count.to_bytes(4, "big") + b"".join((i * 2_654_435_761 % 0xFFFFFF).to_bytes(3, "big") for i in range(count))


def many_tags(size: int) -> bytes:
    """Return as many empty tags as fit."""
    entries = [uvarint(tag) + b"\0" for tag in range(size // 4)]
    return uvarint(len(entries)) + b"".join(entries)


CASES = [
    Greedy("bytes", Bytes, CLASSIC, classic(b"\x80")),
    Greedy("booleans that are neither 0 nor 1", Booleans, CLASSIC, classic(b"\x02")),
    Greedy("numbers", Numbers, CLASSIC, distinct(4)),
    Greedy("long numbers", LongNumbers, CLASSIC, distinct(8)),
    Greedy("doubles", Doubles, CLASSIC, distinct(8)),
    Greedy("identities", Identities, CLASSIC, distinct(16)),
    Greedy("zero identities", Identities, CLASSIC, classic(UUID(int=0).bytes)),
    Greedy("empty texts", Texts, FLEXIBLE, flexible(b"\x01")),
    Greedy("short texts", Texts, FLEXIBLE, flexible(b"\x03ab")),
    Greedy("short texts beyond Latin", Texts, FLEXIBLE, flexible(b"\x03" + "\N{CYRILLIC SMALL LETTER YA}".encode())),
    Greedy("short texts of emoji", Texts, FLEXIBLE, flexible(b"\x05" + "\N{GRINNING FACE}".encode())),
    Greedy("short blobs", Blobs, FLEXIBLE, flexible(b"\x03ab")),
    Greedy("empty arrays", Arrays, FLEXIBLE, flexible(b"\x01")),
    Greedy("arrays of one", Arrays, FLEXIBLE, flexible(b"\x02\x85")),
    Greedy("nothings", Maybes, CLASSIC, classic(b"\x00")),
    Greedy("structs of a byte", Structs, CLASSIC, classic(b"\x80")),
    Greedy("flexible structs of a byte", Structs, FLEXIBLE, flexible(b"\x80\x00")),
    Greedy("different structs", LargerStructs, CLASSIC, distinct_structs),
    Greedy("structs in structs", NestedStructs, CLASSIC, classic(b"\x80\x80")),
    Greedy("structs that might be null", NullableStructs, CLASSIC, classic(b"\x01\x80")),
    Greedy("structs without fields", TaggedStructs, FLEXIBLE, flexible(b"\x00")),
    Greedy("structs with a tag", TaggedStructs, FLEXIBLE, flexible(b"\x01\x07\x04\x00\x00\x00\x01")),
    Greedy("structs with an unknown tag", TaggedStructs, FLEXIBLE, flexible(b"\x01\x08\x00")),
    Greedy("structs that the collector knows", TrackedStructs, CLASSIC, classic(b"\x80")),
    Greedy("unknown tags", Tags, FLEXIBLE, many_tags),
]
