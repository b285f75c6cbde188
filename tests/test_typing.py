"""mypy and pyright accept correct uses of declarations and find every expected mistake.

A comment at the end of a line of `typing/mistakes.py` names the rules that the line breaks, for example `# mypy misc;
pyright reportCallIssue`. A checker that the comment does not name reports nothing for that line.
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
"""The broken rules of each line."""


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
            continue
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


def expected(checker: str) -> Findings:
    """Return the findings that the comments of `mistakes.py` expect from a checker."""
    findings: Findings = {}
    for number, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1):
        if said := re.search(rf"  # .*\b{checker} ([\w-]+(?:, [\w-]+)*)", line):
            findings[number] = set(said[1].split(", "))
    return findings


@pytest.mark.parametrize("check", [mypy, pyright])
def test_correct_uses_pass(check: Callable[[Path], Findings]) -> None:
    assert check(USES) == {}


@pytest.mark.parametrize("check", [mypy, pyright])
def test_exactly_the_expected_mistakes_are_found(check: Callable[[Path], Findings]) -> None:
    assert check(MISTAKES) == expected(check.__name__)


def test_every_marked_line_expects_a_finding() -> None:
    marked = {n for n, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1) if "  # " in line}

    assert marked == expected("mypy").keys() | expected("pyright").keys()
    assert len(marked) >= 40
