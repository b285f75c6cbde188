"""The fields of a batch that is to be encoded, from the arguments of `encode` or from a RecordBatch."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, Literal, NamedTuple
from kwire.errors import EncodeError
from kwire.records.batch import Attribute, Compression, RecordBatch

if TYPE_CHECKING:
    from typing import TypeAlias

    CompressionName: TypeAlias = Literal["none", "gzip", "snappy", "lz4", "zstd"]


class BatchFields(NamedTuple):
    """The fields of a batch besides its records, in the order in which the engine takes them.

    None derives a field from the records.
    """

    magic: int
    attributes: int
    base_offset: int | None
    last_offset_delta: int | None
    base_timestamp: int | None
    max_timestamp: int | None
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


_BITS = (8, 16, 64, 64, 64, 64, 32, 64, 16, 32)
"""Bits of each field."""
_DERIVED = frozenset(("base_offset", "last_offset_delta", "base_timestamp", "max_timestamp"))
"""Fields that are derived from the records if they are None."""
_LEVELS = {Compression.GZIP: range(10), Compression.ZSTD: range(-131072, 23)}


def fields_of_batch(batch: RecordBatch) -> BatchFields:
    """Return the fields of a batch.

    In magic 0 and 1, timestamps and offsets of the batch belong to the compressed message set.
    """
    if batch.timestamp_type == "log_append_time":
        _check_append_times(batch)
    return _checked(BatchFields._make(getattr(batch, name) for name in BatchFields._fields))


def fields_of_arguments(arguments: dict[str, Any]) -> BatchFields:
    """Return the fields that the arguments of `encode` describe."""
    magic = arguments["magic"]
    attributes = int(_compression(arguments["compression"]))
    for name, flag, is_set in (
        ("delete_horizon_ms", Attribute.DELETE_HORIZON, arguments["delete_horizon_ms"] is not None),
        ("is_transactional", Attribute.TRANSACTIONAL, arguments["is_transactional"]),
        ("is_control", Attribute.CONTROL, arguments["is_control"]),
    ):
        if is_set and magic in (0, 1):
            raise EncodeError("not_in_version", (name,), f"magic {magic} does not have it: use magic 2")
        if is_set:
            attributes |= flag
    if arguments["log_append_time"] is not None:
        if magic == 0:
            raise EncodeError("not_in_version", ("log_append_time",), "magic 0 has no timestamps: use magic 2")
        attributes |= Attribute.LOG_APPEND_TIME
    values = arguments | {
        "attributes": attributes,
        # The base timestamp of a batch with a delete horizon is that horizon (KIP-534).
        "base_timestamp": arguments["delete_horizon_ms"],
        "max_timestamp": arguments["log_append_time"],
    }
    return _checked(BatchFields._make(values[name] for name in BatchFields._fields))


def _check_append_times(batch: RecordBatch) -> None:
    """Check that records have the append time of their batch.

    An entry of magic 0 in a compressed message set of magic 1 has none.
    """
    for index, record in enumerate(batch.records):
        if record.timestamp != batch.max_timestamp:
            reason = (
                f"{record.timestamp} differs from the append time of the batch, max_timestamp={batch.max_timestamp}: "
                "raw_timestamp holds the time of creation"
            )
            raise EncodeError("out_of_range", ("records", index, "timestamp"), reason)


def check_level(fields: BatchFields, level: int | None) -> None:
    """Check that the compression has the level.

    Raises:
        ValueError: the compression has no levels, or not this one.
    """
    if level is None:
        return
    levels = _LEVELS.get(Compression(fields.attributes & 0x07)) if fields.attributes & 0x07 <= 4 else None
    if levels is None:
        raise ValueError(f"level: only gzip and zstd have levels, found {level}")
    if level not in levels:
        raise ValueError(f"level: expected {levels[0]} to {levels[-1]}, found {level}")


def _compression(value: Compression | CompressionName) -> Compression:
    if isinstance(value, str):
        try:
            return Compression[value.upper()]
        except KeyError:
            pass
    elif isinstance(value, Compression):
        return value
    names = ", ".join(compression.name.lower() for compression in Compression)
    raise ValueError(f"compression: expected one of {names}, found {value!r}")


def _checked(fields: BatchFields) -> BatchFields:
    for name, width, value in zip(BatchFields._fields, _BITS, fields, strict=True):
        bits = 32 if name == "last_offset_delta" and fields.magic == 2 else width
        if value is None and name in _DERIVED:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise EncodeError("wrong_type", (name,), f"expected int, found {type(value).__name__}")
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise EncodeError("out_of_range", (name,), f"{value} does not fit int{bits}")
    return fields
