"""A message as tables: its simple fields, then a table for each array of structs, however deep it stands.

Rules of this file: the first column of a table, ``at``, is the path to the element, the same as in errors and dumps;
it is what connects the rows of a nested table with those of the table above it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.cli.tables import Column
from kwire.cli.value_labels import API_KEYS, meaning, value_text
from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, Primitive, StructType
from kwire.errors import path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kwire.declare import Message
    from kwire.declare.field import Field
    from kwire.declare.wire_types import WireType
    from kwire.errors import PathElement

    Path = tuple[PathElement, ...]


class FieldTable(NamedTuple):
    title: str
    columns: list[Column]
    rows: list[list[str]]


class _Found(NamedTuple):
    """A struct and the path to it."""

    at: Path
    struct: Any


def field_tables(message: Message, version: int, dialect: str) -> Iterator[FieldTable]:
    """The tables of a message in ``version``."""
    simple = list(_simple(type(message), version))
    rows = [[path_text(path), _cell(path, _value(message, path), dialect)] for path, _ in simple]
    yield FieldTable(f"{type(message).__name__} v{version}", [Column("field"), Column("value", folds=True)], rows)
    yield from _below([_Found((), message)], type(message), version, dialect)


def _below(found: list[_Found], struct: Any, version: int, dialect: str) -> Iterator[FieldTable]:
    for path, element in _arrays(struct, version):
        elements = list(_elements(found, path))
        simple = list(_simple(element, version))
        names = [name for name, _ in simple]
        if not elements:
            continue
        title = f"{path_text(_without_places((*found[0].at, *path)))} ({len(elements)})"
        rows = [[path_text(at), *(_cell(name, _value(each, name), dialect) for name in names)] for at, each in elements]
        yield FieldTable(title, [Column("at"), *(_column(name, f) for name, f in simple)], rows)
        yield from _below(elements, element, version, dialect)


def _column(name: Path, f: Field) -> Column:
    bare = _bare(f.type)
    has_names = f.name.endswith("error_code") or f.name in API_KEYS
    return Column(path_text(name), isinstance(bare, Primitive) and bare.is_integer and not has_names, folds=True)


def _elements(found: Iterable[_Found], path: Path) -> Iterator[_Found]:
    for at, struct in found:
        for place, each in enumerate(_value(struct, path) or ()):
            yield _Found((*at, *path, place), each)


def _simple(struct: Any, version: int, before: Path = ()) -> Iterator[tuple[Path, Field]]:
    """The fields that fit into a cell; those of a struct in place count as fields of the struct around it."""
    for f in fields(struct):
        if f.in_version(version):
            bare = _bare(f.type)
            if isinstance(bare, StructType):
                yield from _simple(bare.struct, version, (*before, f.name))
            elif _struct_in_array(bare) is None:
                yield (*before, f.name), f


def _arrays(struct: Any, version: int, before: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The arrays of structs, with the class of their elements."""
    for f in fields(struct):
        if f.in_version(version):
            bare = _bare(f.type)
            element = _struct_in_array(bare)
            if isinstance(bare, StructType):
                yield from _arrays(bare.struct, version, (*before, f.name))
            elif element is not None:
                yield (*before, f.name), element


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
    return " ".join(filter(None, (text, meaning(path, value, dialect))))


def _without_places(path: Path) -> Path:
    return tuple(element for element in path if isinstance(element, str))
