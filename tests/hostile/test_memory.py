"""Whatever the bytes claim, memory stays in proportion to their number.

Decoding holds less than 64 times the input and a megabyte, validating less than a megabyte whatever the input. Each
case runs in a process of its own that has no more to give.
"""

from __future__ import annotations

import pytest

from kwire import messages
from kwire.declare import Message
from kwire.declare.introspect import describe, fields
from kwire.declare.plan_text import minimum_size
from kwire.declare.wire_types import ArrayType, MaybeType, NullableType, Primitive, StructType, WireType
from tests.hostile.greedy import CASES
from tests.hostile.watched import watched
from tests.hostile.work import CLAIMS, MEGABYTE, SIZE

each_case = pytest.mark.parametrize("name", [case.name for case in CASES])


@each_case
def test_decoding(name: str) -> None:
    done = watched("decode", name)
    [case] = [case for case in CASES if case.name == name]
    assert done.outcome == case.cls.__name__
    assert done.peak < 64 * SIZE + MEGABYTE


@each_case
def test_decoding_in_vain(name: str) -> None:
    done = watched("decode_without_the_last_byte", name)
    assert done.outcome in ("truncated", "count_exceeds_input")
    assert done.peak < 64 * SIZE + MEGABYTE


@each_case
def test_validating(name: str) -> None:
    done = watched("validate", name)
    assert done.outcome == "valid"
    assert done.peak < MEGABYTE


@pytest.mark.parametrize("name", CLAIMS)
def test_claims(name: str) -> None:
    done = watched("claim", name)
    assert done.outcome in ("truncated", "count_exceeds_input", "too_long")
    assert done.peak < MEGABYTE


@pytest.mark.parametrize(
    "nested", ["{a: int8 }", "<a: int8 >", "{a:[ int8 ]}", "<a#0:compact[ int8 ]=[]>", "{a:maybe( int8 )}", "{ int8 }"]
)
def test_plans_nested_ten_thousand_deep(nested: str) -> None:
    done = watched("plan", nested)
    assert "deep" in done.outcome or "is wanted" in done.outcome
    assert done.peak < 16 * MEGABYTE


# What a declaration may ask for beyond that: an element of one byte that holds structs in structs, or dozens of fields
# that other versions have, costs what it costs. No declared message has such elements.

POINTER = 8
LARGEST = {"int8": 0, "bool": 0, "uuid": 120}
"""What objects of fixed-size types take at most, a number 32. There are few different int8, so they are shared."""


@pytest.mark.parametrize("cls", messages.every(), ids=lambda cls: f"{cls.__module__} {cls.__name__}")
def test_no_declared_message_has_elements_that_cost_more(cls: type[Message]) -> None:
    for version in cls.versions:
        for element in elements(StructType(cls), version):
            size = minimum_size(element, version, describe(cls).is_flexible(version))
            assert POINTER + cost(element, version) <= 64 * size, (version, element)


def elements(type: WireType, version: int) -> list[WireType]:
    """The types of all elements of arrays in a type, at any depth."""
    match type:
        case ArrayType(element=element):
            return [element, *elements(element, version)]
        case NullableType(inner=inner) | MaybeType(inner=inner):
            return elements(inner, version)
        case StructType(struct=struct):
            return [found for f in fields(struct) if f.in_version(version) for found in elements(f.type, version)]
    return []


def cost(type: WireType, version: int) -> int:
    """What the smallest value takes in objects; empty texts, blobs, arrays and None are shared."""
    match type:
        case Primitive(name=name):
            return LARGEST.get(name, 32)
        case StructType(struct=struct):
            standing = [f for f in fields(struct) if f.tag is None and f.in_version(version)]
            return struct.__basicsize__ + sum(cost(f.type, version) for f in standing)
    return 0
