"""Record batches as Arrow columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kwire.errors import RecordsDecodeError, path_text
from kwire.records import Record, columns, columns_schema, decode, encode
from kwire.records.reference.compression import BATCH_SIZE, RECORD_SIZE
from tests.records import vectors


def rows(*frames: bytes | None, **options: Any) -> list[dict[str, Any]]:
    batch = pa.record_batch(columns(frames, **options))
    batch.validate(full=True)
    assert batch.schema == pa.schema(columns_schema())
    found: list[dict[str, Any]] = batch.to_pylist()
    return found


def expected_rows(frame: int, data: bytes) -> list[dict[str, Any]]:
    """Return the rows that the decoded objects make."""
    return [
        {
            "frame": frame,
            "batch": index,
            "base_offset": batch.base_offset,
            "partition_leader_epoch": batch.partition_leader_epoch,
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "is_transactional": batch.is_transactional,
            "is_control": batch.is_control,
            **record_values(record),
            "error_kind": None,
            "error_offset": None,
            "error_path": None,
        }
        for index, batch in enumerate(decode(data).batches)
        for record in batch.records
    ]


def record_values(record: Record) -> dict[str, Any]:
    def text(key: str) -> str:
        return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": record.key,
        "value": record.value,
        "headers": [{"key": text(header.key), "value": header.value} for header in record.headers],
    }


def error_row(frame: int, kind: str, offset: int | None = None, path: str | None = None) -> dict[str, Any]:
    nothing: dict[str, Any] = dict.fromkeys(pa.schema(columns_schema()).names)
    return nothing | {"frame": frame, "error_kind": kind, "error_offset": offset, "error_path": path}


def test_columns_hold_what_decode_returns() -> None:
    frames = [bytes.fromhex(line["hex"]) for line in vectors.lines() if line.get("verdict") != "error"]
    frames = [frame for frame in frames if is_valid(frame)]
    assert len(frames) > 600
    assert rows(*frames) == [row for index, frame in enumerate(frames) for row in expected_rows(index, frame)]


def is_valid(data: bytes) -> bool:
    try:
        decode(data)
    except RecordsDecodeError:
        return False
    return True


def test_an_invalid_input_is_one_row_with_the_error() -> None:
    good = bytes.fromhex(vectors.several()[0]["hex"])
    for line in vectors.damaged():
        data = bytes.fromhex(line["hex"])
        if not is_valid(data):
            with pytest.raises(RecordsDecodeError) as raised:
                decode(data)
            error = raised.value
            assert rows(good, data, None, good) == [
                *expected_rows(0, good),
                error_row(1, error.kind, error.offset, path_text(error.path)),
                error_row(2, "null_frame"),
                *expected_rows(3, good),
            ]


def test_rows_before_an_error_in_the_same_input_are_dropped() -> None:
    data = encode([(0, 0, b"k", b"v", (("a", b"1"),))])
    assert rows(data + data[:-1] + b"\xff") == [error_row(0, "crc_mismatch", len(data) + 17, "batches[1].crc")]


def test_no_input_has_no_rows() -> None:
    assert rows() == rows(b"", b"") == []


def test_the_limits_are_for_all_inputs_together() -> None:
    data = encode([(0, 0, None, bytes(1000))], compression="gzip")
    one = len(encode([(0, 0, None, bytes(1000))])) - 61 + BATCH_SIZE + RECORD_SIZE
    found = rows(data, data, data, max_size=3 * one - 1)
    assert [row["error_kind"] for row in found] == [None, None, "limit_exceeded"]
    with pytest.raises(TypeError, match="max_ratio"):
        columns([data], max_ratio=1.5)  # type: ignore[arg-type]  # what is tested


def test_arrow_arrays_are_read_in_place() -> None:
    data = encode([(7, 1, b"k", b"v")])
    assert rows(*pa.array([data, None]).to_pylist()) == pa.record_batch(columns(pa.array([data, None]))).to_pylist()


def test_a_single_input_is_refused() -> None:
    with pytest.raises(TypeError, match="expected several inputs, found one of type bytes"):
        columns(b"")  # type: ignore[arg-type]  # what is tested
