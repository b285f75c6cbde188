"""The rows of a verb, described: what `--output help` prints."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from importlib import import_module
from inspect import cleandoc
from typing import Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.terminal.colors import paint_for
from kwire.terminal.tables import TableColumn, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_admin.operations.declaration import Operation

__all__ = ["DescribedKey", "described_keys", "print_row_help"]

TYPES = {bool: "boolean", int: "number", float: "number", str: "string", bytes: "string", type(None): "null"}
"""The types of JSON by Python's."""


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


def described_keys(row_class: Any, prefix: str = "") -> Iterator[DescribedKey]:
    """Return the keys of a row, those of nested rows after the key that contains them."""
    hints = get_type_hints(row_class)
    meanings = _meanings(row_class)
    for field in dataclasses.fields(row_class):
        hint = hints[field.name]
        path = f"{prefix}{field.name}"
        yield DescribedKey(path, _json_type(hint), meanings.get(field.name, ""))
        element = _element(hint)
        if element is not None:
            yield from described_keys(element, f"{path}[].")


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


def _element(hint: Any) -> Any:
    """Return the class of nested rows; None for a value without them."""
    if get_origin(hint) is tuple and dataclasses.is_dataclass(get_args(hint)[0]):
        return get_args(hint)[0]
    return None


def _json_type(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(_json_type, get_args(hint))))
    if get_origin(hint) in (tuple, list):
        return f"array of {_json_type(get_args(hint)[0])}s"
    if get_origin(hint) is not None and issubclass(get_origin(hint), Mapping):
        return "object"
    if dataclasses.is_dataclass(hint):
        return "object"
    if issubclass(hint, Enum):
        return _json_type(type(next(iter(hint)).value))
    return "string" if issubclass(hint, (UUID, datetime)) else TYPES[hint]
