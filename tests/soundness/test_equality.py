"""Native equality and hash equal those of `Struct` in Python: by value, with NaN compared by its bits.

`Struct.__eq__(a, b)` runs the Python code and `a == b` the native code.
"""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import pytest

import kwire
from kwire.declare import Message, Struct, string
from tests.soundness.declared import Leaf, Leaf2, Tree, full_tree, replaced

NAN = math.nan
OTHER_NAN = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
NEGATIVE_NAN = struct.unpack(">d", bytes.fromhex("fff8000000000000"))[0]
FLOATS = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, NAN, OTHER_NAN, NEGATIVE_NAN)


def trees() -> list[Tree]:
    """Return structs that differ in one value each, and equal structs created separately."""
    base = full_tree()
    changes: list[dict[str, Any]] = [
        {},
        {"leaves": ()},
        {"leaves": base.leaves[:2]},
        {"leaves": (*base.leaves[:2], replaced(base.leaves[2], inner=None))},
        {"leaves": (*base.leaves[:2], replaced(base.leaves[2], inner=Leaf2(text="other")))},
        {"name": None},
        {"name": ""},
        {"grid": ((1, 2), (), (4,))},
        {"grid": ((1, 2), (3,), ())},
        {"alive": True},
        {"perhaps": None},
        {"home": Leaf()},
        {"unknown_tags": {}},
        {"unknown_tags": {3: b"three"}},
        *({"numbers": (number,)} for number in FLOATS),
        *({"home": Leaf(load=number)} for number in FLOATS),
    ]
    return [replaced(tree, **change) for change in changes for tree in (base, full_tree())]


def test_native_equality_agrees_with_python() -> None:
    for a, b in itertools.product(trees(), repeat=2):
        assert (a == b) is Struct.__eq__(a, b)
        assert (a != b) is not (a == b)


def test_equal_objects_have_equal_hashes() -> None:
    for a, b in itertools.product(trees(), repeat=2):
        if a == b:
            assert hash(a) == hash(b)
            assert Struct.__hash__(a) == Struct.__hash__(b)


def test_different_objects_have_different_hashes() -> None:
    """Hashes may collide, but for these few with a probability of only 2**-50."""
    assert len({hash(tree) for tree in trees()}) == len(set(trees()))


@pytest.mark.parametrize("version", [0, 1])
def test_decoded_objects_equal_constructed_ones(version: int) -> None:
    for tree in trees():
        built = tree if version else replaced(tree, unknown_tags={})
        decoded = kwire.decode(Tree, kwire.encode(built, version=version), version=version)
        assert decoded == built
        assert Struct.__eq__(decoded, built) is True
        assert hash(decoded) == hash(built)
        assert Struct.__hash__(decoded) == Struct.__hash__(built)
        assert {decoded} == {built}


def test_floats_compare_as_numbers_and_nans_by_bits() -> None:
    for a, b in itertools.product(FLOATS, repeat=2):
        equal = a == b or struct.pack(">d", a) == struct.pack(">d", b)
        assert (Leaf(load=a) == Leaf(load=b)) is equal
        assert (Tree(numbers=(a,)) == Tree(numbers=(b,))) is equal


def test_nan_bits_round_trip() -> None:
    for nan in (NAN, OTHER_NAN, NEGATIVE_NAN):
        (again,) = kwire.decode(Tree, kwire.encode(Tree(numbers=(nan,)), version=0), version=0).numbers
        assert struct.pack(">d", again) == struct.pack(">d", nan)


def test_objects_of_different_classes_are_not_equal() -> None:
    class Twin(Message, versions="0"):
        text: string = ""

    class OtherTwin(Message, versions="0"):
        text: string = ""

    class Derived(Twin):
        pass

    for other in (OtherTwin(text="a"), Derived(text="a"), "a", None, ("a",)):
        assert Twin(text="a") != other
        assert other != Twin(text="a")
        assert Twin(text="a").__eq__(other) is NotImplemented


def test_structs_cannot_be_ordered() -> None:
    leaf: Any = Leaf()
    with pytest.raises(TypeError, match="not supported"):
        assert leaf < Leaf()
