"""Measure compressed record batches against the compression libraries alone.

    python -m benches.compression [--rounds NUMBER]

A compressed batch takes at least the time of the library for the same bytes, and of the same batch without compression.
Prints both in nanoseconds for each record, from the fastest of all rounds in turns.
"""

from __future__ import annotations

import argparse
from itertools import islice
from random import Random
from time import thread_time_ns
from typing import TYPE_CHECKING, NamedTuple

import lz4.frame
import snappy
import zstandard

from kwire import records
from kwire.records import Compression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH = 64 << 10
"""Bytes of the values of a batch."""
HEADER = 61
"""Bytes of a batch before its records."""


class Library(NamedTuple):
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


LIBRARIES = {
    "zstd": Library(zstandard.ZstdCompressor(level=3).compress, zstandard.ZstdDecompressor().decompress),
    "lz4": Library(lambda data: lz4.frame.compress(data, block_linked=False), lz4.frame.decompress),
    "snappy": Library(snappy.compress, snappy.decompress),
}


def values(size: int) -> Iterator[bytes]:
    """Yield values of words that repeat, as in logs and JSON."""
    random = Random(1)
    words = [b"%x" % random.getrandbits(40) for _ in range(300)]
    while True:
        yield b" ".join(random.choices(words, k=size // 10 + 1))[:size].ljust(size)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.compression")
    parser.add_argument("--rounds", type=int, default=60)
    rounds: int = parser.parse_args().rounds
    for size in (100, 1024):
        batch = [
            (index, 1_700_000_000_000 + index, b"key-%d" % index, value)
            for index, value in enumerate(islice(values(size), BATCH // size))
        ]
        for name, library in LIBRARIES.items():
            measure(name, library, size, batch, rounds)


def measure(name: str, library: Library, size: int, batch: list[tuple[int, int, bytes, bytes]], rounds: int) -> None:
    compression = Compression[name.upper()]
    plain, data = records.encode(batch), records.encode(batch, compression=compression)
    compressed = library.compress(plain[HEADER:])
    calls: dict[str, Callable[[], object]] = {
        "encode": lambda: records.encode(batch, compression=compression),
        "compress": lambda: library.compress(plain[HEADER:]),
        "encode plain": lambda: records.encode(batch),
        "decode": lambda: records.decode(data),
        "decompress": lambda: library.decompress(compressed),
        "decode plain": lambda: records.decode(plain),
    }
    fastest = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for operation, call in calls.items():
            start = thread_time_ns()
            call()
            fastest[operation] = min(fastest[operation], (thread_time_ns() - start) / len(batch))
    for operation, alone in (("encode", "compress"), ("decode", "decompress")):
        least = fastest[alone] + fastest[f"{operation} plain"]
        took = fastest[operation]
        print(
            f"{operation} {name:6} {size:5} B  {took:6.0f} ns  library {fastest[alone]:6.0f}  plain "
            f"{fastest[f'{operation} plain']:5.0f}  {took / least:4.2f} of the sum",
            flush=True,
        )


if __name__ == "__main__":
    main()
