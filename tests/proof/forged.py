"""Objects with values that constructors reject, set with `object.__setattr__`."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from hypothesis import strategies as st

from kwire.declare import Struct, UnknownTags
from kwire.declare.introspect import fields

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


class Answer(IntEnum):
    YES = 1


class Name(str):
    """A subclass of str, which is accepted as a str."""

    __slots__ = ()


class Stranger(Struct):
    """A struct that is not the type of any field."""


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()
"""Marker for deleting the value."""

ANYTHING: tuple[Any, ...] = (
    *(UNSET, None, True, False, Struct, Stranger(), object(), {}),
    *(0, 1, -1, 127, 128, -129, 0xFFFF, 0x1_0000, -0x8000_0001, 0xFFFF_FFFF, 2**63, -(2**70), Answer.YES),
    *(0.0, -0.0, 1.5, float("nan"), UUID(int=0), UUID(int=1), str(UUID(int=1))),
    *("", "a", "\ud800", "a" * 32_767, "\N{SNOWMAN}" * 10_923, Name("n"), b"", b"a", bytearray(b"a")),
    *((), [], [1], (None,), ("a",), (0, True), ((),)),
)
"""Generate values of every type, valid and invalid, and at the limits of their range."""

TAGS: tuple[Any, ...] = (
    *(UNSET, None, {}, {1: b""}),
    *(UnknownTags(), UnknownTags(b"\x00\x00"), UnknownTags(b"\x01\x01a"), UnknownTags(b"\x07\x00\x7f\x00")),
    *(UnknownTags(b"\x01\x02a"), UnknownTags(b"\x81"), UnknownTags("raw"), UnknownTags(b"\x09\x00\x08\x00")),  # type: ignore[arg-type]  # forged
)
"""Generate values for `unknown_tags`, some with tags that random declarations use."""


class Forged(NamedTuple):
    """A forged message, possibly without a `repr`, and the changes that were made."""

    message: Any
    changes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Forged({', '.join(self.changes)})"


@st.composite
def forged(draw: DrawFn, message: Any) -> Forged:
    """Generate a copy of `message` with one to three values replaced at any depth."""
    copy = replica(message)
    changes = []
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(range(len(structs_in(copy)))))
        struct = structs_in(copy)[place]
        name = draw(st.sampled_from([*(f.name for f in fields(type(struct))), "unknown_tags"]))
        values = TAGS if name == "unknown_tags" else ANYTHING
        index = draw(st.integers(0, len(values) - 1))
        put(struct, name, values[index])
        # Not the value itself: truncated tags, for example, have no repr.
        changes.append(f"{type(struct).__name__}.{name} = {'TAGS' if values is TAGS else 'ANYTHING'}[{index}]")
    return Forged(copy, tuple(changes))


def replica(value: Any) -> Any:
    """Return a copy that shares no objects with the defaults. kwire itself never copies immutable objects."""
    if isinstance(value, tuple):
        return tuple([replica(item) for item in value])
    if not isinstance(value, Struct):
        return value
    copy = type(value).__new__(type(value))
    for name in (*(f.name for f in fields(type(value))), "unknown_tags"):
        put(copy, name, replica(getattr(value, name)))
    return copy


def put(struct: Any, name: str, value: Any) -> None:
    if value is not UNSET:
        object.__setattr__(struct, name, value)
    elif hasattr(struct, name):
        object.__delattr__(struct, name)


def structs_in(value: Any) -> list[Any]:
    """Return `value` and all nested structs."""
    if isinstance(value, tuple):
        return [struct for item in value for struct in structs_in(item)]
    if not isinstance(value, Struct) or isinstance(value, Stranger):
        return []
    parts = [getattr(value, f.name) for f in fields(type(value)) if hasattr(value, f.name)]
    return [value, *structs_in(tuple(parts))]
