"""``kwire encode``: JSON to bytes, and what ``kwire decode`` printed to the bytes it was printed for."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

import kwire
from kwire import frame, messages
from kwire.declare.introspect import fields
from kwire.messages.kafka import MetadataRequest, MetadataResponse
from tests.cli.bodies import API_VERSIONS_REQUEST, METADATA_V13
from tests.cli.running import COMMAND, DATA, environment, kwire_bytes
from tests.cli.running import kwire as run
from tests.proof.material import exchanges

ORDERS = '{"topics": [{"name": "orders"}]}'


def test_a_message_becomes_hex() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", ORDERS)

    assert done == (0, "0000000100066f7264657273\n", "")


def test_or_bytes() -> None:
    written = kwire_bytes("encode", "-m", "MetadataRequest", "-v", "1", "-o", "binary", stdin=ORDERS.encode())

    assert written == bytes.fromhex("0000000100066f7264657273")


def test_a_document_may_stand_on_several_lines() -> None:
    pretty = run("decode", "-m", "MetadataResponse", "-v", "13", METADATA_V13).out
    assert pretty.count("\n") > 50

    assert run("encode", "-m", "MetadataResponse", "-v", "13", stdin=pretty).out.strip() == METADATA_V13


@pytest.mark.parametrize("message", ["MetadataRequest", "Metadata"])
def test_a_bare_message_gets_a_header_and_a_size(message: str) -> None:
    written = kwire_bytes(
        *("encode", "--request", "-m", message, "-v", "12", "--correlation-id", "7", "--client-id", "me"),
        *("--sized", "-o", "binary", '{"topics": null}'),
    )

    expected = MetadataRequest(topics=None)
    assert written == frame.encode_request(expected, version=12, correlation_id=7, client_id="me")


def test_a_bare_response_gets_a_header_too() -> None:
    answer = kwire.to_json(kwire.decode(MetadataResponse, bytes.fromhex(METADATA_V13), version=13), version=13)

    done = run("encode", "--response", "-m", "Metadata", "-v", "13", "--correlation-id", "7", stdin=json.dumps(answer))

    assert done.out.strip() == "0000000700" + METADATA_V13


def test_a_decoded_frame_becomes_its_own_bytes_again() -> None:
    decoded = run("decode", "--request", API_VERSIONS_REQUEST + "abcdef").out

    assert bytes.fromhex(run("encode", stdin=decoded).out) == bytes.fromhex(API_VERSIONS_REQUEST + "abcdef")


def test_a_decoded_capture_becomes_its_own_bytes_again() -> None:
    """All that real clients and brokers said, but for messages that are not declared here."""
    for source in ("frames", "frames-realclients"):
        decoded = kwire_bytes("decode", "--skip-unknown", DATA / f"{source}.jsonl.xz")
        encoded = kwire_bytes("encode", "-o", "json", stdin=decoded)

        documents = [json.loads(line) for line in decoded.splitlines()]
        results = [json.loads(line) for line in encoded.splitlines()]
        captured = {each.line: each for each in exchanges() if each.source == source}
        assert len(documents) == len(results) > 500
        for document, result in zip(documents, results, strict=True):
            each = captured[document["line"]]
            kind = document["kind"]
            assert result[f"{kind}_hex"] == getattr(each, kind).hex(), f"{each.name} {kind}"


def test_lines_stay_lines_and_a_wrong_one_is_empty() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", stdin=f'{ORDERS}\n{{"topics": 1}}\n{{"no"\n{ORDERS}\n')

    assert done.out == "0000000100066f7264657273\n\n\n0000000100066f7264657273\n"
    assert done.err.splitlines() == [
        "Error: line 2: topics: wrong_type: array is wanted, not int",
        "Error: line 3: malformed JSON: Expecting ':' delimiter: line 1 column 6 (char 5)",
    ]
    assert done.code == 1


def test_a_list_stays_a_list() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", stdin=f"[{ORDERS}, 7]")

    assert json.loads(done.out) == ["0000000100066f7264657273", ""]
    assert done.err == "Error: index 1: expected a JSON object, found int\n"
    assert done.code == 1


def test_lines_say_what_they_are_and_decode_reads_them() -> None:
    record = {"message": "MetadataRequest", "version": 1, "body": json.loads(ORDERS)}

    encoded = run("encode", "-o", "json", json.dumps(record)).out

    assert json.loads(encoded) == {
        "line": 1,
        "message": "MetadataRequest",
        "version": 1,
        "hex": "0000000100066f7264657273",
    }
    decoded = json.loads(run("decode", stdin=encoded).out)
    assert decoded == {"line": 1, "kind": "body", **record}


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"topics": [{"name": 7}]}, "topics[0].name: wrong_type: string is wanted, not int"),
        ({"topics": None, "x": 1}, "x: not_in_version: MetadataRequest has no such field"),
        ({"message": "MetadataRequest", "version": True, "body": {}}, "invalid version: True"),
        (
            {"message": "MetadataRequest", "kind": "frame", "body": {}},
            "invalid kind 'frame': expected request, response, or body",
        ),
        (
            {"message": "MetadataRequest", "kind": "response", "body": {"topics": None}},
            "MetadataRequest is not a response",
        ),
        (
            {"message": "MetadataRequest", "version": 99, "body": {}},
            "version 99 is not supported: MetadataRequest has versions 0-13",
        ),
        (
            {"message": "MetadataRequest", "kind": "request", "body": {"topics": None}, "surplus": 7},
            "surplus: expected a hex string, found int",
        ),
        ({"kind": "request", "error": {}}, "the document describes an error and has no body to encode"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_a_document_that_is_wrong_is_refused_with_its_path(document: Any, complaint: str) -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", json.dumps(document))

    assert done.out == "\n"
    assert complaint in done.err
    assert done.code == 1


def test_what_is_missing_is_asked_for() -> None:
    assert "neither the document nor --message names it" in run("encode", "{}").err
    assert "MetadataRequest has versions 0-13" in run("encode", "-m", "MetadataRequest", "{}").err


def test_no_message_can_be_taken_for_a_record() -> None:
    """The record of a frame is told from a message in Kafka's form by its ``body``."""
    for cls in messages.every():
        names = {f.json_name for f in fields(cls)}
        assert "body" not in names, cls.__name__


def test_binary_output_ends_at_the_first_wrong_document() -> None:
    lines = f'{ORDERS}\n{{"topics": 1}}\n{ORDERS}\n'

    done = subprocess.run(
        [*COMMAND, "encode", "-m", "MetadataRequest", "-v", "1", "-o", "binary"],
        input=lines.encode(),
        capture_output=True,
        env=environment(),
        check=False,
    )

    assert done.stdout == bytes.fromhex("0000000100066f7264657273")
    assert done.stderr.startswith(b"Error: line 2: topics")
    assert done.returncode == 1
