"""Decoding and encoding of record batches by the engine, or by the reference if the compiled module is missing."""

from __future__ import annotations

import sys

from kwire.records.batch import HEADER_NAMES, BatchHeader, Compression, Header, MemoryRecords, Record, RecordBatch
from kwire.records.options import check_level, fields_of_arguments, fields_of_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    from kwire.codec import BytesLike
    from kwire.records.options import BatchFields, CompressionName

    HeaderValues: TypeAlias = Header | tuple[str, bytes | None]
    RecordValues: TypeAlias = (
        Record
        | tuple[int, int, bytes | None, bytes | None]
        | tuple[int, int, bytes | None, bytes | None, tuple[HeaderValues, ...]]
        | tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes]] | list[tuple[str, bytes | None]]]
    )

DEFAULT_MAX_SIZE = 256 << 20
"""Maximum memory of a call in bytes, as `decode` counts it."""
DEFAULT_MAX_RATIO = 1_000
"""The most decompressed bytes of a batch as a multiple of its compressed bytes."""


def decode(
    data: BytesLike,
    *,
    check_crc: bool = True,
    max_size: int | None = DEFAULT_MAX_SIZE,
    max_ratio: int | None = DEFAULT_MAX_RATIO,
) -> MemoryRecords:
    """Decode all batches, for example the records of a partition in a fetch response.

    The last batch may be cut short, as brokers do it. `unread` of the result counts its bytes.

    Args:
        data: the batches.
        check_crc: compare the checksums.
        max_size: maximum memory of all batches together in bytes; None for no limit. It counts the decompressed bytes,
            and upper bounds of the objects: 640 for each batch, 352 for each record, 192 for each header, and three
            times the bytes of header keys.
        max_ratio: maximum decompressed bytes of a batch as a multiple of its compressed bytes; None for no limit.
            Batches that exceed it may decompress to 1 MiB together.

    Raises:
        RecordsDecodeError: the bytes are not valid batches, or exceed a limit.
    """
    decoded, unread = engine().decode(data, check_crc, _limit("max_size", max_size), _limit("max_ratio", max_ratio))
    return MemoryRecords(batches=decoded, unread=unread)


def batches(
    data: BytesLike,
    *,
    check_crc: bool = True,
    max_size: int | None = DEFAULT_MAX_SIZE,
    max_ratio: int | None = DEFAULT_MAX_RATIO,
) -> Iterator[RecordBatch]:
    """Decode batches one at a time, when the iterator reaches them. Batches before an invalid one are returned.

    Takes the arguments of `decode`; `max_size` limits each batch.

    Raises:
        RecordsDecodeError: the next batch is invalid, or exceeds a limit.
    """
    limits = _limit("max_size", max_size), _limit("max_ratio", max_ratio)
    data = bytes(data) if isinstance(data, bytearray) else data
    position = index = 0
    while (decoded := engine().decode_one(data, position, index, check_crc, *limits)) is not None:
        batch, position = decoded
        index += 1
        yield batch


def batch_headers(data: BytesLike, *, check_crc: bool = True) -> tuple[BatchHeader, ...]:
    """Return the headers of all complete batches without decompressing or decoding their records.

    Raises:
        RecordsDecodeError: a length, a magic, or a checksum is invalid.
    """
    headers, _ = engine().headers(data, check_crc)
    return tuple([BatchHeader(**dict(zip(HEADER_NAMES, values, strict=True))) for values in headers])


def encode(
    records: RecordBatch | MemoryRecords | Iterable[RecordValues],
    *,
    magic: int = 2,
    compression: Compression | CompressionName = "none",
    level: int | None = None,
    base_offset: int | None = None,
    last_offset_delta: int | None = None,
    log_append_time: int | None = None,
    delete_horizon_ms: int | None = None,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """Encode one batch of records, or decoded batches.

    Uncompressed batches have the bytes that Kafka's own classes write. In magic 0 and 1 uncompressed records are one
    batch each.

    Args:
        records: records, or tuples of offset, timestamp, key, value, and optionally headers, in a tuple or a list. A
            RecordBatch or MemoryRecords has the fields below itself, so only `level` may be given with it.
        magic: the version of the format: 0, 1, or 2.
        compression: none, gzip, snappy, lz4, or zstd.
        level: the level of gzip (0 to 9) or zstd (-131072 to 22); by default 6 and 3.
        base_offset: by default the offset of the first record.
        last_offset_delta: by default, the delta of the last record.
        log_append_time: the append time in milliseconds since the epoch, which consumers see instead of the timestamps.
        delete_horizon_ms: the delete horizon in milliseconds since the epoch.
        partition_leader_epoch: the epoch of the leader.
        producer_id: the id of an idempotent producer.
        producer_epoch: the epoch of the producer.
        base_sequence: the sequence number of the first record.
        is_transactional: true if the batch is part of a transaction.
        is_control: true if the records are control records.

    Raises:
        EncodeError: a value is invalid, or not supported by the magic.
        ValueError: the compression or its level does not exist.
    """
    arguments: dict[str, Any] = {
        "magic": magic,
        "compression": compression,
        "base_offset": base_offset,
        "last_offset_delta": last_offset_delta,
        "log_append_time": log_append_time,
        "delete_horizon_ms": delete_horizon_ms,
        "partition_leader_epoch": partition_leader_epoch,
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "base_sequence": base_sequence,
        "is_transactional": is_transactional,
        "is_control": is_control,
    }
    if isinstance(records, (RecordBatch, MemoryRecords)):
        return _encode_decoded(records, arguments, level)
    return _encode_fields(fields_of_arguments(arguments), tuple(records), level)


_DEFAULTS: dict[str, Any] = encode.__kwdefaults__ or {}


def _encode_decoded(records: RecordBatch | MemoryRecords, arguments: dict[str, Any], level: int | None) -> bytes:
    if changed := [name for name, value in arguments.items() if value != _DEFAULTS[name]]:
        reason = f"a {type(records).__name__} has these fields itself: pass its records instead"
        raise TypeError(f"{', '.join(changed)}: {reason}")
    return b"".join([_encode_batch(batch, level) for batch in _batches(records)])


def _encode_fields(fields: BatchFields, records: tuple[RecordValues, ...], level: int | None) -> bytes:
    check_level(fields, level)
    encoded: bytes = engine().encode(fields, records, level)
    return encoded


def _batches(records: RecordBatch | MemoryRecords) -> tuple[RecordBatch, ...]:
    return (records,) if isinstance(records, RecordBatch) else records.batches


def _encode_batch(batch: RecordBatch, level: int | None) -> bytes:
    return _encode_fields(fields_of_batch(batch), batch.records, level)


def _limit(name: str, value: int | None) -> int:
    if value is None:
        return sys.maxsize
    if type(value) is not int:
        raise TypeError(f"{name}: expected an int or None, found {value!r}")
    if value < 0:
        raise ValueError(f"{name}: expected at least 0, found {value}")
    return min(value, sys.maxsize)


_engine: Any = None


def engine() -> Any:
    """Return the codec: `kwire._kwire.Records`, or the reference, which has the same methods."""
    global _engine  # noqa: PLW0603  # created on first use, because it needs the classes
    if _engine is None:
        try:
            from kwire._kwire import Records
        except ImportError:
            from kwire.records import reference

            _engine = reference
        else:
            _engine = Records(RecordBatch, Record, Header)
    return _engine
