"""The public functions: arguments and errors."""

from __future__ import annotations

import copy
import gzip
import pickle
import struct
import zlib
from typing import Any

import pytest

from kwire import records
from kwire.errors import EncodeError, RecordsDecodeError
from kwire.records import Compression, Header, MemoryRecords, Record, RecordBatch
from kwire.records.reference.checksums import crc32c
from tests.for_rows import for_rows
from tests.records import vectors
from tests.records.codecs import CODECS, ENGINE, decode, fields_of
from tests.records.vectors import NO_LIMIT

RECORDS = (
    Record(offset=0, timestamp=1_700_000_000_000, key=b"k", value=b"v", headers=(Header(key="h", value=b"1"),)),
    Record(offset=1, timestamp=1_700_000_000_005, key=None, value=None),
)


@for_rows("compression", Compression)
def test_records_come_back(compression: Compression) -> None:
    found = records.decode(records.encode(RECORDS, compression=compression))
    assert tuple(found.records()) == RECORDS
    (batch,) = found.batches
    assert batch.compression is compression
    assert (batch.base_offset, batch.last_offset, batch.max_timestamp) == (0, 1, 1_700_000_000_005)


@for_rows("codec", CODECS)
def test_tuples_encode_like_records(codec: str) -> None:
    (batch,) = records.decode(records.encode(RECORDS)).batches
    plain = ((0, 1_700_000_000_000, b"k", b"v", (("h", b"1"),)), (1, 1_700_000_000_005, None, None))
    encode = CODECS[codec].encode
    assert encode(fields_of(batch), plain, None) == encode(fields_of(batch), RECORDS, None) == records.encode(RECORDS)
    # Other clients have lists of headers; keys with surrogates are encoded for each record.
    for key in ("h", "\udcff"):
        in_tuples = [(offset, 0, None, None, ((key, b"1"), (key, None))) for offset in range(3)]
        in_lists = [(*rest, list(headers)) for *rest, headers in in_tuples]
        assert encode(fields_of(batch), tuple(in_tuples), None) == encode(fields_of(batch), tuple(in_lists), None)


def test_any_iterable_of_records_is_encoded() -> None:
    assert records.encode(iter(RECORDS)) == records.encode(list(RECORDS)) == records.encode(RECORDS)


def test_options_become_fields_of_the_batch() -> None:
    data = records.encode(
        RECORDS,
        compression="lz4",
        partition_leader_epoch=3,
        producer_id=4711,
        producer_epoch=2,
        base_sequence=7,
        is_transactional=True,
        delete_horizon_ms=1_800_000_000_000,
        log_append_time=1_700_000_001_000,
    )
    (batch,) = records.decode(data).batches
    assert (batch.partition_leader_epoch, batch.producer_id, batch.producer_epoch) == (3, 4711, 2)
    assert (batch.base_sequence, batch.last_sequence) == (7, 8)
    assert batch.is_transactional
    assert not batch.is_control
    assert batch.delete_horizon_ms == 1_800_000_000_000
    assert batch.timestamp_type == "log_append_time"
    assert {record.timestamp for record in batch.records} == {1_700_000_001_000}


def test_sequence_numbers_wrap_to_zero() -> None:
    assert records.increment_sequence((1 << 31) - 1, 1) == 0
    assert records.increment_sequence((1 << 31) - 2, 3) == 1
    assert records.increment_sequence(5, 2) == 7
    assert (
        records.increment_sequence((1 << 31) - 1, -(1 << 31)) == (1 << 31) - 1
    )  # as DefaultRecordBatch.incrementSequence


def test_uncompressed_records_of_a_message_set_are_a_batch_each() -> None:
    plain = [record.__replace__(headers=()) for record in RECORDS]  # type: ignore[attr-defined]  # since 3.13
    found = records.decode(records.encode(plain, magic=1))
    assert [len(batch.records) for batch in found.batches] == [1, 1]
    assert list(found.records()) == plain
    wrapped = records.decode(records.encode(plain, magic=1, compression="gzip"))
    assert [batch.records for batch in wrapped.batches] == [tuple(plain)]


