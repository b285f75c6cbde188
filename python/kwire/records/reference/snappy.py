"""Snappy: the block format, and the framing of snappy-java (xerial) that Kafka uses."""

from __future__ import annotations

from kwire.reference.formats import uvarint

_MAGIC = b"\x82SNAPPY\0"
_HEADER_SIZE = 16
_BLOCK_SIZE = 32 << 10
_LONGEST_LITERAL = 60
_MAX_EXPANSION = 32
"""No element of the format expands to more than this multiple of its bytes."""


def decompress(data: bytes, allowed: int) -> bytes:
    """Decompress framed blocks, or a single block without framing.

    Raises:
        ValueError: the bytes are invalid.
        OverflowError: there are more than `allowed` decompressed bytes.
    """
    if not data:
        raise ValueError("snappy: empty input")
    if len(data) < _HEADER_SIZE or not data.startswith(_MAGIC):
        return _decompress_block(data, allowed)
    # The versions of the header are not read, as in Java: Redpanda writes them in little endian.
    output, position = b"", _HEADER_SIZE
    # Java ignores up to three bytes at the end, which are too short for a size.
    while position + 4 <= len(data):
        if data[position : position + 4] == _MAGIC[:4]:
            if len(data) - position < _HEADER_SIZE:
                raise ValueError("snappy: the header is cut short")
            if data[position : position + 8] != _MAGIC:
                break
            position += _HEADER_SIZE
            continue
        size = int.from_bytes(data[position : position + 4], "big", signed=True)
        start = position + 4
        position = start + size
        if size < 0 or position > len(data):
            raise ValueError("snappy: the block is cut short")
        output += _decompress_block(data[start:position], allowed - len(output))
    return output


def _decompress_block(data: bytes, allowed: int) -> bytes:
    size, position = _size(data)
    # Both checks before anything is copied: the size is the first thing that a bomb forges.
    if size > len(data) * _MAX_EXPANSION:
        raise ValueError("snappy: the size is impossible")
    if size > allowed:
        raise OverflowError
    output = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= _LONGEST_LITERAL:
                count = length - 59
                if position + count > len(data):
                    raise ValueError("snappy: the literal is cut short")
                length = int.from_bytes(data[position : position + count], "little")
                position += count
            length += 1
            if position + length > len(data):
                raise ValueError("snappy: the literal is cut short")
            output += data[position : position + length]
            position += length
        else:
            count = (0, 1, 2, 4)[tag & 3]
            if position + count > len(data):
                raise ValueError("snappy: the copy is cut short")
            offset = int.from_bytes(data[position : position + count], "little")
            position += count
            if tag & 3 == 1:
                length = (tag >> 2 & 7) + 4
                offset |= tag >> 5 << 8
            else:
                length = (tag >> 2) + 1
            if not 0 < offset <= len(output):
                raise ValueError("snappy: a copy from outside of the block")
            start = len(output) - offset
            # Byte by byte: a copy may overlap its own output, which repeats the last bytes.
            for index in range(length):
                output.append(output[start + index])
        if len(output) > size:
            raise ValueError("snappy: more bytes than the block has")
    if len(output) != size:
        raise ValueError("snappy: fewer bytes than the block has")
    return bytes(output)


def _size(data: bytes) -> tuple[int, int]:
    """Return the size of a block and the position after it."""
    size = 0
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            if size > 0xFFFFFFFF:
                break
            return size, index + 1
    raise ValueError("snappy: invalid size")


def compress(data: bytes) -> bytes:
    """Write `data` as framed blocks of literals."""
    output = _MAGIC + (1).to_bytes(4, "big") * 2
    for start in range(0, len(data), _BLOCK_SIZE):
        block = data[start : start + _BLOCK_SIZE]
        compressed = uvarint(len(block)) + bytes([61 << 2]) + (len(block) - 1).to_bytes(2, "little") + block
        output += len(compressed).to_bytes(4, "big") + compressed
    return output
