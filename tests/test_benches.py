"""Each benchmark starts, also one that was not run for a month."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benches.instructions import Count, grown

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted(
    file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__main__")
    for file in (ROOT / "benches").rglob("*.py")
    if {"argparse", "__main__"} <= set(re.findall(r"\w+", file.read_text(encoding="utf-8")))
)


def test_there_are_benchmarks() -> None:
    assert {"benches.run", "benches.figures", "benches.native", "benches.instructions"} <= set(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_benchmark_starts(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "--help"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "--help" in done.stdout


def test_growth_above_the_limit_is_named() -> None:
    before = [Count("a v1", "crate", "decode", 100.0), Count("a v1", "crate", "encode", 100.0)]
    now = [Count("a v1", "crate", "decode", 111.0), Count("a v1", "crate", "encode", 109.0)]

    assert grown(now, before, 10) == ["a v1 crate decode +11.0%"]
