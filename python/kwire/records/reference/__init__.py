"""The reference for record batches in plain Python, used to check the engine and as a fallback.

It was written from the formats and not from the engine, so that both cannot share a mistake. Its functions have the
parameters and results of the methods of `kwire._kwire.Records`.

    decoder      bytes to batches
    encoder      batches to bytes
    compression  gzip from the standard library, snappy and LZ4 in plain Python, zstd by an optional library
    checksums    CRC32C and xxHash
"""

from __future__ import annotations

from kwire.records.reference.decoder import decode, decode_one, headers
from kwire.records.reference.encoder import encode

__all__ = ["decode", "decode_one", "encode", "headers"]
