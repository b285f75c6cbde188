"""Records, record batches, and what they are made of, with the names of Kafka's classes and fields.

These are structs like the parts of a message: immutable, comparable, hashable, and constructed with keywords.
"""

from __future__ import annotations

from enum import IntEnum

from kwire.declare import Struct, array, int8, int16, int32, int64, maybe, nullable, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeAlias

    TimestampType: TypeAlias = Literal["none", "create_time", "log_append_time"]

_MAX_SEQUENCE = 0x7FFF_FFFF


class Compression(IntEnum):
    """The compression of a batch: bits 0 to 2 of its attributes (`CompressionType` in Kafka)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
    """Only in magic 2 (KIP-110, Kafka 2.1)."""


class Attribute(IntEnum):
    """The bits of a batch's attributes above the bits of the compression."""

    LOG_APPEND_TIME = 0x08
    """The broker set the timestamps. In magic 1 and 2 (KIP-32, Kafka 0.10)."""
    TRANSACTIONAL = 0x10
    """The batch is part of a transaction. In magic 2 (KIP-98, Kafka 0.11)."""
    CONTROL = 0x20
    """The batch holds control records, which brokers write. In magic 2 (KIP-98, Kafka 0.11)."""
    DELETE_HORIZON = 0x40
    """`base_timestamp` holds the delete horizon. In magic 2 (KIP-534, Kafka 3.1)."""


class Header(Struct):
    """A header of a record (KIP-82, Kafka 0.11)."""

    key: string
    """The key. Bytes that are not UTF-8 appear as surrogates, as in `os.fsdecode`."""
    value: nullable[bytes]
    """The value; None for null."""


class Record(Struct):
    """A record: what producers send and consumers read."""

    offset: int64
    """The offset in the partition. Producers count from 0 in each batch."""
    timestamp: int64
    """Time of creation or append, in milliseconds since the epoch; -1 without a timestamp."""
    key: nullable[bytes]
    """The key; None for null."""
    value: nullable[bytes]
    """The value; None for null, which is a tombstone in a compacted topic."""
    headers: array[Header] = ()
    """The headers in order. Keys may repeat. Only in magic 2."""
    raw_timestamp: maybe[int64] = None
    """The stored time of creation, in milliseconds since the epoch, if the batch has another append time; else None."""


class _Attributes(Struct):
    """The meaning of the attributes of a batch."""

    __slots__ = ()

    if TYPE_CHECKING:
        magic: int8
        attributes: int16
        base_offset: int64
        last_offset_delta: int64
        base_timestamp: int64

    @property
    def compression(self) -> Compression:
        """The compression of the records."""
        return Compression(self.attributes & 0x07)

    @property
    def timestamp_type(self) -> TimestampType:
        """`none` in magic 0, else `create_time` or `log_append_time`."""
        if self.magic == 0:
            return "none"
        return "log_append_time" if self.attributes & Attribute.LOG_APPEND_TIME else "create_time"

    @property
    def is_transactional(self) -> bool:
        """True if the batch is part of a transaction."""
        return self.magic == 2 and bool(self.attributes & Attribute.TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True if the batch holds control records (`kwire.records.control_record`) instead of data."""
        return self.magic == 2 and bool(self.attributes & Attribute.CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Earliest removal of tombstones by compaction, in milliseconds since the epoch; None if not set."""
        if self.magic == 2 and self.attributes & Attribute.DELETE_HORIZON:
            return self.base_timestamp
        return None

    @property
    def last_offset(self) -> int:
        """The offset of the last record, which compaction may have removed."""
        return _wrapped(self.base_offset + self.last_offset_delta, 64)


class RecordBatch(_Attributes):
    """A batch of records.

    In magic 0 and 1, an entry of a message set is a batch: a single record, or a compressed message set. Fields that
    these formats lack are -1.
    """

    base_offset: int64
    """The offset of the first record, which compaction may have removed. Offsets are relative to it."""
    partition_leader_epoch: int32 = -1
    """The epoch of the leader that appended the batch; -1 from producers."""
    magic: int8 = 2
    """The version of the format: 0, 1 (KIP-32, Kafka 0.10), or 2 (KIP-98, Kafka 0.11)."""
    attributes: int16 = 0
    """Compression, timestamp type, and flags. Properties of the batch give their meaning."""
    last_offset_delta: int64
    """The offset of the last record, relative to the base offset. An int32 in magic 2."""
    base_timestamp: int64
    """Base of the records' timestamps, or the delete horizon, in milliseconds; -1 in magic 0 and 1."""
    max_timestamp: int64
    """The largest timestamp of the records, or the append time; -1 in magic 0."""
    producer_id: int64 = -1
    """The id of an idempotent producer, or -1."""
    producer_epoch: int16 = -1
    """The epoch of the producer, or -1."""
    base_sequence: int32 = -1
    """The sequence number of the first record, or -1."""
    records: array[Record]
    """The records. Compaction leaves batches without records, too."""

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record, or -1."""
        if self.base_sequence < 0:
            return -1
        return increment_sequence(self.base_sequence, self.last_offset_delta)


class BatchHeader(_Attributes):
    """The header of a batch and its position."""

    position: int64
    """The offset of the batch in the bytes."""
    size: int32
    """The size of the batch in bytes."""
    base_offset: int64
    """The offset of the first record, or in magic 0 and 1 of the last."""
    partition_leader_epoch: int32
    """The epoch of the leader that appended the batch, or -1."""
    magic: int8
    """The version of the format."""
    crc: int64
    """The stored checksum: CRC32C in magic 2, CRC32 in magic 0 and 1. An unsigned number of 32 bits."""
    attributes: int16
    """Compression, timestamp type, and flags."""
    last_offset_delta: int32
    """The offset of the last record, relative to the base offset; 0 in magic 0 and 1."""
    base_timestamp: int64
    """Base of the records' timestamps, or the delete horizon, in milliseconds; -1 in magic 0 and 1."""
    max_timestamp: int64
    """The largest timestamp of the records, or the append time; -1 in magic 0."""
    producer_id: int64
    """The id of the producer, or -1."""
    producer_epoch: int16
    """The epoch of the producer, or -1."""
    base_sequence: int32
    """The sequence number of the first record, or -1."""
    count: int32
    """The number of records; -1 in magic 0 and 1, which do not store it."""


HEADER_NAMES = tuple(BatchHeader.__kwire_names__)  # type: ignore[attr-defined]  # type checkers see `_typing.Struct`
"""The names of the fields of `BatchHeader`, in their order."""


class MemoryRecords(Struct):
    """The batches of a partition in a response, and what is left over."""

    batches: array[RecordBatch]
    """The complete batches in order."""
    unread: int64 = 0
    """The number of bytes after the last complete batch: brokers cut the last batch of a fetch response."""

    def records(self) -> Iterator[Record]:
        """Iterate over the records of all batches, including control records."""
        for batch in self.batches:
            yield from batch.records


def increment_sequence(sequence: int, increment: int) -> int:
    """Return the sequence number `increment` records later. After 2^31 - 1 comes 0.

    A negative increment, which only a damaged batch has, leads to the number that `DefaultRecordBatch` computes.
    """
    if sequence > _wrapped(_MAX_SEQUENCE - increment, 32):
        return _wrapped(increment - (_MAX_SEQUENCE - sequence) - 1, 32)
    return _wrapped(sequence + increment, 32)


def _wrapped(value: int, bits: int) -> int:
    """Return a sum as Java's arithmetic does: without the bits above `bits`."""
    half = 1 << bits - 1
    return (value + half) % (1 << bits) - half
