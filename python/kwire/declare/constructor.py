"""Constructors of struct classes, compiled when the first instance is created.

A constructor takes keywords only, rejects values of a wrong type with the path to the value, and converts lists and
arrays of views to tuples; it converts nothing else. Ranges of numbers are checked by `encode`, because they depend on
the version.
"""

from __future__ import annotations

from kwire.declare.fields import MISSING, Field
from kwire.declare.introspect import fields
from kwire.declare.lazy import LazyArray
from kwire.declare.unknown_tags import NO_TAGS, UnknownTags, unknown_tags
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
from kwire.errors import EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from kwire.declare._typing import Struct
    from kwire.errors import EncodeKind, PathElement

    Check: TypeAlias = Callable[[Any], Any]


def check_names(cls: type[Struct], names: Iterable[str]) -> None:
    """Raise the TypeError of CPython 3.13 for a name that the constructor of a class does not have."""
    parameters = [*(f.name for f in fields(cls)), "unknown_tags"]
    for name in names:
        if name not in parameters:
            from difflib import get_close_matches

            hint = "".join(f". Did you mean {match!r}?" for match in get_close_matches(name, parameters, 1))
            raise TypeError(f"{cls.__qualname__}.__init__() got an unexpected keyword argument {name!r}{hint}")


def make_constructor(cls: type[Struct]) -> None:
    """Replace the placeholder `__init__` of a class with its constructor."""
    resolved = fields(cls)
    # All names in the source except field names begin with an underscore: fields can be named `type`, `int`, or `self`.
    names: dict[str, Any] = {
        "_type": type,
        "_int": int,
        "_bool": bool,
        "_float": float,
        "_str": str,
        "_bytes": bytes,
        "_no_tags": NO_TAGS,
        "_tags": _check_tags,
        "_set_unknown_tags": cls.unknown_tags.__set__,  # type: ignore[attr-defined]  # a slot of Struct
    }
    parameters, body = [], []
    for f in resolved:
        names[f"_set_{f.name}"] = getattr(cls, f.name).__set__
        names[f"_check_{f.name}"] = field_check(f)
        if f.default is MISSING:
            parameters.append(f.name)
        else:
            names[f"_default_{f.name}"] = f.default
            parameters.append(f"{f.name}=_default_{f.name}")
        exact = _exact_type(f.type)
        checked = f"_check_{f.name}({f.name})"
        if exact is not None:
            checked = f"{f.name} if _type({f.name}) is _{exact} else {checked}"
        body.append(f"    _set_{f.name}(_self, {checked})")
    parameters.append("unknown_tags=_no_tags")
    body.append("    _set_unknown_tags(_self, unknown_tags if unknown_tags is _no_tags else _tags(unknown_tags))")
    source = f"def __init__(_self, /, *, {', '.join(parameters)}):\n" + "\n".join(body)
    exec(compile(source, f"<constructor of {cls.__qualname__}>", "exec"), names)  # noqa: S102  # field names are identifiers; compiled code is fastest
    constructor = names["__init__"]
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__module__ = cls.__module__
    cls.__init__ = constructor  # type: ignore[method-assign]  # replaces the placeholder


def _exact_type(type: WireType) -> str | None:
    """Return the name of the Python type if its exact instances need no further check, or None."""
    match type:
        case Primitive(is_integer=True):
            return "int"
        case Primitive(name="bool"):
            return "bool"
        case Primitive(name="float64"):
            return "float"
        case StringType():
            return "str"
        case BytesType():
            return "bytes"
    return None


def field_check(f: Field) -> Check:
    """Return the function that checks and converts a value of a field. It raises EncodeError for a wrong type."""
    check = _check(f.type)

    def check_field(value: Any) -> Any:
        try:
            return check(value)
        except _WrongValue as wrong:
            raise EncodeError(wrong.kind, (f.name, *wrong.path), wrong.reason) from None

    return check_field


class _WrongValue(Exception):
    """A wrong value inside a field; the path is completed on the way up."""

    def __init__(self, reason: str, *, null: bool = False) -> None:
        self.kind: EncodeKind = "null_not_allowed" if null else "wrong_type"
        self.reason = reason
        self.path: tuple[PathElement, ...] = ()


def _check(type: WireType) -> Check:
    match type:
        case Primitive(is_integer=True):
            return _instances_of(int, "an int")
        case Primitive(name="bool"):
            return _instances_of(bool, "True or False")
        case Primitive(name="float64"):
            return _instances_of(float, "a float")
        case Primitive(name="uuid"):
            from uuid import UUID

            return _instances_of(UUID, "a uuid.UUID")
        case StringType():
            return _instances_of(str, "a str")
        case BytesType():
            return _instances_of(bytes, "bytes")
        case StructType(struct=struct):
            return _instances_of(struct, f"a {struct.__name__}")
        case ArrayType(element=element):
            return _array_of(element)
        case NullableType(inner=inner) | MaybeType(inner=inner):
            check = _check(inner)
            return lambda value: None if value is None else check(value)
    raise TypeError(f"{type!r} has no check")


def _instances_of(expected: type, description: str) -> Check:
    def check(value: Any) -> Any:
        if isinstance(value, expected) and (expected is bool or not isinstance(value, bool)):
            return value
        if value is None:
            raise _WrongValue(f"expected {description}, found None", null=True)
        raise _WrongValue(f"expected {description}, found {type(value).__name__}")

    return check


def _array_of(element: WireType) -> Check:
    check = _check(element)

    def check_array(value: Any) -> Any:
        if not isinstance(value, (tuple, list, LazyArray)):
            if value is None:
                raise _WrongValue("expected a tuple, found None", null=True)
            raise _WrongValue(f"expected a tuple, found {type(value).__name__}: convert it with tuple(...)")
        index = 0
        try:
            for index, item in enumerate(value):  # noqa: B007  # used in the handler below
                check(item)
            # Nested arrays may be lists too, so their converted form is kept; other elements are not converted.
            if isinstance(element, (ArrayType, NullableType, MaybeType)):
                return tuple([check(item) for item in value])
        except _WrongValue as wrong:
            wrong.path = (index, *wrong.path)
            raise
        return value if type(value) is tuple else tuple(value)

    return check_array


def _check_tags(tags: object) -> UnknownTags:
    try:
        return unknown_tags(tags)
    except TypeError as error:
        raise EncodeError("wrong_type", ("unknown_tags",), str(error)) from None
    except ValueError as error:
        raise EncodeError("out_of_range", ("unknown_tags",), str(error)) from None
