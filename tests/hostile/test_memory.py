"""Memory is proportional to the size of the input, whatever its content.

Decoding uses less than 64 times the input plus a megabyte, and validating less than a megabyte. Each case runs in a
process with a limited address space.
"""

from __future__ import annotations

from kwire import messages
from kwire.declare import Message
from kwire.declare.introspect import describe, fields
from kwire.declare.plan_text import minimum_size
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, Primitive, StructType, WireType
from tests.for_rows import for_rows
from tests.hostile.greedy import CASES
from tests.hostile.watched import watched
from tests.hostile.work import CLAIMS, MEGABYTE, SIZE

each_case = for_rows("name", [case.name for case in CASES])


@each_case
def test_decode_memory_is_proportional_to_the_input(name: str) -> None:
    done = watched("decode", name)
    [case] = [case for case in CASES if case.name == name]
    assert done.outcome == case.cls.__name__
    assert done.peak < 64 * SIZE + MEGABYTE


@each_case
def test_memory_of_failed_decode_is_proportional_to_the_input(name: str) -> None:
    done = watched("decode_without_the_last_byte", name)
    assert done.outcome in ("truncated", "count_exceeds_input")
    assert done.peak < 64 * SIZE + MEGABYTE


@each_case
def test_validate_memory_is_constant(name: str) -> None:
    done = watched("validate", name)
    assert done.outcome == "valid"
    assert done.peak < MEGABYTE


@for_rows("name", CLAIMS)
def test_claimed_counts_do_not_allocate_memory(name: str) -> None:
    done = watched("claim", name)
    assert done.outcome in ("truncated", "count_exceeds_input", "too_long")
    assert done.peak < MEGABYTE


def test_encode_does_not_allocate_memory_of_an_earlier_message() -> None:
    done = watched("encode_small_after_large")
    assert done.outcome == str(4 + 4 + len("small"))
    assert done.peak < MEGABYTE


@for_rows(
    "nested", ["{a: int8 }", "<a: int8 >", "{a:[ int8 ]}", "<a#0:compact[ int8 ]=[]>", "{a:maybe( int8 )}", "{ int8 }"]
)
def test_deeply_nested_plans_are_rejected(nested: str) -> None:
    done = watched("plan", nested)
    assert "deep" in done.outcome or "expected" in done.outcome
    assert done.peak < 16 * MEGABYTE


# A declaration can exceed the limit, for example with elements of one byte that hold nested structs or dozens of absent
# fields. No message of kwire has such elements.

POINTER = 8
LARGEST = {"int8": 0, "bool": 0, "uuid": 120}
"""The maximum size of objects of fixed-size types: 32 for a number, and 0 for an int8, which is shared."""


@for_rows("cls", messages.every(), ids=lambda cls: f"{cls.__module__} {cls.__name__}")
def test_elements_of_declared_messages_stay_within_the_limit(cls: type[Message]) -> None:
    for version in cls.versions:
        for element in elements(StructType(cls), version):
            size = minimum_size(element, version, describe(cls).is_flexible(version))
            assert POINTER + cost(element, version) <= 64 * size, (version, element)


def elements(type: WireType, version: int) -> list[WireType]:
    """Return the element types of all arrays in a type, at any depth."""
    match type:
        case ArrayType(element=element):
            return [element, *elements(element, version)]
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return elements(inner, version)
        case StructType(struct=struct):
            return [found for f in fields(struct) if f.in_version(version) for found in elements(f.type, version)]
    return []


def cost(type: WireType, version: int) -> int:
    """Return the memory of the smallest value; empty strings, bytes, arrays, and None are shared."""
    match type:
        case Primitive(name=name):
            return LARGEST.get(name, 32)
        case StructType(struct=struct):
            present = [f for f in fields(struct) if f.tag is None and f.in_version(version)]
            return struct.__basicsize__ + sum(cost(f.type, version) for f in present)
    return 0
