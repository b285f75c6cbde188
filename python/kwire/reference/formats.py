"""Wire formats of numbers: big-endian numbers, and varints of seven bits per byte, lowest bits first."""

from __future__ import annotations

FORMATS = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "bool": "?",
}
"""The format code of each type in the `struct` module, except uuid."""

MAX_STRING_LENGTH = 0x7FFF
"""The maximum length of a string in UTF-8 bytes: the largest int16, also for compact strings."""

LARGEST_COUNT = 0x7FFF_FFFF
"""The maximum number of elements of an array, and of bytes of a bytes value."""


ONE_BYTE = [bytes((value,)) for value in range(0x80)]
"""The varints of one byte, which are the most frequent."""


def uvarint(value: int) -> bytes:
    """Return the shortest unsigned varint of a value."""
    if value < 0x80:
        return ONE_BYTE[value]
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
