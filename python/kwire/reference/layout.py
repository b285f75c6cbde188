"""What stands where in one version of a struct, and the fewest bytes it takes.

Rules of this file: it is worked out from the declarations alone, and does not ask how the engine's plans see it: the
two are compared by tests. What a declaration says that no bytes can mean is refused here, with class and field.
"""

from __future__ import annotations

from kwire.declare.introspect import describe, fields
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
    from kwire.declare.field import Field


class Placed:
    """A field that a version has. ``type``: its type there; ``compact``: whether its lengths are varints there."""

    __slots__ = ("compact", "default", "member", "name", "type")

    def __init__(self, name: str, type: WireType, compact: bool, default: Any, member: Any) -> None:
        self.name = name
        self.type = type
        self.compact = compact
        self.default = default
        self.member = member
        """The descriptor of its slot."""


class Layout:
    """One struct in one version.

    ``standing``: the fields in the order of the wire; ``tagged``: those of the tag section, by tag; ``absent``: those
    that the version lacks; ``flexible``: whether lengths are compact and a tag section ends the struct.
    """

    __slots__ = ("_known", "absent", "flexible", "standing", "struct", "tagged", "version")

    def __init__(
        self, struct: type[Struct], version: int, flexible: bool, known: dict[object, Layout] | None = None
    ) -> None:
        self._known: dict[object, Layout] = {} if known is None else known
        self._known[struct] = self
        self.struct = struct
        self.version = version
        self.flexible = flexible
        self.standing: list[Placed] = []
        self.tagged: dict[int, Placed] = {}
        self.absent: list[Field] = []
        for f in fields(struct):
            if not f.in_version(version):
                self.absent.append(f)
            elif f.tag is None:
                self.standing.append(self._place(f))
            else:
                if not flexible:
                    raise DeclarationError(struct.__name__, f.name, f"it is tagged, and version {version} has no tags")
                if f.tag in self.tagged:
                    taken = self.tagged[f.tag].name
                    raise DeclarationError(struct.__name__, f.name, f"its tag {f.tag} belongs to {taken}")
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
                f"in version {self.version} its elements take no bytes: any count would do",
            )
        return Placed(f.name, type, compact, f.default, getattr(self.struct, f.name))

    def of(self, struct: Any) -> Layout:
        """The layout of a struct that stands in this one, worked out once a message."""
        known = self._known.get(struct)
        return known if known is not None else Layout(struct, self.version, self.flexible, self._known)

    def smallest(self, type: WireType, compact: bool) -> int:
        """The fewest bytes that a value of ``type`` takes in a field of this struct."""
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
                fixed = sum(inside.smallest(placed.type, placed.compact) for placed in inside.standing)
                return fixed + 1 if self.flexible else fixed
        raise TypeError(f"{type!r} has no size")

    def _has_empty_elements(self, type: WireType, compact: bool) -> bool:
        match type:
            case ArrayType(element=element):
                return self.smallest(element, compact) == 0 or self._has_empty_elements(element, compact)
            case NullableType(inner=inner) | MaybeType(inner=inner):
                return self._has_empty_elements(inner, compact)
        return False


def layout_of(cls: type[Message], version: int) -> Layout:
    """The layout of a message. Raises UnsupportedVersion, or DeclarationError for what cannot be said on the wire."""
    facts = describe(cls)
    if version not in facts.versions:
        raise UnsupportedVersion(cls.__name__, version, str(facts.versions))
    return Layout(cls, version, facts.is_flexible(version))
