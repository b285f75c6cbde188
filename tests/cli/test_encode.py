"""`kwire encode` encodes JSON, and is the inverse of `kwire decode`."""

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


def test_message_is_encoded_to_hex() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", ORDERS)

    assert done == (0, "0000000100066f7264657273\n", "")


def test_message_is_encoded_to_binary() -> None:
    written = kwire_bytes("encode", "-m", "MetadataRequest", "-v", "1", "-o", "binary", stdin=ORDERS.encode())

    assert written == bytes.fromhex("0000000100066f7264657273")


def test_document_may_span_several_lines() -> None:
    pretty = run("decode", "-m", "MetadataResponse", "-v", "13", METADATA_V13).out
    assert pretty.count("\n") > 50

    assert run("encode", "-m", "MetadataResponse", "-v", "13", stdin=pretty).out.strip() == METADATA_V13


@pytest.mark.parametrize("message", ["MetadataRequest", "Metadata"])
def test_request_option_adds_header_and_size(message: str) -> None:
    written = kwire_bytes(
        *("encode", "--request", "-m", message, "-v", "12", "--correlation-id", "7", "--client-id", "me"),
        *("--sized", "-o", "binary", '{"topics": null}'),
    )

    expected = MetadataRequest(topics=None)
    assert written == frame.encode_request(expected, version=12, correlation_id=7, client_id="me")


def test_response_option_adds_header() -> None:
    response = kwire.to_json(kwire.decode(MetadataResponse, bytes.fromhex(METADATA_V13), version=13), version=13)

    done = run(
        "encode", "--response", "-m", "Metadata", "-v", "13", "--correlation-id", "7", stdin=json.dumps(response)
    )

    assert done.out.strip() == "0000000700" + METADATA_V13


def test_decoded_frame_is_encoded_to_the_same_bytes() -> None:
    decoded = run("decode", "--request", API_VERSIONS_REQUEST + "abcdef").out

    assert bytes.fromhex(run("encode", stdin=decoded).out) == bytes.fromhex(API_VERSIONS_REQUEST + "abcdef")


def test_decoded_capture_is_encoded_to_the_same_bytes() -> None:
    """Uses all captured frames, except for unknown messages."""
    for source in ("frames", "frames-realclients"):
        decoded = kwire_bytes("decode", "--skip-unknown", DATA / f"{source}.jsonl.xz")
        encoded = kwire_bytes("encode", "-o", "json", stdin=decoded)

        documents = [json.loads(line) for line in decoded.splitlines()]
        results = [json.loads(line) for line in encoded.splitlines()]
        captured = {exchange.line: exchange for exchange in exchanges() if exchange.source == source}
        assert len(documents) == len(results) > 500
        for document, result in zip(documents, results, strict=True):
            body = captured[document["line"]]
            kind = document["kind"]
            assert result[f"{kind}_hex"] == getattr(body, kind).hex(), f"{body.name} {kind}"


def test_invalid_document_produces_an_empty_line() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", stdin=f'{ORDERS}\n{{"topics": 1}}\n{{"no"\n{ORDERS}\n')

    assert done.out == "0000000100066f7264657273\n\n\n0000000100066f7264657273\n"
    assert done.err.splitlines() == [
        "Error: line 2: topics: wrong_type: expected array, found int",
        "Error: line 3: malformed JSON: Expecting ':' delimiter: line 1 column 6 (char 5)",
    ]
    assert done.code == 1


def test_list_input_produces_a_list() -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", stdin=f"[{ORDERS}, 7]")

    assert json.loads(done.out) == ["0000000100066f7264657273", ""]
    assert done.err == "Error: index 1: expected a JSON object, found int\n"
    assert done.code == 1


def test_json_output_can_be_decoded() -> None:
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
        ({"topics": [{"name": 7}]}, "topics[0].name: wrong_type: expected string, found int"),
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
def test_invalid_document_is_an_error_with_its_path(document: Any, complaint: str) -> None:
    done = run("encode", "-m", "MetadataRequest", "-v", "1", json.dumps(document))

    assert done.out == "\n"
    assert complaint in done.err
    assert done.code == 1


def test_missing_message_or_version_is_an_error() -> None:
    assert "neither the document nor --message names it" in run("encode", "{}").err
    assert "MetadataRequest has versions 0-13" in run("encode", "-m", "MetadataRequest", "{}").err


def test_no_message_looks_like_a_frame_document() -> None:
    """`encode` recognizes the document of a frame by its key `body`."""
    for cls in messages.every():
        names = {f.json_name for f in fields(cls)}
        assert "body" not in names, cls.__name__


def test_binary_output_ends_at_the_first_invalid_document() -> None:
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
