"""The garbage collector does not track decoded objects and does not affect them.

Objects of adopted classes have no garbage collector header, so they are never tracked and smaller. The classes are
ordinary objects and are collected when unreferenced.
"""

from __future__ import annotations

import gc
import sys
import weakref
from typing import TYPE_CHECKING

import pytest

import kwire
from kwire.declare import Message, Struct, array, int32
from tests.soundness import collecting
from tests.soundness.children import outcome
from tests.soundness.declared import Leaf, Leaf2, Referable, Small, Tree, full_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADER = object.__basicsize__
POINTER = 8


class Opened(Small):
    __slots__ = ("__dict__",)


class OpenedTree(Tree):
    __slots__ = ("__dict__",)


@pytest.fixture
def eager_collector() -> Iterator[None]:
    """Run the garbage collector on every allocation."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    yield
    gc.set_threshold(*before)


def test_decoded_and_constructed_objects_are_not_tracked() -> None:
    decoded = kwire.decode(Tree, kwire.encode(full_tree(), version=1), version=1)
    for tree in (decoded, full_tree()):
        for held in (tree, tree.home, tree.perhaps, *tree.leaves):
            assert not gc.is_tracked(held)


def test_object_size_is_header_and_one_pointer_per_slot() -> None:
    for kind, fields in ((Tree, 9), (Leaf, 3), (Leaf2, 1), (Small, 3)):
        decoded_or_built = kind()
        assert sys.getsizeof(decoded_or_built) == HEADER + POINTER * (fields + len(("unknown_tags",)))


def test_class_with_a_dict_is_not_adopted() -> None:
    decoded = kwire.decode(Opened, kwire.encode(Opened(), version=0), version=0)
    assert gc.is_tracked(decoded)
    assert gc.is_tracked(Opened())


def test_only_weak_references_and_dicts_prevent_adoption() -> None:
    assert gc.is_tracked(Referable())
    assert not gc.is_tracked(Small())


@pytest.mark.usefixtures("eager_collector")
def test_decode_with_constant_garbage_collection() -> None:
    body = kwire.encode(full_tree(), version=1)
    for kind in (Tree, OpenedTree):
        for _ in range(200):
            decoded = kwire.decode(kind, body, version=1)
            assert kwire.encode(decoded, version=1) == body


@pytest.mark.usefixtures("eager_collector")
def test_decode_errors_with_constant_garbage_collection() -> None:
    body = kwire.encode(full_tree(), version=1)
    for end in range(len(body)):
        with pytest.raises(kwire.DecodeError):
            kwire.decode(Tree, body[:end], version=1)


def test_garbage_collection_keeps_decoded_objects() -> None:
    body = kwire.encode(full_tree(), version=1)
    kept = []
    for step in range(300):
        kept.append(kwire.decode(Tree, body, version=1))
        if step % 10 == 0:
            gc.collect()
    assert all(tree == full_tree() for tree in kept)


def used_classes() -> list[weakref.ref[type]]:
    """Decode and encode two classes, with errors, in a function, because frames keep their locals alive."""

    class Inner(Struct):
        number: int32

    class Outer(Message, versions="0-2", flexible="2+"):
        inners: array[Inner]

    for version in range(3):
        body = kwire.encode(Outer(inners=(Inner(number=1),)), version=version)
        assert kwire.decode(Outer, body, version=version).inners[0].number == 1
        with pytest.raises(kwire.DecodeError):
            kwire.decode(Outer, b"", version=version)
    return [weakref.ref(Inner), weakref.ref(Outer)]


def test_unreferenced_classes_are_collected() -> None:
    references = used_classes()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_object_keeps_its_class_alive() -> None:
    class Short(Message, versions="0"):
        number: int32

    kept = kwire.decode(Short, kwire.encode(Short(number=4), version=0), version=0)
    del Short
    gc.collect()
    assert kept.number == 4
    assert kwire.encode(kept, version=0) == b"\x00\x00\x00\x04"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "work",
    [
        collecting.grown_by_ten_million_objects,
        collecting.grown_by_small_frames,
        collecting.grown_by_refused_frames,
        collecting.grown_by_different_lists,
        collecting.grown_by_structs_of_many_messages,
    ],
)
def test_memory_does_not_grow(work: object) -> None:
    """A leak of one byte per object would be ten megabytes."""
    name = getattr(work, "__name__", "")
    assert int(outcome(collecting.__name__, name)) < 4 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_large_messages_is_returned() -> None:
    """The engine keeps at most 16 MB of the memory of structs for the next messages."""
    kept = int(outcome(collecting.__name__, collecting.kept_by_large_messages.__name__))
    assert kept < 18 << 20
