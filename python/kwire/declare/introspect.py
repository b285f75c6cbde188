"""Introspection of declared classes: their fields, keys, and class keywords.

Annotations are evaluated only here, when a class is first used. Mistakes in a field's type raise DeclarationError with
the class and the field.
"""

from __future__ import annotations

import sys

from kwire.declare.fields import MISSING, Field, zero, zero_uuid
from kwire.declare.representation import short_value
from kwire.declare.wire_types import (
    MAX_STRING_LENGTH,
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
    from typing import Any, Literal, TypeAlias

    from kwire.declare._typing import Message, Struct
    from kwire.declare.fields import Options
    from kwire.declare.versions import VersionRange

    StructClass: TypeAlias = type[Struct]


class MessageFacts:
    """The class keywords of a message.

    `kind` is `"request"`, `"response"`, `"header"`, or `"data"` for a message without an API key that other messages or
    records contain. `response` is the name of a request's response class, else None. `record_type` is the number of a
    kind of record in its internal topic, else None.
    """

    __slots__ = (
        "_header_version",
        "api_key",
        "dialects",
        "flexible",
        "kind",
        "name",
        "record_type",
        "response",
        "versions",
    )

    def __init__(self, cls: type[Message]) -> None:
        self.name = cls.__name__
        self.api_key = cls.api_key
        self.versions: VersionRange = cls.versions
        self.flexible: VersionRange | None = cls.flexible
        self.dialects: tuple[str, ...] = cls.__kwire_dialects__
        self.response: str | None = cls.__kwire_response__
        self.record_type: int | None = cls.__kwire_record_type__
        self.kind: Literal["request", "response", "header", "data"]
        if self.response is not None:
            self.kind = "request"
        elif cls.__kwire_is_header__:
            self.kind = "header"
        else:
            self.kind = "data" if cls.api_key < 0 else "response"
        self._header_version: int | dict[int, int] | None = cls.__kwire_header_version__

    def is_flexible(self, version: int) -> bool:
        """Return whether `version` has compact lengths and tagged fields."""
        return self.flexible is not None and version in self.flexible

    def header_version(self, version: int) -> int:
        """Return the version of the header before `version`: 0 to 2 for requests, 0 or 1 for responses."""
        fixed = self._header_version
        if isinstance(fixed, dict):
            fixed = fixed.get(version)
        if fixed is not None:
            return fixed
        return int(self.is_flexible(version)) + (self.kind == "request")


def describe(cls: type[Message]) -> MessageFacts:
    """Return the class keywords of a message class.

    Raises:
        DeclarationError: the class is not a message.
        TypeError: `cls` is not a class.
    """
    _check_message(cls)
    return MessageFacts(cls)


def check_version(cls: type[Message], version: int) -> None:
    """Check that a message class declares a version.

    Raises:
        UnsupportedVersion: the class does not declare `version`.
        DeclarationError: the class is not a message.
        TypeError: `cls` is not a class, or `version` is not an int (bool is rejected).
    """
    _check_message(cls)
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeError(f"version: expected an int, found {version!r}")
    if version not in cls.versions:
        raise UnsupportedVersion(cls.__name__, version, str(cls.versions))


def _check_message(cls: object) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls: expected a message class, found an instance of {type(cls).__name__}")
    if not hasattr(cls, "__kwire_plans__"):
        raise DeclarationError(cls.__name__, None, "this class is not a message: it declares no versions")


def fields(cls: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a struct in wire order.

    Raises:
        DeclarationError: a field is declared incorrectly.
    """
    resolved: tuple[Field, ...] | None = cls.__dict__.get("__kwire_resolved__")
    if resolved is None:
        resolved = tuple(_resolve(cls, declared) for declared in cls.__kwire_fields__)
        _reject_shared_names(cls, resolved)
        _reject_recursion(cls, resolved, (cls,), 1)
        cls.__kwire_resolved__ = resolved
    return resolved


MAX_DEPTH = 64
"""The maximum nesting of structs, arrays, and maybes in a plan. Kafka's messages need 9."""
_TOO_DEEP = f"types are nested more than {MAX_DEPTH} deep"


def key(cls: type[Struct]) -> tuple[str, ...]:
    """Return the fields that identify an element of an array of `cls`; empty if the order of elements matters."""
    return cls.__kwire_key__


def _resolve(cls: type[Struct], declared: Any) -> Field:
    def wrong(reason: str) -> DeclarationError:
        return DeclarationError(cls.__name__, declared.name, reason)

    options: Options = declared.options
    hint = declared.annotation
    if isinstance(hint, str):
        try:
            scope = vars(sys.modules[_home(cls, declared.name).__module__])
            local = declared.scope or {}
            # Most are one name, for which the compiler takes longer than the rest of this function.
            named = local.get(hint) or scope.get(hint)
            hint = eval(hint, scope, local) if named is None else named  # noqa: S307  # annotations are source code
        except Exception as error:
            raise wrong(f"cannot evaluate the type {declared.annotation!r}: {error}") from error
    try:
        type = wire_type(hint)
    except TypeError as error:
        raise wrong(str(error)) from None
    if _levels(type) >= MAX_DEPTH:
        raise wrong(_TOO_DEEP)  # first, because the functions for types call themselves
    problem = _type_problem(type)
    if problem is None and options.tag is not None:
        problem = _tag_problem(type, options)
    if problem is None and options.nullable_since and not isinstance(type, NullableType):
        problem = "nullable_since= is for nullable[...]"
    if problem is not None:
        raise wrong(problem)
    default = options.default
    if default is zero:
        default = zero_of(type)
    if default is not MISSING:
        problem = _default_problem(type, default)
        if isinstance(type, MaybeType) and default is not None and options.tag is None:
            problem = "the default of maybe[...] must be None"
        if problem is not None:
            raise wrong(f"default={short_value(default)}: {problem}")
        if isinstance(default, list):
            default = tuple(default)
    return Field(declared.name, type, options, default)


def _home(cls: type[Struct], name: str) -> type:
    """Return the class that declares a field. Its module resolves the names in the annotation."""
    for base in cls.__mro__:
        if "__kwire_fields__" in base.__dict__ and name in base.__dict__.get("__annotations__", ()):  # noqa: RUF063  # not inherited ones
            return base
    return cls


def _type_problem(type: WireType) -> str | None:
    match type:
        case NullableType(inner=inner):
            if not isinstance(inner, (StringType, BytesType, ArrayType, StructType)):
                return f"{inner!r} cannot be null: nullable is for strings, bytes, arrays, and structs"
            return _type_problem(inner)
        case MaybeType(inner=inner):
            return _type_problem(inner)
        case ArrayType(element=element):
            return _type_problem(element)
    return None


def _tag_problem(type: WireType, options: Options) -> str | None:
    if isinstance(type, MaybeType) and options.default is None:
        return "a tagged field cannot be maybe[...] with default=None: leaving out the tag means absent"
    if isinstance(type, StructType) and options.default is not zero:
        return "a tagged struct must have default=zero, or be nullable[...] with default=None"
    return None


def _default_problem(type: WireType, default: object) -> str | None:
    match type:
        # bool is a subclass of int, but not a number on the wire.
        case Primitive(is_integer=True, lowest=lowest, highest=highest):
            if not isinstance(default, int) or isinstance(default, bool):
                return f"{type!r} needs an int"
            if not (lowest is not None and highest is not None and lowest <= default <= highest):
                return f"{type!r} ranges from {lowest} to {highest}"
        case Primitive(name="bool"):
            return None if isinstance(default, bool) else "bool needs True or False"
        case Primitive(name="float64"):
            if not isinstance(default, float):
                return "float64 needs a float"
            return _nan_problem(default)
        case Primitive(name="uuid"):
            from uuid import UUID

            return None if isinstance(default, UUID) else "uuid needs a uuid.UUID, or zero"
        case StringType():
            return _text_problem(default) if isinstance(default, str) else "string needs a str"
        case BytesType():
            return None if isinstance(default, bytes) else "bytes needs bytes"
        case ArrayType():
            return None if default in ((), []) else "the default of an array must be empty: ()"
        case NullableType(inner=inner):
            return None if default is None else _default_problem(inner, default)
        case MaybeType(inner=inner):
            return None if default is None else _default_problem(inner, default)
        case StructType(struct=struct):
            return (
                None
                if isinstance(default, struct)
                else f"the default must be zero or a {struct.__name__}, not {default!r}"
            )
    return None


def _nan_problem(default: float) -> str | None:
    if default == default:  # noqa: PLR0124  # not a NaN
        return None
    from struct import pack

    # Plans write every NaN as `nan`, and values equal a default only if they have the same bits.
    return None if pack(">d", default) == pack(">d", float("nan")) else "the only NaN allowed is float('nan')"


def _text_problem(default: str) -> str | None:
    try:
        length = len(default.encode())
    except UnicodeEncodeError:
        return "the string has a lone surrogate"
    if length > MAX_STRING_LENGTH:
        return f"{length} bytes of UTF-8 exceed the maximum of {MAX_STRING_LENGTH}"
    return None


def null_in_default(f: Field, version: int) -> str | None:
    """Return the path of a null in the default of a field that the version does not allow there, or None."""
    return _forbidden_null(f, f.default, version)


def _forbidden_null(f: Field, value: Any, version: int) -> str | None:
    if value is None:
        return f.name if isinstance(f.type, NullableType) and not f.nullable_in(version) else None
    if isinstance(f.type, StructType):
        for inner in fields(f.type.struct):
            path = _forbidden_null(inner, getattr(value, inner.name), version) if inner.in_version(version) else None
            if path is not None:
                return f"{f.name}.{path}"
    return None


def zero_of(type: WireType) -> Any:
    """Return the zero of a type; for a struct, the struct with every field at its default or zero."""
    match type:
        case Primitive(name="bool"):
            return False
        case Primitive(name="float64"):
            return 0.0
        case Primitive(name="uuid"):
            return zero_uuid()
        case Primitive():
            return 0
        case StringType():
            return ""
        case BytesType():
            return b""
        case ArrayType():
            return ()
        case NullableType() | MaybeType():
            return None
        case StructType(struct=struct):
            return struct(**{f.name: zero_of(f.type) for f in fields(struct) if f.default is MISSING})
    raise TypeError(f"{type!r} has no zero")


def structs_in(type: WireType) -> tuple[StructClass, ...]:
    """Return the struct that a type is or contains, as a tuple of at most one."""
    match type:
        case StructType(struct=struct):
            return (struct,)
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return structs_in(inner)
        case ArrayType(element=element):
            return structs_in(element)
    return ()


def _reject_shared_names(cls: type[Struct], resolved: tuple[Field, ...]) -> None:
    """Reject two fields with one JSON name in the same version. Different versions may: that is how a type changes."""
    for index, later in enumerate(resolved):
        for earlier in resolved[:index]:
            both = max(earlier.since, later.since)
            if earlier.json_name == later.json_name and earlier.in_version(both) and later.in_version(both):
                reason = f"{earlier.name} has the same JSON name {later.json_name} in version {both}"
                raise DeclarationError(cls.__name__, later.name, reason)


def _levels(type: WireType) -> int:
    """Return how deep a type is nested in a plan, without the fields of a struct inside."""
    levels = 1
    while True:
        match type:
            case ArrayType(element=inner) | MaybeType(inner=inner):
                levels += 1
                type = inner
            case NullableType(inner=inner):
                type = inner
            case StructType():
                return levels + 1
            case _:
                return levels


def _reject_recursion(
    cls: type[Struct], resolved: tuple[Field, ...], trail: tuple[StructClass, ...], depth: int
) -> None:
    """Reject structs that contain themselves, and types that are nested too deep for a plan."""
    for f in resolved:
        inner_depth = depth + _levels(f.type)
        if inner_depth > MAX_DEPTH:
            raise DeclarationError(cls.__name__, f.name, _TOO_DEEP)
        for struct in structs_in(f.type):
            if struct in trail:
                chain = " -> ".join(s.__name__ for s in (*trail, struct))
                raise DeclarationError(cls.__name__, f.name, f"structs cannot contain themselves: {chain}")
            nested = tuple(_resolve(struct, declared) for declared in struct.__kwire_fields__)
            _reject_recursion(struct, nested, (*trail, struct), inner_depth)
