"""What type checkers make of declarations: right uses pass, and mypy and pyright find every wanted mistake.

``typing/mistakes.py`` says at the end of a line which rules it breaks: ``# mypy misc; pyright reportCallIssue``. A
checker that is not named finds nothing there, and is known not to.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
USES = ROOT / "tests" / "typing" / "uses.py"
MISTAKES = ROOT / "tests" / "typing" / "mistakes.py"

Findings = dict[int, set[str]]
"""Line -> the rules it breaks."""


def mypy(file: Path) -> Findings:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--output=json", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    findings: Findings = defaultdict(set)
    for line in run.stdout.split("\n"):
        if not line:
            continue  # all that mypy says when it found nothing
        finding = json.loads(line)
        if finding["severity"] == "error" and (ROOT / finding["file"]) == file:
            findings[finding["line"]].add(finding["code"])
    return findings


def pyright(file: Path) -> Findings:
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    findings: Findings = defaultdict(set)
    for finding in json.loads(run.stdout)["generalDiagnostics"]:
        findings[finding["range"]["start"]["line"] + 1].add(finding["rule"])
    return findings


def wanted(checker: str) -> Findings:
    """What the comments of ``mistakes.py`` say of ``checker``."""
    findings: Findings = {}
    for number, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1):
        if said := re.search(rf"  # .*\b{checker} ([\w-]+(?:, [\w-]+)*)", line):
            findings[number] = set(said[1].split(", "))
    return findings


@pytest.mark.parametrize("check", [mypy, pyright])
def test_right_uses_pass(check: Callable[[Path], Findings]) -> None:
    assert check(USES) == {}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_every_wanted_mistake_is_found_and_nothing_else(check: Callable[[Path], Findings]) -> None:
    assert check(MISTAKES) == wanted(check.__name__)


def test_every_marked_line_is_found_by_one_checker_at_least() -> None:
    marked = {n for n, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1) if "  # " in line}

    assert marked == wanted("mypy").keys() | wanted("pyright").keys()
    assert len(marked) >= 40
