"""Plans: one version of a message as a line of text for the engine. `docs/plans.md` has the grammar.

The text is readable and describes the bytes completely. The classes, which only Python needs, are kept beside it.
"""

from __future__ import annotations

from kwire.declare import Message, Struct
from kwire.declare.fields import MISSING, Field
from kwire.declare.introspect import check_version, describe, fields, null_in_default
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
)
from kwire.errors import DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PlanSource:
    """A plan: its text, and the class of each struct in the order in which the text opens them."""

    __slots__ = ("structs", "text")

    def __init__(self, text: str, structs: tuple[type[Struct], ...]) -> None:
        self.text = text
        self.structs = structs


def plan_source(cls: type[Message], version: int) -> PlanSource:
    """Return the plan of one version of a message.

    Raises:
        UnsupportedVersion: the class does not declare `version`.
        DeclarationError: the wire format cannot express the declaration.
    """
    facts = describe(cls)
    check_version(cls, version)
    writer = _Writer(version, facts.is_flexible(version))
    body = writer.struct(cls)
    return PlanSource(f"{cls.__name__} v{version} {body}", tuple(writer.structs))


class _Writer:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.structs: list[type[Struct]] = []

    def struct(self, cls: type[Struct]) -> str:
        self.structs.append(cls)
        present = [f for f in fields(cls) if f.in_version(self.version)]
        plain = [f"{f.name}:{self.type(cls, f, f.type)}" for f in present if f.tag is None]
        tagged = [self.tagged(cls, f) for f in self.by_tag(cls, present)]
        absent = [
            f"{'~' if f.ignorable else '-'}{f.name}={literal(f.default)}"
            for f in fields(cls)
            if not f.in_version(self.version)
        ]
        opening, closing = "<>" if self.flexible else "{}"
        return opening + " ".join(plain + tagged + absent) + closing

    def by_tag(self, cls: type[Struct], present: list[Field]) -> list[Field]:
        """Return the tagged fields by ascending tag. Reject fields that the version cannot have."""
        tags: dict[int, Field] = {}
        for f in present:
            if f.tag is None:
                continue
            if not self.flexible:
                raise DeclarationError(
                    cls.__name__, f.name, f"version {self.version} is not flexible and cannot have tagged fields"
                )
            if f.tag in tags:
                raise DeclarationError(cls.__name__, f.name, f"tag {f.tag} is already used by {tags[f.tag].name}")
            null = null_in_default(f, self.version)
            if null is not None:
                raise DeclarationError(
                    cls.__name__, f.name, f"default: {null} is null, which version {self.version} does not allow"
                )
            tags[f.tag] = f
        return [tags[tag] for tag in sorted(tags)]

    def tagged(self, cls: type[Struct], f: Field) -> str:
        return f"{f.name}#{f.tag}:{self.type(cls, f, f.type)}={self.tagged_default(f.default)}"

    def tagged_default(self, value: Any) -> str:
        """Return a default. The default of a struct has all its plain fields; the others are at their own defaults."""
        if not isinstance(value, Struct):
            return literal(value)
        plain = [f.name for f in fields(type(value)) if f.tag is None and f.in_version(self.version)]
        return "{" + " ".join(f"{name}={self.tagged_default(getattr(value, name))}" for name in plain) + "}"

    def type(self, cls: type[Struct], f: Field, type: WireType) -> str:
        compact = self.flexible and f.compact
        match type:
            case Primitive(name=name):
                return name
            case StringType():
                return "compact_string" if compact else "string"
            case BytesType():
                return "compact_bytes" if compact else "bytes"
            case ArrayType(element=element):
                if minimum_size(element, self.version, self.flexible) == 0:
                    raise DeclarationError(
                        cls.__name__,
                        f.name,
                        f"its elements are empty in version {self.version}, so its count cannot be checked",
                    )
                return f"{'compact' if compact else ''}[{self.type(cls, f, element)}]"
            case NullableType(inner=inner):
                null = "?" if type is not f.type or f.nullable_in(self.version) else ""
                return self.type(cls, f, inner) + null
            case MaybeType(inner=inner):
                return f"maybe({self.type(cls, f, inner)})"
            case StructType(struct=struct):
                return self.struct(struct)
        raise TypeError(f"{type!r} has no text")


def minimum_size(type: WireType, version: int, flexible: bool) -> int:
    """Return the smallest number of bytes of a value of a type."""
    match type:
        case Primitive(size=size):
            return size
        case StringType():
            return 1 if flexible else 2
        case BytesType() | ArrayType():
            return 1 if flexible else 4
        case NullableType(inner=StructType()) | MaybeType():
            return 1
        case NullableType(inner=inner):
            return minimum_size(inner, version, flexible)
        case StructType(struct=struct):
            present = (f for f in fields(struct) if f.tag is None and f.in_version(version))
            return int(flexible) + sum(minimum_size(f.type, version, flexible) for f in present)
    raise TypeError(f"{type!r} has no size")


def literal(value: Any) -> str:
    """Return a default value as plans write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(value).replace("e+", "e")  # the same form as in Rust
    if isinstance(value, str):
        from json import dumps

        return dumps(value)
    if isinstance(value, bytes):
        return f'x"{value.hex()}"'
    if isinstance(value, tuple):
        return "[]"
    if isinstance(value, Struct):
        return "{}"
    if value is MISSING:
        raise TypeError("a required field has no default")
    return f'u"{value}"'
