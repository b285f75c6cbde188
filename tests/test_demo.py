"""``make demo`` prints what the captured frames say, to whatever reads it, in a few seconds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_demo_says_what_was_captured() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.demo"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    for said in (
        r"Kafka 3\.9\.1, cluster \S{22}: \d+ topics with \d+ partitions",
        r"Kafka 4\.4\.0, cluster \S{22}: ",
        r"broker 3 at 127\.0\.0\.1:29093 in rack-3, was down for a while",
        r"1601 requests and their answers, by 6 clients",
        r"Metadata v0-13 \(578\)",
        r" 3  UNKNOWN_TOPIC_OR_PARTITION ",
        r"  error_code +int16 +17  INVALID_TOPIC_EXCEPTION",
        r"Error: brokers: count_exceeds_input at byte 9: \d+ bytes wanted, \d+ left",
        r"All 3,\d\d\d frames: [\d,]+ frames/s by the engine, [\d,]+ by the reference",
        r"\d+ ns a partition by the engine, [\d,]+ by the reference, \d+ times as much",
    ):
        assert re.search(said, done.stdout), said
