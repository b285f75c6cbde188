"""Decoding and encoding of the bytes that Kafka's own classes wrote, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.errors import RecordsDecodeError
from kwire.records import Record, batch_headers, encode
from tests.for_rows import for_rows
from tests.records import vectors
from tests.records.codecs import CODECS, ENGINE, decode, fields_of

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH_FIELDS = (
    "magic",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "last_sequence",
    "is_transactional",
    "is_control",
    "partition_leader_epoch",
    "base_offset",
    "last_offset_delta",
    "max_timestamp",
    "delete_horizon_ms",
)
TIMESTAMP_TYPES = {
    "NoTimestampType": "none",
    "CreateTime": "create_time",
    "LogAppendTime": "log_append_time",
}

STRICTER = {
    # Java returns no record and ignores the records that are there.
    "damaged-m2-none/count-0",
    "damaged-m2-gzip/count-0",
    "damaged-m2-snappy/count-0",
    "damaged-m2-lz4/count-0",
    "damaged-m2-zstd/count-0",
    # Java ignores bytes between the value and the end of the record.
    "damaged-m1-none/payload-flip-1",
}
"""Damaged batches that Java accepts and kwire rejects, because data would be lost silently."""


def lines_of(lines: list[dict[str, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return for_rows("line", lines, ids=lambda line: line["case"])


def tuples_of(records: tuple[Record, ...]) -> list[tuple[Any, ...]]:
    return [
        (record.offset, record.timestamp, record.key, record.value, tuple((h.key, h.value) for h in record.headers))
        for record in records
    ]


@pytest.mark.parametrize("codec", CODECS)
@lines_of(vectors.good())
def test_a_batch_has_the_values_that_kafka_reads(codec: str, line: dict[str, Any]) -> None:
    found = decode(CODECS[codec], bytes.fromhex(line["hex"]))
    assert found.unread == 0
    assert len(found.batches) == line["entries"]
    assert tuples_of(tuple(found.records())) == vectors.values(line["records"])
    for batch in found.batches:
        assert batch.compression.name.lower() == line["compression"]
        assert batch.timestamp_type == TIMESTAMP_TYPES[line["timestamp_type"]]
    if line["entries"] == 1:
        batch = found.batches[0]
        assert {name: getattr(batch, name) for name in BATCH_FIELDS} == {name: line[name] for name in BATCH_FIELDS}
        assert batch.base_timestamp == (-1 if line["base_timestamp"] is None else line["base_timestamp"])


@lines_of(vectors.good())
def test_the_header_of_a_batch_has_count_and_checksum(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    headers = batch_headers(data)
    assert [header.position for header in headers][:1] == [0]
    assert sum(header.size for header in headers) == len(data)
    if line["entries"] == 1:
        assert headers[0].crc == line["crc"]
        assert headers[0].count == (-1 if line["count"] is None else line["count"])


@lines_of([line for line in vectors.good() if line["compression"] == "none"])
def test_an_uncompressed_batch_is_encoded_to_kafkas_bytes(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    found = decode(ENGINE, data)
    for codec in CODECS.values():
        assert b"".join(codec.encode(fields_of(batch), batch.records, None) for batch in found.batches) == data
    assert encode(found) == data


@lines_of([line for line in vectors.good() if line["compression"] != "none"])
def test_a_compressed_batch_is_encoded_to_the_same_content(line: dict[str, Any]) -> None:
    found = decode(ENGINE, bytes.fromhex(line["hex"]))
    assert decode(ENGINE, encode(found)) == found
    for batch in found.batches:
        for codec in CODECS.values():
            written = codec.encode(fields_of(batch), batch.records, None)
            assert decode(ENGINE, written).batches == (batch,)
            assert decode(CODECS["reference"], written).batches == (batch,)


@pytest.mark.parametrize("codec", CODECS)
@lines_of(vectors.several())
def test_several_batches_and_a_cut_last_one(codec: str, line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    found = decode(CODECS[codec], data)
    assert found.unread == line["unread"]
    for batch, header, expected in zip(found.batches, batch_headers(data), line["batches"], strict=True):
        assert tuples_of(batch.records) == vectors.values(expected["records"])
        assert batch.compression.name.lower() == expected["compression"]
        assert (header.position, header.size, header.crc) == (expected["position"], expected["size"], expected["crc"])


@pytest.mark.parametrize("codec", CODECS)
@lines_of(vectors.damaged())
def test_a_damaged_batch_gets_kafkas_verdict(codec: str, line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    if line["verdict"] == "error" or line["case"] in STRICTER:
        with pytest.raises(RecordsDecodeError) as raised:
            decode(CODECS[codec], data)
        assert raised.value.path[:2] == ("batches", line["batches_seen"] if line.get("stage") == "batches" else 0)
        assert raised.value.offset >= 0
        return
    found = decode(CODECS[codec], data)
    assert (len(found.batches), found.unread) == (line["batches_seen"], line["unread"])
    # Java replaces what is not UTF-8; kwire keeps it as surrogates.
    assert replaced(tuples_of(tuple(found.records()))) == vectors.values(line["records"])


def replaced(records: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [
        (
            *rest,
            tuple((key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), value) for key, value in headers),
        )
        for *rest, headers in records
    ]


@lines_of(vectors.damaged())
def test_engine_and_reference_find_the_same_fault(line: dict[str, Any]) -> None:
    from tests.records.codecs import check_agreement

    data = bytes.fromhex(line["hex"])
    check_agreement(data)
    check_agreement(data, check_crc=False)


def test_the_stages_at_which_java_fails_have_their_kinds() -> None:
    kinds: dict[str, set[str]] = {}
    for line in vectors.damaged():
        if line["verdict"] == "error":
            with pytest.raises(RecordsDecodeError) as raised:
                decode(ENGINE, bytes.fromhex(line["hex"]))
            kinds.setdefault(line["stage"], set()).add(raised.value.kind)
    assert kinds["batches"] == {"truncated", "negative_length", "too_long", "invalid_magic"}
    assert kinds["crc"] == {"truncated", "crc_mismatch"}
    assert kinds["records"] == {
        "truncated",
        "count_exceeds_input",
        "negative_length",
        "null_not_allowed",
        "varint_overflow",
        "trailing_bytes",
        "crc_mismatch",
        "invalid_compression",
        "corrupt_compression",
    }
