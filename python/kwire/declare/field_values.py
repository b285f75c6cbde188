"""Values of fields by which elements of an array are found."""

from __future__ import annotations

from kwire.declare.constructor import field_check
from kwire.declare.introspect import fields
from kwire.declare.struct import comparable
from kwire.declare.wire_types import NullableType, Primitive, StringType, WireType
from kwire.errors import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeAlias

    FieldValue: TypeAlias = tuple["SearchField", Any]


class SearchField:
    """A field by which elements are found: how its values are checked and written."""

    __slots__ = ("check", "content", "name")

    def __init__(self, name: str, check: Callable[[Any], Any], content: Callable[[Any], bytes] | None) -> None:
        self.name = name
        self.check = check
        self.content = content


def checked(cls: Any, values: dict[str, Any]) -> list[FieldValue]:
    """Return the fields of a struct class and their values.

    Raises:
        TypeError: a field is unknown, a value has another type than its field, or no values are given.
    """
    if not values:
        raise TypeError("find: expected the value of at least one field, for example name=...")
    search_fields = cls.__dict__.get("__kwire_search_fields__")
    if search_fields is None:
        search_fields = cls.__kwire_search_fields__ = {
            f.name: SearchField(f.name, field_check(f), _content(f.type)) for f in fields(cls)
        }
    searched = []
    for name, value in values.items():
        f = search_fields.get(name)
        if f is None:
            raise TypeError(f"find: {cls.__name__} has no field {name!r}")
        try:
            searched.append((f, f.check(value)))
        except EncodeError as error:
            raise TypeError(f"find: {name}: {error.reason}") from None
    return searched


def has(element: object, wanted: list[FieldValue]) -> bool:
    """Return whether the fields of an element have the given values."""
    return all(comparable(getattr(element, f.name)) == comparable(value) for f, value in wanted)


def contents(wanted: list[FieldValue]) -> list[bytes | None] | Literal[False] | None:
    """Return the values as bytes without lengths, and null as None.

    Returns None if a value has no encoding, so that no element has it. Returns False if a field is not an integer,
    uuid, or string: equal values can then have different bytes.
    """
    parts: list[bytes | None] = []
    for f, value in wanted:
        if f.content is None:
            return False
        try:
            parts.append(None if value is None else f.content(value))
        except (OverflowError, UnicodeEncodeError):
            return None
    return parts


def _content(type: WireType) -> Callable[[Any], bytes] | None:
    match type:
        case NullableType(inner=inner):
            return _content(inner)
        case StringType():
            return str.encode
        case Primitive(name="uuid"):
            return _uuid_bytes
        case Primitive(is_integer=True, size=size, lowest=lowest):
            signed = lowest is not None and lowest < 0
            return lambda value: int.to_bytes(value, size, "big", signed=signed)
    return None


def _uuid_bytes(value: Any) -> bytes:
    content: bytes = value.bytes
    return content
