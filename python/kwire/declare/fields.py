"""Fields of a struct: the options of `field()`, and `Field` once the type is resolved.

`field()` only stores its arguments. `Options.problem` checks what needs no type, when the class is created;
`introspect` checks the rest when the class is first used.
"""

from __future__ import annotations

from kwire.declare.wire_types import NullableType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.declare.wire_types import WireType


class _Sentinel:
    """A unique value, identified by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


MISSING = _Sentinel("MISSING")
"""The default of a required field."""

zero = _Sentinel("zero")
"""As a default: the zero of the field's type; for a struct, the struct with every field at its default."""


class Options:
    """The arguments of `field()`."""

    __slots__ = ("compact", "default", "ignorable", "name", "nullable_since", "sensitive", "since", "tag", "until")

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
        sensitive: bool | str,
    ) -> None:
        self.default = default
        self.since = since
        self.until = until
        self.tag = tag
        self.ignorable = ignorable
        self.nullable_since = nullable_since
        self.compact = compact
        self.name = name
        self.sensitive = sensitive

    def problem(self) -> str | None:
        """Return what is wrong with the options, whatever the type of the field, or None."""
        if self.since < 0 or self.nullable_since < 0:
            return "versions must not be negative"
        if self.until is not None and self.until < self.since:
            return f"until={self.until} is before since={self.since}"
        if self.tag is not None and not 0 <= self.tag <= 0xFFFF_FFFF:
            return f"tag={self.tag} is not an unsigned 32-bit number"
        if self.default is MISSING:
            for option in ("since", "until", "tag"):
                if getattr(self, option) not in (None, 0) or (option == "tag" and self.tag == 0):
                    return f"{option}= needs a default=, the value in versions without the field"
        return None


NO_OPTIONS = Options(MISSING, 0, None, None, False, 0, True, None, False)


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
    sensitive: bool | str = False,
) -> Any:
    """Declare options of a field.

    Args:
        default: the value when the field is not given or not in the version; `zero` is the zero of the field's type.
            A field without a default is required.
        since: the first version with the field; needs a default.
        until: the last version with the field; needs a default.
        tag: the tag, if the field is a tagged field; needs a default.
        ignorable: drop a value when the version lacks the field, instead of raising EncodeError.
        nullable_since: the first version that allows null.
        compact: False for a field that keeps the classic length encoding in flexible versions.
        name: the name in Kafka's JSON form, if it is not the camelCase of the field's name.
        sensitive: True for a secret, which `repr()` hides. For the value of a config, the name of the field with the
            config's key: the value is a secret if `is_secret_config` says so.
    """
    return Options(default, since, until, tag, ignorable, nullable_since, compact, name, sensitive)


class Declared:
    """A field as written in the class body: its name, its unevaluated annotation, and its options."""

    __slots__ = ("annotation", "name", "options", "scope")

    def __init__(self, name: str, annotation: object, options: Options, scope: dict[str, Any] | None) -> None:
        self.name = name
        self.annotation = annotation
        self.options = options
        self.scope = scope


class Field:
    """A field with its resolved type.

    `until` is None if the newest version has the field. `default` is MISSING if the field is required.
    """

    __slots__ = (
        "compact",
        "default",
        "ignorable",
        "json_name",
        "name",
        "nullable_since",
        "sensitive",
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
        self.sensitive = options.sensitive
        self.json_name = options.name or camel_case(name)

    def in_version(self, version: int) -> bool:
        """Return whether `version` has the field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def nullable_in(self, version: int) -> bool:
        """Return whether `version` allows null. An absent MaybeOf does not count as null."""
        return isinstance(self.type, NullableType) and version >= self.nullable_since

    def __repr__(self) -> str:
        return f"Field({self.name}: {self.type!r})"


def camel_case(name: str) -> str:
    """Return a field name as in Kafka's JSON form: `node_id` becomes `nodeId`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


_ZERO_UUID: Any = None


def zero_uuid() -> Any:
    """Return the UUID of 16 zero bytes, Kafka's `Uuid.ZERO_UUID`; always the same object."""
    global _ZERO_UUID  # noqa: PLW0603  # importing uuid takes longer than importing all messages
    if _ZERO_UUID is None:
        from uuid import UUID

        _ZERO_UUID = UUID(int=0)
    return _ZERO_UUID
