"""The dataclass interface of structs, for `dataclasses`, pydantic, msgspec, cattrs, rich, and IDEs.

Nothing here runs before a library reads `__dataclass_fields__`. The annotations of the class then become real type
hints with ranges, because such libraries read them next.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from kwire.declare.documentation import field_texts
from kwire.declare.fields import MISSING, Field
from kwire.declare.introspect import fields
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
    from kwire.declare._typing import Struct


class Between:
    """Bounds with the attributes of `annotated_types.Interval`, used if that package is not installed."""

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
def hint(type: WireType, *, bounds: bool = True) -> Any:
    """Return the Python type hint of a wire type: `int` with its bounds, `tuple[Broker, ...]`, or `str | None`."""
    match type:
        case Primitive(is_integer=True, lowest=int(lowest), highest=int(highest)):
            return Annotated[int, _bounds(lowest, highest)] if bounds else int
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
            return tuple[hint(element, bounds=bounds), ...]  # type: ignore[misc]  # made at run time
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return hint(inner, bounds=bounds) | None
        case StructType(struct=struct):
            return struct
    raise TypeError(f"{type!r} has no hint")


def dataclass_fields(cls: type[Struct]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return `__dataclass_fields__` of a class and of its instances, and turn its annotations into type hints.

    Only instances have the entry of the unknown tags, because Hypothesis prints an attribute for each entry of a class.
    """
    made: tuple[dict[str, Any], dict[str, Any]] | None = cls.__dict__.get("__kwire_dataclass_fields__")
    if made is None:
        of_class = {f.name: _dataclass_field(cls, f) for f in fields(cls)}
        made = of_class, {**of_class, "_unknown_tags": _unknown_tags_field()}
        for base in cls.__mro__:
            annotations = base.__dict__.get("__annotations__")  # noqa: RUF063  # modified in place
            if "__kwire_fields__" in base.__dict__ and annotations:
                annotations.update({name: of_class[name].type for name in annotations if name in of_class})
        cls.__kwire_dataclass_fields__ = made
    return made


def _dataclass_field(cls: type[Struct], f: Field) -> Any:
    default = dataclasses.MISSING if f.default is MISSING else f.default
    # `pprint` leaves out fields without repr, and would show secrets otherwise.
    made: Any = dataclasses.field(default=default, kw_only=True, repr=not f.sensitive, metadata=FieldMetadata(cls, f))
    made.name = f.name
    made.type = hint(f.type)
    # dataclasses.fields() returns only fields with this mark.
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # private, but there is no other way
    return made


class FieldMetadata(Mapping[str, Any]):
    """The metadata of a dataclass field: its text and the options of its declaration.

    Keys: `doc`, `since`, `until`, `tag`, `nullable_since`, `ignorable`, `json_name`, and `sensitive`. `doc` is read
    from the source code on access.
    """

    KEYS = ("doc", "since", "until", "tag", "nullable_since", "ignorable", "json_name", "sensitive")

    def __init__(self, cls: type[Struct], field: Field) -> None:
        self._cls = cls
        self._field = field

    def __getitem__(self, key: str) -> Any:
        if key == "doc":
            return field_texts(self._cls).get(self._field.name, "")
        if key not in self.KEYS:
            raise KeyError(key)
        return getattr(self._field, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.KEYS)

    def __len__(self) -> int:
        return len(self.KEYS)

    def __repr__(self) -> str:
        return repr(dict(self))


def _unknown_tags_field() -> Any:
    """Return the entry that makes `dataclasses.replace` keep the unknown tags.

    `dataclasses.fields` skips it because it has no mark, and msgspec because no attribute has the name of its key.
    """
    made: Any = dataclasses.field(default=NO_TAGS, kw_only=True)
    made.name = "unknown_tags"
    return made


@dataclasses.dataclass(frozen=True)
class _Frozen:
    pass


def dataclass_parameters(_cls: type[Struct]) -> Any:
    """Return the `__dataclass_params__` of a frozen dataclass."""
    return vars(_Frozen)["__dataclass_params__"]


def signature(cls: type[Struct]) -> inspect.Signature:
    """Return the signature of the constructor without compiling the constructor."""
    parameters = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=hint(f.type, bounds=False),
        )
        for f in fields(cls)
    ]
    tags = inspect.Parameter("unknown_tags", inspect.Parameter.KEYWORD_ONLY, default={})
    return inspect.Signature([*parameters, tags])
