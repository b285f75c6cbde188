"""Segments of a log, as brokers store them in files: batches of records, and the indexes beside them.

A file may be damaged anywhere, so it is read batch by batch: what precedes the damage is returned.
"""

from __future__ import annotations

import os
import struct
from contextlib import contextmanager
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from kwire.errors import RecordsDecodeError
from kwire.records import BatchHeader, batch_headers
from kwire_admin.operations.declaration import ToolFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["DamagedLogSegment", "IndexEntry", "SegmentBatch", "batches_of", "index_entries"]

OVERHEAD = 12
"""Bytes of a batch that its length does not count: base offset and length."""
STEP = 1 << 20
"""Bytes of an index, or of zeros, that are read at once."""


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
    data: bytes
    is_valid: bool


class IndexEntry(NamedTuple):
    """An entry of an offset index: an offset and a position; of a time index: a time and an offset."""

    key: int
    value: int


def batches_of(path: Path, max_size: int) -> Iterator[SegmentBatch]:
    """Yield the batches of a segment. Zeros at the end, as of a preallocated file, are ignored.

    The file is read and not mapped: a broker can truncate it meanwhile, and reading a page that is gone ends a process.
    What is appended meanwhile is not read, since its last batch may be incomplete.

    Args:
        path: the file.
        max_size: maximum number of bytes of a batch, since a batch is in memory as a whole.

    Raises:
        DamagedLogSegment: at a position that has no batch.
        ToolFailed: the file cannot be read.
    """
    with _opened(path) as (file, end):
        position = count = 0
        while position < end:
            head = file.read(min(OVERHEAD, end - position))
            if not any(head) and _is_zero(file):
                return
            if len(head) < OVERHEAD:
                raise DamagedLogSegment(position, count, f"the batch is cut short: {len(head)} bytes are left")
            size = OVERHEAD + int(struct.unpack_from(">i", head, 8)[0])
            if size <= OVERHEAD:
                raise DamagedLogSegment(position, count, f"expected a batch, found the length {size - OVERHEAD}")
            rest = end - position
            if max_size < size <= rest:
                raise DamagedLogSegment(position, count, f"the batch has {size} bytes, more than {max_size}")
            data = head + file.read(size - OVERHEAD) if size <= rest else b""
            if len(data) < size:
                left = len(data) or rest
                raise DamagedLogSegment(position, count, f"the batch is cut short: it has {left} of {size} bytes")
            yield _batch(data, position, count)
            position += size
            count += 1


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file, and return it and its size. An error while it is read is the failure of the tool, too."""
    try:
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ToolFailed(f"cannot read {path}: {error.strerror}") from None


def _batch(data: bytes, position: int, count: int) -> SegmentBatch:
    try:
        return SegmentBatch(position, batch_headers(data)[0], data, is_valid=True)
    except RecordsDecodeError as error:
        if error.kind != "crc_mismatch":
            raise DamagedLogSegment(position, count, str(error)) from None
    return SegmentBatch(position, batch_headers(data, check_crc=False)[0], data, is_valid=False)


def _is_zero(file: BinaryIO) -> bool:
    """Return whether the rest of a file is zero."""
    return not any(any(step) for step in iter(partial(file.read, STEP), b""))


def index_entries(path: Path, base_offset: int, *, is_time_index: bool) -> Iterator[IndexEntry]:
    """Yield the entries of an index. The unused rest of the index of an open segment is zero.

    Raises:
        ToolFailed: the file cannot be read, or its size is not a whole number of entries.
    """
    entry = Struct(">qi" if is_time_index else ">ii")
    with _opened(path) as (file, end):
        if end % entry.size:
            raise ToolFailed(f"an index has entries of {entry.size} bytes, and this file has {end} bytes")
        # A broker removes the unused rest when it closes the segment, so there may be fewer bytes than before.
        for step in iter(partial(file.read, STEP // entry.size * entry.size), b""):
            for key, value in entry.iter_unpack(step[: len(step) // entry.size * entry.size]):
                if key == 0 and value == 0:
                    return
                yield IndexEntry(key, base_offset + value) if is_time_index else IndexEntry(base_offset + key, value)
