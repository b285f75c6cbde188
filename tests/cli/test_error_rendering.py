"""Errors show the surrounding bytes, with carets under the malformed ones."""

from __future__ import annotations

import pytest

from kwire import DecodeError
from kwire.cli.error_rendering import render_error
from kwire.cli.frames import parse_body
from kwire.terminal.colors import Paint
from tests.cli.bodies import API_VERSIONS_REQUEST, METADATA_V13
from tests.cli.running import assert_golden
from tests.cli.running import kwire as run
from tests.proof.material import message_class, mutants


def test_error_is_explained_on_stderr() -> None:
    done = run("decode", "-m", "MetadataResponse", "-v", "13", METADATA_V13[: 2 * 160])

    assert_golden("truncated.fault.txt", done.err)
    assert done.code == 1


def test_error_is_json_on_stdout() -> None:
    done = run("decode", "-m", "MetadataResponse", "-v", "13", METADATA_V13[: 2 * 160])

    assert_golden("truncated.fault.json", done.out)


@pytest.mark.parametrize(
    ("message", "version", "body", "field", "marked"),
    [
        ("MetadataResponse", 13, "00 00", "an int32", "00 00"),
        ("MetadataResponse", 1, "7fffffff", "an array", "7f ff ff ff"),
        ("MetadataResponse", 9, "00000000 ffffffff0f 00", "a compact array", "ff ff ff ff 0f"),
        ("MetadataResponse", 9, "00000000 ffffffffff 00", "a compact array", "ff ff ff ff ff"),
        ("MetadataResponse", 1, "00000001 00000001 8000 0000 0000 0000 0000", "a string", "80 00"),
        ("MetadataResponse", 1, "00000001 00000001 0003 61ff62 0000 0000 0000", "a string", "00 03 61 ff 62"),
        ("ApiVersionsRequest", 3, "0a 616263", "a compact string", "0a 61 62 63"),
        ("ApiVersionsRequest", 3, "02 6b 02 31 00 aa bb", "", "aa bb"),
        ("ApiVersionsRequest", 3, "02 6b 02 31 02 05 00 05 00", "", "05"),
        ("DescribeTopicPartitionsRequest", 0, "01 00000001 02 00", "", "02"),
    ],
    ids=[
        "number",
        "count",
        "compact count",
        "overflow",
        "negative length",
        "text",
        "cut string",
        "surplus",
        "tag order",
        "marker",
    ],
)
def test_carets_mark_the_malformed_bytes(message: str, version: int, body: str, field: str, marked: str) -> None:
    lines = render_error(parse_body(message_class(message), version, bytes.fromhex(body)), Paint(False)).splitlines()

    [carets] = [place for place, line in enumerate(lines) if line.strip().startswith("^")]
    under = slice(lines[carets].index("^"), lines[carets].rindex("^") + 1)
    assert lines[carets - 1][under].replace("  ", " ") == marked
    assert lines[2].endswith(f"the field is {field}" if field else "bytes")


def test_carets_mark_the_end_of_truncated_input() -> None:
    lines = render_error(parse_body(message_class("MetadataResponse"), 13, bytes(16)[:4]), Paint(False)).splitlines()

    assert lines[-2:] == [
        "       0  0000  00 00 00 00                                       |....|",
        "                            ^^",
    ]


def test_offsets_count_from_the_start_of_the_frame() -> None:
    done = run("decode", "--request", API_VERSIONS_REQUEST.replace("026b", "096b"))

    assert done.err.startswith("Error: client_software_name: truncated at byte 13: 8 bytes wanted, 4 left\n")
    assert "in ApiVersionsRequest v3, 5 bytes; the field is a compact string" in done.err


def test_errors_of_all_mutants_are_explained() -> None:
    for mutant in mutants():
        frame = parse_body(message_class(mutant.message), mutant.version, mutant.body)
        if frame.error is not None:
            text = render_error(frame, Paint(False))
            assert isinstance(frame.error, DecodeError)
            rows = [line for line in text.splitlines() if line.startswith(f"  {frame.error.offset // 16 * 16:6}  ")]
            assert len(rows) == 1, mutant.name
            assert "^" in text
