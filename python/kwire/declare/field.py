"""One field of a struct: what the author wrote, and what it means once its type is known.

Rules of this file: ``field()`` only remembers; rules that need no type are checked by ``check_options`` when the class
is made, those that need one by ``resolve_default`` when the class is first used.
"""

from __future__ import annotations

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Sentinel:
    """A value with a name and no other meaning."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


MISSING = _Sentinel("MISSING")
"""The default of a field that has none, and so must be given."""

zero = _Sentinel("zero")
"""As a default: the zero of the field's own type; for a struct, the struct whose every field is at its default."""


class Options:
    """What stands in the brackets of ``field()``."""

    __slots__ = ("compact", "default", "ignorable", "name", "nullable_since", "since", "tag", "until")

    def __init__(
        self,
        default: Any,
        since: int,
        until: int | None,
        tag: int | None,
        ignorable: bool,
        nullable_since: int,
        compact: bool,
        name: str | None,
    ) -> None:
        self.default = default
        self.since = since
        self.until = until
        self.tag = tag
        self.ignorable = ignorable
        self.nullable_since = nullable_since
        self.compact = compact
        self.name = name

    def complaint(self) -> str | None:
        """What is wrong with these options whatever the field's type, or None."""
        if self.since < 0 or self.nullable_since < 0:
            return "versions start at 0"
        if self.until is not None and self.until < self.since:
            return f"until={self.until} is before since={self.since}"
        if self.tag is not None and not 0 <= self.tag <= 0xFFFF_FFFF:
            return f"tag={self.tag} is not an unsigned 32-bit number"
        if self.default is MISSING:
            for option in ("since", "until", "tag"):
                if getattr(self, option) not in (None, 0) or (option == "tag" and self.tag == 0):
                    return f"{option}= needs a default=, for the messages in which the field does not stand"
        return None


NO_OPTIONS = Options(MISSING, 0, None, None, False, 0, True, None)


def field(
    *,
    default: Any = MISSING,
    since: int = 0,
    until: int | None = None,
    tag: int | None = None,
    ignorable: bool = False,
    nullable_since: int = 0,
    compact: bool = True,
    name: str | None = None,
) -> Any:
    """Say more about a field than its type.

    ``default``: the value where the field does not stand; ``zero`` for the type's own. ``since``, ``until``: first and
    last version that has the field. ``tag``: it travels as this tagged field. ``ignorable``: where a version lacks the
    field, a value set in it is dropped, not refused. ``nullable_since``: null is allowed from this version on.
    ``compact=False``: keeps the classic length in flexible versions. ``name``: in Kafka's JSON form, when it is not
    the camelCase of the field's.
    """
    return Options(default, since, until, tag, ignorable, nullable_since, compact, name)


class Field:
    """A field whose type is known. ``until`` None means to the end; ``default`` is a value, or ``MISSING``."""

    __slots__ = (
        "compact",
        "default",
        "ignorable",
        "json_name",
        "name",
        "nullable_since",
        "since",
        "tag",
        "type",
        "until",
    )

    def __init__(self, name: str, type: WireType, options: Options, default: Any) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.since = options.since
        self.until = options.until
        self.tag = options.tag
        self.ignorable = options.ignorable
        self.nullable_since = options.nullable_since
        self.compact = options.compact
        self.json_name = options.name or camel_case(name)

    def stands_in(self, version: int) -> bool:
        """Whether ``version`` has this field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def may_be_null(self, version: int) -> bool:
        """Whether ``version`` can say null for it (MaybeOf's absence not counted)."""
        return isinstance(self.type, NullableType) and version >= self.nullable_since

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.type!r})"


def camel_case(name: str) -> str:
    """``node_id`` -> ``nodeId``, as Kafka spells names in JSON."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_ZERO_UUID: Any = None


def zero_uuid() -> Any:
    """The uuid of sixteen zero bytes, Kafka's "none"; always the same object."""
    global _ZERO_UUID  # noqa: PLW0603  made on first use: importing uuid costs more than all the messages
    if _ZERO_UUID is None:
        from uuid import UUID

        _ZERO_UUID = UUID(int=0)
    return _ZERO_UUID


def zero_of(type: WireType) -> Any:
    """The value of ``type`` that says nothing."""
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
            from kwire.declare.introspect import fields

            return struct(**{f.name: zero_of(f.type) for f in fields(struct) if f.default is MISSING})
    raise TypeError(f"{type!r} has no zero")