@for_rows("codec", CODECS)
@for_rows(
    ("offsets", "delta", "is_possible"),
    [
        ((5, 7), None, True),
        ((5, 7), 2, True),
        ((5, 7), -5, True),  # librdkafka: a wrapper with the offset 0
        ((5, 7), 3, False),
        ((7, 5), None, True),
        ((-5, 0), None, False),
        ((-(1 << 63), (1 << 63) - 1), None, True),
    ],
)
def test_offsets_of_a_compressed_message_set_are_found_again_or_rejected(
    codec: str, offsets: tuple[int, int], delta: int | None, is_possible: bool
) -> None:
    """In magic 1, they follow from the offset of the wrapper (KIP-31)."""
    (batch,) = records.decode(records.encode([(0, 0, None, b"")], magic=1, compression="gzip")).batches
    fields = fields_of(batch)._replace(base_offset=offsets[0], last_offset_delta=delta)
    held = tuple(Record(offset=offset, timestamp=0, key=None, value=b"") for offset in offsets)
    if is_possible:
        (found,) = records.decode(CODECS[codec].encode(fields, held, None)).batches
        assert tuple(record.offset for record in found.records) == offsets
    else:
        with pytest.raises(EncodeError, match=rf"magic 1 cannot express the offsets {offsets[0]} to {offsets[1]}"):
            CODECS[codec].encode(fields, held, None)


@for_rows("codec", CODECS)
def test_create_times_below_an_append_time_are_kept(codec: str) -> None:
    created = [Record(offset=0, timestamp=7, key=None, value=b"a"), Record(offset=1, timestamp=9, key=None, value=b"b")]
    variants: list[dict[str, Any]] = [{}, {"compression": "zstd"}, {"magic": 1, "compression": "gzip"}]
    for options in variants:
        data = records.encode(created, log_append_time=9, **options)
        (batch,) = CODECS[codec].decode(data, True, NO_LIMIT, NO_LIMIT)[0]
        assert [(record.timestamp, record.raw_timestamp) for record in batch.records] == [(9, 7), (9, None)]
        (again,) = records.decode(CODECS[codec].encode(fields_of(batch), batch.records, None)).batches
        assert again == batch
        # In a batch without an append time, the records have the times that consumers have seen.
        (copied,) = records.decode(records.encode(batch.records)).batches
        assert [(record.timestamp, record.raw_timestamp) for record in copied.records] == [(9, None), (9, None)]
        hidden = batch.__replace__(max_timestamp=8)
        with pytest.raises(
            EncodeError, match=r"^records\[0\].timestamp: out_of_range: 9 differs from the append time of "
        ):
            records.encode(hidden)
    # Uncompressed records of magic 1 are a batch each, and have no place for another time.
    found = records.decode(records.encode(created, magic=1, log_append_time=9))
    assert [(record.timestamp, record.raw_timestamp) for record in found.records()] == [(9, None), (9, None)]


def legacy(offset: int, magic: int, attributes: int, timestamp: int, value: bytes) -> bytes:
    """Return an entry of a message set."""
    checked = bytes((magic, attributes)) + (timestamp.to_bytes(8, "big", signed=True) if magic else b"")
    checked += b"\xff" * 4 + len(value).to_bytes(4, "big") + value
    head = offset.to_bytes(8, "big", signed=True) + (len(checked) + 4).to_bytes(4, "big")
    return head + zlib.crc32(checked).to_bytes(4, "big") + checked


