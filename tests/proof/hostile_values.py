"""Values that record every call of a method of theirs or of their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from kwire.declare.struct import StructMeta

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS: list[str] = []
"""The names of the methods that were called."""

NUMBER: Any = vars(UUID)["int"]
"""The slot of the number of a uuid."""

KEPT = frozenset(
    (
        "__new__",
        "__init__",
        "__init_subclass__",
        "__subclasshook__",
        "__class_getitem__",
        "__doc__",
        "__dict__",
        "__weakref__",
    )
)
"""Names that Python needs for creating the classes, or that are not methods."""


def trap(name: str) -> Callable[..., Any]:
    def called(*_: object, **__: object) -> Any:
        CALLS.append(name)
        raise ZeroDivisionError(name)

    return called


class HostileClass(type):
    """A metaclass with methods that record their calls."""

    __name__: Any = property(trap("metaclass.__name__"))
    __eq__ = trap("metaclass.__eq__")
    __hash__: Any = trap("metaclass.__hash__")
    __instancecheck__ = trap("metaclass.__instancecheck__")
    __subclasscheck__ = trap("metaclass.__subclasscheck__")


class HostileStructClass(HostileClass, StructMeta):
    """The metaclass of subclasses of structs."""


def hostile_class(base: type, claimed: type | None = None) -> Any:
    """Return a subclass with a trap for every method.

    Args:
        base: the class to derive from.
        claimed: the class that `__class__` returns; by default reading it is a trap, too.
    """
    names = {name for cls in base.__mro__ for name, value in vars(cls).items() if callable(value)} - KEPT
    names |= {
        "__len__",
        "__iter__",
        "__bool__",
        "__index__",
        "__int__",
        "__float__",
        "__bytes__",
        "__buffer__",
        "bytes",
    }
    body: dict[str, Any] = {name: trap(f"{base.__name__}.{name}") for name in names}
    body["__getattribute__"] = trap(f"{base.__name__}.__getattribute__")
    body["__class__"] = property(trap(f"{base.__name__}.__class__") if claimed is None else lambda _: claimed)
    metaclass = HostileStructClass if isinstance(base, StructMeta) else HostileClass
    return metaclass(f"Hostile{base.__name__}", (base,), body)


def hostile_uuid(number: object) -> Any:
    """Return an instance of a subclass of UUID with this value in its slot."""
    uuid: Any = object.__new__(hostile_class(UUID))
    NUMBER.__set__(uuid, number)
    return uuid


def uuid_with(number: object) -> UUID:
    uuid = object.__new__(UUID)
    object.__setattr__(uuid, "int", number)
    return uuid


def hostile_values() -> dict[str, Any]:
    """Return values by name: subclasses of all types of values, and objects that claim to have one."""
    number = hostile_class(int)
    text, octets, elements, double = (hostile_class(base) for base in (str, bytes, tuple, float))
    values: dict[str, Any] = {
        "object": hostile_class(object)(),
        "list": hostile_class(list)(),
        "int 0": int.__new__(number),
        "int 7": int.__new__(number, 7),
        "int too large": int.__new__(number, 1 << 200),
        "str": str.__new__(text, "text"),
        "str not ASCII": str.__new__(text, "żółć"),
        "str empty": str.__new__(text),
        "bytes": bytes.__new__(octets, b"\x01\x01a"),
        "bytes empty": bytes.__new__(octets),
        "tuple empty": tuple.__new__(elements),
        "tuple of hostile ints": tuple.__new__(elements, (int.__new__(number, 1), 2)),
        "tuple of hostile floats": tuple.__new__(elements, (float.__new__(double, 1.5), 2.5)),
        "tuple of tuples": tuple.__new__(elements, (tuple.__new__(elements, (3,)), (4,))),
        "exact tuple of hostile ints": (int.__new__(number, 1), 2),
        "exact tuple of hostile objects": (hostile_class(object)(),),
        "float": float.__new__(double, 1.5),
        "uuid": hostile_uuid(7),
        "uuid zero": hostile_uuid(0),
        "uuid with a hostile int": hostile_uuid(int.__new__(number, 7)),
        "exact uuid with a hostile int": uuid_with(int.__new__(number, 7)),
        "exact uuid with a hostile zero": uuid_with(int.__new__(number)),
        "exact uuid with True": uuid_with(True),
        "exact uuid with a str": uuid_with("7"),
        "exact uuid with None": uuid_with(None),
        "exact uuid too large": uuid_with(1 << 128),
        "exact uuid below zero": uuid_with(-1),
        "exact uuid without a number": object.__new__(UUID),
    }
    for claimed in (int, bool, float, str, bytes, tuple, UUID):
        values[f"claims to be {claimed.__name__}"] = hostile_class(object, claimed)()
    return values
