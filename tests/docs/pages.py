"""The documents of the project and the code in them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
DOCS = ROOT / "docs"

SNIPPET = re.compile(r'^--8<-- "(.+)"$', flags=re.MULTILINE)


def blocks(document: Path, language: str) -> list[str]:
    """Return the fenced blocks of one language, in order."""
    text = document.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def console_examples(document: Path) -> list[tuple[str, str]]:
    """Return each command after a `$` in a console block, and the output below it."""
    examples = []
    for block in blocks(document, "console"):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", example)
            assert command is not None, example
            examples.append((command[0].replace("\\\n", " ").strip(), example[command.end() :]))
    return examples


def interactive(document: Path) -> list[str]:
    """Return the Python blocks with `>>>` prompts."""
    return [block for block in blocks(document, "python") if ">>> " in block]


def programs(document: Path) -> list[str]:
    """Return the Python blocks without prompts."""
    return [block for block in blocks(document, "python") if ">>> " not in block]


def run_interactive(document: Path) -> None:
    """Run all interactive blocks of a page as one session and compare the output."""
    run_examples("\n".join(interactive(document)), document.name, {})


def run_examples(source: str, name: str, variables: dict[str, object]) -> None:
    """Run the examples in a text as one session that has some variables, and compare the output."""
    session = doctest.DocTestParser().get_doctest(source, {"__name__": "page"} | variables, name, None, None)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(session, out=report.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(report)


def as_module(document: Path) -> str:
    """Return the code of a page as the text of one module, for a type checker. Expected output is left out."""
    parts: list[str] = []
    for block in blocks(document, "python"):
        if ">>> " in block:
            examples = doctest.DocTestParser().get_examples(block)
            parts.extend(example.source for example in examples)
        else:
            parts.append(block)
    return "\n".join(parts)
