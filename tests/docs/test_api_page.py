"""The API page lists every public name, and programs for users import no other names."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from kwire.messages import FAMILIES
from tests.docs.pages import DOCS, README, ROOT, as_module, blocks

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
MESSAGES = re.compile(rf"kwire\.messages\.(?:{'|'.join(FAMILIES)}|headers)\b")
"""Modules of messages, whose page is made from the declarations."""


@cache
def listed() -> dict[str, list[str]]:
    """Return the names on the page by module."""
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    found = re.findall(r"^::: (\S+)\n    options:\n      members: \[(.*)\]$", text, flags=re.MULTILINE)
    assert len(found) == text.count("\n::: "), "each module has an explicit list of members"
    return {module: members.split(", ") for module, members in found}


@cache
def documented() -> set[int]:
    """Return the identities of all objects on the page."""
    return {id(getattr(import_module(module), name)) for module, names in listed().items() for name in names}


@pytest.mark.parametrize("module", listed())
def test_page_lists_the_public_names_of_a_module(module: str) -> None:
    package = import_module(module)
    public = {name: getattr(package, name) for name in getattr(package, "__all__", listed()[module])}
    assert [name for name in listed()[module] if name not in public] == []
    # A name that several modules export is listed once, and a module has a block of its own.
    assert [
        name for name, value in public.items() if not isinstance(value, ModuleType) and id(value) not in documented()
    ] == []
    assert len(set(listed()[module])) == len(listed()[module])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_examples_import_listed_names_only(path: Path) -> None:
    assert undocumented(path.read_text(encoding="utf-8")) == []


def test_pages_import_listed_names_only() -> None:
    pages = [page for page in (README, *sorted(DOCS.rglob("*.md"))) if blocks(page, "python")]
    assert [(page.name, name) for page in pages for name in undocumented(as_module(page))] == []


def undocumented(program: str) -> list[str]:
    """Return the names that a program imports from kwire and that are not on the page."""
    missing = []
    for node in ast.walk(ast.parse(program)):
        if not isinstance(node, ast.ImportFrom) or node.module is None or not node.module.startswith("kwire"):
            continue
        if MESSAGES.match(node.module):
            continue
        module = import_module(node.module)
        for alias in node.names:
            value = getattr(module, alias.name, None) or import_module(f"{node.module}.{alias.name}")
            if not isinstance(value, ModuleType) and id(value) not in documented():
                missing.append(f"{node.module}.{alias.name}")
    return missing
