"""Field types as data: `int32`, `array[...]`, `nullable[...]`, and the others.

A type is an immutable value that describes the wire format, not how to read or write it. Type checkers see the names at
the end of this file as ordinary hints (`_typing`). This module does not import `typing`, which takes longer to import
than all messages of a small program.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.declare._typing import Struct


class WireType:
    """Base class of all types. Types compare and hash by value."""

    __slots__: tuple[str, ...] = ()

    def _key(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._key()))})"

    def __call__(self) -> Any:
        """Raise TypeError. `typing` accepts only callable objects as types."""
        raise TypeError(f"{self!r} describes a wire format and cannot be called")


class Primitive(WireType):
    """A value of fixed size.

    `name` is the name in declarations and plans, `size` the number of bytes. Only integers have `lowest` and `highest`.
    """

    __slots__ = ("highest", "lowest", "name", "size")

    def __init__(self, name: str, size: int, lowest: int | None = None, highest: int | None = None) -> None:
        self.name = name
        self.size = size
        self.lowest = lowest
        self.highest = highest

    @property
    def is_integer(self) -> bool:
        return self.lowest is not None

    def __repr__(self) -> str:
        return self.name


MAX_STRING_LENGTH = 0x7FFF
"""The maximum length of a string in UTF-8 bytes, which is stored as an int16."""


class StringType(WireType):
    """A length followed by UTF-8."""

    __slots__ = ()


class BytesType(WireType):
    """A length followed by bytes."""

    __slots__ = ()


class ArrayType(WireType):
    """A count followed by that many elements; a tuple in Python."""

    __slots__ = ("element",)

    def __init__(self, element: WireType) -> None:
        self.element = element


class NullableType(WireType):
    """`inner` or null: length -1, compact length 0, or the marker byte of a struct."""

    __slots__ = ("inner",)

    def __init__(self, inner: WireType) -> None:
        self.inner = inner


class MaybeType(WireType):
    """KIP-4's MaybeOf: one control byte, 0 if absent, followed by `inner`."""

    __slots__ = ("inner",)

    def __init__(self, inner: WireType) -> None:
        self.inner = inner


class StructType(WireType):
    """A nested struct."""

    __slots__ = ("struct",)

    def __init__(self, struct: type[Struct]) -> None:
        self.struct = struct


def _integer(name: str, bits: int, *, signed: bool = True) -> Primitive:
    span = 1 << bits
    lowest = -(span >> 1) if signed else 0
    return Primitive(name, bits // 8, lowest, lowest + span - 1)


int8 = _integer("int8", 8)
int16 = _integer("int16", 16)
int32 = _integer("int32", 32)
int64 = _integer("int64", 64)
uint16 = _integer("uint16", 16, signed=False)
uint32 = _integer("uint32", 32, signed=False)
float64 = Primitive("float64", 8)
boolean = Primitive("bool", 1)
uuid = Primitive("uuid", 16)
string = StringType()
octets = BytesType()

PRIMITIVES = {p.name: p for p in (int8, int16, int32, int64, uint16, uint32, float64, boolean, uuid)}


class _Constructor:
    """`array`, `nullable`, or `maybe`, to be subscripted with the type inside."""

    __slots__ = ("name", "wrap")

    def __init__(self, name: str, wrap: type[ArrayType | NullableType | MaybeType]) -> None:
        self.name = name
        self.wrap = wrap

    def __getitem__(self, parameter: object) -> WireType:
        return self.wrap(wire_type(parameter))

    def __repr__(self) -> str:
        return f"{self.name}[...]"


array = _Constructor("array", ArrayType)
nullable = _Constructor("nullable", NullableType)
maybe = _Constructor("maybe", MaybeType)


def wire_type(hint: object) -> WireType:
    """Return the type of an annotation.

    Raises:
        TypeError: the annotation is not a wire type; the text is the reason for a DeclarationError.
    """
    if isinstance(hint, WireType):
        return hint
    if hint is bool:
        return boolean
    if hint is bytes:
        return octets
    if isinstance(hint, type) and hasattr(hint, "__kwire_fields__"):
        return StructType(hint)
    if isinstance(hint, _Constructor):
        raise TypeError(f"{hint.name} needs an element type, for example {hint.name}[int32]")
    spelled = getattr(hint, "__name__", None) or repr(hint)
    wanted = {"int": "int8 to int64, uint16 or uint32", "str": "string", "float": "float64"}.get(spelled)
    raise TypeError(f"{spelled} is not a wire type" + (f": use {wanted}" if wanted else ""))
