"""Layouts of the reference codec: fields of a version and minimum sizes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from kwire import DeclarationError, codec, reference
from kwire.declare import Message, Struct, array, field, int16, int32, maybe, nullable, string, zero
from kwire.declare.introspect import fields, zero_of
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, StructType, WireType
from kwire.reference.layout import StructLayout, layout_of
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


def placed(layout: StructLayout) -> list[str]:
    return [field.name for field in layout.present]


def test_fields_are_present_from_since_to_until() -> None:
    assert placed(layout_of(Outer, 0)) == ["gone", "inner", "perhaps", "names", "number"]
    assert placed(layout_of(Outer, 1)) == ["inner", "perhaps", "names", "number"]
    assert [f.name for f in layout_of(Outer, 1).absent] == ["gone"]
    inner = layout_of(Outer, 2).of(Inner)
    assert (placed(inner), list(inner.tagged)) == (["always", "later"], [0])


@pytest.mark.parametrize(("version", "smallest"), [(0, 2), (1, 6), (2, 7)])
def test_minimum_size_of_a_struct_is_the_sum_of_its_fields(version: int, smallest: int) -> None:
    layout = layout_of(Outer, version)
    assert layout.smallest(layout.present[-4].type, compact=False) == smallest


@pytest.mark.parametrize(("version", "smallest"), [(0, 2), (1, 1), (2, 1)])
def test_nullable_struct_has_a_marker_since_nullable_since(version: int, smallest: int) -> None:
    layout = layout_of(Outer, version)
    assert layout.smallest(layout.present[-3].type, compact=False) == smallest


def test_lengths_are_compact_in_flexible_versions_unless_declared_otherwise() -> None:
    names = layout_of(Outer, 2).present[-2]
    assert (names.name, names.compact) == ("names", False)
    assert not any(field.compact for field in layout_of(Outer, 1).present)


@given(message_classes(), versions)
def test_smallest_value_has_the_minimum_size(cls: Any, version: int) -> None:
    """A message of nulls, empty arrays, and zeros has the minimum size."""
    layout = layout_of(cls, version)
    least = smallest_instance(cls, version)
    # Without tagged fields, their count is still written and included in the layout.
    assert len(reference.encode(least, version=version)) == layout.smallest(StructType(cls), compact=False)
    assert codec.encode(least, version=version) == reference.encode(least, version=version)


def smallest_instance(cls: Any, version: int) -> Any:
    present = [f for f in fields(cls) if f.in_version(version) and f.tag is None]
    given = {f.name: smallest_value(f.type, version, f.nullable_in(version)) for f in present}
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


# Declarations that the wire format cannot express, rejected by the reference and by plans


class Empty(Struct):
    pass


class EmptyAtFirst(Struct):
    later: int32 = field(since=1, default=0)


def errors_of_layout_and_plan(cls: Any, version: int) -> list[tuple[str, str | None]]:
    """Return the class and field of the errors of the layout and the plan."""
    found = []
    for create in (layout_of, codec._compile):
        with pytest.raises(DeclarationError) as caught:
            create(cls, version)
        found.append((caught.value.declaration, caught.value.field))
    return found


def test_arrays_of_empty_elements_are_rejected() -> None:
    class Crowd(Message, versions="0-1"):
        number: int16
        members: array[EmptyAtFirst]

    class Void(Message, versions="0"):
        nothing: nullable[array[Empty]]

    assert errors_of_layout_and_plan(Crowd, 0) == [("Crowd", "members")] * 2
    assert placed(layout_of(Crowd, 1)) == ["number", "members"]
    assert errors_of_layout_and_plan(Void, 0) == [("Void", "nothing")] * 2


def test_tag_in_an_inflexible_version_is_rejected() -> None:
    class Hasty(Message, versions="0-1", flexible="1+"):
        early: int16 = field(tag=0, default=0)

    assert errors_of_layout_and_plan(Hasty, 0) == [("Hasty", "early")] * 2
    assert list(layout_of(Hasty, 1).tagged) == [0]


def test_default_that_is_null_too_early_is_rejected() -> None:
    class Late(Struct):
        fixed: int16 = 7
        text: nullable[string] = field(nullable_since=2, default=None)

    class Wrapped(Struct):
        late: Late = field(default=zero)

    class Plain(Message, versions="1-2", flexible="1+"):
        text: nullable[string] = field(tag=0, nullable_since=2, default=None)

    class Nested(Message, versions="1-2", flexible="1+"):
        wrapped: Wrapped = field(tag=0, default=zero)

    assert errors_of_layout_and_plan(Plain, 1) == [("Plain", "text")] * 2
    assert errors_of_layout_and_plan(Nested, 1) == [("Nested", "wrapped")] * 2
    for cls in (Plain, Nested):
        assert reference.encode(cls(), version=2) == codec.encode(cls(), version=2) == b"\x00"
    with pytest.raises(DeclarationError, match=r"default: wrapped\.late\.text is null, which version 1 does not allow"):
        codec.encode(Nested(), version=1)


def test_duplicate_tag_is_rejected() -> None:
    class Twins(Message, versions="0", flexible="0+"):
        elder: int16 = field(tag=5, default=0)
        younger: int16 = field(tag=5, default=0)

    assert errors_of_layout_and_plan(Twins, 0) == [("Twins", "younger")] * 2


def test_fields_of_different_versions_can_share_a_tag() -> None:
    class Heirs(Message, versions="0-1", flexible="0+"):
        old: int16 = field(tag=5, until=0, default=0)
        new: string = field(tag=5, since=1, default=zero)

    assert layout_of(Heirs, 0).tagged[5].name == "old"
    assert layout_of(Heirs, 1).tagged[5].name == "new"
