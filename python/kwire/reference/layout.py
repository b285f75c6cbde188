"""The layout of one version of a struct: its fields in wire order and their minimum sizes.

The layout is derived from the declarations without using plans; tests compare the two. Declarations that the wire
format cannot express are rejected with class and field.
"""

from __future__ import annotations

from kwire.declare.introspect import describe, fields, null_in_default
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
from kwire.errors import DeclarationError, UnsupportedVersion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kwire.declare import Message, Struct
    from kwire.declare.fields import Field


class Placed:
    """A field of a version, with its type in that version. `compact` is true if its lengths are varints."""

    __slots__ = ("compact", "default", "member", "name", "type")

    def __init__(self, name: str, type: WireType, compact: bool, default: Any, member: Any) -> None:
        self.name = name
        self.type = type
        self.compact = compact
        self.default = default
        self.member = member
        """The descriptor of the slot."""


class StructLayout:
    """The layout of one version of a struct.

    `present` has the untagged fields in wire order, `tagged` the tagged fields by tag, and `absent` the fields that the
    version does not have. `flexible` is true if lengths are compact and tagged fields end the struct.
    """

    __slots__ = ("_known", "absent", "flexible", "present", "struct", "tagged", "version")

    def __init__(
        self, struct: type[Struct], version: int, flexible: bool, known: dict[object, StructLayout] | None = None
    ) -> None:
        self._known: dict[object, StructLayout] = {} if known is None else known
        self._known[struct] = self
        self.struct = struct
        self.version = version
        self.flexible = flexible
        self.present: list[Placed] = []
        self.tagged: dict[int, Placed] = {}
        self.absent: list[Field] = []
        for f in fields(struct):
            if not f.in_version(version):
                self.absent.append(f)
            elif f.tag is None:
                self.present.append(self._place(f))
            else:
                if not flexible:
                    raise DeclarationError(
                        struct.__name__, f.name, f"version {version} is not flexible and cannot have tagged fields"
                    )
                if f.tag in self.tagged:
                    taken = self.tagged[f.tag].name
                    raise DeclarationError(struct.__name__, f.name, f"tag {f.tag} is already used by {taken}")
                null = null_in_default(f, version)
                if null is not None:
                    raise DeclarationError(
                        struct.__name__, f.name, f"default: {null} is null, which version {version} does not allow"
                    )
                self.tagged[f.tag] = self._place(f)

    def _place(self, f: Field) -> Placed:
        type = f.type
        if isinstance(type, NullableType) and self.version < f.nullable_since:
            type = type.inner
        compact = self.flexible and f.compact
        if self._has_empty_elements(type, compact):
            raise DeclarationError(
                self.struct.__name__,
                f.name,
                f"its elements are empty in version {self.version}, so its count cannot be checked",
            )
        return Placed(f.name, type, compact, f.default, getattr(self.struct, f.name))

    def of(self, struct: Any) -> StructLayout:
        """Return the layout of a nested struct, which is created once for each message."""
        layout = self._known.get(struct)
        return layout if layout is not None else StructLayout(struct, self.version, self.flexible, self._known)

    def smallest(self, type: WireType, compact: bool) -> int:
        """Return the smallest number of bytes of a value in a field of this struct."""
        match type:
            case Primitive(size=size):
                return size
            case StringType():
                return 1 if compact else 2
            case BytesType() | ArrayType():
                return 1 if compact else 4
            case NullableType(inner=StructType()) | MaybeType():
                return 1
            case NullableType(inner=inner):
                return self.smallest(inner, compact)
            case StructType(struct=struct):
                inside = self.of(struct)
                fixed = sum(inside.smallest(placed.type, placed.compact) for placed in inside.present)
                return fixed + 1 if self.flexible else fixed
        raise TypeError(f"{type!r} has no size")

    def _has_empty_elements(self, type: WireType, compact: bool) -> bool:
        match type:
            case ArrayType(element=element):
                return self.smallest(element, compact) == 0 or self._has_empty_elements(element, compact)
            case NullableType(inner=inner) | MaybeType(inner=inner):
                return self._has_empty_elements(inner, compact)
        return False


def layout_of(cls: type[Message], version: int) -> StructLayout:
    """Return the layout of one version of a message.

    Raises:
        UnsupportedVersion: the class does not declare `version`.
        DeclarationError: the wire format cannot express the declaration.
    """
    facts = describe(cls)
    if version not in facts.versions:
        raise UnsupportedVersion(cls.__name__, version, str(facts.versions))
    return StructLayout(cls, version, facts.is_flexible(version))
