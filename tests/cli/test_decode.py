"""`kwire decode`: the output has the shape of the input."""

from __future__ import annotations

import gzip
import json
import lzma
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import frame, messages
from kwire.messages.kafka import MetadataResponse
from tests.cli.bodies import API_VERSIONS_REQUEST, EMPTY_METADATA_V13, LIST_TOPICS_KIP4, METADATA_V13, exchange
from tests.cli.running import DATA, assert_golden
from tests.cli.running import kwire as run
from tests.for_rows import for_rows
from tests.proof.material import Exchange, exchanges

METADATA = ("decode", "-m", "MetadataResponse", "-v", "13")


def test_body_is_printed_as_kafka_json() -> None:
    done = run(*METADATA, METADATA_V13)

    message = kwire.decode(MetadataResponse, bytes.fromhex(METADATA_V13), version=13)
    assert done.code == 0
    assert done.err == ""
    assert json.loads(done.out) == kwire.to_json(message, version=13)


def test_values_of_records_begin_with_their_version() -> None:
    value = "0003 000000000000002a ffffffff 0000 0000000000000001"

    assert json.loads(run("decode", "-m", "OffsetCommitValue", value).out)["offset"] == 42
    assert (
        "OffsetCommitValue v3, 22 bytes from 2" in run("decode", "-m", "OffsetCommitValue", "-o", "hexdump", value).out
    )
    newer = run("decode", "-m", "OffsetCommitValue", "7fff")
    assert (newer.code, "version 32767 is not supported: OffsetCommitValue has versions 0-4" in newer.err) == (1, True)
    empty = run("decode", "-m", "OffsetCommitValue", "00")
    assert "OffsetCommitValue begins with its version unless --version names it" in empty.err


@for_rows(
    "words",
    [
        ("0000000001 00 ffffffff 01 0000 00",),
        ("0000000001", "00", "ffffffff", "01", "0000", "00"),
        ("0x000000000100FFFFFFFF01000000",),
        ("00:00:00:00:01:00:ff:ff:ff:ff:01:00:00:00",),
        ("00000000-0100-ffff-ffff-01-000000\n",),
    ],
    ids=["blanks", "words", "0x and capitals", "colons", "dashes and a line end"],
)
def test_hex_may_have_separators(words: tuple[str, ...]) -> None:
    assert json.loads(run(*METADATA, *words).out)["controllerId"] == -1


@pytest.mark.parametrize("suffix", ["bin", "bin.xz", "bin.gz", "hex"])
def test_format_of_files_is_detected(tmp_path: Path, suffix: str) -> None:
    body = bytes.fromhex(METADATA_V13)
    content = {
        "bin": body,
        "bin.xz": lzma.compress(body),
        "bin.gz": gzip.compress(body),
        "hex": "\n".join(METADATA_V13[start : start + 60] for start in range(0, len(METADATA_V13), 60)).encode(),
    }[suffix]
    (tmp_path / f"body.{suffix}").write_bytes(content)

    assert run(*METADATA, tmp_path / f"body.{suffix}") == run(*METADATA, METADATA_V13)


@for_rows("arguments", [(), ("-",)], ids=["nothing", "a dash"])
@for_rows("content", [bytes.fromhex(METADATA_V13), METADATA_V13.encode()], ids=["binary", "hex"])
def test_stdin_is_the_default_input(arguments: tuple[str, ...], content: bytes) -> None:
    assert run(*METADATA, *arguments, stdin=content) == run(*METADATA, METADATA_V13)


def test_format_option_overrides_detection() -> None:
    """Four bytes of binary input happen to be hex digits."""
    done = run("decode", "-m", "ResponseHeader", "-v", "0", "--format", "binary", stdin=b"1234")

    assert json.loads(done.out) == {"correlationId": 0x31323334}


def test_request_header_names_the_message() -> None:
    done = run("decode", "--request", API_VERSIONS_REQUEST)

    assert json.loads(done.out) == {
        "kind": "request",
        "message": "ApiVersionsRequest",
        "version": 3,
        "header": {"requestApiKey": 18, "requestApiVersion": 3, "correlationId": 1, "clientId": "me"},
        "body": {"clientSoftwareName": "k", "clientSoftwareVersion": "1"},
    }


@for_rows("name", ["MetadataResponse", "Metadata", "3"])
def test_response_is_named_by_class_api_or_key(name: str) -> None:
    response = exchange(3, 12).response

    done = run("decode", "--response", "-m", name, "-v", "12", stdin=response)

    document = json.loads(done.out)
    assert (document["message"], document["version"]) == ("MetadataResponse", 12)
    assert list(document["header"]) == ["correlationId"]


