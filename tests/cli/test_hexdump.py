"""Annotated hex dumps show every byte next to its field."""

from __future__ import annotations

import re

import pytest

from kwire import messages
from kwire.cli.frames import Frame, parse_body, parse_request, parse_response
from kwire.cli.hexdump import hexdump
from kwire.terminal.colors import Paint
from tests.cli.bodies import API_VERSIONS_REQUEST, LIST_TOPICS_KIP4, METADATA_V13, exchange
from tests.cli.running import assert_golden
from tests.cli.running import kwire as run
from tests.for_rows import for_rows
from tests.proof.material import exchanges, message_class, mutants, vectors

ROW = re.compile(r" *(\d+)  ([0-9a-f]{4,})  ((?:[0-9a-f]{2} ?){0,8})(?: |$)")


def dump(frame: Frame, dialect: str = "kafka", *, everything: bool = False) -> list[str]:
    return list(hexdump(frame, dialect, Paint(False), everything=everything))


def bytes_shown(lines: list[str]) -> bytes:
    """Return the bytes of all rows, after checking their offsets."""
    shown = bytearray()
    for line in lines:
        row = ROW.match(line)
        if row is not None:
            assert int(row[1]) == int(row[2], 16)
            data = bytes.fromhex(row[3])
            assert not data or int(row[1]) == len(shown), line
            shown += data
    return bytes(shown)


def test_dump_shows_each_field_of_a_body() -> None:
    done = run("decode", "-m", "MetadataResponse", "-v", "13", "-o", "hexdump", METADATA_V13)

    assert_golden("metadata.hexdump.txt", done.out)


def test_dump_of_a_request_shows_header_and_surplus() -> None:
    done = run("decode", "--request", "-o", "hexdump", API_VERSIONS_REQUEST + "abcdef")

    assert_golden("api-versions.hexdump.txt", done.out)


def test_dump_shows_control_bytes_of_the_drafts() -> None:
    done = run("decode", "-d", "kip4", "-m", "ListTopicsResponse", "-v", "0", "-o", "hexdump", LIST_TOPICS_KIP4)

    assert_golden("list-topics.hexdump.txt", done.out)


def test_dump_shows_tags() -> None:
    vector = next(vector for vector in vectors()["ApiVersionsResponse"] if vector.case.startswith("tags"))

    lines = dump(parse_body(message_class(vector.message), vector.version, vector.body))

    assert_golden("tags.hexdump.txt", "\n".join(lines) + "\n")


def test_dump_shows_bytes_before_and_after_an_error() -> None:
    for name, cut in {"truncated": 159, "count": 100}.items():
        done = run("decode", "-m", "MetadataResponse", "-v", "13", "-o", "hexdump", METADATA_V13[: 2 * cut])
        assert_golden(f"{name}.hexdump.txt", done.out)
        assert done.code == 1


def test_dump_names_error_codes_and_apis() -> None:
    topic = "0003 0004 6761 7465 00000000"
    text = run("decode", "-m", "MetadataResponse", "-v", "0", "-o", "hexdump", f"00000000 00000001 {topic}").out

    assert re.search(r"error_code +int16 +3  UNKNOWN_TOPIC_OR_PARTITION$", text, re.MULTILINE)


def test_dump_shortens_long_arrays() -> None:
    assert_golden("long.hexdump.txt", run("decode", "-m", "MetadataResponse", "-v", "0", "-o", "hexdump", LONG).out)


LONG = (
    "00000000 00000001 0000 0001 61 00000001 0000 00000000 00000001"
    f"{1000:08x}" + "".join(f"{node:08x}" for node in range(1000)) + "00000000"
)
"""A partition with a thousand replicas."""


def test_all_option_shows_long_arrays_in_full() -> None:
    short = run("decode", "-m", "MetadataResponse", "-v", "0", "-o", "hexdump", LONG).out
    long = run("decode", "-m", "MetadataResponse", "-v", "0", "-o", "hexdump", "--all", LONG).out

    assert "[8-997] ..." in short
    assert "990 elements, 3960 bytes: --all shows them" in short
    assert bytes_shown(long.splitlines()) == bytes.fromhex(LONG)


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.nightly)], ids=["few", "all"])
@for_rows("message", sorted(vectors()))
def test_every_byte_of_every_vector_is_shown_once(message: str, step: int) -> None:
    """The few are the last vector of each message, whose version has all fields, and each fourth one before it."""
    for vector in vectors()[message][::-step]:
        frame = parse_body(message_class(message), vector.version, vector.body)
        lines = dump(frame, everything=True)
        assert bytes_shown(lines) == vector.body, vector.name
        assert len(dump(frame)) <= len(lines)


def test_every_byte_of_captured_frames_is_shown_once() -> None:
    for recorded in exchanges()[::7]:
        for frame in (
            parse_request(recorded.request, "kafka"),
            parse_response(recorded.response, "kafka", recorded.api_key, recorded.version),
        ):
            assert bytes_shown(dump(frame, everything=True)) == frame.payload, recorded.name


def test_every_byte_of_damaged_bodies_is_shown_once() -> None:
    for mutant in mutants()[::11]:
        frame = parse_body(message_class(mutant.message), mutant.version, mutant.body)
        lines = dump(frame, everything=True)
        assert bytes_shown(lines) == mutant.body, mutant.name
        if frame.error is not None:
            assert frame.error.kind in "\n".join(lines), mutant.name  # type: ignore[attr-defined]  # a DecodeError


def test_each_frame_of_a_line_has_a_dump() -> None:
    recorded = exchange(60, 1)
    line = f'{{"request_hex": "{recorded.request.hex()}", "response_hex": "zz", "api_key": 60, "api_version": 1}}'

    done = run("decode", "-o", "hexdump", stdin=line)

    assert done.out.startswith("=== line 1, request\nRequestHeader v2, ")
    assert "\n=== line 1, response: 'z' is not a hex digit" in done.out
    assert done.code == 1


def test_headers_can_be_dumped_as_messages() -> None:
    cls = messages.find("kafka", name="ResponseHeader")

    assert dump(parse_body(cls, 0, b"\0\0\0\7")) == [
        "ResponseHeader v0, 4 bytes",
        "  0  0000  00 00 00 07              correlation_id  int32  7",
    ]
