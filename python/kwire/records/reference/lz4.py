"""LZ4: the frame format as Kafka's `Lz4BlockInputStream` reads it, and the block format."""

from __future__ import annotations

from kwire.records.reference.checksums import xxhash32

_MAGIC = b"\x04\x22\x4d\x18"
_UNCOMPRESSED = 1 << 31
_BLOCK_SIZE = 1 << 16


def decompress(data: bytes, allowed: int, *, lenient: bool) -> bytes:
    """Decompress a frame. Everything after its end mark is ignored.

    Args:
        data: the frame.
        allowed: the most decompressed bytes.
        lenient: skip the checksum of the frame descriptor.

    Raises:
        ValueError: the bytes are invalid.
        OverflowError: there are more than `allowed` decompressed bytes.
    """
    flags, max_block, position = _header(data, lenient=lenient)
    output = b""
    while True:
        word = int.from_bytes(_take(data, position, 4), "little")
        position += 4
        size = word & ~_UNCOMPRESSED
        if size == 0:
            if flags & 0x04:
                _take(data, position, 4)  # the content checksum, which Kafka does not compare
            return output
        if size > max_block:
            raise ValueError("lz4: the block is larger than the frame allows")
        block = _take(data, position, size)
        position += size
        if flags & 0x10:
            if int.from_bytes(_take(data, position, 4), "little") != xxhash32(block):
                raise ValueError("lz4: wrong checksum of a block")
            position += 4
        output += block if word & _UNCOMPRESSED else _decompress_block(block, max_block)
        if len(output) > allowed:
            raise OverflowError


def _header(data: bytes, *, lenient: bool) -> tuple[int, int, int]:
    """Return the flags, the largest block size, and the position after the header."""
    flags, block = _take(data, 4, 2)
    if data[:4] != _MAGIC or flags & 0xC0 != 0x40:
        raise ValueError("lz4: invalid magic or version")
    if not flags & 0x20 or flags & 0x03:
        raise ValueError("lz4: blocks depend on one another, or unknown flags")
    if block & 0x8F or block >> 4 < 4:
        raise ValueError("lz4: invalid block size")
    descriptor = _take(data, 4, 10 if flags & 0x08 else 2)
    position = 4 + len(descriptor)
    checksum = _take(data, position, 1)
    if not lenient and checksum[0] != xxhash32(descriptor) >> 8 & 0xFF:
        raise ValueError("lz4: wrong checksum of the frame descriptor")
    return flags, 1 << 2 * (block >> 4) + 8, position + 1


def _take(data: bytes, position: int, count: int) -> bytes:
    taken = data[position : position + count]
    if len(taken) < count:
        raise ValueError("lz4: the frame is cut short")
    return taken


def _decompress_block(data: bytes, capacity: int) -> bytes:
    output = bytearray()
    position = 0
    while True:
        token = data[position]
        length, position = _length(data, position + 1, token >> 4)
        output += _take(data, position, length)
        position += length
        if len(output) > capacity:
            raise ValueError("lz4: more bytes than a block may have")
        if position == len(data):
            return bytes(output)
        offset = int.from_bytes(_take(data, position, 2), "little")
        length, position = _length(data, position + 2, token & 15)
        length += 4
        if not 0 < offset <= len(output):
            raise ValueError("lz4: a match outside of the block")
        if len(output) + length > capacity:
            raise ValueError("lz4: more bytes than a block may have")
        start = len(output) - offset
        for index in range(length):
            output.append(output[start + index])


def _length(data: bytes, position: int, length: int) -> tuple[int, int]:
    """Return a length that starts with the bits of a token, and the position after it."""
    if length == 15:
        while True:
            byte = data[position]
            position += 1
            length += byte
            if byte < 255:
                break
    return length, position


def compress(data: bytes, *, wrong_checksum: bool) -> bytes:
    """Write `data` as a frame of uncompressed blocks."""
    descriptor = b"\x60\x40"
    # Kafka before 0.10 included the magic in the checksum.
    checksum = xxhash32(_MAGIC + descriptor if wrong_checksum else descriptor) >> 8 & 0xFF
    output = _MAGIC + descriptor + bytes([checksum])
    for start in range(0, len(data), _BLOCK_SIZE):
        block = data[start : start + _BLOCK_SIZE]
        output += (len(block) | _UNCOMPRESSED).to_bytes(4, "little") + block
    return output + bytes(4)
