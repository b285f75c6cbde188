"""Segments of a log, as brokers store them in files: batches of records, and the indexes beside them.

A file may be damaged anywhere, so it is read batch by batch: what precedes the damage is returned.
"""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING, NamedTuple

from kwire.errors import RecordsDecodeError
from kwire.operations.declaration import ToolFailed
from kwire.records import BatchHeader, batch_headers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DamagedLogSegment", "IndexEntry", "SegmentBatch", "batches_of", "index_entries", "open_segment"]

OVERHEAD = 12
"""Bytes of a batch that its length does not count: base offset and length."""


class DamagedLogSegment(ToolFailed):
    """The bytes at a position of a segment are not a batch.

    Attributes:
        position: start of the damaged part.
        batches: number of batches before it.
        reason: the problem.
    """

    def __init__(self, position: int, batches: int, reason: str) -> None:
        super().__init__(f"position {position}: {reason}; valid batches before it: {batches}")
        self.position = position
        self.batches = batches
        self.reason = reason


class SegmentBatch(NamedTuple):
    """A batch of a segment.

    Attributes:
        position: the offset of its first byte in the file.
        header: the bytes before its records.
        data: its bytes.
        is_valid: true if the checksum matches.
    """

    position: int
    header: BatchHeader
    data: memoryview
    is_valid: bool


class IndexEntry(NamedTuple):
    """An entry of an offset index: an offset and a position; of a time index: a time and an offset."""

    key: int
    value: int


def open_segment(path: Path) -> memoryview:
    """Return the bytes of a file, which are read from disk as needed.

    Raises:
        ToolFailed: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:  # cannot be mapped
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise ToolFailed(f"cannot read {path}: {error.strerror}") from None


def batches_of(data: memoryview) -> Iterator[SegmentBatch]:
    """Yield the batches of a segment. Zeros at the end, as of a preallocated file, are ignored.

    Raises:
        DamagedLogSegment: at a position that has no batch.
    """
    position = count = 0
    while position < len(data):
        rest = len(data) - position
        if not data[position : position + OVERHEAD].tobytes().strip(b"\0") and _is_zero(data[position:]):
            return
        if rest < OVERHEAD:
            raise DamagedLogSegment(position, count, f"the batch is cut short: {rest} bytes are left")
        size = OVERHEAD + int(struct.unpack_from(">i", data, position + 8)[0])
        if size <= OVERHEAD:
            raise DamagedLogSegment(position, count, f"expected a batch, found the length {size - OVERHEAD}")
        if size > rest:
            raise DamagedLogSegment(position, count, f"the batch is cut short: it has {rest} of {size} bytes")
        yield _batch(data[position : position + size], position, count)
        position += size
        count += 1


def _batch(data: memoryview, position: int, count: int) -> SegmentBatch:
    try:
        return SegmentBatch(position, batch_headers(data)[0], data, is_valid=True)
    except RecordsDecodeError as error:
        if error.kind != "crc_mismatch":
            raise DamagedLogSegment(position, count, str(error)) from None
    return SegmentBatch(position, batch_headers(data, check_crc=False)[0], data, is_valid=False)


def _is_zero(data: memoryview) -> bool:
    step = 1 << 20
    return all(not any(data[start : start + step]) for start in range(0, len(data), step))


def index_entries(data: memoryview, base_offset: int, *, is_time_index: bool) -> Iterator[IndexEntry]:
    """Yield the entries of an index. The unused rest of the index of an open segment is zero.

    Raises:
        ToolFailed: the size is not a whole number of entries.
    """
    size = 12 if is_time_index else 8
    if len(data) % size:
        raise ToolFailed(f"an index has entries of {size} bytes, and this file has {len(data)} bytes")
    for key, value in struct.iter_unpack(">qi" if is_time_index else ">ii", data):
        if key == 0 and value == 0:
            return
        yield IndexEntry(key, base_offset + value) if is_time_index else IndexEntry(base_offset + key, value)
