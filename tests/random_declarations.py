"""Random message classes, to test the codecs with all possible declarations."""

from __future__ import annotations

from itertools import count
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from kwire.declare import Message, Struct, field, zero
from kwire.declare.introspect import fields
from kwire.declare.wire_types import (
    PRIMITIVES,
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
)

HIGHEST = 3
"""The highest version of random messages."""

_serial = count()

scalars = st.sampled_from([*PRIMITIVES.values(), StringType(), BytesType()])
versions = st.integers(0, HIGHEST)


@st.composite
def message_classes(draw: DrawFn) -> Any:
    """Generate a valid message class with versions 0 to `HIGHEST`, flexible since some version or never."""
    flexible = draw(st.none() | versions)
    return draw(_classes(Message, flexible, 3))


@st.composite
def _classes(draw: DrawFn, base: type[Struct], flexible: int | None, depth: int) -> Any:
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {}}
    drawn = draw(st.lists(_fields(flexible, depth), min_size=1, max_size=4))
    tags = [options["tag"] for _, options in drawn if "tag" in options]
    assume(len(tags) == len(set(tags)))
    if base is Struct:
        # Structs are used in arrays, where each must have at least a byte in every version.
        drawn.append((draw(scalars), {}))
    for index, (type, options) in enumerate(drawn):
        namespace["__annotations__"][f"f{index}"] = type
        if options:
            namespace[f"f{index}"] = field(**options)
    keywords: dict[str, Any] = {}
    if base is Message:
        keywords["versions"] = f"0-{HIGHEST}"
        if flexible is not None:
            keywords["flexible"] = f"{flexible}+"
    return type_of(base)(f"Random{next(_serial)}", (base,), namespace, **keywords)


def type_of(base: type[Struct]) -> Any:
    """Create a class through the metaclass, which type checkers do not know."""
    return type(base)


@st.composite
def _fields(draw: DrawFn, flexible: int | None, depth: int) -> tuple[WireType, dict[str, Any]]:
    """Generate the type and the options of a field."""
    wire = draw(_types(flexible, depth))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["since"] = draw(versions)
    if draw(st.integers(0, 3)) == 0:
        options["until"] = draw(st.integers(options.get("since", 0), HIGHEST))
    taggable = flexible is not None and not isinstance(wire, MaybeType) and not _has_late_null(wire)
    if taggable and draw(st.integers(0, 2)) == 0:
        options["tag"] = draw(st.sampled_from([0, 1, 2, 5, 127, 128, 10_000, 0xFFFF_FFFF]))
        # Only flexible versions have tagged fields.
        options["since"] = max(options.get("since", 0), flexible or 0)
        if "until" in options:
            options["until"] = max(options["until"], options["since"])
    # A tagged field with default null must be nullable in all of its versions.
    if isinstance(wire, NullableType) and "tag" not in options and draw(st.booleans()):
        options["nullable_since"] = draw(versions)
    if draw(st.booleans()):
        options["ignorable"] = True
    if draw(st.integers(0, 4)) == 0:
        options["compact"] = False
    if options.keys() & {"since", "until", "tag"}:
        options["default"] = draw(_defaults(wire))
    return wire, options


def _has_late_null(wire: WireType) -> bool:
    """Return whether a struct has a field that is nullable since a later version, where its zero, null, is invalid."""
    return isinstance(wire, StructType) and any(
        f.nullable_since > 0 or _has_late_null(f.type) for f in fields(wire.struct)
    )


def _defaults(wire: WireType) -> SearchStrategy[Any]:
    """Generate a valid default of a type."""
    match wire:
        case Primitive(is_integer=True, lowest=int(lowest), highest=int(highest)):
            return st.just(zero) | st.integers(lowest, highest)
        case Primitive(name="bool"):
            return st.booleans()
        case Primitive(name="float64"):
            return st.just(zero) | st.floats(allow_nan=False) | st.just(float("nan"))
        case StringType():
            return st.just(zero) | st.text(st.characters(codec="utf-8"), max_size=3)
        case BytesType():
            return st.just(zero) | st.binary(max_size=3)
        case NullableType(inner=StringType() | BytesType() as inner):
            return st.none() | _defaults(inner)
        case NullableType(inner=ArrayType()):
            return st.sampled_from([None, ()])
    return st.just(zero)


def _types(flexible: int | None, depth: int) -> SearchStrategy[WireType]:
    if depth == 0:
        return scalars
    inner = _types(flexible, depth - 1)
    structs = _classes(Struct, flexible, depth - 1).map(StructType)
    arrays = inner.map(ArrayType)
    texts = st.sampled_from([StringType(), BytesType()])
    return st.one_of(
        scalars, scalars, structs, arrays, st.one_of(texts, structs, arrays).map(NullableType), inner.map(MaybeType)
    )
