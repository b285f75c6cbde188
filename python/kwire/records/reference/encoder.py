"""Batches to bytes."""

from __future__ import annotations

import zlib
from struct import pack

from kwire.errors import EncodeError
from kwire.records.batch import Attribute, Compression, Header, Record
from kwire.records.reference.checksums import crc32c
from kwire.records.reference.compression import compress
from kwire.reference.formats import uvarint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.errors import EncodeKind, PathElement
    from kwire.records.options import BatchFields

_MAX_INT32 = (1 << 31) - 1


def encode(fields: BatchFields, records: tuple[object, ...], level: int | None) -> bytes:
    """Encode a batch of records, or of tuples of their values."""
    compression = _check(fields)
    taken = [_record(index, record) for index, record in enumerate(records)]
    taken = [record.__replace__(timestamp=_stored_timestamp(fields, record, compression)) for record in taken]  # type: ignore[attr-defined]  # copy.replace since 3.13
    base_offset = fields.base_offset
    if base_offset is None:
        base_offset = taken[0].offset if taken else 0
    if fields.magic == 2:
        return _batch_v2(fields, taken, base_offset, compression, level)
    return _message_set(fields, taken, base_offset, compression, level)


def _check(fields: BatchFields) -> Compression:
    """Check that the magic has the fields. Returns the compression."""
    magic = fields.magic
    if magic not in (0, 1, 2):
        raise EncodeError("not_in_version", ("magic",), f"{magic} is not supported: expected 0, 1, or 2")
    codec = fields.attributes & 0x07
    if codec > Compression.ZSTD:
        raise EncodeError("not_in_version", ("attributes",), f"unknown compression type {codec}")
    if magic == 2:
        return Compression(codec)
    if codec == Compression.ZSTD:
        raise EncodeError("not_in_version", ("attributes",), f"magic {magic} does not support zstd: use magic 2")
    for name in ("producer_id", "producer_epoch", "base_sequence", "partition_leader_epoch"):
        if getattr(fields, name) != -1:
            raise EncodeError("not_in_version", (name,), f"magic {magic} does not have it: use magic 2")
    if not -0x80 <= fields.attributes < 0x80:
        raise EncodeError("not_in_version", ("attributes",), f"magic {magic} does not have it: use magic 2")
    return Compression(codec)


# Values.


def _record(index: int, record: object) -> Record:
    """Return the values of a record, checked."""

    def error(kind: EncodeKind, reason: str, *path: PathElement) -> EncodeError:
        return EncodeError(kind, ("records", index, *path), reason)

    values: tuple[object, ...]
    if isinstance(record, Record):
        values = (record.offset, record.timestamp, record.key, record.value, record.headers, record.raw_timestamp)
    elif not isinstance(record, tuple):
        raise error(_kind_of(record), f"expected a Record or a tuple, found {_name(record)}")
    elif len(record) not in (4, 5):
        reason = f"expected a tuple of offset, timestamp, key, value, and headers, found {len(record)} elements"
        raise error("wrong_type", reason)
    else:
        values = (*(record if len(record) == 5 else (*record, ())), None)
    offset, timestamp, key, value, header_values, raw_timestamp = values
    if not isinstance(header_values, (tuple, list)):
        raise error(_kind_of(header_values), f"expected a tuple or a list, found {_name(header_values)}", "headers")
    headers = []
    for position, header in enumerate(header_values):
        at = ("headers", position)
        if isinstance(header, Header):
            name, content = header.key, header.value
        elif isinstance(header, tuple) and len(header) == 2:
            name, content = header
        else:
            raise error(_kind_of(header), f"expected a Header or a tuple of key and value, found {_name(header)}", *at)
        if not isinstance(name, str):
            raise error(_kind_of(name), f"expected str, found {_name(name)}", *at, "key")
        try:
            name.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise error("invalid_utf8", "the string has no UTF-8 encoding", *at, "key") from None
        if content is not None and not isinstance(content, bytes):
            raise error("wrong_type", f"expected bytes or None, found {_name(content)}", *at, "value")
        headers.append(Header(key=name, value=content))
    # The order of these checks is the order of the engine: both name the same first mistake.
    for field, number in (("offset", offset), ("timestamp", timestamp), ("raw_timestamp", raw_timestamp)):
        if field == "raw_timestamp" and number is None:
            continue
        if not isinstance(number, int) or isinstance(number, bool):
            raise error(_kind_of(number), f"expected int, found {_name(number)}", field)
        if not -(1 << 63) <= number < 1 << 63:
            raise error("out_of_range", "expected an int of 64 bits", field)
    for field, data in (("key", key), ("value", value)):
        if data is not None and not isinstance(data, bytes):
            raise error("wrong_type", f"expected bytes or None, found {_name(data)}", field)
    checked: dict[str, Any] = {"offset": offset, "timestamp": timestamp, "key": key, "value": value}
    checked["raw_timestamp"] = raw_timestamp
    return Record(**checked, headers=tuple(headers))


def _kind_of(value: object) -> EncodeKind:
    return "null_not_allowed" if value is None else "wrong_type"


