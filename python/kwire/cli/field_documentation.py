"""Documented fields of messages and structs, for the tables of `kwire messages`."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, NamedTuple
from kwire.declare.documentation import declared_type, declared_versions, field_texts, remarks
from kwire.declare.fields import MISSING
from kwire.declare.introspect import fields
from kwire.declare.plan_text import literal
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, uuid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire.declare import Struct
    from kwire.declare.fields import Field


class DocumentedField(NamedTuple):
    """A field with its text, and the documented fields of its struct."""

    field: Field
    text: str
    inner: list[DocumentedField]

    @property
    def type(self) -> str:
        return declared_type(self.field.type)

    @property
    def versions(self) -> str:
        return declared_versions(self.field)

    @property
    def default(self) -> str:
        """The default as in plans, except for the zero UUID; an empty string for a required field."""
        default = self.field.default
        if default is MISSING:
            return ""
        return "zero" if self.field.type == uuid and default.int == 0 else literal(default)

    @property
    def remarks(self) -> list[str]:
        """The tag and the nullable versions of the field, and whether it can hold a secret."""
        return remarks(self.field)


def documented_fields(cls: type[Struct], version: int | None = None) -> list[DocumentedField]:
    """Return the fields of a message or struct; with `version`, only the fields of that version."""
    texts = field_texts(cls)
    return [
        DocumentedField(f, texts.get(f.name, ""), [] if inner is None else documented_fields(inner, version))
        for f, inner in _fields_and_structs(cls)
        if version is None or f.in_version(version)
    ]


def _fields_and_structs(cls: type[Struct]) -> Iterator[tuple[Field, Any]]:
    for f in fields(cls):
        inner = f.type
        while isinstance(inner, (ArrayType, NullableType, MaybeType)):
            inner = inner.element if isinstance(inner, ArrayType) else inner.inner
        yield f, inner.struct if isinstance(inner, StructType) else None