def test_version_with_another_layout_selects_its_class() -> None:
    done = run("decode", "-d", "kip4", "-m", "CreateTopicResponse", "-v", "2", "00000001 0001 61 03e9")

    assert json.loads(done.out) == {"topics": [{"topicName": "a", "errorCode": 1001}]}


def test_dialect_selects_draft_messages() -> None:
    done = run("decode", "-d", "kip4", "-m", "ListTopicsResponse", "-v", "0", "0000 00 00")

    assert json.loads(done.out)["errorCode"] == 0
    assert run("decode", "-d", "kip4", "-m", "ListTopicsResponse", "-v", "0", LIST_TOPICS_KIP4).code == 0


def test_version_is_optional_for_messages_with_one_version() -> None:
    assert run("decode", "-d", "kip4", "-m", "AdminResponse", "0000 00 00000000 00000000").code == 0


def test_capture_lines_keep_their_numbers() -> None:
    done = run("decode", DATA / "frames.jsonl.xz")

    lines = [json.loads(line) for line in done.out.splitlines()]
    assert len(lines) == 2 * sum(recorded.source == "frames" for recorded in exchanges())
    assert [line["line"] for line in lines] == sorted(line["line"] for line in lines)
    assert {line["kind"] for line in lines[:2]} == {"request", "response"}
    assert lines[0]["about"]["broker"] == "3.9.1"


def test_lines_match_results_of_the_library() -> None:
    """The command parses frames itself to show their parts, but must accept the same frames as `kwire.frame`."""
    lines = {}
    for source in ("frames", "frames-realclients"):
        for line in run("decode", DATA / f"{source}.jsonl.xz").out.splitlines():
            document = json.loads(line)
            lines[source, document["line"], document["kind"]] = document

    for recorded in exchanges():
        request, response = (lines[recorded.source, recorded.line, kind] for kind in ("request", "response"))
        decoded_request, decoded_response = decode_exchange(recorded)
        if decoded_request is None:
            assert "error" in request, recorded.name
        else:
            assert request["body"] == kwire.to_json(decoded_request.message, version=request["version"]), recorded.name
            assert bytes.fromhex(request.get("surplus", "")) == decoded_request.surplus, recorded.name
        if decoded_response is None:
            assert "error" in response, recorded.name
        else:
            assert response["version"] == decoded_response.version, recorded.name
            assert response["body"] == kwire.to_json(decoded_response.message, version=decoded_response.version), (
                recorded.name
            )


def decode_exchange(recorded: Exchange) -> tuple[frame.DecodedRequest | None, frame.DecodedResponse[Any] | None]:
    """Decode an exchange with `kwire.frame`; None for a frame that it rejects."""
    decoded_request = decoded_response = None
    with suppress(kwire.KwireError):
        decoded_request = frame.decode_request(recorded.request)
    with suppress(kwire.KwireError):
        cls = messages.find("kafka", api_key=recorded.api_key, kind="response")
        if recorded.version in cls.versions or recorded.api_key == frame.API_VERSIONS:
            version = min(recorded.version, cls.versions.highest)
            decoded_response = frame.decode_response(recorded.response, cls, version=version)
    return decoded_request, decoded_response


def test_errors_are_printed_in_place_and_counted() -> None:
    good = json.dumps({"message": "MetadataResponse", "version": 13, "hex": EMPTY_METADATA_V13})
    lines = [
        good,
        "{no json",
        json.dumps({"message": "MetadataResponse", "version": 13, "hex": "00"}),
        json.dumps({"message": "MetadataResponse", "version": 13, "hex": "0g"}),
        json.dumps({"message": "NoSuchThing", "version": 13, "hex": "00"}),
        "[1]",
        "",
        good,
    ]

    done = run("decode", stdin="\n".join(lines))

    found = [json.loads(line) for line in done.out.splitlines()]
    assert [row["line"] for row in found] == [1, 2, 3, 4, 5, 6, 8]
    assert [row.get("error", {}).get("kind") for row in found] == [
        None,
        "bad_input",
        "truncated",
        "bad_input",
        "unknown_message",
        "bad_input",
        None,
    ]
    assert found[2]["error"] == {
        "kind": "truncated",
        "offset": 0,
        "path": ["throttle_time_ms"],
        "wanted": 4,
        "left": 1,
        "text": "throttle_time_ms: truncated at byte 0: 4 bytes wanted, 1 left",
    }
    assert done.err == "7 frames: 2 ok, 4 wrong, 1 of unknown messages or versions\n"
    assert done.code == 1


