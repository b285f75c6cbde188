"""The face that structs show to those who know dataclasses: ``dataclasses``, pydantic, msgspec, cattrs, rich, IDEs.

Rules of this file: nothing here runs until somebody asks a struct whether it is a dataclass. Then its annotations
become real hints, ranges included, since those who ask read them next.
"""

from __future__ import annotations

import dataclasses
import inspect
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from kwire.declare.field import MISSING, Field
from kwire.declare.introspect import fields
from kwire.declare.struct import StructMeta
from kwire.declare.unknown_tags import NO_TAGS
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

if TYPE_CHECKING:
    from kwire.declare._facade import Struct


class Between:
    """Bounds in the shape of ``annotated_types.Interval``: those who honour it look at the attributes."""

    __slots__ = ("ge", "le")

    def __init__(self, ge: int, le: int) -> None:
        self.ge = ge
        self.le = le

    def __repr__(self) -> str:
        return f"Between({self.ge}, {self.le})"


def _bounds(lowest: int, highest: int) -> Any:
    try:
        from annotated_types import Interval
    except ImportError:
        return Between(lowest, highest)
    return Interval(ge=lowest, le=highest)


@cache
def hint(type: WireType) -> Any:
    """The ordinary Python hint of a wire type: ``int`` with its bounds, ``tuple[Broker, ...]``, ``str | None``."""
    match type:
        case Primitive(is_integer=True, lowest=int(lowest), highest=int(highest)):
            return Annotated[int, _bounds(lowest, highest)]
        case Primitive(name="bool"):
            return bool
        case Primitive(name="float64"):
            return float
        case Primitive(name="uuid"):
            return UUID
        case StringType():
            return str
        case BytesType():
            return bytes
        case ArrayType(element=element):
            return tuple[hint(element), ...]  # type: ignore[misc]  # made at run time
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return hint(inner) | None
        case StructType(struct=struct):
            return struct
    raise TypeError(f"{type!r} has no hint")


def dataclass_fields(cls: type[Struct]) -> dict[str, Any]:
    """What ``dataclasses.fields`` reads; also turns the class's annotations into hints."""
    made: dict[str, Any] | None = cls.__dict__.get("__kwire_dataclass_fields__")
    if made is None:
        made = {f.name: _dataclass_field(f) for f in fields(cls)}
        made["_unknown_tags"] = _carried_by_replace()
        for base in cls.__mro__:
            annotations = base.__dict__.get("__annotations__")  # noqa: RUF063  the dictionary itself, to change it
            if isinstance(base, StructMeta) and annotations:
                annotations.update({name: made[name].type for name in annotations if name in made})
        cls.__kwire_dataclass_fields__ = made
    return made


def _dataclass_field(f: Field) -> Any:
    default = dataclasses.MISSING if f.default is MISSING else f.default
    made: Any = dataclasses.field(default=default, kw_only=True)
    made.name = f.name
    made.type = hint(f.type)
    # dataclasses.fields() shows only what bears this mark.
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # private, and the only way
    return made


def _carried_by_replace() -> Any:
    """What makes ``dataclasses.replace``, which goes by the values of the dict, keep the unknown tags.

    To others it is not a field: it bears no mark, and its key is private (which is what msgspec goes by).
    """
    made: Any = dataclasses.field(default=NO_TAGS, kw_only=True)
    made.name = "unknown_tags"
    return made


@cache
def dataclass_parameters() -> Any:
    """What ``@dataclass(frozen=True, kw_only=True, slots=True)`` would leave on a class."""

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        pass

    return Frozen.__dataclass_params__  # type: ignore[attr-defined]  # dataclasses sets it


def signature(cls: type[Struct]) -> inspect.Signature:
    """The constructor's signature, without making the constructor."""
    parameters = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hint(f.type),
        )
        for f in fields(cls)
    ]
    tags = inspect.Parameter("unknown_tags", inspect.Parameter.KEYWORD_ONLY, default={})
    return inspect.Signature([*parameters, tags])
