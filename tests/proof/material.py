"""Test data: bytes written by Kafka's Java classes, and frames of real clients and brokers.

The archives in `tests/data` are read once per process. `vectors.jsonl` and `mutants.jsonl` have the admin and metadata
messages, `vectors-4.4.jsonl` and `mutants-4.4.jsonl` the others, with fewer cases for each version.
"""

from __future__ import annotations

import json
import lzma
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kwire import messages

DATA = Path(__file__).parent.parent / "data"


class Vector(NamedTuple):
    """A body written by Kafka's Java classes. `unknown_tags` has (path, tag, content), with paths like `/topics/0`."""

    message: str
    version: int
    case: str
    body: bytes
    json: Any
    unknown_tags: frozenset[tuple[str, int, bytes]]

    @property
    def name(self) -> str:
        return f"{self.message} v{self.version} {self.case}"


class Mutant(NamedTuple):
    """A damaged body, and Java's result for it.

    If Java accepts it (`json` is not None): the number of bytes read, the bytes that Java writes for it (None if it
    cannot), and the unknown tags at the top level.
    """

    message: str
    version: int
    body: bytes
    json: Any
    consumed: int
    rewritten: bytes | None
    unknown_tags: frozenset[tuple[int, bytes]]

    @property
    def name(self) -> str:
        return f"{self.message} v{self.version} {self.body.hex()}"


class Probe(NamedTuple):
    """A body made by hand, and Java's result for it."""

    question: str
    message: str
    version: int
    body: bytes
    accepted: bool
    consumed: int
    json: Any


class Exchange(NamedTuple):
    """A request of a real client and the response of a real broker, without their sizes.

    `source` and `line` are its file and its line number, starting at 1.
    """

    source: str
    line: int
    api_key: int
    version: int
    client: str | None
    request: bytes
    response: bytes

    @property
    def name(self) -> str:
        return f"{self.source}:{self.line}"


@cache
def vectors() -> dict[str, list[Vector]]:
    """Return all vectors by message."""
    found: dict[str, list[Vector]] = {}
    for entry in (*_lines("vectors.jsonl"), *_lines("vectors-4.4.jsonl")):
        tags = frozenset((tag["path"], tag["tag"], bytes.fromhex(tag["data"])) for tag in entry.get("unknown_tags", ()))
        vector = Vector(
            entry["message"], entry["version"], entry["case"], bytes.fromhex(entry["hex"]), entry["json"], tags
        )
        found.setdefault(vector.message, []).append(vector)
    return found


@cache
def mutants() -> list[Mutant]:
    return [_mutant(entry) for entry in (*_lines("mutants.jsonl"), *_lines("mutants-4.4.jsonl"))]


def _mutant(entry: Any) -> Mutant:
    body = bytes.fromhex(entry["hex"])
    rewritten = None
    match entry.get("rewrite"):
        case "same":
            rewritten = body[: entry["consumed"]]
        case "differs":
            rewritten = bytes.fromhex(entry["rewrite_hex"])
    tags = frozenset((tag["tag"], bytes.fromhex(tag["data"])) for tag in entry.get("unknown_tags_top", ()))
    return Mutant(
        entry["message"], entry["version"], body, entry.get("json"), entry.get("consumed", 0), rewritten, tags
    )


_PROBE = re.compile(
    r"(?P<question>.+?) \| (?P<message>\w+) v(?P<version>-?\d+) \| (?P<body>[0-9a-f ]*)-> "
    r"(?:(?P<error>error) .*|ok consumed=(?P<consumed>\d+)/\d+ rewrite=.*? json=(?P<json>\{.*?\})(?: unknown=.*)?)\n"
)


@cache
def probes() -> list[Probe]:
    """Return the probes with one body and one result. The file also has some text about other matters."""
    text = lzma.decompress((DATA / "java-probes.txt.xz").read_bytes()).decode()
    return [
        Probe(
            match["question"],
            match["message"],
            int(match["version"]),
            bytes.fromhex(match["body"]),
            match["error"] is None,
            int(match["consumed"] or 0),
            json.loads(match["json"]) if match["json"] else None,
        )
        for match in _PROBE.finditer(text)
    ]


@cache
def exchanges() -> list[Exchange]:
    return [
        Exchange(
            source,
            line,
            entry["api_key"],
            entry["api_version"],
            entry["client"],
            bytes.fromhex(entry["request_hex"]),
            bytes.fromhex(entry["response_hex"]),
        )
        for source in ("frames", "frames-realclients")
        for line, entry in enumerate(_lines(f"{source}.jsonl"), 1)
    ]


def _lines(name: str) -> list[Any]:
    text = lzma.decompress((DATA / f"{name}.xz").read_bytes()).decode()
    return [json.loads(line) for line in text.split("\n") if line]


def message_class(name: str) -> Any:
    return messages.find("kafka", name=name)


def canonical(document: Any) -> str:
    """Return a comparable form of JSON, where the order of names does not matter but False differs from 0."""
    return json.dumps(document, sort_keys=True)
