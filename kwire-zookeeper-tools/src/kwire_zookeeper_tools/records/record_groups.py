"""Groups of fetched records that become batches of a producer.

A producer closes a batch by the bytes of its records before they are compressed, and so does a copy: closed by its
compressed size, a batch of equal bytes would have thousands of times the size of the batches that it replaces.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from kwire import records
from kwire.records import Compression

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kwire.records import Record, RecordBatch

__all__ = ["BATCH_BYTES", "encode", "groups", "halves", "size_of"]

BATCH_BYTES = 1 << 20
"""Maximum uncompressed bytes of a batch of several records. Brokers accept 12 bytes more by default
(`max.message.bytes`), compressed or not, so batches of a source with the default stay as they are."""
MERGED_BYTES = BATCH_BYTES // 2
"""Uncompressed bytes up to which small batches are merged. The other half is for the lengths and times that `size_of`
does not count."""
RECORD_BYTES = 7
"""Bytes of the smallest record: its length, attributes, two deltas, and the lengths of key, value, and headers."""

_key, _value, _headers = attrgetter("key"), attrgetter("value"), attrgetter("headers")


def size_of(values: Sequence[Record]) -> int:
    """Return a lower bound of the uncompressed bytes of records."""
    # In loops of the interpreter's own: this is done for every record of a copy.
    size = len(values) * RECORD_BYTES
    size += sum(map(len, filter(None, map(_key, values)))) + sum(map(len, filter(None, map(_value, values))))
    for headers in filter(None, map(_headers, values)):
        size += sum(2 + len(header.key) + len(header.value or b"") for header in headers)
    return size


def groups(
    batches: Iterable[tuple[RecordBatch, int]], start: int, limit: int = BATCH_BYTES
) -> Iterator[tuple[Compression, Sequence[Record]]]:
    """Yield records that become one batch: those of a batch, of small neighbors with its compression, or a part.

    Args:
        batches: batches, and the sizes of their records.
        start: the first offset to copy: a batch may begin before it.
        limit: maximum uncompressed bytes of several records.
    """
    group: list[Record] = []
    compression = Compression.NONE
    total = 0
    for batch, whole_size in batches:
        values: Sequence[Record] = batch.records
        size = whole_size
        if batch.base_offset < start:
            values = [record for record in values if record.offset >= start]
            size = size_of(values)
        if group and (total + size > min(MERGED_BYTES, limit) or compression is not batch.compression):
            yield compression, group
            group, total = [], 0
        compression = batch.compression
        if size > limit:
            for part in _parts(values, limit):
                yield compression, part
        else:
            group += values
            total += size
    if group:
        yield compression, group


def _parts(values: Sequence[Record], limit: int) -> Iterator[Sequence[Record]]:
    """Yield consecutive records up to a size, or one that is larger."""
    first = total = 0
    for index, record in enumerate(values):
        size = size_of((record,))
        if total + size > limit and index > first:
            yield values[first:index]
            first, total = index, 0
        total += size
    yield values[first:]


def encode(values: Sequence[Record], compression: Compression) -> bytes:
    """Encode records as one batch, with offsets from 0, as brokers expect them from producers.

    Raises:
        EncodeError: a record of the source has a value that no producer can send.
    """
    if values[-1].offset - values[0].offset + 1 == len(values):
        data = records.encode(values, compression=compression)
        return bytes(8) + data[8:]  # the base offset, which the checksum does not cover
    numbered = [
        (number, record.timestamp, record.key, record.value, tuple(record.headers))
        for number, record in enumerate(values)
    ]
    return records.encode(numbered, compression=compression)


def halves(data: bytes) -> tuple[tuple[bytes, int], tuple[bytes, int], int]:
    """Split an encoded batch of several records, as a producer does when a broker refuses it as too large.

    Returns:
        Two batches and their numbers of records, and the uncompressed size of the larger one.
    """
    [batch] = records.batches(data, max_ratio=None)
    middle = len(batch.records) // 2
    first, second = batch.records[:middle], batch.records[middle:]
    return (
        (encode(first, batch.compression), len(first)),
        (encode(second, batch.compression), len(second)),
        max(size_of(first), size_of(second)),
    )
