"""mypy and pyright accept correct uses of declarations and find every expected mistake.

A comment at the end of a line of `typing/mistakes.py` names the rules that the line breaks, for example `# mypy misc;
pyright reportCallIssue`. A checker that the comment does not name reports nothing for that line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.declare.introspect import describe
from kwire.messages import FAMILIES, every
from kwire.protocol.client_connection import response_class
from tests.cli.running import kwire
from tests.docs.pages import DOCS, README, ROOT, as_module, blocks

if TYPE_CHECKING:
    from collections.abc import Callable

USES = ROOT / "tests" / "typing" / "uses.py"
MISTAKES = ROOT / "tests" / "typing" / "mistakes.py"
WITH_PYTHON = [page for page in (README, *sorted(DOCS.rglob("*.md"))) if blocks(page, "python")]

Findings = dict[Path, dict[int, set[str]]]
"""The broken rules of each line of each file."""


@cache
def mypy() -> Findings:
    findings: Findings = {USES: {}, MISTAKES: {}}
    for line in check("mypy", "--output=json", USES, MISTAKES).splitlines():
        finding = json.loads(line)
        file = ROOT / finding["file"]
        if finding["severity"] == "error" and file in findings:
            findings[file].setdefault(finding["line"], set()).add(finding["code"])
    return findings


@cache
def pyright() -> Findings:
    findings: Findings = {USES: {}, MISTAKES: {}}
    for finding in json.loads(check("pyright", "--outputjson", USES, MISTAKES))["generalDiagnostics"]:
        line = finding["range"]["start"]["line"] + 1
        findings[Path(finding["file"])].setdefault(line, set()).add(finding["rule"])
    return findings


def check(checker: str, option: str, *files: Path) -> str:
    """Return what a checker reports about files."""
    command = [sys.executable, "-m", checker, option, *map(str, files)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def expected(checker: str) -> dict[int, set[str]]:
    """Return the findings that the comments of `mistakes.py` expect from a checker."""
    findings = {}
    for number, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1):
        if comment := re.search(rf"  # .*\b{checker} ([\w-]+(?:, [\w-]+)*)", line):
            findings[number] = set(comment[1].split(", "))
    return findings


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_correct_uses_pass(checker: Callable[[], Findings]) -> None:
    assert checker()[USES] == {}


@pytest.mark.parametrize(("name", "checker"), [("mypy", mypy), ("pyright", pyright)])
def test_exactly_the_expected_mistakes_are_found(name: str, checker: Callable[[], Findings]) -> None:
    assert checker()[MISTAKES] == expected(name)


@pytest.mark.parametrize(("checker", "option"), [("mypy", "--strict"), ("pyright", "--warnings")])
def test_response_is_inferred_from_every_request(checker: str, option: str, tmp_path: Path) -> None:
    requests = {cls for family in FAMILIES for cls in every(family) if describe(cls).kind == "request"}
    lines = ["# pyright: strict", "from typing import assert_type"]
    lines += ["import kwire.client, kwire.protocol", *sorted({f"import {cls.__module__}" for cls in requests})]
    for number, cls in enumerate(sorted(requests, key=lambda cls: (cls.__module__, cls.__name__))):
        request, response = (f"{name.__module__}.{name.__name__}" for name in (cls, response_class(cls)))
        lines += [
            f"async def send_{number}(connection: kwire.client.Connection, blocking: kwire.client.BlockingConnection,",
            f"    protocol: kwire.protocol.ClientConnection, request: {request}) -> None:",
            f"    assert_type(await connection.send(request), {response})",
            f"    assert_type(blocking.send(request, version=0), {response})",
            f"    assert_type(protocol.receive(b'', protocol.request(request)).decode(), {response})",
        ]
    module = tmp_path / "sends.py"
    module.write_text("\n".join(lines), encoding="utf-8")
    assert "error" not in check(checker, option, module).replace("0 errors", "")
    assert len(requests) > 100


def test_every_marked_line_expects_a_finding() -> None:
    marked = {n for n, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), 1) if "  # " in line}

    assert marked == expected("mypy").keys() | expected("pyright").keys()
    assert len(marked) >= 40


def test_examples_of_the_documentation_pass_mypy_strict(tmp_path: Path) -> None:
    """All code of a page is one module, as a reader would paste it."""
    for page in WITH_PYTHON:
        name = str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_").lower()
        (tmp_path / f"{name}.py").write_text(as_module(page), encoding="utf-8")

    assert mypy_strict(sorted(tmp_path.glob("*.py"))) == ""


def test_new_tool_passes_mypy_strict(tmp_path: Path) -> None:
    assert kwire("tools", "new", "count-topics", "--folder", tmp_path / "package").code == 0

    assert mypy_strict([tmp_path / "package" / "count_topics.py"]) == ""


def mypy_strict(files: list[Path]) -> str:
    """Return what mypy reports about modules of users, which see the package without its own settings."""
    options = ["--config-file=", "--strict", "--disable-error-code=import-untyped", "--no-error-summary"]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", str(ROOT / ".mypy_cache"), *map(str, files)]
    run = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True, check=False)
    return run.stdout + run.stderr
