"""`repr` of structs, short by default.

The short form is bounded, whatever the message holds: long arrays become `<5000 MetadataResponseTopic>`, long strings
and bytes are cut, and structs beyond `MAX_LENGTH` characters become `<MetadataResponseTopic>`. Small values are shown
in full, as the call that creates them. Secrets are hidden in the complete form too.
"""

from __future__ import annotations

from kwire._util.secret import HIDDEN
from kwire.declare.lazy import LazyArray
from kwire.declare.secrets import is_secret
from kwire.declare.unknown_tags import UnknownTags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kwire.declare._typing import Struct
    from kwire.declare.fields import Declared

MAX_ELEMENTS = 16
"""Longer arrays are shown as their length and the type of their elements."""
MAX_BYTES = 32
"""Longer bytes are shown as their length."""
MAX_CHARACTERS = 120
"""Longer strings are cut."""
MAX_LENGTH = 2000
"""Once a `repr` has this many characters, nested structs and arrays are no longer opened."""


def short_repr(instance: Struct) -> str:
    """Return the bounded form, which `repr()` returns."""
    return _Writer(MAX_LENGTH).struct(instance)


def full_repr(message: Struct) -> str:
    """Return the `repr` of a message or struct without any shortening. Secrets are hidden."""
    return _Writer(None).struct(message)


def short_value(value: object) -> str:
    """Return the bounded form of a value: of a field, or a named tuple or dict of such values."""
    return _Writer(MAX_LENGTH).value(value)


class _Writer:
    """Writes values. `left`: characters until nested values are no longer opened, None for no limit."""

    def __init__(self, left: int | None) -> None:
        self.left = left

    def struct(self, instance: Any) -> str:
        parts = [f"{d.name}={self.field(instance, d)}" for d in type(instance).__kwire_fields__]
        if instance.unknown_tags:
            parts.append(f"unknown_tags={self.value(instance.unknown_tags)}")
        self.spend(sum(len(d.name) + 3 for d in type(instance).__kwire_fields__))
        return f"{type(instance).__qualname__}({', '.join(parts)})"

    def field(self, instance: Any, declared: Declared) -> str:
        value = getattr(instance, declared.name)
        return repr(HIDDEN) if is_secret(instance, declared.options, value) else self.value(value)

    def value(self, value: object) -> str:
        if isinstance(value, LazyArray):
            return self.array(value)
        if isinstance(value, tuple):
            names = getattr(value, "_fields", None)
            return self.array(value) if names is None else self.named_tuple(value, names)
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in value.items()) + "}"
        if hasattr(type(value), "__kwire_fields__"):
            return self.struct(value) if self.left is None or self.left > 0 else f"<{type(value).__qualname__}>"
        if isinstance(value, UnknownTags):
            if self.left is not None and len(value) > MAX_ELEMENTS:
                return f"<{len(value)} tags>"
            return "{" + ", ".join(f"{tag}: {self.value(content)}" for tag, content in value.items()) + "}"
        if self.left is None:
            return repr(value)
        if isinstance(value, bytes) and len(value) > MAX_BYTES:
            text = f"<{len(value)} bytes>"
        elif isinstance(value, str) and len(value) > MAX_CHARACTERS:
            text = f"<{len(value)} characters: {value[:MAX_CHARACTERS]!r}...>"
        else:
            text = repr(value)
        self.spend(len(text))
        return text

    def array(self, values: tuple[object, ...] | LazyArray) -> str:
        if values and self.left is not None and (len(values) > MAX_ELEMENTS or self.left <= 0):
            return f"<{len(values)} {_element_name(values)}>"
        elements = [self.value(value) for value in values]
        return f"({', '.join(elements)}{',' if len(elements) == 1 else ''})"

    def named_tuple(self, values: tuple[object, ...], names: tuple[str, ...]) -> str:
        parts = [f"{name}={self.value(value)}" for name, value in zip(names, values, strict=True)]
        return f"{type(values).__qualname__}({', '.join(parts)})"

    def spend(self, characters: int) -> None:
        if self.left is not None:
            self.left -= characters


def _element_name(values: Iterable[object]) -> str:
    first = next((value for value in values if value is not None), None)
    return "None" if first is None else type(first).__qualname__
