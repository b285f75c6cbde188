"""How numbers stand on the wire: big-endian, and varints with seven bits a byte, the lowest first."""

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
"""The code of each type in Python's ``struct`` module; a uuid has none."""

LONGEST_STRING = 0x7FFF
"""Bytes of UTF-8 that a string may have: what the classic length can say, and compact strings keep to it."""

LARGEST_COUNT = 0x7FFF_FFFF
"""Elements that an array may have, and bytes that a value of type bytes may have."""


ONE_BYTE = [bytes((value,)) for value in range(0x80)]
"""Varints of one byte, which nearly all are."""


def uvarint(value: int) -> bytes:
    """``value`` as an unsigned varint, as short as can be."""
    if value < 0x80:
        return ONE_BYTE[value]
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