FAR = 1 << 40
ODD_BATCHES = {
    "unknown attributes": legacy(5, 0, 0x80 | 0x18, -1, b"v") + legacy(6, 1, 0x90, 7, b"v"),
    "unknown attributes of a wrapper": legacy(5, 1, 0x91, 7, gzip.compress(legacy(0, 1, 0, 7, b"v"))),
    "a wrapper far above its record": legacy(FAR, 0, 1, -1, gzip.compress(legacy(5, 0, 0, -1, b"v"))),
    "a wrapper far below its record": legacy(
        -(1 << 63), 0, 1, -1, gzip.compress(legacy((1 << 63) - 1, 0, 0, -1, b"v"))
    ),
    "a negative first offset": legacy(5, 1, 1, 7, gzip.compress(legacy(-10, 1, 0, 7, b"") + legacy(5, 1, 0, 7, b""))),
    "offsets that wrap": records.encode([(0, 7, None, b"v"), (9, 7, None, b"v")], base_offset=0),
}
ODD_BATCHES["offsets that wrap"] = ((1 << 63) - 5).to_bytes(8, "big") + ODD_BATCHES["offsets that wrap"][8:]


@for_rows("codec", CODECS)
@for_rows("name", ODD_BATCHES)
def test_odd_batches_are_encoded_to_the_same_values(codec: str, name: str) -> None:
    batches, unread = CODECS[codec].decode(ODD_BATCHES[name], True, NO_LIMIT, NO_LIMIT)
    assert unread == 0
    for batch in batches:
        assert -(1 << 63) <= batch.last_offset < 1 << 63
        assert CODECS[codec].decode(
            CODECS[codec].encode(fields_of(batch), batch.records, None), True, NO_LIMIT, NO_LIMIT
        )[0] == (batch,)
    if "wrapper far" in name:
        assert batches[0].last_offset == int.from_bytes(ODD_BATCHES[name][:8], "big", signed=True)


APPEND_TIME_MISSING = (
    "-1 differs from the append time of the batch, max_timestamp=7: raw_timestamp holds the time of creation"
)


@for_rows("codec", CODECS)
@for_rows(
    ("data", "reason"),
    [
        (
            legacy(0, 1, 0x09, 7, gzip.compress(legacy(0, 0, 0, -1, b"v"))),
            f"records[0].timestamp: out_of_range: {APPEND_TIME_MISSING}",
        ),
        (
            legacy(0, 0, 1, -1, gzip.compress(legacy(0, 1, 0, 7, b"v"))),
            "records[0].timestamp: not_in_version: magic 0 has no timestamps: expected -1, found 7",
        ),
    ],
)
def test_message_sets_of_two_magics_are_refused(codec: str, data: bytes, reason: str) -> None:
    (batch,) = CODECS[codec].decode(data, True, NO_LIMIT, NO_LIMIT)[0]
    with pytest.raises(EncodeError) as raised:
        CODECS[codec].encode(fields_of(batch), batch.records, None)
    assert str(raised.value) == reason


def test_no_records_make_an_empty_batch() -> None:
    (batch,) = records.decode(records.encode([], base_offset=5, last_offset_delta=3)).batches
    assert (batch.base_offset, batch.last_offset, batch.records) == (5, 8, ())


def test_a_decoded_batch_is_a_value() -> None:
    found = records.decode(records.encode(RECORDS, compression="zstd"))
    assert pickle.loads(pickle.dumps(found)) == found
    assert copy.deepcopy(found) == found
    assert hash(found) == hash(records.decode(records.encode(RECORDS, compression="zstd")))
    assert records.decode(records.encode(found)) == found


def test_a_batch_has_its_own_fields() -> None:
    (batch,) = records.decode(records.encode(RECORDS)).batches
    with pytest.raises(TypeError, match="compression, producer_id: a RecordBatch has these fields itself"):
        records.encode(batch, compression="zstd", producer_id=1)


# Input.


@for_rows("kind", [bytes, bytearray, memoryview])
def test_bytes_like_objects_are_decoded(kind: type) -> None:
    data = records.encode(RECORDS)
    assert tuple(records.decode(kind(data)).records()) == RECORDS
    assert [batch.records for batch in records.batches(kind(data))] == [RECORDS]
    assert len(records.batch_headers(kind(data))) == 1


