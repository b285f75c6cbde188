"""Write the test cases of the Rust crate to `target/kwire-cases`: `python -m tests.write_rust_cases`.

Plans are derived from the declarations, so the files are generated and never committed. Each line is a case, with words
separated by spaces and `-` for an empty word:

- `plans.txt`: dialect, plan
- `bodies.txt`: dialect, message, version, body, the encoded bytes if they differ from the body
- `damaged.txt`: dialect, message, version, body, and the error: kind, offset, wanted, left, path
- `records.txt`: "ok" or "error", the number of records and of unread bytes, and record batches

Bodies come from Kafka's Java classes, from frames of real clients and brokers, and from the drafts. The errors of
damaged bodies come from the reference codec, which shares no code with the crate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire import DecodeError, messages, plan, reference
from kwire.declare.introspect import describe
from kwire.records import reference as records_reference
from tests.installing import ROOT
from tests.messages.test_worked_bytes import CASES
from tests.proof.material import message_class, mutants, vectors
from tests.proof.test_frames import by_api, header_size, request_class, response_class
from tests.records import vectors as records_vectors
from tests.records.vectors import NO_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Message

FOLDER = ROOT / "target" / "kwire-cases"


def bodies() -> Iterator[tuple[type[Message], int, bytes]]:
    """Return all bodies that are known to be valid."""
    for found in vectors().values():
        for vector in found:
            yield message_class(vector.message), vector.version, vector.body
    for case in CASES:
        yield type(case.message), case.version, bytes.fromhex(case.body)
    for exchanges in by_api().values():
        for exchange in exchanges:
            for cls, payload in (
                (request_class(exchange), exchange.request),
                (response_class(exchange), exchange.response),
            ):
                size = header_size(cls, payload, exchange.version)
                header = "RequestHeader" if describe(cls).kind == "request" else "ResponseHeader"
                yield message_class(header), describe(cls).header_version(exchange.version), payload[:size]
                yield cls, exchange.version, payload[size:]


def key(cls: type[Message], version: int) -> str:
    return f"{describe(cls).dialects[0]} {cls.__name__} v{version}"


def plan_lines() -> Iterator[str]:
    for cls in messages.every():
        for version in cls.versions:
            yield f"{describe(cls).dialects[0]} {plan(cls, version=version)}"


def body_lines() -> Iterator[str]:
    for cls, version, body in bodies():
        yield f"{key(cls, version)} {body.hex() or '-'}"
    for mutant in mutants():
        cls = message_class(mutant.message)
        try:
            decoded = reference.decode(cls, mutant.body, version=mutant.version)
        except DecodeError:
            continue
        again = reference.encode(decoded, version=mutant.version)
        yield f"{key(cls, mutant.version)} {mutant.body.hex() or '-'} {again.hex() or '-'}"


def damaged_lines() -> Iterator[str]:
    for mutant in mutants():
        cls = message_class(mutant.message)
        try:
            reference.decode(cls, mutant.body, version=mutant.version)
        except DecodeError as error:
            path = "/".join(str(element) for element in error.path)
            numbers = ("-" if number is None else number for number in (error.wanted, error.left))
            fault = (error.kind, error.offset, *numbers, path or "-")
            yield " ".join(map(str, (key(cls, mutant.version), mutant.body.hex() or "-", *fault)))


def records_lines() -> Iterator[str]:
    for line in records_vectors.lines():
        data = bytes.fromhex(line["hex"])
        try:
            batches, unread = records_reference.decode(data, True, NO_LIMIT, NO_LIMIT)
        except DecodeError:
            yield f"error 0 0 {data.hex() or '-'}"
        else:
            yield f"ok {sum(len(batch.records) for batch in batches)} {unread} {data.hex() or '-'}"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {"plans": plan_lines(), "bodies": body_lines(), "damaged": damaged_lines(), "records": records_lines()}
    for name, lines in files.items():
        unique = dict.fromkeys(lines)
        (FOLDER / f"{name}.txt").write_text("".join(f"{line}\n" for line in unique), encoding="ascii")


if __name__ == "__main__":
    main()
