"""The documents say what is so: every example in them runs, and prints what stands there."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kwire

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"


def blocks(document: Path, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def console_examples(document: Path) -> list[tuple[str, str]]:
    """What follows a ``$`` and continues in indented lines, and what stands below it up to the next one."""
    examples = []
    for block in blocks(document, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", example)
            assert command is not None, example
            examples.append((command[0].replace("\\\n", " ").strip(), example[command.end() :]))
    return examples


def test_the_tour_in_python_prints_what_it_says() -> None:
    tour = blocks(README, "python")
    assert tour
    examples = doctest.DocTestParser().get_doctest("\n".join(tour), {"__name__": "readme"}, "README.md", None, None)
    said: list[str] = []

    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(examples, out=said.append)

    assert result.attempted > 10
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize(("command", "output"), console_examples(README))
def test_the_tour_in_the_shell_prints_what_it_says(command: str, output: str) -> None:
    program, *arguments = shlex.split(command)
    assert program == "kwire"

    run = subprocess.run(
        [sys.executable, "-m", "kwire", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert run.stdout + run.stderr == output


def test_commands_and_files_that_documents_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for document in (README, CONTRIBUTING):
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"`make ([a-z-]+)|^    make ([a-z-]+)", text, flags=re.MULTILINE):
            assert re.search(rf"^{''.join(target)}:.* ## ", makefile, flags=re.MULTILINE), target
        for link in re.findall(r"\]\((?!http)([^)#]+)", text):
            assert (ROOT / link).exists(), link


def test_the_message_that_contributing_declares_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file of a third party; that a file among ours is found by itself is for tests/messages to say."""
    [example] = blocks(CONTRIBUTING, "python")
    (tmp_path / "brew_coffee.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    brew_coffee = importlib.import_module("brew_coffee")

    message = brew_coffee.BrewCoffeeRequest(kinds=("espresso",))

    data = kwire.encode(message, version=1)
    assert data == bytes.fromhex("02 09 657370726573736f 0000ea60 00")
    assert kwire.decode(brew_coffee.BrewCoffeeRequest, data, version=1) == message
