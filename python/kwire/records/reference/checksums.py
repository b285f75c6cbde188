"""CRC32C (RFC 3720) and xxHash with 32 bits and seed 0. CRC32 is `zlib.crc32`."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE = tuple(_entry(byte) for byte in range(256))


def crc32c(data: bytes) -> int:
    """Return the CRC32C of `data`."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


_P1, _P2, _P3, _P4, _P5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_MASK = 0xFFFFFFFF


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK


def xxhash32(data: bytes) -> int:
    """Return the xxHash of `data` with 32 bits and seed 0."""
    position = 0
    if len(data) >= 16:
        lanes = [_P1 + _P2, _P2, 0, -_P1]
        while len(data) - position >= 16:
            for lane in range(4):
                word = int.from_bytes(data[position : position + 4], "little")
                lanes[lane] = _rotate(lanes[lane] + word * _P2, 13) * _P1
                position += 4
        state = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    else:
        state = _P5
    state += len(data)
    while len(data) - position >= 4:
        word = int.from_bytes(data[position : position + 4], "little")
        state = _rotate(state + word * _P3, 17) * _P4
        position += 4
    for byte in data[position:]:
        state = _rotate(state + byte * _P5, 11) * _P1
    state &= _MASK
    state = (state ^ state >> 15) * _P2 & _MASK
    state = (state ^ state >> 13) * _P3 & _MASK
    return state ^ state >> 16
