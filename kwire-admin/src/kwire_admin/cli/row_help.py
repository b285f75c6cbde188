"""The rows of a verb, described: what `--output help` prints."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from inspect import cleandoc

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.terminal.colors import paint_for
from kwire.terminal.tables import TableColumn, print_table
from kwire_admin.http.schemas import Components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.operations.declaration import Operation

__all__ = ["DescribedKey", "described_keys", "print_row_help"]


class DescribedKey(NamedTuple):
    """A key of the JSON object for a row.

    Attributes:
        path: its name; `[]` stands for the elements of an array, as in `partitions[].leader`.
        type: the type of its value, such as `number or null`.
        meaning: its meaning; empty if the class of the row does not say so.
    """

    path: str
    type: str
    meaning: str


def print_row_help(verb: Operation) -> None:
    """Print the keys of the rows that a verb returns."""
    print("JSON: one array of objects with these keys. An item that failed is an object with name and error.\n")
    columns = [TableColumn("key"), TableColumn("type"), TableColumn("meaning", folds=True)]
    print_table(columns, [list(key) for key in described_keys(verb.result)], paint_for(sys.stdout))


def described_keys(row_class: Any) -> Iterator[DescribedKey]:
    """Return the keys of a row, those of nested rows after the key that contains them."""
    components = Components()
    yield from _keys(components, components.schema(row_class), "")


def _keys(components: Components, reference: dict[str, Any], prefix: str) -> Iterator[DescribedKey]:
    name = reference["$ref"].rpartition("/")[2]
    meanings = _meanings(components.classes[name])
    for key, schema in components.schemas[name]["properties"].items():
        path = f"{prefix}{key}"
        yield DescribedKey(path, _type_text(schema), meanings.get(key, ""))
        if "$ref" in schema.get("items", ()):
            yield from _keys(components, schema["items"], f"{path}[].")


def _meanings(row_class: Any) -> dict[str, str]:
    """Return what `Attributes` says in the docstrings of a class, its bases, and a class that it refers to."""
    meanings: dict[str, str] = {}
    for cls in reversed(row_class.__mro__):
        docstring = cleandoc(cls.__dict__.get("__doc__") or "")
        if referred := re.search(r"See `(kwire[\w.]*)\.(\w+)`", docstring):
            meanings |= _meanings(getattr(import_module(referred[1]), referred[2]))
        _, _, attributes = docstring.partition("Attributes:\n")
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", attributes, re.MULTILINE):
            meanings[name] = " ".join(text.split())
    return meanings


def _type_text(schema: dict[str, Any]) -> str:
    """Return the type of a schema in words, such as `number or null`."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type_text, schema["anyOf"])))
    if "$ref" in schema:
        return "object"
    if "items" in schema:
        return f"array of {_type_text(schema['items'])}s"
    return "number" if schema["type"] == "integer" else str(schema["type"])
