"""DESIGN.md is a map: every module and file that it names exists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.docs.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SOURCES = (ROOT / "python" / "kwire", *sorted(ROOT.glob("kwire-*/src/kwire_*")))
DEFINITION = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
NAME = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`")
IN_A_PATH = re.compile(r"^ {4,}([a-z_]+(?:\.[A-Za-z_]+)+)(?=[,\s]|$)", re.MULTILINE)
"""A dotted name at the start of a line of a path, such as `tool_runner.run_tool`."""
OTHERS = re.compile(
    r"(?:asyncio|object|_kwire|kwire\._kwire|zookeeper\.set|ssl|connections\.max|sys)\b.*|kwire\.(?:nouns|parts|tools|tool_packages)|run\.files|.*\.(?:toml|yml|md|rs|pyi?|txt)"
)
"""Names of Python, of the native module, of settings, of entry points, and of an object."""


def definitions() -> dict[tuple[str, ...], set[str]]:
    """Return the names that each module defines, by the parts of its own name."""
    found = {}
    for source in SOURCES:
        for path in source.rglob("*.py"):
            parts = path.relative_to(source.parent).with_suffix("").parts
            names = set(DEFINITION.findall(path.read_text(encoding="utf-8")))
            found[parts[:-1] if parts[-1] == "__init__" else parts] = names
    return found


def test_named_modules_exist() -> None:
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    modules = definitions()

    def exists(dotted: str) -> bool:
        """Return whether it is a module, or what a module or one of its submodules defines."""
        parts = tuple(dotted.split("."))
        return any(
            module[-len(parts) :] == parts
            or (f".{'.'.join(parts[:-1])}." in f".{'.'.join(module)}." and parts[-1] in names)
            for module, names in modules.items()
        )

    named = {name for name in (*NAME.findall(text), *IN_A_PATH.findall(text)) if not OTHERS.fullmatch(name)}
    assert len(named) > 50
    assert sorted(name for name in named if not exists(name)) == []


def test_first_reading_follows_files_that_exist() -> None:
    """The table of paths: each step is a file or a folder of the product that its row is about."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:a poll|a command|a change of a KIP-4 cluster|an event) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    steps = [step for row in rows for step in re.findall(r"`([^`]+)`", row) if "/" in step and "<" not in step]
    assert [step for step in steps if not any(_is_there(source, step) for source in SOURCES)] == []


def _is_there(source: Path, step: str) -> bool:
    return (source / step).exists() or (source.parent / step).exists()
