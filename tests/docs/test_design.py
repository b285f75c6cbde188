"""DESIGN.md is a map: every module and file that it names exists."""

from __future__ import annotations

import ast
import re

from tests.docs.pages import ROOT

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


def test_first_reading_follows_imports() -> None:
    """The table of paths: each step is a file or a folder, and imports the next one where the arrow says so."""
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:a poll|a command|a change of a KIP-4 cluster|an event) \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 4
    wrong = []
    for row in rows:
        first, *others = re.split(r" ([-~])> ", row)
        before = _step(first)
        for arrow, name in zip(others[::2], others[1::2], strict=True):
            step = _step(name)
            if arrow == "-" and not any(f"{imported}.".startswith(f"{step}.") for imported in _imports(before)):
                wrong.append(f"{before} does not import {step}")
            before = step
    assert wrong == []


def _step(name: str) -> str:
    """Return the module or package of a step of a path, such as `client/poller.py`."""
    path = name.strip("`")
    (found,) = {
        file.relative_to(source.parent)
        for source in SOURCES
        for file in (source / path, source.parent / path)
        if file.exists() and file.is_relative_to(source)
    }
    return ".".join(found.with_suffix("").parts)


def _imports(module: str) -> set[str]:
    """Return what a module imports, anywhere in it: modules, and names of modules."""
    (file,) = [path for source in SOURCES if (path := source.parent / f"{module.replace('.', '/')}.py").exists()]
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return found
