"""What a declaration says, for those who derive something from it.

Rules of this file: this is the one place where annotations are read. What is wrong with a field's type is found here,
when the class is first used, and raised with the class and the field.
"""

from __future__ import annotations

import sys

from kwire.declare.field import MISSING, Field, zero, zero_of
from kwire.declare.struct import StructMeta
from kwire.declare.wire_types import (
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    Primitive,
    StringType,
    StructType,
    WireType,
    wire_type,
)
from kwire.errors import DeclarationError, UnsupportedVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from kwire.declare._facade import Message, Struct
    from kwire.declare.struct import Declared
    from kwire.declare.versions import VersionRange

    StructClass: TypeAlias = type[Struct]


class MessageFacts:
    """What the class keywords of a message say.

    ``kind`` is ``"request"``, ``"response"`` or ``"header"``; ``response`` the name of the class that answers a
    request, else None.
    """

    __slots__ = ("_header_version", "api_key", "dialects", "flexible", "kind", "name", "response", "versions")

    def __init__(self, cls: type[Message]) -> None:
        self.name = cls.__name__
        self.api_key = cls.api_key
        self.versions: VersionRange = cls.versions
        self.flexible: VersionRange | None = cls.flexible
        self.dialects: tuple[str, ...] = cls.__kwire_dialects__
        self.response: str | None = cls.__kwire_response__
        self.kind: Literal["request", "response", "header"]
        if self.response is not None:
            self.kind = "request"
        else:
            self.kind = "header" if cls.api_key < 0 else "response"
        self._header_version: int | None = cls.__kwire_header_version__

    def is_flexible(self, version: int) -> bool:
        """Whether ``version`` has compact lengths and tag sections."""
        return self.flexible is not None and version in self.flexible

    def header_version(self, version: int) -> int:
        """Of the header that travels before ``version``: request headers 1 and 2, response headers 0 and 1."""
        if self._header_version is not None:
            return self._header_version
        return int(self.is_flexible(version)) + (self.kind == "request")


def describe(cls: type[Message]) -> MessageFacts:
    """The facts of a message class. Raises DeclarationError for another class, TypeError for what is no class."""
    _check_message(cls)
    return MessageFacts(cls)


def check_version(cls: type[Message], version: int) -> None:
    """Raise UnsupportedVersion unless ``cls`` declares ``version``; as ``describe`` for what is no message.

    TypeError for a version that is no int; True is none, though Python holds it for 1.
    """
    _check_message(cls)
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeError(f"version: an int is wanted, not {version!r}")
    if version not in cls.versions:
        raise UnsupportedVersion(cls.__name__, version, str(cls.versions))


def _check_message(cls: object) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls: a message class is wanted, not an instance of {type(cls).__name__}")
    if not hasattr(cls, "__kwire_plans__"):
        raise DeclarationError(cls.__name__, None, "this is not a message: it declares no versions")


def fields(cls: type[Struct]) -> tuple[Field, ...]:
    """The fields of a struct in the order of the wire. Raises DeclarationError for a mistake in one of them."""
    resolved: tuple[Field, ...] | None = cls.__dict__.get("__kwire_resolved__")
    if resolved is None:
        resolved = tuple(_resolve(cls, declared) for declared in cls.__kwire_fields__)
        _refuse_shared_names(cls, resolved)
        _refuse_recursion(cls, resolved, (cls,))
        cls.__kwire_resolved__ = resolved
    return resolved


def key(cls: type[Struct]) -> tuple[str, ...]:
    """The fields by which elements of an array of ``cls`` are told apart in any order; empty where the order counts."""
    return cls.__kwire_key__


def _resolve(cls: type[Struct], declared: Declared) -> Field:
    def wrong(reason: str) -> DeclarationError:
        return DeclarationError(cls.__name__, declared.name, reason)

    options = declared.options
    hint = declared.annotation
    if isinstance(hint, str):
        try:
            scope = vars(sys.modules[_home(cls, declared).__module__])
            hint = eval(hint, scope, declared.scope or {})  # noqa: S307  the annotation is source code of a program
        except Exception as error:
            raise wrong(f"the type {declared.annotation!r} cannot be read: {error}") from error
    try:
        type = wire_type(hint)
    except TypeError as error:
        raise wrong(str(error)) from None
    complaint = _type_complaint(type)
    if complaint is None and options.tag is not None:
        complaint = _tagged_complaint(type)
    if complaint is None and options.nullable_since and not isinstance(type, NullableType):
        complaint = "nullable_since= is for nullable[...]"
    if complaint is not None:
        raise wrong(complaint)
    default = options.default
    if default is zero:
        default = zero_of(type)
    if default is not MISSING:
        complaint = _default_complaint(type, default)
        if complaint is not None:
            raise wrong(f"default={default!r}: {complaint}")
        if isinstance(default, list):
            default = tuple(default)
    return Field(declared.name, type, options, default)


