"""Decompression as Kafka's clients do it, and compression that they can read.

gzip is the standard library's; zstd is `compression.zstd`, or `backports.zstd` before Python 3.14.
"""

from __future__ import annotations

import zlib

from kwire.records.batch import Compression
from kwire.records.reference import lz4, snappy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANY_RATIO = 1 << 20
"""Bytes to which any batch may decompress, whatever its ratio."""
BATCH_SIZE, RECORD_SIZE, HEADER_SIZE = 640, 352, 192
"""Upper bounds of the memory of an object and of what it holds, in bytes, without the bytes of keys and values."""
WIDENED = 3
"""A character that is not in Latin-1 widens all characters of a `str` to two or four bytes."""


class Corrupt(Exception):
    """The compressed bytes are invalid."""


class TooLarge(Exception):
    """More bytes than `allowed` would be needed."""

    def __init__(self, allowed: int) -> None:
        super().__init__(allowed)
        self.allowed = allowed


class Budget:
    """The memory that a call may still use: decompressed bytes, and the objects made of them."""

    def __init__(self, max_size: int, max_ratio: int) -> None:
        self.left = self.max_size = max_size
        self.max_ratio = max_ratio

    def charge(self, count: int, size: int) -> None:
        """Charge `count` objects of `size` bytes each, before they are made.

        Raises:
            TooLarge: the limit is exceeded.
        """
        if count * size > self.left:
            raise TooLarge(self.max_size)
        self.left -= count * size

    def allowed(self, compressed: int) -> int:
        """Return how many bytes a batch of `compressed` bytes may decompress to."""
        return min(self.left, max(ANY_RATIO, compressed * self.max_ratio))


def decompress(compression: Compression, data: bytes, budget: Budget, *, lenient_lz4: bool = False) -> bytes:
    """Decompress `data`.

    Args:
        compression: the codec of the data.
        data: the compressed bytes.
        budget: maximum number of bytes produced; reduced by the size of the output.
        lenient_lz4: skip the checksum of the frame descriptor, which writers of magic 0 computed incorrectly.

    Raises:
        Corrupt: the bytes are invalid.
        TooLarge: there are more decompressed bytes than allowed.
    """
    allowed = budget.allowed(len(data))
    limit = budget.max_size if allowed == budget.left else allowed  # what the caller knows, not what is left of it
    try:
        match compression:
            case Compression.GZIP:
                output = _gunzip(data, allowed)
            case Compression.SNAPPY:
                output = snappy.decompress(data, allowed)
            case Compression.LZ4:
                output = lz4.decompress(data, allowed, lenient=lenient_lz4)
            case Compression.ZSTD:
                output = _decompress_zstd(data, allowed)
            case _:
                raise AssertionError(f"{compression!r} is not compressed")
    except (ValueError, IndexError, zlib.error) as error:
        raise Corrupt(str(error)) from error
    except OverflowError:
        raise TooLarge(limit) from None
    if len(output) > allowed:
        raise TooLarge(limit)
    budget.left -= len(output)
    return output


def compress(compression: Compression, data: bytes, level: int | None, *, wrong_lz4_checksum: bool = False) -> bytes:
    """Compress `data`. Snappy and LZ4 are written without matches: readable, but not smaller."""
    match compression:
        case Compression.GZIP:
            deflate = zlib.compressobj(-1 if level is None else level, wbits=-15)
            body = deflate.compress(data) + deflate.flush()
            trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
            return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + trailer
        case Compression.SNAPPY:
            return snappy.compress(data)
        case Compression.LZ4:
            return lz4.compress(data, wrong_checksum=wrong_lz4_checksum)
        case Compression.ZSTD:
            output: bytes = _zstd().compress(data, 3 if level is None else level)
            return output
        case _:
            return data


# Gzip: java.util.zip.GZIPInputStream reads several members and ignores anything else after the first.


def _gunzip(data: bytes, allowed: int) -> bytes:
    rest = _after_gzip_header(data)
    output = b""
    while True:
        inflate = zlib.decompressobj(wbits=-15)
        member = inflate.decompress(rest, allowed + 1 - len(output))
        output += member
        if len(output) > allowed:
            raise OverflowError
        if not inflate.eof:
            raise ValueError("gzip: the stream is cut short")
        trailer, rest = inflate.unused_data[:8], inflate.unused_data[8:]
        expected = zlib.crc32(member).to_bytes(4, "little") + (len(member) & 0xFFFFFFFF).to_bytes(4, "little")
        if trailer != expected:
            raise ValueError("gzip: wrong checksum or size")
        # No member has 18 bytes or less.
        if len(rest) <= 18:
            return output
        try:
            rest = _after_gzip_header(rest)
        except (ValueError, IndexError):
            return output


def _after_gzip_header(data: bytes) -> bytes:
    if len(data) < 10 or data[:3] != b"\x1f\x8b\x08":
        raise ValueError("gzip: invalid header")
    flags, position = data[3], 10
    if flags & 4:
        if len(data) < position + 2:
            raise ValueError("gzip: the header is cut short")
        position += 2 + int.from_bytes(data[position : position + 2], "little")
        if position > len(data):
            raise ValueError("gzip: the header is cut short")
    for text in (8, 16):
        if flags & text:
            position = data.index(b"\0", position) + 1
    if flags & 2:
        stored = data[position : position + 2]
        if len(stored) < 2 or int.from_bytes(stored, "little") != zlib.crc32(data[:position]) & 0xFFFF:
            raise ValueError("gzip: wrong checksum of the header")
        position += 2
    return data[position:]


# Zstandard: any number of frames.


def _decompress_zstd(data: bytes, allowed: int) -> bytes:
    zstd = _zstd()
    output = b""
    while data:
        frame = zstd.ZstdDecompressor()
        try:
            output += frame.decompress(data, allowed + 1 - len(output))
        except zstd.ZstdError as error:
            raise ValueError(str(error)) from error
        if len(output) > allowed:
            raise OverflowError
        if not frame.eof:
            raise ValueError("zstd: the frame is cut short")
        data = frame.unused_data
    return output


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # since Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError as error:
            reason = "the reference needs backports.zstd for zstd before Python 3.14: pip install 'kwire[records]'"
            raise ImportError(reason, name="backports.zstd") from error
    return zstd