def test_a_cut_batch_is_unread() -> None:
    data = records.encode(RECORDS)
    for size in range(len(data)):
        assert records.decode(data + data[:size]).unread == size
        assert len(list(records.batches(data + data[:size]))) == 1


def test_batches_before_an_invalid_one_are_returned() -> None:
    data = bytearray(records.encode(RECORDS) * 2)
    data[-1] ^= 1
    found = records.batches(data)
    assert next(found).records == RECORDS
    with pytest.raises(RecordsDecodeError) as raised:
        next(found)
    half = len(data) // 2
    assert (raised.value.kind, raised.value.offset, raised.value.path) == (
        "crc_mismatch",
        half + 17,
        ("batches", 1, "crc"),
    )
    with pytest.raises(RecordsDecodeError) as again:
        records.decode(data)
    assert again.value.args == raised.value.args


def test_the_checksum_is_ignored_on_request() -> None:
    data = bytearray(records.encode(RECORDS))
    data[17] ^= 1
    assert tuple(records.decode(data, check_crc=False).records()) == RECORDS
    assert records.batch_headers(data, check_crc=False)
    for call in (records.decode, records.batch_headers):
        with pytest.raises(RecordsDecodeError, match=r"batches\[0\].crc: crc_mismatch at byte 17$"):
            call(data)


# Errors.


def resealed(data: bytes | bytearray) -> bytes:
    """Return a batch of magic 2 with the right checksum."""
    (header,) = records.batch_headers(data, check_crc=False)
    computed = crc32c(bytes(data[21:]))
    assert header.size == len(data)
    return bytes(data[:17]) + computed.to_bytes(4, "big") + bytes(data[21:])


@for_rows("codec", CODECS)
def test_an_error_says_what_and_where(codec: str) -> None:
    data = bytearray(records.encode([(5, 0, b"k", b"value")]))
    place = data.index(b"value") - 1
    data[place] = 40  # a zigzag 20
    with pytest.raises(RecordsDecodeError) as raised:
        CODECS[codec].decode(resealed(data), True, NO_LIMIT, NO_LIMIT)
    error = raised.value
    assert str(error) == f"batches[0].records[0].value: truncated at byte {place}: 20 bytes wanted, 6 left"
    assert not error.decompressed
    assert pickle.loads(pickle.dumps(error)).args == error.args


@for_rows(
    ("codec", "versions"),
    [(codec, pair) for codec in CODECS for pair in ((1, 1), (0, 0), (-1, 1), (7, 7), (0x01000000, 0x01000000))],
)
def test_versions_of_the_snappy_framing_are_ignored(codec: str, versions: tuple[int, int]) -> None:
    (expected,) = records.decode(records.encode([(0, 0, b"k", b"v" * 40)], compression="snappy")).batches
    data = bytearray(records.encode([(0, 0, b"k", b"v" * 40)], compression="snappy"))
    place = data.index(b"\x82SNAPPY\0") + 8
    data[place : place + 8] = struct.pack(">ii", *versions)
    (found,) = decode(CODECS[codec], resealed(data)).batches
    assert found.records == expected.records


@for_rows("codec", CODECS)
def test_an_error_in_compressed_records_counts_from_their_start(codec: str) -> None:
    batch = b"\x06\x00\x00\x00\x01\x02"  # a record that claims a value and ends
    compressed = zlib.compressobj(wbits=31)
    payload = compressed.compress(batch) + compressed.flush()
    data = bytearray(records.encode([], compression="gzip") + payload)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[57:61] = (0).to_bytes(4, "big")
    with pytest.raises(RecordsDecodeError) as raised:
        CODECS[codec].decode(resealed(data), True, NO_LIMIT, NO_LIMIT)
    assert str(raised.value) == "batches[0].records: trailing_bytes at byte 0 of the decompressed records: 6 left over"


