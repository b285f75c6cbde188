"""Bytes to batches."""

from __future__ import annotations

import zlib
from struct import Struct as Format

from kwire.errors import RecordsDecodeError
from kwire.records.batch import HEADER_NAMES, Attribute, Compression, Header, Record, RecordBatch
from kwire.records.reference.checksums import crc32c
from kwire.records.reference.compression import (
    BATCH_SIZE,
    HEADER_SIZE,
    RECORD_SIZE,
    WIDENED,
    Budget,
    Corrupt,
    TooLarge,
    decompress,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from kwire.errors import DecodeKind, PathElement

    BytesLike: TypeAlias = bytes | bytearray | memoryview

LOG_OVERHEAD = 12
"""Base offset and length, which precede every batch."""
OVERHEAD_V2 = 61
SMALLEST = {0: 14, 1: 22, 2: OVERHEAD_V2 - LOG_OVERHEAD}
"""The smallest length of each magic."""
SMALLEST_RECORD = 7
_HEADER_V2 = Format(">qiibIhiqqqhii")
_I64 = 1 << 64


class _RawBatch:
    """The bytes of a batch with a valid length and magic."""

    def __init__(self, data: bytes, index: int, position: int, magic: int) -> None:
        self.data = data
        self.index = index
        self.position = position
        self.size = len(data)
        self.magic = magic
        if magic == 2:
            (
                self.base_offset,
                _,
                self.partition_leader_epoch,
                _,
                self.crc,
                self.attributes,
                self.last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.count,
            ) = _HEADER_V2.unpack_from(data)
        else:
            self.base_offset = int.from_bytes(data[:8], "big", signed=True)
            self.crc = int.from_bytes(data[12:16], "big")
            self.attributes = int.from_bytes(data[17:18], "big", signed=True)
            self.max_timestamp = int.from_bytes(data[18:26], "big", signed=True) if magic == 1 else -1
            self.partition_leader_epoch = self.base_timestamp = self.producer_id = -1
            self.producer_epoch = self.base_sequence = self.count = -1
            self.last_offset_delta = 0

    def check_crc(self) -> None:
        if self.magic == 2:
            computed, at = crc32c(self.data[21:]), 17
        else:
            computed, at = zlib.crc32(self.data[16:]), LOG_OVERHEAD
        if computed != self.crc:
            raise self.error("crc_mismatch", self.position + at, "crc")

    def error(
        self,
        kind: DecodeKind,
        offset: int,
        *path: PathElement,
        wanted: int | None = None,
        left: int | None = None,
        decompressed: bool = False,
    ) -> RecordsDecodeError:
        return RecordsDecodeError(kind, offset, ("batches", self.index, *path), wanted, left, decompressed)


def decode(data: BytesLike, check_crc: bool, max_size: int, max_ratio: int) -> tuple[tuple[RecordBatch, ...], int]:
    """Decode all batches. Returns them, and the number of bytes after the last complete one."""
    data = bytes(data)
    budget = Budget(max_size, max_ratio)
    batches, end = [], 0
    for raw in _split(data, 0, 0):
        if check_crc:
            raw.check_crc()
        batches.append(_batch(raw, budget, check_crc=check_crc))
        end = raw.position + len(raw.data)
    return tuple(batches), len(data) - end


def decode_one(
    data: BytesLike, position: int, index: int, check_crc: bool, max_size: int, max_ratio: int
) -> tuple[RecordBatch, int] | None:
    """Decode the batch number `index` at `position`. Returns None if it is incomplete."""
    for raw in _split(bytes(data), position, index):
        if check_crc:
            raw.check_crc()
        batch = _batch(raw, Budget(max_size, max_ratio), check_crc=check_crc)
        return batch, raw.position + len(raw.data)
    return None


def headers(data: BytesLike, check_crc: bool) -> tuple[tuple[tuple[int, ...], ...], int]:
    """Return the fields of `BatchHeader` for each batch, and the number of bytes after the last complete one."""
    data = bytes(data)
    rows: list[tuple[int, ...]] = []
    end = 0
    for raw in _split(data, 0, 0):
        if check_crc:
            raw.check_crc()
        end = raw.position + len(raw.data)
        rows.append(tuple([getattr(raw, name) for name in HEADER_NAMES]))
    return tuple(rows), len(data) - end


def _split(data: bytes, position: int, index: int) -> Iterator[_RawBatch]:
    """Yield the complete batches from `position` on."""
    while len(data) - position >= LOG_OVERHEAD:
        at_length = position + 8
        length = int.from_bytes(data[at_length : at_length + 4], "big", signed=True)
        path = ("batches", index, "batch_length")
        if length < 0:
            raise RecordsDecodeError("negative_length", at_length, path)
        if length < SMALLEST[0]:
            raise RecordsDecodeError("truncated", at_length, path, SMALLEST[0], length)
        if length > 0x7FFFFFFF - LOG_OVERHEAD:
            raise RecordsDecodeError("too_long", at_length, path)
        if len(data) - position <= 16:
            return
        magic = data[position + 16]
        if magic not in SMALLEST:
            raise RecordsDecodeError("invalid_magic", position + 16, ("batches", index, "magic"))
        end = position + LOG_OVERHEAD + length
        if end > len(data):
            return
        if length < SMALLEST[magic]:
            raise RecordsDecodeError("truncated", at_length, path, SMALLEST[magic], length)
        yield _RawBatch(data[position:end], index, position, magic)
        position, index = end, index + 1


def _batch(raw: _RawBatch, budget: Budget, *, check_crc: bool) -> RecordBatch:
    base_offset, last_offset_delta = raw.base_offset, raw.last_offset_delta
    _charge(raw, budget, 1, BATCH_SIZE, raw.position)
    if raw.magic == 2:
        records = _records_v2(raw, budget)
    else:
        records = _records_legacy(raw, budget, check_crc=check_crc)
        base_offset = records[0].offset
        last_offset_delta = _signed64(raw.base_offset - base_offset)
    return RecordBatch(
        base_offset=base_offset,
        partition_leader_epoch=raw.partition_leader_epoch,
        magic=raw.magic,
        attributes=raw.attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp=raw.base_timestamp,
        max_timestamp=raw.max_timestamp,
        producer_id=raw.producer_id,
        producer_epoch=raw.producer_epoch,
        base_sequence=raw.base_sequence,
        records=tuple(records),
    )


def _decompress(
    raw: _RawBatch, compression: Compression, payload: bytes, start: int, budget: Budget, *, lenient_lz4: bool = False
) -> bytes:
    try:
        return decompress(compression, payload, budget, lenient_lz4=lenient_lz4)
    except Corrupt:
        raise raw.error("corrupt_compression", start, "records") from None
    except TooLarge as error:
        raise raw.error("limit_exceeded", start, "records", wanted=error.allowed) from None


def _charge(raw: _RawBatch, budget: Budget, count: int, size: int, offset: int, *path: PathElement) -> None:
    """Charge `count` objects of `size` bytes to the budget."""
    try:
        budget.charge(count, size)
    except TooLarge as error:
        raise raw.error("limit_exceeded", offset, *path, wanted=error.allowed) from None


def _signed64(value: int) -> int:
    """Return a sum as Java's long: it wraps."""
    value %= _I64
    return value - _I64 if value >= _I64 >> 1 else value


# Magic 2.


def _records_v2(raw: _RawBatch, budget: Budget) -> list[Record]:
    codec = raw.attributes & 0x07
    if codec > Compression.ZSTD:
        raise raw.error("invalid_compression", raw.position + 21, "attributes")
    at_count = raw.position + OVERHEAD_V2 - 4
    if raw.count < 0:
        raise raw.error("negative_length", at_count, "count")
    payload, start, decompressed = raw.data[OVERHEAD_V2:], raw.position + OVERHEAD_V2, False
    if codec:
        if raw.count == 0 and not payload:
            return []  # compaction keeps batches after it has removed all their records
        payload = _decompress(raw, Compression(codec), payload, start, budget)
        start, decompressed = 0, True
    else:
        _charge(raw, budget, len(payload), 1, start, "records")
    smallest = raw.count * SMALLEST_RECORD
    if smallest > len(payload):
        raise raw.error("count_exceeds_input", at_count, "count", wanted=smallest, left=len(payload))
    _charge(raw, budget, raw.count, RECORD_SIZE, at_count, "count")
    reader = _Reader(raw, payload, 0, len(payload), start, decompressed=decompressed)
    records = []
    for index in range(raw.count):
        reader.path = ("records", index)
        records.append(_record_v2(raw, reader, budget))
    reader.path = ()
    reader.expect_end("records")
    return records


def _record_v2(raw: _RawBatch, outer: _Reader, budget: Budget) -> Record:
    body = outer.sized_varint("length")
    body.integer(1, "attributes")
    raw_timestamp = _signed64(raw.base_timestamp + body.varint(10, "timestamp_delta"))
    timestamp = raw.max_timestamp if raw.attributes & Attribute.LOG_APPEND_TIME else raw_timestamp
    offset = _signed64(raw.base_offset + body.varint(5, "offset_delta"))
    key = body.nullable_varint("key")
    value = body.nullable_varint("value")
    at = body.position
    count = body.varint(5, "headers")
    if count < 0:
        raise body.error("negative_length", at, "headers")
    if 2 * count > body.left():
        raise body.error("count_exceeds_input", at, "headers", wanted=2 * count, left=body.left())
    body.charge(budget, count, HEADER_SIZE, at, "headers")
    headers = []
    path = body.path
    for index in range(count):
        body.path = (*path, "headers", index)
        headers.append(_header(body, budget))
    body.path = path
    body.expect_end()
    return Record(
        offset=offset,
        timestamp=timestamp,
        key=key,
        value=value,
        headers=tuple(headers),
        raw_timestamp=None if raw_timestamp == timestamp else raw_timestamp,
    )


def _header(body: _Reader, budget: Budget) -> Header:
    at = body.position
    length = body.varint(5, "key")
    if length < 0:
        raise body.error("null_not_allowed" if length == -1 else "negative_length", at, "key")
    key = body.take(length, at, "key")
    body.charge(budget, length, WIDENED, at, "key")
    return Header(key=key.decode("utf-8", "surrogateescape"), value=body.nullable_varint("value"))


# Magic 0 and 1.


class _Entry:
    """An entry of a message set."""

    offset: int
    magic: int
    attributes: int
    at_attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    at_value: int


def _records_legacy(raw: _RawBatch, budget: Budget, *, check_crc: bool) -> list[Record]:
    wrapper = _entry(_Reader(raw, raw.data, 0, len(raw.data), raw.position), "batch_length")
    codec = wrapper.attributes & 0x07
    if codec > Compression.LZ4:
        raise raw.error("invalid_compression", wrapper.at_attributes, "attributes")
    if codec == 0:
        _charge(raw, budget, 1, len(raw.data) + RECORD_SIZE, raw.position, "records")
        return [_legacy_record(wrapper, wrapper.offset, wrapper.timestamp)]
    if wrapper.value is None:
        raise raw.error("null_not_allowed", wrapper.at_value, "records")
    lenient = wrapper.magic == 0
    start = wrapper.at_value + 4
    data = _decompress(raw, Compression(codec), wrapper.value, start, budget, lenient_lz4=lenient)
    entries = _inner_entries(raw, data, budget, check_crc=check_crc)
    base = 0
    if wrapper.magic == 1 and wrapper.offset != 0:  # some versions of librdkafka produce wrappers with the offset 0
        last = entries[-1].offset
        if wrapper.offset < last:
            raise raw.error("invalid_offset", raw.position, "base_offset")
        base = wrapper.offset - last
    append_time = wrapper.magic == 1 and bool(wrapper.attributes & Attribute.LOG_APPEND_TIME)
    return [
        _legacy_record(
            entry,
            _signed64(base + entry.offset),
            wrapper.timestamp if append_time and entry.magic == 1 else entry.timestamp,
        )
        for entry in entries
    ]


def _inner_entries(raw: _RawBatch, data: bytes, budget: Budget, *, check_crc: bool) -> list[_Entry]:
    reader = _Reader(raw, data, 0, len(data), 0, decompressed=True)
    entries: list[_Entry] = []
    while reader.left() or not entries:  # there is at least one
        reader.path = ("records", len(entries))
        start = reader.position
        reader.charge(budget, 1, RECORD_SIZE, start)
        entry = _entry(reader, "length")
        if check_crc:
            stored = int.from_bytes(data[start + LOG_OVERHEAD : start + 16], "big")
            if stored != zlib.crc32(data[start + 16 : reader.position]):
                raise reader.error("crc_mismatch", start + LOG_OVERHEAD, "crc")
        if entry.attributes & 0x07:
            raise reader.error("invalid_compression", entry.at_attributes, "attributes")
        entries.append(entry)
    return entries


def _entry(outer: _Reader, length_name: str) -> _Entry:
    entry = _Entry()
    entry.offset = outer.integer(8, "offset")
    at_length = outer.position
    length = outer.integer(4, length_name)
    if length < 0:
        raise outer.error("negative_length", at_length, length_name)
    if length < SMALLEST[0]:
        raise outer.error("truncated", at_length, length_name, wanted=SMALLEST[0], left=length)
    body = outer.child(length, at_length, length_name)
    body.integer(4, "crc")
    at_magic = body.position
    entry.magic = body.integer(1, "magic")
    entry.at_attributes = body.start + body.position
    entry.attributes = body.integer(1, "attributes")
    entry.timestamp = -1
    if entry.magic not in (0, 1):
        raise body.error("invalid_magic", at_magic, "magic")
    if entry.magic == 1:
        if length < SMALLEST[1]:
            raise outer.error("truncated", at_length, length_name, wanted=SMALLEST[1], left=length)
        entry.timestamp = body.integer(8, "timestamp")
    entry.key = body.nullable_int32("key")
    entry.at_value = body.start + body.position
    entry.value = body.nullable_int32("value")
    body.expect_end()
    return entry


def _legacy_record(entry: _Entry, offset: int, timestamp: int) -> Record:
    raw_timestamp = None if entry.timestamp == timestamp else entry.timestamp
    return Record(offset=offset, timestamp=timestamp, key=entry.key, value=entry.value, raw_timestamp=raw_timestamp)


class _Reader:
    """A bounded reader. `path` leads from the batch to what is read; `start` is the offset of `data` in the input."""

    def __init__(
        self, raw: _RawBatch, data: bytes, position: int, end: int, start: int, *, decompressed: bool = False
    ) -> None:
        self.raw = raw
        self.data = data
        self.position = position
        self.end = end
        self.start = start
        self.decompressed = decompressed
        self.path: tuple[PathElement, ...] = ()

    def left(self) -> int:
        return self.end - self.position

    def error(
        self, kind: DecodeKind, position: int, *names: str, wanted: int | None = None, left: int | None = None
    ) -> RecordsDecodeError:
        return self.raw.error(
            kind,
            self.start + position,
            *self.path,
            *names,
            wanted=wanted,
            left=left,
            decompressed=self.decompressed,
        )

    def charge(self, budget: Budget, count: int, size: int, position: int, *names: str) -> None:
        """Charge `count` objects of `size` bytes to the budget."""
        try:
            budget.charge(count, size)
        except TooLarge as error:
            raise self.error("limit_exceeded", position, *names, wanted=error.allowed) from None

    def take(self, count: int, at: int, name: str) -> bytes:
        if count > self.left():
            raise self.error("truncated", at, name, wanted=count, left=self.left())
        self.position += count
        return self.data[self.position - count : self.position]

    def child(self, count: int, at: int, name: str) -> _Reader:
        self.take(count, at, name)
        reader = _Reader(
            self.raw, self.data, self.position - count, self.position, self.start, decompressed=self.decompressed
        )
        reader.path = self.path
        return reader

    def integer(self, size: int, name: str) -> int:
        return int.from_bytes(self.take(size, self.position, name), "big", signed=True)

    def varint(self, max_bytes: int, name: str) -> int:
        """Read a zigzag varint of 32 bits (5 bytes) or 64 bits (10 bytes)."""
        at, value = self.position, 0
        for index in range(max_bytes):
            if not self.left():
                raise self.error("truncated", at, name, wanted=1, left=0)
            byte = self.data[self.position]
            self.position += 1
            if index == max_bytes - 1 and byte > (0x0F if max_bytes == 5 else 0x01):
                break
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value >> 1 ^ -(value & 1)
        raise self.error("varint_overflow", at, name)

    def sized_varint(self, name: str) -> _Reader:
        at = self.position
        length = self.varint(5, name)
        if length < 0:
            raise self.error("negative_length", at, name)
        return self.child(length, at, name)

    def nullable_varint(self, name: str) -> bytes | None:
        """Read bytes. Like Kafka, take every negative length for null."""
        at = self.position
        length = self.varint(5, name)
        return None if length < 0 else self.take(length, at, name)

    def nullable_int32(self, name: str) -> bytes | None:
        at = self.position
        length = self.integer(4, name)
        return None if length < 0 else self.take(length, at, name)

    def expect_end(self, *names: str) -> None:
        if self.left():
            raise self.error("trailing_bytes", self.position, *names, wanted=0, left=self.left())
