"""Structure of the package, as its syntax trees show it: names, imports, sizes, and the root.

`.venv/bin/lint-imports` checks the layers. These tests check rules without a direction (CONTRIBUTING.md, "Modules").
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from scripts import products

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "kwire"

DIALECTS = re.compile(r"kwire\.messages\.\w+\.")
"""Modules of messages, whose classes have the names of Kafka's schemas in each dialect."""

CONVENTION = re.compile(
    r"\.(?:apis|commands|messages|operations|own|sasl|sasl_server|scripts|statements|tools|verbs)\.|\.__main__$"
)
"""Modules of folders where each file is one thing of a kind, however short it is."""

ALONE = {
    "kwire.client.admin.blocking": "the stub of its importer imports it too",
}
"""Short module with one importer -> reason."""

SHORT = 60
"""Number of lines below which a module needs a second importer; `CONTRIBUTING.md` has the same number."""


@cache
def modules() -> dict[str, tuple[Path, ast.Module]]:
    """Return the path and the syntax tree of each module of the products."""
    files = sorted(products.modules().items())
    return {name: (path, ast.parse(path.read_text(encoding="utf-8"))) for name, path in files}


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the dotted name of each import, also of lazy imports and imports for types."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str() as source, names=names, level=0):
                yield from ((node.lineno, f"{source}.{alias.name}") for alias in names)


@cache
def imports() -> dict[str, dict[str, int]]:
    """Return for each module the modules that it imports, with the line of the first import.

    The `__init__` of a package is not counted: importing a submodule runs it as well.
    """
    edges: dict[str, dict[str, int]] = {name: {} for name in modules()}
    for name, (_, tree) in modules().items():
        for line, target in imported(tree):
            module = target if target in edges else target.rpartition(".")[0]
            if module in edges and module != name and modules()[module][0].name != "__init__.py":
                edges[name].setdefault(module, line)
    return edges


def place(module: str, line: int = 1) -> str:
    return f"{modules()[module][0].relative_to(ROOT)}:{line}"


def test_each_class_name_exists_once() -> None:
    definitions: dict[str, list[str]] = defaultdict(list)
    for name, (_, tree) in modules().items():
        if not DIALECTS.match(name):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    definitions[node.name].append(place(name, node.lineno))

    assert [f"{', '.join(places)}: class {name}" for name, places in definitions.items() if len(places) > 1] == []


def for_types_only(name: str) -> set[str]:
    """Return the modules of its own package that a module imports for types only."""
    _, tree = modules()[name]
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    typed = {target.rpartition(".")[0] for block in blocks for _, target in imported(block)}
    package = name.rpartition(".")[0]
    return {target for target in typed if target.rpartition(".")[0] == package}


def test_imports_have_no_circle() -> None:
    """Lazy imports count: they show that a thing is in the wrong module. So do imports for types of another package.

    Inside of one package, two modules may name the types of each other: a type is worth more than one direction.
    """
    remaining = {name: set(targets) - for_types_only(name) for name, targets in imports().items()}
    circles = []
    while True:
        try:
            TopologicalSorter(remaining).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]  # from importer to imported
            circles.append(
                " -> ".join(
                    f"{place(importer, imports()[importer][target])} imports {target}"
                    for importer, target in pairwise(circle)
                )
            )
            remaining[circle[0]].discard(circle[1])
        else:
            break
    assert circles == []


def test_short_modules_have_several_importers() -> None:
    importers: dict[str, list[str]] = defaultdict(list)
    for importer, targets in imports().items():
        for target in targets:
            importers[target].append(importer)

    short = [
        f"{place(name)}: {lines} lines, imported by {importers[name][0]} only: merge them"
        for name, (path, _) in modules().items()
        if len(importers[name]) == 1
        and path.name != "__init__.py"
        and not CONVENTION.search(name)
        and name not in ALONE
        if (lines := path.read_text(encoding="utf-8").count("\n")) < SHORT
    ]
    assert short == []


def test_modules_at_the_root_are_public() -> None:
    """A helper is in `kwire._util`; a module at the root is for users, so the reference names what it defines."""
    reference = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    members = {name for names in re.findall(r"members: \[(.*)\]", reference) for name in names.split(", ")}
    hidden = [
        f"{place(name)}: docs/reference/api.md names nothing of it"
        for name, (path, tree) in modules().items()
        if path.parent == PACKAGE and not path.name.startswith("__") and f"::: {name}\n" not in reference
        if not members & {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    ]
    assert hidden == []


def test_text_is_split_into_lines_at_newlines_only() -> None:
    """`str.splitlines` splits at ten characters, among them U+2028, which are valid in names and values."""
    allowed = {
        "kwire.declare.documentation": "docstrings",
        "kwire.releases": "a file of the package",
        "kwire_admin.exporter.metric_table": "a file of the package",
        "kwire_pipeline.store.table_log": "bytes",
    }
    found = {name for name, (path, _) in modules().items() if ".splitlines(" in path.read_text(encoding="utf-8")}
    assert found == set(allowed)
