"""The expected columns, computed from decoded objects."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from kwire import DecodeError, decode
from kwire.columnar import columns
from kwire.declare import Struct
from kwire.declare.introspect import fields
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType
from kwire.errors import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OWN = ("frame", "error_kind", "error_offset", "error_path")


class Way(NamedTuple):
    """Return the structs from the message down to the rows, each with the prefix for clashing names."""

    structs: tuple[tuple[type[Struct], str], ...]
    element: WireType | None
    """Return the name and type of rows that are not structs."""


def bare(type: WireType) -> WireType:
    """Return a type without nullability."""
    while isinstance(type, (NullableType, MaybeType)):
        type = type.inner
    return type


def array_paths(cls: type[Struct], before: tuple[str, ...] = ()) -> Iterator[str]:
    """Return all valid values of `rows` except the empty one."""
    for f in fields(cls):
        inner = bare(f.type)
        path = (*before, f.name)
        if isinstance(inner, ArrayType):
            yield ".".join(path)
            inner = bare(inner.element)
        if isinstance(inner, StructType):
            yield from array_paths(inner.struct, path)


def way(cls: type[Struct], rows: str) -> Way:
    structs: list[tuple[type[Struct], str]] = [(cls, "message")]
    steps = rows.split(".") if rows else []
    for index, step in enumerate(steps):
        type = next(bare(f.type) for f in fields(structs[-1][0]) if f.name == step)
        last = index == len(steps) - 1
        if isinstance(type, ArrayType):
            type = type.element if last else bare(type.element)
        if not isinstance(type, StructType):
            return Way(tuple(structs), type)
        structs.append((type.struct, "_".join(steps[: index + 1])))
    return Way(tuple(structs), None)


def expected_rows(cls: Any, frames: Sequence[bytes | None], version: int, rows: str) -> list[dict[str, Any]]:
    """Return a dictionary for each row, with a value for each column."""
    the_way = way(cls, rows)
    steps = rows.split(".") if rows else []
    names = column_names(the_way, steps)
    blank = dict.fromkeys((*[name for level in names for name in level.values()], *OWN))
    made = []
    for index, frame in enumerate(frames):
        try:
            if frame is None:
                fault: dict[str, Any] = {"error_kind": "null_frame"}
            else:
                message = decode(cls, frame, version=version)
                made += [blank | row | {"frame": index} for row in rows_of(message, the_way, steps, names)]
                continue
        except DecodeError as error:
            fault = {"error_kind": error.kind, "error_offset": error.offset, "error_path": path_text(error.path)}
        made.append(blank | fault | {"frame": index})
    return made


def column_names(the_way: Way, steps: list[str]) -> list[dict[str, str]]:
    """Return the columns of each struct on the path, and of rows that are not structs."""
    levels = [
        (prefix, [f.name for f in own_fields(cls, steps[depth : depth + 1], in_row=depth == len(steps))])
        for depth, (cls, prefix) in enumerate(the_way.structs)
    ]
    if the_way.element is not None:
        levels.append(("_".join(steps), [steps[-1]]))
    taken = set(OWN)
    names = []
    for prefix, own in reversed(levels):
        clashing = [name for name in own if name in taken]
        named = {name: name for name in own if name not in taken}
        taken.update(named)
        for name in clashing:
            longer = name
            while longer in taken:
                longer = f"{prefix}_{longer}"
            named[name] = longer
            taken.add(longer)
        names.append(named)
    return names[::-1]


def own_fields(cls: type[Struct], on_the_way: list[str], *, in_row: bool) -> list[Any]:
    return [f for f in fields(cls) if f.name not in on_the_way and (in_row or has_column(f.type))]


def has_column(type: WireType) -> bool:
    """Return whether a field above the rows has a column. Arrays and structs that have only arrays do not."""
    match bare(type):
        case ArrayType():
            return False
        case StructType(struct=struct):
            return any(has_column(f.type) for f in fields(struct))
    return True


def rows_of(value: Any, the_way: Way, steps: list[str], names: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    if len(names) == 1 and not steps:
        yield (
            {names[0][f.name]: plain(getattr(value, f.name), f.type, in_row=True) for f in fields(type(value))}
            if (isinstance(value, Struct) and the_way.element is None)
            else {}
        )
        return
    step, *rest = steps
    own = {
        names[0][f.name]: plain(getattr(value, f.name), f.type, in_row=False)
        for f in own_fields(type(value), [step], in_row=False)
    }
    below = getattr(value, step)
    kind = next(bare(f.type) for f in fields(type(value)) if f.name == step)
    for element in () if below is None else below if isinstance(kind, ArrayType) else (below,):
        if not rest and the_way.element is not None:
            [column] = names[1].values()
            yield own | {column: plain(element, the_way.element, in_row=True)}
        elif element is not None:
            yield from (own | row for row in rows_of(element, the_way, rest, names[1:]))


def plain(value: Any, type: WireType, *, in_row: bool) -> Any:
    """Return a value in the form of Arrow: structs as dictionaries, arrays as lists."""
    type = bare(type)
    if value is None:
        return None
    if isinstance(type, ArrayType):
        return [plain(item, type.element, in_row=in_row) for item in value]
    if isinstance(type, StructType):
        return {
            f.name: plain(getattr(value, f.name), f.type, in_row=in_row)
            for f in fields(type.struct)
            if in_row or has_column(f.type)
        }
    return value


def comparable(value: Any) -> Any:
    """Return a form that compares numbers by bits: NaN equals itself, 0.0 differs from -0.0, and True from 1."""
    if isinstance(value, dict):
        return {name: comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return struct.pack(">d", value) if isinstance(value, float) else (type(value), value)


def assert_columns_are_right(cls: Any, frames: Sequence[bytes | None], version: int, rows: str) -> None:
    batch = pa.record_batch(columns(cls, frames, version=version, rows=rows))
    batch.validate(full=True)
    found = batch.to_pylist()
    expected = expected_rows(cls, frames, version, rows)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert comparable(one) == comparable(other)
