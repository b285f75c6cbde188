"""Documentation of declared classes, read from their declarations.

The text below a field exists only in the source code of its module. Without source code, the text is empty.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from inspect import cleandoc

from kwire.declare.fields import MISSING
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import ArrayType, BytesType, MaybeType, NullableType, StringType, StructType, uuid
from kwire.errors import DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kwire.declare._typing import Struct
    from kwire.declare.fields import Field
    from kwire.declare.wire_types import WireType


def class_documentation(cls: type[Struct], docstring: str | None) -> str:
    """Return the docstring of a class with its versions and the types, versions, and texts of its fields."""
    parts = [cleandoc(docstring)] if docstring else []
    if "versions" in cls.__dict__:
        parts.append(_message_line(cls))
    try:
        lines = [line for f in fields(cls) for line in _field_lines(f, field_texts(cls).get(f.name, ""))]
    except DeclarationError as error:
        lines = [f"    {error}"]
    parts.append("\n".join(["Fields:", *lines]))
    return "\n\n".join(parts)


def docstring(cls: type[Struct]) -> str:
    """Return the docstring of a class as written, without the list of fields."""
    return cleandoc(cls.__dict__.get("__doc__") or "")


def field_texts(cls: type[Struct]) -> dict[str, str]:
    """Return the text of each documented field, inherited fields included."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if "__kwire_fields__" in base.__dict__:
            texts.update(_texts_of_module(base.__module__).get(base.__qualname__, {}))
    return texts


def texts_below_fields(cls: type[Any]) -> dict[str, str]:
    """Return the string below each annotated attribute in the body of any class."""
    return dict(_texts_of_module(cls.__module__).get(cls.__qualname__, {}))


def declared_type(wire: WireType) -> str:
    """Return a type as declarations write it: `array[MetadataResponseBroker]`."""
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


def declared_versions(f: Field) -> str:
    """Return the versions that have a field: `all`, `3+`, `0-7`, or `2`."""
    if f.until is not None:
        return str(f.since) if f.since == f.until else f"{f.since}-{f.until}"
    return f"{f.since}+" if f.since else "all"


def remarks(f: Field) -> list[str]:
    """Return the tag and the nullable versions of a field, and the remark that it can hold a secret."""
    texts = []
    if f.tag is not None:
        texts.append(f"tag {f.tag}")
    if f.nullable_since:
        texts.append(f"nullable since version {f.nullable_since}")
    if f.sensitive:
        texts.append("sensitive" if f.sensitive is True else f"sensitive for some values of {f.sensitive}")
    return texts


def _message_line(cls: Any) -> str:
    facts = describe(cls)
    key = f", API key {facts.api_key}" if facts.api_key >= 0 else ""
    if facts.record_type is not None:
        key = f", record type {facts.record_type}"
    flexible = f", flexible {facts.flexible}" if facts.flexible is not None else ""
    return f"{facts.kind.capitalize()}{key}, versions {facts.versions}{flexible}."


def _field_lines(f: Field, text: str) -> Iterator[str]:
    versions = declared_versions(f)
    facts = [declared_type(f.type), "all versions" if versions == "all" else f"v{versions}", *remarks(f)]
    if f.default is not MISSING:
        facts.append(f"default {'zero' if f.type == uuid and f.default.int == 0 else repr(f.default)}")
    yield f"    {f.name}: {', '.join(facts)}"
    for line in text.splitlines():
        yield f"        {line}"


@cache
def _texts_of_module(module: str) -> dict[str, dict[str, str]]:
    """Return, for each class of a module, the string below each field."""
    loader = getattr(sys.modules.get(module), "__loader__", None)
    get_source = getattr(loader, "get_source", None)
    try:
        source = None if get_source is None else get_source(module)
    except (ImportError, OSError):
        source = None
    if source is None:
        return {}
    return {node.name: dict(_texts_below(node)) for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}


def _texts_below(declaration: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, below in zip(declaration.body, declaration.body[1:], strict=False):
        match node, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, cleandoc(text)