def test_every_kind_is_listed() -> None:
    from kwire.errors import DECODE_KINDS, RECORDS_DECODE_KINDS

    found = set()
    for line in vectors.damaged():
        try:
            records.decode(bytes.fromhex(line["hex"]))
        except RecordsDecodeError as error:
            found.add(error.kind)
    assert found < set(RECORDS_DECODE_KINDS)
    assert set(RECORDS_DECODE_KINDS) - found == {"limit_exceeded", "invalid_offset"}
    assert not set(RECORDS_DECODE_KINDS) & {"invalid_magic"} & set(DECODE_KINDS)


@for_rows("codec", CODECS)
def test_a_wrapper_with_a_smaller_offset_than_its_last_record_is_rejected(codec: str) -> None:
    plain = [(offset, 0, None, b"v") for offset in range(3)]
    data = bytearray(records.encode(plain, magic=1, compression="gzip"))
    data[:8] = (1).to_bytes(8, "big")
    with pytest.raises(RecordsDecodeError) as raised:
        CODECS[codec].decode(bytes(data), True, NO_LIMIT, NO_LIMIT)
    assert (raised.value.kind, raised.value.offset, raised.value.path) == (
        "invalid_offset",
        0,
        ("batches", 0, "base_offset"),
    )
    # Some versions of librdkafka write 0.
    data[:8] = bytes(8)
    assert [record.offset for record in records.decode(data).records()] == [0, 1, 2]


# Encode errors.


@for_rows("codec", CODECS)
@for_rows(
    ("record", "kind", "path"),
    [
        (7, "wrong_type", ()),
        (None, "null_not_allowed", ()),
        ((1, 2, b""), "wrong_type", ()),
        (("0", 0, None, None), "wrong_type", ("offset",)),
        ((True, 0, None, None), "wrong_type", ("offset",)),
        ((None, 0, None, None), "null_not_allowed", ("offset",)),
        ((1 << 63, 0, None, None), "out_of_range", ("offset",)),
        ((0, -(1 << 63) - 1, None, None), "out_of_range", ("timestamp",)),
        ((1 << 40, 0, None, None), "out_of_range", ("offset",)),
        ((0, 0, "k", None), "wrong_type", ("key",)),
        ((0, 0, None, bytearray()), "wrong_type", ("value",)),
        ((0, 0, None, None, None), "null_not_allowed", ("headers",)),
        ((0, 0, None, None, {}), "wrong_type", ("headers",)),
        ((0, 0, None, None, [("a", b""), (b"a", b"")]), "wrong_type", ("headers", 1, "key")),
        ((0, 0, None, None, (1,)), "wrong_type", ("headers", 0)),
        ((0, 0, None, None, (("a", b""), (b"a", b""))), "wrong_type", ("headers", 1, "key")),
        ((0, 0, None, None, ((None, b""),)), "null_not_allowed", ("headers", 0, "key")),
        ((0, 0, None, None, (("\ud800", b""),)), "invalid_utf8", ("headers", 0, "key")),
        ((0, 0, None, None, (("a", "b"),)), "wrong_type", ("headers", 0, "value")),
    ],
)
def test_invalid_values_are_rejected(codec: str, record: Any, kind: str, path: tuple[str | int, ...]) -> None:
    fields = fields_of(RecordBatch(base_offset=0, last_offset_delta=0, base_timestamp=0, max_timestamp=0, records=()))
    with pytest.raises(EncodeError) as raised:
        CODECS[codec].encode(fields, (RECORDS[0], record), None)
    assert (raised.value.kind, raised.value.path) == (kind, ("records", 1, *path))


@for_rows("codec", CODECS)
@for_rows(
    ("record", "error"),
    [
        ((0, 0, None, 1.5), "records[0].value: wrong_type: expected bytes or None, found float"),
        ((0, 0, None, None, {"a": b""}), "records[0].headers: wrong_type: expected a tuple or a list, found dict"),
        (
            (0, 0, None, None, (["a", b""],)),
            "records[0].headers[0]: wrong_type: expected a Header or a tuple of key and value, found list",
        ),
    ],
)
def test_both_codecs_give_the_same_reason(codec: str, record: Any, error: str) -> None:
    fields = fields_of(RecordBatch(base_offset=0, last_offset_delta=0, base_timestamp=0, max_timestamp=0, records=()))
    with pytest.raises(EncodeError) as raised:
        CODECS[codec].encode(fields, (record,), None)
    assert str(raised.value) == error


