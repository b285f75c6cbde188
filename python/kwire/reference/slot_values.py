"""Values of slots, read without calling their methods or properties.

Constructors reject invalid values, but slots can be set without them. A slot can hold any object, also one whose
methods, or the methods of whose class, run other code.
"""

from __future__ import annotations

from struct import Struct as Format
from uuid import UUID

from kwire.declare import Struct
from kwire.declare.introspect import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

UNSET = object()
"""The value of a slot that is not set."""


type_name = type.__dict__["__name__"].__get__
"""Return the name of a type. `type(value).__name__` would run a property of a metaclass."""


def is_a(value: object, cls: type) -> bool:
    """Return whether the type of a value is `cls` or derived from it.

    `isinstance` would read the `__class__` of the value, which can be a property that runs code and returns any class,
    and accept classes that are registered with an ABC.
    """
    return type.__subclasscheck__(cls, type(value))


def getter(member: Any) -> Callable[[Any], Any]:
    """Return a function that gets the value of a slot, or `UNSET`."""
    get = member.__get__

    def get_value(instance: Any) -> Any:
        try:
            return get(instance)
        except AttributeError:
            return UNSET

    return get_value


def exact_bytes(value: bytes) -> bytes:
    """Return the content of an instance of bytes or of a subclass."""
    return value if type(value) is bytes else bytes.__getitem__(value, slice(None))


def exact_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the elements of an instance of tuple or of a subclass."""
    return value if type(value) is tuple else tuple.__getitem__(value, slice(None))


_uuid: Any = UUID
get_uuid_number = getter(_uuid.int)
pack_float = Format(">d").pack
"""Doubles are compared by these bytes."""


def is_default(value: Any, default: Any) -> bool:
    """Return whether a value equals the default. False is not 0, and doubles compare by their bits.

    Methods of `value` are not called, because a forged slot can hold any object.
    """
    if value is default:
        return True
    if value is True or value is False:  # an int to `is_a`
        return False
    match default:
        case bool():
            return False
        case int():
            return is_a(value, int) and int.__eq__(value, default)
        case float():
            return is_a(value, float) and pack_float(value) == pack_float(default)
        case str():
            return is_a(value, str) and str.__eq__(value, default)
        case bytes():
            return is_a(value, bytes) and bytes.__eq__(value, default)
        case tuple():
            return is_a(value, tuple) and not tuple.__len__(value)
        case UUID():
            if type(value) is not UUID:
                return False
            number = get_uuid_number(value)
            return type(number) is int and number == default.int
        case Struct():
            names = [*(f.name for f in fields(type(default))), "unknown_tags"]
            members = [getter(getattr(type(default), name)) for name in names]
            return type(value) is type(default) and all(is_default(get(value), get(default)) for get in members)
    return False


def is_written_default(value: Any, default: Any) -> bool:
    """Return whether a value that has been written equals the default. Uuids of any class compare by their number."""
    if isinstance(default, UUID):
        return int.__eq__(get_uuid_number(value), default.int)
    return is_default(value, default)
