"""What declarations say of themselves: the docstrings of messages, structs and fields, and their types as declared.

Rules of this file: a docstring below a field exists only in the source, so that is where it is read from; without a
source there are just no sentences.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, NamedTuple

from kwire.declare.field import MISSING
from kwire.declare.introspect import fields
from kwire.declare.plan_text import literal
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, StringType, StructType, uuid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Struct
    from kwire.declare.field import Field
    from kwire.declare.wire_types import WireType


class Documented(NamedTuple):
    """A field with what is said of it, and those of the struct that it holds."""

    field: Field
    text: str
    inside: list[Documented]

    @property
    def type(self) -> str:
        return declared_type(self.field.type)

    @property
    def versions(self) -> str:
        since, until = self.field.since, self.field.until
        if until is not None:
            return str(since) if since == until else f"{since}-{until}"
        return f"{since}+" if since else "all"

    @property
    def default(self) -> str:
        """As plans write it, but for the zero uuid; empty where the field must be given."""
        default = self.field.default
        if default is MISSING:
            return ""
        return "zero" if self.field.type == uuid and default.int == 0 else literal(default)

    @property
    def remarks(self) -> list[str]:
        """What else is declared."""
        found = []
        if self.field.tag is not None:
            found.append(f"tag {self.field.tag}")
        if self.field.nullable_since:
            found.append(f"null from version {self.field.nullable_since} on")
        return found


def documented(cls: type[Struct], version: int | None = None) -> list[Documented]:
    """The fields of a message or struct; those of one version, if one is given."""
    texts = _texts(cls)
    return [
        Documented(f, texts.get(f.name, ""), [] if inner is None else documented(inner, version))
        for f, inner in _fields_and_structs(cls)
        if version is None or f.stands_in(version)
    ]


def purpose(cls: type[Struct]) -> str:
    """The docstring of a class."""
    return cleandoc(cls.__doc__ or "")


def declared_type(wire: WireType) -> str:
    """A type as declarations write it: ``array[Broker]``."""
    match wire:
        case ArrayType(element=inner):
            return f"array[{declared_type(inner)}]"
        case NullableType(inner=inner):
            return f"nullable[{declared_type(inner)}]"
        case MaybeType(inner=inner):
            return f"maybe[{declared_type(inner)}]"
        case StructType(struct=struct):
            return struct.__name__
        case StringType():
            return "string"
        case BytesType():
            return "bytes"
    return repr(wire)


def _fields_and_structs(cls: type[Struct]) -> Iterator[tuple[Field, Any]]:
    for f in fields(cls):
        inner = f.type
        while isinstance(inner, (ArrayType, NullableType, MaybeType)):
            inner = inner.element if isinstance(inner, ArrayType) else inner.inner
        yield f, inner.struct if isinstance(inner, StructType) else None


def _texts(cls: type[Struct]) -> dict[str, str]:
    return _texts_of_module(cls.__module__).get(cls.__name__, {})


@cache
def _texts_of_module(module: str) -> dict[str, dict[str, str]]:
    """Class -> field -> the string that stands below it."""
    source = _source(module)
    if source is None:
        return {}
    return {node.name: dict(_below(node)) for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}


def _source(module: str) -> str | None:
    get_source = getattr(sys.modules[module].__loader__, "get_source", None)
    return None if get_source is None else str(get_source(module))


def _below(declaration: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, below in zip(declaration.body, declaration.body[1:], strict=False):
        match node, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, cleandoc(text)
