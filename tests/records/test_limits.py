"""Limits of a decode: sizes, ratios, and the memory of the objects."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from kwire import records
from kwire.errors import RecordsDecodeError
from kwire.records.reference.compression import BATCH_SIZE, HEADER_SIZE, RECORD_SIZE
from tests.for_rows import for_rows
from tests.records.codecs import CODECS
from tests.records.vectors import NO_LIMIT

if TYPE_CHECKING:
    from kwire.records.options import CompressionName


@for_rows("codec", CODECS)
@for_rows("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_decompression_stops_at_the_limits(codec: str, compression: CompressionName) -> None:
    value = bytes(3 << 20)
    data = records.encode([(0, 0, None, value)], compression=compression)
    decode = CODECS[codec].decode
    size = len(records.encode([(0, 0, None, value)])) - 61
    for max_size, max_ratio, limit in (
        (1 << 20, NO_LIMIT, 1 << 20),
        (NO_LIMIT, 1, 1 << 20),
        (size + BATCH_SIZE - 1, NO_LIMIT, size + BATCH_SIZE - 1),
    ):
        with pytest.raises(RecordsDecodeError) as raised:
            decode(data, True, max_size, max_ratio)
        expected = max(limit, len(data) - 61) if max_size == NO_LIMIT else limit
        assert (raised.value.kind, raised.value.offset, raised.value.wanted) == ("limit_exceeded", 61, expected)
        assert str(raised.value) == f"batches[0].records: limit_exceeded at byte 61: more than {expected} bytes"
    assert decode(data, True, size + BATCH_SIZE + RECORD_SIZE, NO_LIMIT)[0][0].records[0].value == value


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("codec", CODECS)
def test_the_size_limit_is_for_all_batches_together(codec: str, compression: CompressionName) -> None:
    data = records.encode([(0, 0, None, bytes(600))], compression=compression)
    one = len(records.encode([(0, 0, None, bytes(600))])) - 61 + BATCH_SIZE + RECORD_SIZE
    with pytest.raises(RecordsDecodeError) as raised:
        CODECS[codec].decode(data * 3, True, 3 * one - 1, NO_LIMIT)
    assert raised.value.path == ("batches", 2, "count")
    assert raised.value.wanted == 3 * one - 1
    assert len(CODECS[codec].decode(data * 3, True, 3 * one, NO_LIMIT)[0]) == 3


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    ("magic", "record", "charged", "path"),
    [
        (2, (0, 0, None, None), BATCH_SIZE, ("batches", 0)),
        (2, (0, 0, None, None), 7, ("batches", 0, "records")),
        (2, (0, 0, None, None), RECORD_SIZE, ("batches", 0, "count")),
        (2, (0, 0, None, None, (("é", b""),)), HEADER_SIZE, ("batches", 0, "records", 0, "headers")),
        (2, (0, 0, None, None, (("é", b""),)), 6, ("batches", 0, "records", 0, "headers", 0, "key")),
        (1, (0, 0, None, None), RECORD_SIZE + 34, ("batches", 0, "records")),
    ],
)
def test_each_object_is_charged_before_it_is_made(
    codec: str, magic: int, record: Any, charged: int, path: tuple[str | int, ...]
) -> None:
    data = records.encode([record], magic=magic)
    decode = CODECS[codec].decode
    enough = next(size for size in range(4096) if fits(decode, data, size))

    paths = [error_path(decode, data, size) for size in range(enough)]

    assert paths.count(path) == charged


def fits(decode: Any, data: bytes, max_size: int) -> bool:
    try:
        decode(data, True, max_size, NO_LIMIT)
    except RecordsDecodeError:
        return False
    return True


def error_path(decode: Any, data: bytes, max_size: int) -> tuple[str | int, ...]:
    with pytest.raises(RecordsDecodeError) as raised:
        decode(data, True, max_size, NO_LIMIT)
    assert (raised.value.kind, raised.value.wanted) == ("limit_exceeded", max_size)
    return raised.value.path


@for_rows("codec", CODECS)
@for_rows("compression", ["gzip", "snappy", "lz4", "zstd"])
def test_each_batch_may_decompress_to_one_megabyte_at_any_ratio(codec: str, compression: CompressionName) -> None:
    decode = CODECS[codec].decode
    size = (1 << 20) - 20
    assert 0 <= (1 << 20) - (len(records.encode([(0, 0, None, bytes(size))])) - 61) < 20
    data = records.encode([(0, 0, None, bytes(size))], compression=compression)
    assert len(decode(data * 3, True, NO_LIMIT, 1)[0]) == 3
    larger = records.encode([(0, 0, None, bytes(size + 20))], compression=compression)
    with pytest.raises(RecordsDecodeError, match=r"^batches\[1\]\.records: limit_exceeded .* more than 1048576 bytes"):
        decode(data + larger, True, NO_LIMIT, 1)


def test_batches_of_equal_bytes_are_decoded_with_the_default_limits() -> None:
    """Producers close batches at 1 MB of uncompressed bytes; a thousand of them take less than a fetch."""
    data = records.encode([(n, 0, None, bytes(10_000)) for n in range(99)], compression="zstd") * 100
    assert len(data) < 1 << 20
    assert sum(len(batch.records) for batch in records.decode(data).batches) == 9_900
    assert sum(len(batch.records) for batch in records.batches(data * 3)) == 29_700


OBJECTS = [
    pytest.param([(0, 1 << 40, b"k" * 9, b"v" * 9)], id="records"),
    pytest.param([(0, 0, None, None)], id="empty records"),
    pytest.param([(0, 0, None, None, (("", b""),) * 9)], id="empty headers"),
    pytest.param([(0, 0, None, None, tuple((f"k{n}", b"v%d" % n) for n in range(20)))], id="headers"),
    pytest.param([(0, 0, None, None, tuple((f"k{n}" * 99 + "\U0001f600", b"") for n in range(20)))], id="wide keys"),
]


@pytest.mark.parametrize("values", OBJECTS)
@pytest.mark.parametrize("repeated", [1, 3_000])
def test_memory_of_objects_is_at_most_what_the_limit_counts(values: Any, repeated: int) -> None:
    batch = records.encode([(1 << 40, *values[0][1:])] * repeated)
    data = batch * (3_000 // repeated)
    enough = charged(data)

    tracemalloc.start()
    try:
        batches, _ = CODECS["engine"].decode(data, True, enough, NO_LIMIT)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(batches) == 3_000 // repeated
    assert used <= enough + (1 << 17)  # a slab is counted as soon as it is taken


def charged(data: bytes) -> int:
    """Return the smallest `max_size` with which data can be decoded."""
    low, high = 0, 1 << 32
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(CODECS["engine"].decode, data, middle) else (middle, high)
    return high


@for_rows("name", ["max_size", "max_ratio"])
@for_rows(("value", "error"), [(-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_limits_are_checked(name: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=name):
        records.decode(b"", **{name: value})


@for_rows(
    "payload",
    [
        pytest.param(b"\xff\xff\xff\xff\x0f" + b"\0" * 20, id="snappy block of 4 GiB"),
        pytest.param(b"\x82SNAPPY\0" + b"\0\0\0\1" * 2 + b"\x7f\xff\xff\xff", id="snappy chunk of 2 GiB"),
    ],
)
def test_claimed_sizes_allocate_nothing(payload: bytes) -> None:
    data = bytearray(records.encode([], compression="snappy") + payload)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    tracemalloc.start()
    with pytest.raises(RecordsDecodeError, match="corrupt_compression"):
        records.decode(data, check_crc=False, max_size=None, max_ratio=None)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
