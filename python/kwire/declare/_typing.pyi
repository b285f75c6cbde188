"""`kwire.declare` as type checkers see it; never imported at run time.

Type checkers stop checking class keywords when a class has a metaclass, so they get these classes instead. Field types
are ordinary hints: constructors, attributes, patterns, and `decode(type[T]) -> T` are checked as for frozen
dataclasses.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, dataclass_transform
from uuid import UUID

from kwire.declare.versions import VersionRange

_T = TypeVar("_T")
_Response = TypeVar("_Response")

int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
float64: TypeAlias = float
string: TypeAlias = str
uuid: TypeAlias = UUID
array: TypeAlias = tuple[_T, ...]
nullable: TypeAlias = _T | None
maybe: TypeAlias = _T | None

zero: Any

def field(
    *,
    default: Any = ...,
    since: int = 0,
    until: int | None = None,
    tag: int | None = None,
    ignorable: bool = False,
    nullable_since: int = 0,
    compact: bool = True,
    name: str | None = None,
    sensitive: bool | str = False,
) -> Any: ...

@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
class _HasFields:
    """Carries the decorator. `Struct` derives from it so that `unknown_tags` counts as a field."""

class Struct(_HasFields):
    unknown_tags: Mapping[int, bytes] = ...
    __kwire_fields__: ClassVar[tuple[Any, ...]]
    __kwire_resolved__: ClassVar[tuple[Any, ...]]
    __kwire_key__: ClassVar[tuple[str, ...]]
    __kwire_dataclass_fields__: ClassVar[tuple[dict[str, Any], dict[str, Any]]]

    def __init_subclass__(cls, *, key: str | tuple[str, ...] = ..., weakref: bool = ...) -> None: ...
    def __rich_repr__(self) -> Iterator[Any]: ...
    def __hash__(self) -> int: ...

class Message(Struct):
    api_key: ClassVar[int]
    versions: ClassVar[VersionRange]
    flexible: ClassVar[VersionRange | None]
    __kwire_response__: ClassVar[str | None]
    __kwire_dialects__: ClassVar[tuple[str, ...]]
    __kwire_header_version__: ClassVar[int | dict[int, int] | None]
    __kwire_is_header__: ClassVar[bool]
    __kwire_record_type__: ClassVar[int | None]
    __kwire_plans__: ClassVar[dict[int, Any]]

    def __init_subclass__(
        cls,
        *,
        api_key: int = ...,
        versions: str = ...,
        flexible: str = ...,
        dialect: str | tuple[str, ...] = ...,
        header_version: int | dict[int, int] = ...,
        header: bool = ...,
        record_type: int = ...,
        key: str | tuple[str, ...] = ...,
        weakref: bool = ...,
    ) -> None: ...

class Request(Message, Generic[_Response]):
    @property
    def has_response(self) -> bool: ...
