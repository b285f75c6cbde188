"""Forged objects raise an exception with a path and never crash."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import EncodeError
from tests.for_rows import for_rows
from tests.soundness import forgeries
from tests.soundness.children import outcome
from tests.soundness.declared import Aged, Ages, Leaf, Leaf2, Small, Tree, full_tree

FORMS = ("chain", "cycle", "chain of tuples", "cycle of tuples")
FIELDS = ("leaves", "name", "grid", "numbers", "id", "seal", "alive", "home", "perhaps", "unknown_tags")


def child(name: str, *arguments: str) -> str:
    return outcome(forgeries.__name__, name, *arguments)


def test_empty_object_is_rejected_by_encode() -> None:
    with pytest.raises(EncodeError) as caught:
        kwire.encode(object.__new__(Tree), version=1)
    assert caught.value.kind == "wrong_type"
    assert caught.value.path == ("leaves",)


def test_nested_empty_object_is_rejected_with_its_path() -> None:
    message = Tree(leaves=(Leaf(),))
    object.__setattr__(message, "leaves", (Leaf(), object.__new__(Leaf)))
    with pytest.raises(EncodeError) as caught:
        kwire.encode(message, version=1)
    assert caught.value.kind == "wrong_type"
    assert caught.value.path == ("leaves", 1, "number")


@for_rows("name", FIELDS)
def test_unset_slot_is_rejected_with_its_name(name: str) -> None:
    message = full_tree()
    object.__delattr__(message, name)
    with pytest.raises(EncodeError) as caught:
        kwire.encode(message, version=1)
    assert caught.value.kind == "wrong_type"
    assert caught.value.path == (name,)


@for_rows("name", FIELDS)
@for_rows(
    "forged", [object(), 1j, [1], {1}, Leaf2(), object.__new__(Small), type], ids=lambda forged: type(forged).__name__
)
def test_foreign_value_is_rejected_with_its_name(name: str, forged: object) -> None:
    message = full_tree()
    object.__setattr__(message, name, forged)
    with pytest.raises(EncodeError) as caught:
        kwire.encode(message, version=1)
    assert caught.value.kind == "wrong_type"
    assert caught.value.path == (name,)


def test_unset_slots_can_be_compared_and_hashed() -> None:
    assert object.__new__(Leaf) == object.__new__(Leaf)
    assert object.__new__(Leaf) != Leaf()
    assert Leaf() != object.__new__(Leaf)
    assert hash(object.__new__(Leaf)) == hash(object.__new__(Leaf))


def test_repr_of_unset_slots_names_the_first() -> None:
    with pytest.raises(AttributeError, match="number"):
        repr(object.__new__(Leaf))


def test_struct_with_an_unhashable_value_is_unhashable() -> None:
    leaf = Leaf()
    object.__setattr__(leaf, "inner", [])
    with pytest.raises(TypeError, match="unhashable"):
        hash(leaf)


def test_exception_of_a_forged_equality_propagates() -> None:
    class Refusing:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        __hash__ = object.__hash__

    one: Any = Leaf()
    other: Any = Leaf()
    object.__setattr__(one, "inner", Refusing())
    object.__setattr__(other, "inner", Refusing())
    with pytest.raises(ZeroDivisionError):
        assert one == other


def test_foreign_value_in_an_absent_field_is_not_the_default() -> None:
    message = Ages(items=(Aged(),))
    object.__setattr__(message.items[0], "old", object())
    with pytest.raises(EncodeError) as caught:
        kwire.encode(message, version=1)
    assert caught.value.kind == "not_in_version"
    assert caught.value.path == ("items", 0, "old")


@for_rows("form", FORMS)
def test_long_chains_and_cycles_are_freed(form: str) -> None:
    assert child("freed", form) == "freed"


@for_rows("form", FORMS)
@for_rows("action", ["hash", "compare", "compare unequal"])
def test_long_chains_and_cycles_end_in_recursion_errors(form: str, action: str) -> None:
    assert child("attempted", form, action) == "RecursionError"


@for_rows("form", FORMS)
def test_forged_struct_of_another_class_is_rejected(form: str) -> None:
    assert child("attempted", form, "encode") == "EncodeError"


@for_rows("lies", ["equal", "different"])
def test_encode_does_not_call_a_forged_equality(lies: str) -> None:
    assert child("encoded_with_evil_equality", lies) in ("encoded", "rejected at ('items', 0, 'old')")


def test_forged_equality_can_clear_the_compared_structs() -> None:
    assert child("compared_with_evil_equality") == "came back"


def test_finalizer_can_free_long_chains_while_its_holder_is_freed() -> None:
    assert child("freed_in_a_finalizer") == "freed"