def _name(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _stored_timestamp(fields: BatchFields, record: Record, compression: Compression) -> int:
    if fields.magic == 0 or not fields.attributes & Attribute.LOG_APPEND_TIME:
        return record.timestamp
    if fields.magic == 1 and not compression and fields.max_timestamp is not None:
        return fields.max_timestamp  # the append time has no other place than the record itself
    return record.timestamp if record.raw_timestamp is None else record.raw_timestamp


def _max_timestamp(fields: BatchFields, records: list[Record]) -> int:
    if fields.max_timestamp is not None:
        return fields.max_timestamp
    return max((record.timestamp for record in records), default=-1)


# Magic 2.


def _batch_v2(
    fields: BatchFields, records: list[Record], base_offset: int, compression: Compression, level: int | None
) -> bytes:
    base_timestamp = fields.base_timestamp
    if base_timestamp is None:
        base_timestamp = records[0].timestamp if records else -1
    body = b"".join(_record_v2(index, record, base_offset, base_timestamp) for index, record in enumerate(records))
    if compression and records:
        body = compress(compression, body, level)
    delta = fields.last_offset_delta
    if delta is None:
        delta = _int64(records[-1].offset - base_offset) if records else 0
    checked = pack(
        ">hiqqqhii",
        fields.attributes,
        delta,
        base_timestamp,
        _max_timestamp(fields, records),
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        len(records),
    )
    checked += body
    head = pack(">ibI", fields.partition_leader_epoch, 2, crc32c(checked))
    return pack(">qi", base_offset, len(head) + len(checked)) + head + checked


def _record_v2(index: int, record: Record, base_offset: int, base_timestamp: int) -> bytes:
    delta = _int64(record.offset - base_offset)  # readers add with 64 bits
    if not -(1 << 31) <= delta <= _MAX_INT32:
        reason = f"{record.offset} does not fit 32 bits relative to the base offset {base_offset}"
        raise EncodeError("out_of_range", ("records", index, "offset"), reason)
    body = b"\0" + _varint(record.timestamp - base_timestamp, 64) + _varint(delta, 32)
    body += _sized(record.key) + _sized(record.value) + _varint(len(record.headers), 32)
    for header in record.headers:
        body += _sized(header.key.encode("utf-8", "surrogateescape")) + _sized(header.value)
    return _varint(len(body), 32) + body


def _sized(data: bytes | None) -> bytes:
    return _varint(-1, 32) if data is None else _varint(len(data), 32) + data


def _varint(value: int, bits: int) -> bytes:
    """Return a zigzag varint. Differences of timestamps wrap."""
    half = 1 << bits - 1
    value = (value + half) % (1 << bits) - half
    return uvarint((value << 1 ^ value >> bits - 1) & (1 << bits) - 1)


# Magic 0 and 1.


def _message_set(
    fields: BatchFields, records: list[Record], base_offset: int, compression: Compression, level: int | None
) -> bytes:
    magic = fields.magic
    for index, record in enumerate(records):
        if record.headers:
            reason = f"magic {magic} does not support headers: use magic 2"
            raise EncodeError("not_in_version", ("records", index, "headers"), reason)
        if magic == 0 and record.timestamp != -1:
            reason = f"magic 0 has no timestamps: expected -1, found {record.timestamp}"
            raise EncodeError("not_in_version", ("records", index, "timestamp"), reason)
    last = records[-1].offset if records else base_offset
    offset = last if fields.last_offset_delta is None else _int64(base_offset + fields.last_offset_delta)
    # Readers take the offsets in a wrapper with the offset 0 for absolute ones, and reject a last relative offset above
    # the offset of the wrapper, which a negative base leads to.
    is_expressible = offset != 0 and offset >= _int64(offset - base_offset)
    is_relative = magic == 1 and compression and (fields.last_offset_delta is None or is_expressible)
    relative = base_offset if is_relative else 0
    attributes = fields.attributes
    if compression:
        attributes &= Attribute.LOG_APPEND_TIME if magic == 1 else 0
    body = b"".join(
        _entry(_int64(record.offset - relative), magic, attributes, record.timestamp, record.key, record.value)
        for record in records
    )
    if not compression:
        return body
    if not records:
        reason = f"a compressed message set of magic {magic} needs at least one record"
        raise EncodeError("out_of_range", ("records",), reason)
    last_written = _int64(last - relative)
    wrapper_offset = last_written if offset == 0 else offset
    if magic == 1 and not (wrapper_offset == last and (offset == 0 or offset >= last_written)):
        reason = (
            f"magic 1 cannot express the offsets {base_offset} to {last} in a compressed message set with the offset "
            f"{offset}"
        )
        field = "records" if fields.last_offset_delta is None else "last_offset_delta"
        raise EncodeError("out_of_range", (field,), reason)
    value = compress(compression, body, level, wrong_lz4_checksum=magic == 0)
    return _entry(offset, magic, fields.attributes, _max_timestamp(fields, records), None, value)


def _int64(value: int) -> int:
    """Return a number without the bits above 64."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _entry(offset: int, magic: int, attributes: int, timestamp: int, key: bytes | None, value: bytes | None) -> bytes:
    checked = pack(">bb", magic, attributes)
    if magic == 1:
        checked += pack(">q", timestamp)
    for data in (key, value):
        checked += pack(">i", -1) if data is None else pack(">i", len(data)) + data
    return pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked
