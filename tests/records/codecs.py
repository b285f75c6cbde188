"""The engine and the reference for record batches, and their outcomes in a form that can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kwire._kwire import Records
from kwire.errors import EncodeError, RecordsDecodeError
from kwire.records import Header, MemoryRecords, Record, RecordBatch, reference
from tests.records.vectors import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

ENGINE = Records(RecordBatch, Record, Header)
CODECS: dict[str, Any] = {"engine": ENGINE, "reference": reference}


def outcome(call: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """Return the value of a call, or the facts of its error. Other exceptions end the test."""
    try:
        return "value", call(*arguments)
    except RecordsDecodeError as error:
        return "decode error", *error.args
    except EncodeError as error:
        return "encode error", error.kind, error.path, error.reason


def decode(codec: Any, data: bytes, *, check_crc: bool = True) -> MemoryRecords:
    batches, unread = codec.decode(data, check_crc, NO_LIMIT, NO_LIMIT)
    return MemoryRecords(batches=batches, unread=unread)


def check_agreement(data: bytes, *, check_crc: bool = True, max_size: int = 1 << 24, max_ratio: int = 1000) -> None:
    """Check that engine and reference return the same batches or the same error, together and one at a time."""
    limits = max_size, max_ratio
    found = outcome(ENGINE.decode, data, check_crc, *limits)
    expected = outcome(reference.decode, data, check_crc, *limits)
    assert found == expected
    assert repr(found) == repr(expected)  # 1 equals True
    assert outcome(ENGINE.headers, data, check_crc) == outcome(reference.headers, data, check_crc)
    first = outcome(ENGINE.decode_one, data, 0, 0, check_crc, *limits)
    assert first == outcome(reference.decode_one, data, 0, 0, check_crc, *limits)
    if found[0] == "value":
        check_round_trip(found[1][0])


def check_round_trip(batches: tuple[RecordBatch, ...]) -> None:
    """Check that both codecs encode batches to the same bytes, or to bytes with the same content if compressed.

    Message sets with entries of two magics are refused.
    """
    for batch in batches:
        if batch.timestamp_type == "log_append_time" and any(
            record.timestamp != batch.max_timestamp for record in batch.records
        ):
            assert batch.magic == 1
            continue
        fields = fields_of(batch)
        written = outcome(ENGINE.encode, fields, batch.records, None)
        expected = outcome(reference.encode, fields, batch.records, None)
        if batch.attributes & 0x07 == 0 or written[0] != "value":
            assert written == expected
        if any(record.timestamp != -1 for record in batch.records) and batch.magic == 0:
            assert written[:2] == ("encode error", "not_in_version")
            continue
        for data in (written[1], expected[1]):
            assert ENGINE.decode(data, True, NO_LIMIT, NO_LIMIT) == ((batch,), 0)


def fields_of(batch: RecordBatch) -> Any:
    from kwire.records.options import fields_of_batch

    return fields_of_batch(batch)
