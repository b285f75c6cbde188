"""Spark's `xxhash64` in Python: XXH64 with seed 42, the hash of a column being the seed of the next one.

Stored rows contain these hashes, so both engines must compute the same ones. As in Spark's `XXH64`, integers hash as
32 bits, strings as UTF-8, arrays by element, and nulls leave the seed as it is.
"""

from __future__ import annotations

from functools import cache
from struct import unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED = 42

_MASK = 2**64 - 1
_PRIME_1 = 0x9E3779B185EBCA87
_PRIME_2 = 0xC2B2AE3D27D4EB4F
_PRIME_3 = 0x165667B19E3779F9
_PRIME_4 = 0x85EBCA77C2B2AE63
_PRIME_5 = 0x27D4EB2F165667C5

Hashed = int | str | None


def xxhash64(values: Sequence[Hashed | Sequence[int]]) -> int:
    """Return the hash of the values of a row, as a signed integer of 64 bits."""
    hashed = SEED
    for value in values:
        if isinstance(value, int | str):
            hashed = _hash_value(value, hashed)
        elif value is not None:
            for element in value:
                hashed = _hash_value(element, hashed)
    return hashed - 2**64 if hashed >= 2**63 else hashed


@cache
def _hash_value(value: int | str, seed: int) -> int:
    return _hash_int(value, seed) if isinstance(value, int) else _hash_bytes(value.encode(), seed)


def _hash_int(value: int, seed: int) -> int:
    hashed = (seed + _PRIME_5 + 4) ^ ((value & 0xFFFFFFFF) * _PRIME_1)
    return _avalanche(_rotate(hashed, 23) * _PRIME_2 + _PRIME_3)


def _hash_bytes(data: bytes, seed: int) -> int:
    position, length = 0, len(data)
    if length >= 32:
        lanes = [seed + _PRIME_1 + _PRIME_2, seed + _PRIME_2, seed, seed - _PRIME_1]
        while position <= length - 32:
            words = unpack_from("<4Q", data, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        hashed = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            hashed = (hashed ^ _round(0, lane)) * _PRIME_1 + _PRIME_4
    else:
        hashed = seed + _PRIME_5
    hashed += length
    while position <= length - 8:
        hashed ^= _round(0, unpack_from("<Q", data, position)[0])
        hashed = _rotate(hashed, 27) * _PRIME_1 + _PRIME_4
        position += 8
    if position <= length - 4:
        hashed = hashed ^ (unpack_from("<I", data, position)[0] * _PRIME_1)
        hashed = _rotate(hashed, 23) * _PRIME_2 + _PRIME_3
        position += 4
    for byte in data[position:]:
        hashed = _rotate(hashed ^ (byte * _PRIME_5), 11) * _PRIME_1
    return _avalanche(hashed)


def _round(lane: int, word: int) -> int:
    return _rotate(lane + word * _PRIME_2, 31) * _PRIME_1 & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (64 - bits)) & _MASK


def _avalanche(value: int) -> int:
    value &= _MASK
    value = (value ^ value >> 33) * _PRIME_2 & _MASK
    value = (value ^ value >> 29) * _PRIME_3 & _MASK
    return value ^ value >> 32
