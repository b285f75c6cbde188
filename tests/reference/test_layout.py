"""What stands in a version and how small it is: worked out by the reference, and held against what can be encoded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from kwire import DeclarationError, codec, reference
from kwire.declare import Message, Struct, array, field, int16, int32, maybe, nullable, string, zero
from kwire.declare.introspect import fields, zero_of
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType
from kwire.reference.layout import Layout, layout_of
from tests.random_declarations import message_classes, versions


class Inner(Struct):
    always: int16
    later: int32 = field(since=1, default=0)
    tagged: string = field(since=2, tag=0, default="")


class Outer(Message, versions="0-3", flexible="2+"):
    gone: int32 = field(until=0, default=0)
    inner: Inner
    perhaps: nullable[Inner] = field(nullable_since=1)
    names: array[string] = field(compact=False)
    number: maybe[int32] = None


def placed(layout: Layout) -> list[str]:
    return [each.name for each in layout.standing]


def test_fields_stand_from_their_first_version_to_their_last() -> None:
    assert placed(layout_of(Outer, 0)) == ["gone", "inner", "perhaps", "names", "number"]
    assert placed(layout_of(Outer, 1)) == ["inner", "perhaps", "names", "number"]
    assert [f.name for f in layout_of(Outer, 1).absent] == ["gone"]
    inner = layout_of(Outer, 2).of(Inner)
    assert (placed(inner), list(inner.tagged)) == (["always", "later"], [0])


@pytest.mark.parametrize(("version", "smallest"), [(0, 2), (1, 6), (2, 7)])
def test_a_struct_is_as_small_as_its_fields(version: int, smallest: int) -> None:
    layout = layout_of(Outer, version)
    assert layout.smallest(layout.standing[-4].type, compact=False) == smallest


@pytest.mark.parametrize(("version", "smallest"), [(0, 2), (1, 1), (2, 1)])
def test_null_is_a_byte_from_the_version_that_has_it(version: int, smallest: int) -> None:
    layout = layout_of(Outer, version)
    assert layout.smallest(layout.standing[-3].type, compact=False) == smallest


def test_compact_lengths_are_for_flexible_versions_and_fields_that_want_them() -> None:
    names = layout_of(Outer, 2).standing[-2]
    assert (names.name, names.compact) == ("names", False)
    assert not any(each.compact for each in layout_of(Outer, 1).standing)


@given(message_classes(), versions)
def test_no_value_is_smaller_than_the_smallest(cls: Any, version: int) -> None:
    """Null, empty and zero everywhere is exactly as long as the layout says."""
    layout = layout_of(cls, version)
    least = smallest_instance(cls, version)
    # Unwritten tags still need their count, which the layout knows of too.
    assert len(reference.encode(least, version=version)) == layout.smallest(StructType(cls), compact=False)
    assert codec.encode(least, version=version) == reference.encode(least, version=version)


def smallest_instance(cls: Any, version: int) -> Any:
    standing = [f for f in fields(cls) if f.in_version(version) and f.tag is None]
    given = {f.name: smallest_value(f.type, version, f.nullable_in(version)) for f in standing}
    return cls(**given)


def smallest_value(wire: WireType, version: int, null: bool = True) -> Any:
    match wire:
        case NullableType(inner=StructType()) | MaybeType() if null:
            return None
        case NullableType(inner=inner):
            return smallest_value(inner, version)
        case MaybeType():
            return None
        case ArrayType():
            return ()
        case StructType(struct=struct):
            return smallest_instance(struct, version)
    return zero_of(wire)


# Declarations that no bytes can mean, refused by the reference and by plans alike.


class Empty(Struct):
    pass


class EmptyAtFirst(Struct):
    later: int32 = field(since=1, default=0)


def refusals(cls: Any, version: int) -> list[tuple[str, str | None]]:
    """Who is to blame, according to the reference's layout and to the engine's plan."""
    blamed = []
    for work_out in (layout_of, codec._compile):
        with pytest.raises(DeclarationError) as caught:
            work_out(cls, version)
        blamed.append((caught.value.declaration, caught.value.field))
    return blamed


def test_elements_without_bytes() -> None:
    class Crowd(Message, versions="0-1"):
        number: int16
        nobody: array[EmptyAtFirst]

    class Void(Message, versions="0"):
        nothing: nullable[array[Empty]]

    assert refusals(Crowd, 0) == [("Crowd", "nobody")] * 2
    assert placed(layout_of(Crowd, 1)) == ["number", "nobody"]
    assert refusals(Void, 0) == [("Void", "nothing")] * 2


def test_tags_in_a_version_without_tag_sections() -> None:
    class Hasty(Message, versions="0-1", flexible="1+"):
        early: int16 = field(tag=0, default=0)

    assert refusals(Hasty, 0) == [("Hasty", "early")] * 2
    assert list(layout_of(Hasty, 1).tagged) == [0]


def test_a_tag_that_is_taken() -> None:
    class Twins(Message, versions="0", flexible="0+"):
        elder: int16 = field(tag=5, default=0)
        younger: int16 = field(tag=5, default=0)

    assert refusals(Twins, 0) == [("Twins", "younger")] * 2


def test_a_tag_may_be_handed_on_to_another_field() -> None:
    class Heirs(Message, versions="0-1", flexible="0+"):
        old: int16 = field(tag=5, until=0, default=0)
        new: string = field(tag=5, since=1, default=zero)

    assert layout_of(Heirs, 0).tagged[5].name == "old"
    assert layout_of(Heirs, 1).tagged[5].name == "new"