@for_rows(
    ("options", "kind", "path"),
    [
        ({"magic": 3}, "not_in_version", ("magic",)),
        ({"magic": "2"}, "wrong_type", ("magic",)),
        ({"magic": None}, "wrong_type", ("magic",)),
        ({"magic": 300}, "out_of_range", ("magic",)),
        ({"magic": 1, "compression": "zstd"}, "not_in_version", ("attributes",)),
        ({"magic": 1, "producer_id": 1}, "not_in_version", ("producer_id",)),
        ({"magic": 1, "is_transactional": True}, "not_in_version", ("is_transactional",)),
        ({"magic": 0, "is_control": True}, "not_in_version", ("is_control",)),
        ({"magic": 1, "delete_horizon_ms": 0}, "not_in_version", ("delete_horizon_ms",)),
        ({"last_offset_delta": 1 << 31}, "out_of_range", ("last_offset_delta",)),
        ({"magic": 1}, "not_in_version", ("records", 0, "headers")),
        ({"magic": 0, "log_append_time": 1}, "not_in_version", ("log_append_time",)),
        ({"producer_epoch": 1 << 15}, "out_of_range", ("producer_epoch",)),
        ({"base_offset": -(1 << 40)}, "out_of_range", ("records", 0, "offset")),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], kind: str, path: tuple[str | int, ...]) -> None:
    with pytest.raises(EncodeError) as raised:
        records.encode(RECORDS, **options)
    assert (raised.value.kind, raised.value.path) == (kind, path)


def test_magic_0_has_no_timestamps() -> None:
    with pytest.raises(EncodeError, match=r"records\[0\].timestamp: not_in_version: magic 0 has no timestamps"):
        records.encode([(0, 5, None, b"")], magic=0)
    assert records.encode([(0, -1, None, b"")], magic=0)


@for_rows(
    ("options", "message"),
    [
        ({"compression": "brotli"}, "compression: expected one of none, gzip, snappy, lz4, zstd, found 'brotli'"),
        ({"compression": "lz4", "level": 3}, "level: only gzip and zstd have levels, found 3"),
        ({"compression": "gzip", "level": 10}, "level: expected 0 to 9, found 10"),
        ({"compression": "zstd", "level": 23}, "level: expected -131072 to 22, found 23"),
    ],
)
def test_compression_and_level_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        records.encode(RECORDS, **options)


def test_a_higher_level_compresses_more() -> None:
    value = b"".join(b"line %d of a text that repeats itself\n" % (number * number) for number in range(3000))
    for compression, low, high in (("gzip", 1, 9), ("zstd", 1, 19)):
        sizes = [
            len(records.encode([(0, 0, None, value)], compression=compression, level=level))  # type: ignore[arg-type]  # a name
            for level in (low, high)
        ]
        assert sizes[0] > sizes[1]


def test_memory_records_are_encoded_together() -> None:
    data = records.encode(RECORDS) + records.encode(RECORDS, compression="snappy")
    found = records.decode(data)
    assert len(found.batches) == 2
    assert records.decode(records.encode(found)) == found
    assert records.encode(MemoryRecords(batches=())) == b""


def test_values_of_many_sizes_come_back() -> None:
    sizes = [0, 1, 63, 64, 8191, 8192, 65_535, 65_536, 1 << 20]
    made = [(index, -index, bytes([index]) * size, bytes(size)) for index, size in enumerate(sizes)]
    for compression in Compression:
        found = ENGINE.decode(records.encode(made, compression=compression), True, NO_LIMIT, NO_LIMIT)[0][0].records
        assert [(each.offset, each.timestamp, each.key, each.value) for each in found] == made
