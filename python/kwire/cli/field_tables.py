"""Messages as tables: one for the simple fields, and one for each array of structs at any depth.

The first column of an array's table, `at`, is the path of the element as in errors and dumps. It connects the rows of a
nested table with those of the table above.
"""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.cli.value_labels import API_KEYS, value_label, value_text
from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, Primitive, StructType
from kwire.errors import path_text
from kwire.terminal.tables import TableColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.declare import Message
    from kwire.declare.fields import Field
    from kwire.declare.wire_types import WireType
    from kwire.errors import PathElement

    Path = tuple[PathElement, ...]


class FieldTable(NamedTuple):
    title: str
    columns: list[TableColumn]
    rows: list[list[str]]


class _Located(NamedTuple):
    """A struct and its path."""

    at: Path
    struct: Any


def field_tables(message: Message, version: int, dialect: str) -> Iterator[FieldTable]:
    """Return the tables of a message in `version`."""
    simple = list(_simple(type(message), version))
    rows = [[path_text(path), _cell(path, _value(message, path), dialect)] for path, _ in simple]
    yield FieldTable(
        f"{type(message).__name__} v{version}", [TableColumn("field"), TableColumn("value", folds=True)], rows
    )
    yield from _array_tables([_Located((), message)], type(message), version, dialect)


def _array_tables(parents: list[_Located], struct: Any, version: int, dialect: str) -> Iterator[FieldTable]:
    for path, element in _arrays(struct, version):
        elements = list(_elements(parents, path))
        simple = list(_simple(element, version))
        names = [name for name, _ in simple]
        if not elements:
            continue
        title = f"{path_text(_without_indexes((*parents[0].at, *path)))} ({len(elements)})"
        rows = [
            [path_text(at), *(_cell(name, _value(element, name), dialect) for name in names)]
            for at, element in elements
        ]
        yield FieldTable(title, [TableColumn("at"), *(_column(name, f) for name, f in simple)], rows)
        yield from _array_tables(elements, element, version, dialect)


def _column(name: Path, f: Field) -> TableColumn:
    bare = _bare(f.type)
    has_names = f.name.endswith("error_code") or f.name in API_KEYS
    return TableColumn(path_text(name), isinstance(bare, Primitive) and bare.is_integer and not has_names, folds=True)


def _elements(parents: Iterable[_Located], path: Path) -> Iterator[_Located]:
    for at, struct in parents:
        for index, element in enumerate(_value(struct, path) or ()):
            yield _Located((*at, *path, index), element)


def _simple(struct: Any, version: int, prefix: Path = ()) -> Iterator[tuple[Path, Field]]:
    """Yield the fields that fit into a cell, including those of nested structs that are not in an array."""
    for f in fields(struct):
        if f.in_version(version):
            bare = _bare(f.type)
            if isinstance(bare, StructType):
                yield from _simple(bare.struct, version, (*prefix, f.name))
            elif _struct_in_array(bare) is None:
                yield (*prefix, f.name), f


def _arrays(struct: Any, version: int, prefix: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield the arrays of structs and the class of their elements."""
    for f in fields(struct):
        if f.in_version(version):
            bare = _bare(f.type)
            element = _struct_in_array(bare)
            if isinstance(bare, StructType):
                yield from _arrays(bare.struct, version, (*prefix, f.name))
            elif element is not None:
                yield (*prefix, f.name), element


def _struct_in_array(wire: WireType) -> Any:
    if isinstance(wire, ArrayType):
        element = _bare(wire.element)
        return element.struct if isinstance(element, StructType) else None
    return None


def _bare(wire: WireType) -> WireType:
    while isinstance(wire, (NullableType, MaybeType)):
        wire = wire.inner
    return wire


def _value(struct: Any, path: Path) -> Any:
    for name in path:
        struct = None if struct is None else getattr(struct, str(name))
    return struct


def _cell(path: Path, value: Any, dialect: str) -> str:
    text = value if isinstance(value, str) and value.isprintable() and value else value_text(value)
    return " ".join(filter(None, (text, value_label(path, value, dialect))))


def _without_indexes(path: Path) -> Path:
    return tuple(element for element in path if isinstance(element, str))
