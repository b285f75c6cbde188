"""Record batches that Kafka's own classes wrote, and damaged ones with Kafka's verdict.

`tests/data/record-batches.jsonl.xz` comes from `MemoryRecordsBuilder` and `MemoryRecords` of kafka-clients 3.9.1. Lines
with a `verdict` are damaged batches, those with `batches` hold several. All others are one batch or message set.
"""

from __future__ import annotations

import json
import lzma
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "record-batches.jsonl.xz"

NO_LIMIT = 1 << 62


@cache
def lines() -> tuple[dict[str, Any], ...]:
    with lzma.open(FILE, "rt") as file:
        return tuple(json.loads(line) for line in file)


def good() -> list[dict[str, Any]]:
    """Return the lines with one batch or message set each."""
    return [line for line in lines() if "verdict" not in line and "batches" not in line]


def several() -> list[dict[str, Any]]:
    """Return the lines with several batches."""
    return [line for line in lines() if "batches" in line]


def damaged() -> list[dict[str, Any]]:
    """Return the damaged lines."""
    return [line for line in lines() if "verdict" in line]


def case(name: str) -> bytes:
    """Return the bytes of a line."""
    return next(bytes.fromhex(line["hex"]) for line in lines() if line["case"] == name)


def values(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the records of a line as tuples of the fields of `Record`."""
    return [
        (
            record["offset"],
            record["timestamp"],
            _bytes(record["key"]),
            _bytes(record["value"]),
            tuple((key, _bytes(value)) for key, value in record["headers"]),
        )
        for record in records
    ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
