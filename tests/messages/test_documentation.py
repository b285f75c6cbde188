"""Every message, struct, and field is documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kwire import messages
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(messages.__path__[0])
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
SAYS_NOTHING = frozenset(
    (
        "a",
        "an",
        "and",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
    )
)


def declarations(path: Path) -> Iterator[ast.ClassDef]:
    """Return the structs and messages that a module declares."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(_names_a_struct(base) for base in node.bases):
            yield node


def _names_a_struct(base: ast.expr) -> bool:
    name = base.value if isinstance(base, ast.Subscript) else base
    return isinstance(name, ast.Name) and name.id in {"Struct", "Message", "Request"}


def documented_fields(declaration: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Return each field with the string below it, or an empty string."""
    for node, below in zip(declaration.body, [*declaration.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield node.target.id, text
                case _:
                    yield node.target.id, ""


def words(text: str) -> set[str]:
    """Return the significant words of a text or name, in singular."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return {word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", apart.lower()) if word not in SAYS_NOTHING}


@for_rows("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE).with_suffix("")))
def test_modules_and_classes_have_docstrings(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
    for declaration in declarations(path):
        assert ast.get_docstring(declaration), declaration.name


@for_rows("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE).with_suffix("")))
def test_fields_say_more_than_their_names(path: Path) -> None:
    for declaration in declarations(path):
        for name, text in documented_fields(declaration):
            added = words(text) - words(name) - words(declaration.name)
            assert len(added) > 1, f"{declaration.name}.{name} only says: {text!r}"


def test_repeating_the_name_is_not_documentation() -> None:
    assert not words("The hosts of this LiveBroker.") - words("host") - words("LiveBroker")
    assert len(words("The advertised name, to be resolved by the client.") - words("host")) > 1