def _home(cls: type[Struct], declared: Declared) -> type:
    """The class whose body wrote the field: names in its annotation are names of that class's module."""
    for base in cls.__mro__:
        if isinstance(base, StructMeta) and declared.name in base.__dict__.get("__annotations__", ()):  # noqa: RUF063  own ones only
            return base
    return cls


def _type_complaint(type: WireType) -> str | None:
    match type:
        case NullableType(inner=inner):
            if not isinstance(inner, (StringType, BytesType, ArrayType, StructType)):
                return f"the wire has no null for {inner!r}: nullable is for strings, bytes, arrays and structs"
            return _type_complaint(inner)
        case MaybeType(inner=inner):
            return _type_complaint(inner)
        case ArrayType(element=element):
            return _type_complaint(element)
    return None


def _tagged_complaint(type: WireType) -> str | None:
    if isinstance(type, MaybeType):
        return "a tagged field cannot be maybe[...]: a tag that is absent says so already"
    if isinstance(type, StructType):
        return "a tagged struct must be nullable[...], with default=None"
    return None


def _default_complaint(type: WireType, default: object) -> str | None:
    match type:
        case Primitive(is_integer=True, lowest=lowest, highest=highest):
            if not isinstance(default, int) or isinstance(default, bool):
                return f"{type!r} needs an int"
            if not (lowest is not None and highest is not None and lowest <= default <= highest):
                return f"{type!r} goes from {lowest} to {highest}"
        case Primitive(name="bool"):
            return None if isinstance(default, bool) else "bool needs True or False"
        case Primitive(name="float64"):
            return None if isinstance(default, float) else "float64 needs a float"
        case Primitive(name="uuid"):
            from uuid import UUID

            return None if isinstance(default, UUID) else "uuid needs a uuid.UUID, or zero"
        case StringType():
            return None if isinstance(default, str) else "string needs a str"
        case BytesType():
            return None if isinstance(default, bytes) else "bytes needs bytes"
        case ArrayType():
            return None if default in ((), []) else "the default of an array is the empty one: ()"
        case NullableType(inner=inner):
            return None if default is None else _default_complaint(inner, default)
        case MaybeType():
            return None if default is None else "the default of maybe[...] is None"
        case StructType(struct=struct):
            return None if isinstance(default, struct) else f"this struct's default is zero, not a {default!r}"
    return None


def structs_in(type: WireType) -> tuple[StructClass, ...]:
    """The struct that ``type`` is or holds, if any."""
    match type:
        case StructType(struct=struct):
            return (struct,)
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return structs_in(inner)
        case ArrayType(element=element):
            return structs_in(element)
    return ()


def _refuse_shared_names(cls: type[Struct], resolved: tuple[Field, ...]) -> None:
    """Two fields may share a name in JSON when no version has both: so a field changes its type."""
    for index, later in enumerate(resolved):
        for earlier in resolved[:index]:
            both = max(earlier.since, later.since)
            if earlier.json_name == later.json_name and earlier.stands_in(both) and later.stands_in(both):
                reason = f"its name in JSON, {later.json_name}, is {earlier.name}'s too in version {both}"
                raise DeclarationError(cls.__name__, later.name, reason)


def _refuse_recursion(cls: type[Struct], resolved: tuple[Field, ...], trail: tuple[StructClass, ...]) -> None:
    for f in resolved:
        for struct in structs_in(f.type):
            if struct in trail:
                chain = " -> ".join(s.__name__ for s in (*trail, struct))
                raise DeclarationError(cls.__name__, f.name, f"structs cannot contain themselves: {chain}")
            nested = tuple(_resolve(struct, declared) for declared in struct.__kwire_fields__)
            _refuse_recursion(struct, nested, (*trail, struct))
