"""Record batches, compared with kafka-python and with aiokafka's Cython extension.

    python -m benches.record_batches [--quick]

Measurements follow `benches.interleave`: CPU time of this thread, alternating contestants, medians. All decode the same
bytes to a list of their own record objects, check the checksums, and decompress. They encode the same values: kwire
from tuples, the others through their builders. kafka-python computes checksums with the package crc32c, and compresses
with lz4 and zstandard; aiokafka uses cramjam. Results are compared before the timing.

A figure is the worst over the sizes of records. Compression takes most of the time, and no codec can avoid it: with
zstd, all call the same C library at the same level. So the compressed figures also show the time of the C library
alone, and the ratio of a codec that took no time besides it (limit).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import aiokafka.record.default_records as aiokafka_records
import kafka.record.util as kafka_python_util
import lz4.frame
from aiokafka.record.memory_records import MemoryRecords as AiokafkaMemoryRecords
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonMemoryRecords
from zstandard import ZstdCompressor, ZstdDecompressor

from benches.figure import Figure
from benches.interleave import Contestant, Samples, take_turns
from benches.program import print_figures
from kwire import records

if TYPE_CHECKING:
    from kwire.records.options import CompressionName

ROUNDS = 11
QUICK_ROUNDS = 3
BATCHES = 10
"""Batches in the bytes that are decoded, as in a fetch response."""
CODECS: dict[CompressionName, int] = {"none": 0, "lz4": 3, "zstd": 4}
LIBRARIES: dict[CompressionName, dict[str, Callable[[bytes], bytes]]] = {
    "lz4": {"encode": lz4.frame.compress, "decode": lz4.frame.decompress},
    "zstd": {"encode": ZstdCompressor().compress, "decode": ZstdDecompressor().decompress},
}
HEADER = 61
"""Bytes of a batch before its records."""

Values = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]


@dataclass(frozen=True, slots=True)
class Case:
    """The records of a batch."""

    name: str
    value_size: int
    count: int
    headers: int


SMALL = Case("100 B", 100, 1_000, 0)
LARGE = Case("1 KiB", 1 << 10, 200, 0)
WITH_HEADERS = Case("100 B and 3 headers", 100, 1_000, 3)
CASES = (SMALL, LARGE, WITH_HEADERS)


def run(quick: bool) -> list[Figure]:
    """Return the figures of decoding and encoding against each peer."""
    check_extensions()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    decoded = {(case, name): time_decoding(case, name, rounds) for case in CASES for name in CODECS}
    encoded = {(case, name): time_encoding(case, name, rounds) for case in CASES for name in CODECS}
    figures = []
    for name in CODECS:
        figures += [
            worst("decode", name, "kafka-python", decoded, 10, 20),
            worst("decode", name, "aiokafka", decoded, 2, 4),
            worst("encode", name, "kafka-python", encoded, 10, 20),
            worst("encode", name, "aiokafka", encoded, 1.5, 3),
        ]
    return figures


def check_extensions() -> None:
    """Stop if a peer would run without its native code."""
    if kafka_python_util.crc32c_c is None:
        raise SystemExit("kafka-python has no native CRC32C: pip install crc32c")
    if not aiokafka_records.DefaultRecordBatch.__module__.startswith("aiokafka.record._crecords"):
        raise SystemExit("aiokafka has no Cython extension on this Python")


Times = dict[str, Samples]
Key = tuple[Case, "CompressionName"]


def worst(
    operation: str, compression: CompressionName, peer: str, times: dict[Key, Times], at_least: float, goal: float
) -> Figure:
    """Return the lowest ratio over the cases, with the times of a record in each."""
    found = {case: medians for (case, name), medians in times.items() if name == compression}
    ratios = {case: medians[peer].median_ns / medians["kwire"].median_ns for case, medians in found.items()}
    parts = []
    for case, ratio in ratios.items():
        records_of_call = case.count * (BATCHES if operation == "decode" else 1)
        own, other = (found[case][name].median_ns / records_of_call for name in ("kwire", peer))
        part = f"{own:,.0f} against {other:,.0f} ns"
        if "library" in found[case]:
            library = found[case]["library"].median_ns / records_of_call
            part += f"; library {library:,.0f} ns, limit {other / library:.1f}x"
        parts.append(f"{case.name} {ratio:.1f}x ({part})")
    name = f"{operation} records, {'uncompressed' if compression == 'none' else compression}, x {peer}"
    return Figure(name, min(ratios.values()), "x", at_least, goal, detail=", ".join(parts))


# Content.


def content(case: Case) -> list[Values]:
    """Return records with values that look like JSON: compressible, but not all the same."""
    random = Random(case.name)
    words = [b'"offset":', b'"order_id":', b'"customer":', b'"amount":', b"true,", b"null,", b'{"items":[', b"]},"]
    made: list[Values] = []
    for index in range(case.count):
        value = b""
        while len(value) < case.value_size:
            value += random.choice(words) + b"%d," % random.randrange(100_000)
        headers = tuple((f"header-{number}", random.randbytes(16)) for number in range(case.headers))
        timestamp = 1_700_000_000_000 + index // 3
        made.append((index, timestamp, b"key-%d" % random.randrange(10_000), value[: case.value_size], headers))
    return made


def fetched(case: Case, compression: CompressionName) -> bytes:
    batch = content(case)
    return b"".join(
        records.encode(
            [
                (number * case.count + offset, timestamp, key, value, headers)
                for offset, timestamp, key, value, headers in batch
            ],
            compression=compression,
        )
        for number in range(BATCHES)
    )


def payloads(data: bytes) -> list[bytes]:
    """Return the records of each batch as they are, compressed or not."""
    found = []
    while data:
        size = 12 + int.from_bytes(data[8:12])
        found.append(data[HEADER:size])
        data = data[size:]
    return found


def call_each(function: Callable[[bytes], bytes], arguments: Sequence[bytes]) -> list[bytes]:
    return [function(argument) for argument in arguments]


# Decoding.


def time_decoding(case: Case, compression: CompressionName, rounds: int) -> Times:
    data = fetched(case, compression)
    calls: dict[str, Callable[[bytes], Sequence[Any]]] = {
        "kwire": decode_kwire,
        "aiokafka": decode_aiokafka,
        "kafka-python": decode_kafka_python,
    }
    expected = [values_of(record) for record in decode_kwire(data)]
    if [value[3] for value in expected] != [value[3] for value in content(case)] * BATCHES:
        raise SystemExit(f"kwire decodes other records than were encoded: {case.name}, {compression}")
    for name, call in calls.items():
        if [values_of(record) for record in call(data)] != expected:
            raise SystemExit(f"{name} decodes other records: {case.name}, {compression}")
    contestants = [Contestant(name, "decode", call, data) for name, call in calls.items()]
    if compression in LIBRARIES:
        decompress = LIBRARIES[compression]["decode"]
        contestants.append(Contestant("library", "decode", partial(call_each, decompress), payloads(data)))
    return times(contestants, rounds)


def times(contestants: list[Contestant], rounds: int) -> Times:
    return {samples.peer: samples for samples in take_turns(contestants, 1, rounds, Random(0))}


def values_of(record: Any) -> Values:
    headers = tuple(header if isinstance(header, tuple) else (header.key, header.value) for header in record.headers)
    return record.offset, record.timestamp, record.key, record.value, headers


def decode_kwire(data: bytes) -> list[Any]:
    found: list[Any] = []
    for batch in records.decode(data).batches:
        found.extend(batch.records)
    return found


def decode_aiokafka(data: bytes) -> list[Any]:
    return checked_records(AiokafkaMemoryRecords(data))


def decode_kafka_python(data: bytes) -> list[Any]:
    return checked_records(KafkaPythonMemoryRecords(data))


def checked_records(batches: Any) -> list[Any]:
    """Decode with the interface that both libraries have, as their consumers do: with checksums."""
    found: list[Any] = []
    while batches.has_next():
        batch = batches.next_batch()
        if not batch.validate_crc():
            raise ValueError("checksum")
        found.extend(batch)
    return found


# Encoding.


def time_encoding(case: Case, compression: CompressionName, rounds: int) -> Times:
    values = content(case)
    codec = CODECS[compression]
    as_lists = [(*rest, list(headers)) for *rest, headers in values]
    calls: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "kwire": (partial(encode_kwire, compression), values),
        "aiokafka": (partial(encode_with, aiokafka_records.DefaultRecordBatchBuilder, codec), as_lists),
        "kafka-python": (partial(encode_with, KafkaPythonBuilder, codec), as_lists),
    }
    for name, (call, argument) in calls.items():
        if [values_of(record) for record in decode_kwire(bytes(call(argument)))] != values:
            raise SystemExit(f"{name} encodes other records: {case.name}, {compression}")
    contestants = [Contestant(name, "encode", call, argument) for name, (call, argument) in calls.items()]
    if compression in LIBRARIES:
        compress = LIBRARIES[compression]["encode"]
        uncompressed = payloads(encode_kwire("none", values))
        contestants.append(Contestant("library", "encode", partial(call_each, compress), uncompressed))
    return times(contestants, rounds)


def encode_kwire(compression: CompressionName, values: list[Values]) -> bytes:
    return records.encode(values, compression=compression)


def encode_with(builder: Any, codec: int, values: list[tuple[Any, ...]]) -> Any:
    made = builder(
        magic=2,
        compression_type=codec,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for offset, timestamp, key, value, headers in values:
        made.append(offset, timestamp, key, value, headers)
    return made.build()


if __name__ == "__main__":
    print_figures(run, "record_batches", "Measure kwire.records.", "run few rounds, for a rough result")
