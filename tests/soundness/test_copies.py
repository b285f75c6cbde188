"""Decoded objects can be copied, pickled, replaced, and weakly referenced like constructed ones."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import kwire
from tests.soundness.declared import Leaf, Referable, Tree, full_tree, replaced


@pytest.fixture
def decoded() -> Tree:
    return kwire.decode(Tree, kwire.encode(full_tree(), version=1), version=1)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_decoded_objects_can_be_pickled(decoded: Tree, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(decoded, protocol))
    assert type(again) is Tree
    assert again == decoded == full_tree()
    assert hash(again) == hash(decoded)
    assert kwire.encode(again, version=1) == kwire.encode(decoded, version=1)


def test_copy_returns_the_same_object(decoded: Tree) -> None:
    assert copy.copy(decoded) is decoded
    assert copy.deepcopy(decoded) is decoded
    assert copy.deepcopy([decoded, decoded.leaves])[1] == decoded.leaves


def test_replace_shares_unchanged_values(decoded: Tree) -> None:
    renamed = replaced(decoded, name="other")
    assert renamed.name == "other"
    assert renamed.leaves is decoded.leaves
    assert renamed.unknown_tags == decoded.unknown_tags
    assert decoded == full_tree()


def test_replacement_outlives_the_original() -> None:
    renamed = replaced(kwire.decode(Tree, kwire.encode(full_tree(), version=1), version=1), name=None)
    gc.collect()
    assert renamed == replaced(full_tree(), name=None)


def test_weak_reference_dies_with_its_object() -> None:
    here = Referable(number=1)
    reference = weakref.ref(here)
    assert reference() is here
    del here
    assert reference() is None


def test_weak_reference_without_class_keyword_is_rejected(decoded: Tree) -> None:
    for held in (decoded, decoded.leaves[0], Leaf()):
        with pytest.raises(TypeError, match="weak reference"):
            weakref.ref(held)
