"""Control records, decoded through the declared messages."""

from __future__ import annotations

from typing import Any

import pytest

from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages.kafka.fetch import AbortedTransaction
from kwire.records import (
    ControlRecordType,
    InvalidControlRecord,
    Record,
    RecordBatch,
    committed,
    control_record,
    decode,
    encode,
)
from tests.records import vectors

CONTROL = [line for line in vectors.good() if "control" in line]


@pytest.mark.parametrize("line", CONTROL, ids=lambda line: line["case"])
def test_a_control_record_has_its_type_and_value(line: dict[str, Any]) -> None:
    (batch,) = decode(bytes.fromhex(line["hex"])).batches
    assert batch.is_control
    found = control_record(batch.records[0])
    assert found.type.name == line["control"]["type"]
    for name, value in line["control"].items():
        if name == "coordinator_epoch":
            assert found.value is not None
            assert getattr(found.value, name) == value


def test_all_types_are_in_the_vectors() -> None:
    assert {line["control"]["type"] for line in CONTROL} == {each.name for each in ControlRecordType if each >= 0}


def record(key: bytes | None, value: bytes | None = b"\0\0\0\0\0\0") -> Record:
    return Record(offset=0, timestamp=0, key=key, value=value)


def test_an_unknown_type_has_no_value() -> None:
    found = control_record(record(b"\0\0\0\x63"))
    assert (found.type, found.version, found.value) == (ControlRecordType.UNKNOWN, 0, None)


def test_the_key_may_have_a_newer_version() -> None:
    assert control_record(record(b"\0\x01\0\x01 and more")).type is ControlRecordType.COMMIT


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, b"", "key: expected at least 2 bytes for the version, found 0"),
        (b"\0\0\0", b"", "key: expected 4 bytes, found 3"),
        (b"\xff\xff\0\0", b"", "key: expected a version of at least 0, found -1"),
        (b"\0\0\0\0", None, "value: expected at least 2 bytes for the version, found 0"),
        (b"\0\0\0\0", b"\xff\xff", "value: expected a version of at least 0, found -1"),
    ],
)
def test_a_malformed_control_record_is_rejected(key: bytes | None, value: bytes | None, message: str) -> None:
    with pytest.raises(InvalidControlRecord, match=f"^{message}$"):
        control_record(record(key, value))


def test_a_malformed_value_is_rejected() -> None:
    with pytest.raises(DecodeError):
        control_record(record(b"\0\0\0\0", b"\0\0\0"))
    with pytest.raises(UnsupportedVersion):
        control_record(record(b"\0\0\0\0", b"\0\x09\0\0\0\0"))


def transactional(offset: int, producer_id: int, *, control: bytes | None = None) -> RecordBatch:
    """Return a batch of one record in a transaction, or the marker that ends it."""
    key = None if control is None else b"\0\0" + control
    encoded = encode(
        [Record(offset=offset, timestamp=0, key=key, value=b"\0\0\0\0\0\0")],
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=control is not None,
    )
    (batch,) = decode(encoded).batches
    return batch


def test_committed_leaves_out_aborted_transactions_and_markers() -> None:
    commit, abort = b"\0\1", b"\0\0"
    batches = [
        transactional(0, 1),
        transactional(1, 2),
        transactional(2, 1, control=abort),
        transactional(3, 1),
        transactional(4, 2, control=commit),
        transactional(5, 1, control=commit),
    ]
    aborted = [AbortedTransaction(producer_id=1, first_offset=0)]

    assert [batch.base_offset for batch in committed(batches, aborted)] == [1, 3]
    assert [batch.base_offset for batch in committed(batches, [])] == [0, 1, 3]