def test_list_input_produces_a_list() -> None:
    done = run(*METADATA, stdin=json.dumps([EMPTY_METADATA_V13, {"hex": "00"}]))

    first, second = json.loads(done.out)
    assert (first["index"], first["version"], first["body"]["topics"]) == (0, 13, [])
    assert second["error"]["kind"] == "truncated"
    assert done.code == 1


@for_rows(("given", "expected"), [("[]", []), ("", "")])
def test_empty_input_produces_empty_output(given: str, expected: object) -> None:
    done = run(*METADATA, "--format", "json", stdin=given)

    assert (json.loads(done.out) if done.out else "") == expected
    assert done.code == 0


def test_kind_option_selects_requests_or_responses() -> None:
    line = json.dumps({"request_hex": API_VERSIONS_REQUEST, "response_hex": "00000001 0023 00000000"})

    requests = run("decode", "--request", stdin=line)
    responses = run("decode", "--response", stdin=line)

    assert [json.loads(line)["kind"] for line in requests.out.splitlines()] == ["request"]
    [response] = [json.loads(line) for line in responses.out.splitlines()]
    assert (response["message"], response["version"], response["body"]["errorCode"]) == ("ApiVersionsResponse", 0, 35)


def test_response_version_comes_from_its_request() -> None:
    recorded = exchange(60, 1)
    line = json.dumps({"request_hex": recorded.request.hex(), "response_hex": recorded.response.hex()})

    found = [json.loads(text) for text in run("decode", stdin=line).out.splitlines()]

    assert [document["message"] for document in found] == ["DescribeClusterRequest", "DescribeClusterResponse"]


def test_sized_input_is_split_into_frames() -> None:
    requests = [recorded.request for recorded in exchanges() if recorded.api_key == 3][:5]
    stream = b"".join(len(request).to_bytes(4, "big") + request for request in requests)

    done = run("decode", "--sized", "--request", stdin=stream)

    found = [json.loads(line) for line in done.out.splitlines()]
    assert [document["frame"] for document in found] == [1, 2, 3, 4, 5]
    assert all(document["message"] == "MetadataRequest" for document in found)


def test_truncated_sized_input_is_an_error() -> None:
    done = run("decode", "--sized", "--request", stdin=bytes.fromhex("000000ff 0012"))

    assert done.err == "Error: the input ends within frame 1, after 6 bytes\n"
    assert done.code == 1


def test_skip_unknown_skips_unknown_messages_and_versions() -> None:
    unknown = json.dumps({"request_hex": "7fff 0000 00000001 ffff"})
    newer = json.dumps({"request_hex": "0012 0063 00000001 ffff 00"})

    done = run("decode", stdin=f"{unknown}\n{newer}\n")
    skipped = run("decode", "--skip-unknown", stdin=f"{unknown}\n{newer}\n")

    first, second = (json.loads(line) for line in done.out.splitlines())
    assert first["header"]["correlationId"] == 1
    assert first["error"]["kind"] == "unknown_message"
    assert second["error"]["text"].startswith("version 99 is not supported")
    assert done.code == 1
    assert skipped.out == ""
    assert skipped.err == "2 frames: 0 ok, 0 wrong, 2 of unknown messages or versions (skipped)\n"
    assert skipped.code == 0


def test_surplus_bytes_of_a_request_are_printed() -> None:
    document = json.loads(run("decode", "--request", API_VERSIONS_REQUEST + "abcdef").out)

    assert document["surplus"] == "abcdef"


def test_table_output_has_a_table_for_each_array() -> None:
    assert_golden("metadata.table.txt", run(*METADATA, "-o", "table", METADATA_V13).out)


def test_table_output_of_many_frames_has_a_row_for_each() -> None:
    lines = [{"message": "MetadataResponse", "version": 13, "hex": digits} for digits in (METADATA_V13, "00", "zz")]

    done = run("decode", "-o", "table", stdin="\n".join(map(json.dumps, lines)))

    assert_golden("frames.table.txt", done.out)


def test_json_escapes_terminal_control_characters() -> None:
    """Topic names may contain escape sequences and marks that change the text direction."""
    name = "\x1b[31m\x9b2J\u202eabc"
    document = {"topics": [{"name": name}]}
    body = run("encode", "-m", "MetadataRequest", "-v", "1", json.dumps(document)).out.strip()

    done = run("decode", "-m", "MetadataRequest", "-v", "1", body)

    assert json.loads(done.out) == document
    assert not any(character in done.out for character in name[:1] + "\x9b\u202e")


def test_json_is_utf8_in_every_locale() -> None:
    body = run("encode", "-m", "MetadataRequest", "-v", "1", '{"topics": [{"name": "żółć"}]}').out.strip()

    done = run("decode", "-m", "MetadataRequest", "-v", "1", body, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert "żółć" in done.out
