"""`kwire validate` counts valid and invalid frames."""

from __future__ import annotations

import json

from tests.cli.bodies import EMPTY_METADATA_V13, METADATA_V13
from tests.cli.running import DATA
from tests.cli.running import kwire as run
from tests.proof.material import exchanges

METADATA = ("validate", "-m", "MetadataResponse", "-v", "13")


def test_valid_body_is_counted() -> None:
    assert run(*METADATA, METADATA_V13) == (0, "1 frame: 1 ok, 0 wrong\n", "")


def test_invalid_body_is_explained() -> None:
    done = run(*METADATA, METADATA_V13[:-2])

    assert done.out == "1 frame: 0 ok, 1 wrong\n"
    assert done.err.startswith("Error: truncated at byte 190: 1 bytes wanted, 0 left\n")
    assert "^" in done.err
    assert done.code == 1


def test_each_invalid_frame_of_a_capture_is_a_line() -> None:
    lines = [
        {"message": "MetadataResponse", "version": 13, "hex": digits} for digits in (EMPTY_METADATA_V13, "00", "zz")
    ]

    done = run("validate", stdin="\n".join(map(json.dumps, lines)))

    assert done.out == "3 frames: 1 ok, 2 wrong\n"
    assert done.err.splitlines() == [
        "line 2, body MetadataResponse v13: throttle_time_ms: truncated at byte 0: 4 bytes wanted, 1 left",
        "line 3, body: 'z' is not a hex digit, at position 1 of 2",
    ]
    assert done.code == 1


def test_captured_frames_are_valid_or_unknown() -> None:
    frames = 2 * sum(exchange.source == "frames" for exchange in exchanges())

    done = run("validate", "--skip-unknown", "-q", "-o", "json", DATA / "frames.jsonl.xz")

    counts = json.loads(done.out)
    assert counts["ok"] + counts["unknown"] == frames
    assert counts["wrong"] == 0
    assert 0 < counts["unknown"] < 20
    assert (done.code, done.err) == (0, "")


def test_unknown_messages_are_errors_unless_skipped() -> None:
    line = json.dumps({"request_hex": "7fff 0000 00000001 ffff"})

    assert run("validate", "-q", line) == (1, "1 frame: 0 ok, 0 wrong, 1 of unknown messages or versions\n", "")
    assert run("validate", "-q", "--skip-unknown", line).code == 0
