"""Subclasses can add a dict, weak references, a finalizer, and slots."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from typing import Any, ClassVar

import kwire
from kwire.declare import int32, string
from tests.for_rows import for_rows
from tests.soundness.declared import Leaf2, Small


class Plain(Small):
    pass


class WithDict(Small):
    __slots__ = ("__dict__",)


class WithWeakref(Small):
    __slots__ = ("__weakref__",)


class WithBoth(Small, weakref=True):
    __slots__ = ("__dict__",)


class WithSlot(Small):
    __slots__ = ("note",)


class WithFields(Small):
    more: int32 = 0
    yet_more: string = ""


class WithFinalizer(Small):
    ended: ClassVar[list[str]] = []

    def __del__(self) -> None:
        self.ended.append(self.name)


class DictBelowWeakref(WithWeakref):
    __slots__ = ("__dict__",)


class PlainBelowDict(WithDict):
    pass


class FieldsBelowDict(WithDict):
    more: int32 = 0


KINDS: list[type[Small]] = [
    Plain,
    WithDict,
    WithWeakref,
    WithBoth,
    WithSlot,
    WithFields,
    WithFinalizer,
    DictBelowWeakref,
    PlainBelowDict,
    FieldsBelowDict,
]
every_kind = for_rows("kind", KINDS, ids=lambda kind: kind.__name__)


@every_kind
def test_instances_decode_encode_compare_and_pickle(kind: type[Small]) -> None:
    built = kind(number=5, name="five", leaves=(Leaf2(text="leaf"),))
    body = kwire.encode(built, version=0)
    decoded = kwire.decode(kind, body, version=0)
    assert type(decoded) is kind
    assert decoded == built
    assert hash(decoded) == hash(built)
    assert decoded != Small(number=5, name="five", leaves=(Leaf2(text="leaf"),))
    assert kwire.encode(decoded, version=0) == body
    assert pickle.loads(pickle.dumps(decoded)) == built
    assert repr(decoded).startswith(f"{kind.__name__}(number=5, name='five'")


@every_kind
def test_instances_release_their_references(kind: type[Small]) -> None:
    leaf = Leaf2(text="held by every one of them")
    before = sys.getrefcount(leaf), sys.getrefcount(kind)
    for _ in range(1000):
        kind(leaves=(leaf,))
    gc.collect()
    after = sys.getrefcount(leaf), sys.getrefcount(kind)
    # The first construction compiles the constructor, which can refer to the class.
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 20


@every_kind
def test_decoding_does_not_leak_class_references(kind: type[Small]) -> None:
    body = kwire.encode(kind(), version=0)
    kwire.decode(kind, body, version=0)
    before = sys.getrefcount(kind)
    held = [kwire.decode(kind, body, version=0) for _ in range(1000)]
    assert sys.getrefcount(kind) == before + 1000
    held.clear()
    assert sys.getrefcount(kind) == before


@for_rows("kind", [WithDict, WithBoth, DictBelowWeakref, PlainBelowDict, FieldsBelowDict])
def test_cycles_through_a_dict_are_collected(kind: type[Small]) -> None:
    class Witness:
        pass

    decoded = kwire.decode(kind, kwire.encode(kind(), version=0), version=0)
    witness = Witness()
    alive = weakref.ref(witness)
    object.__setattr__(decoded, "itself", decoded)
    object.__setattr__(decoded, "witness", witness)
    attributes: dict[str, Any] = decoded.__dict__
    assert set(attributes) == {"itself", "witness"}
    del decoded, witness, attributes
    gc.collect()
    assert alive() is None


@for_rows("kind", [WithWeakref, WithBoth, DictBelowWeakref])
def test_weak_references_of_decoded_objects_die(kind: type[Small]) -> None:
    gone: list[str] = []
    decoded = kwire.decode(kind, kwire.encode(kind(), version=0), version=0)
    reference = weakref.ref(decoded, lambda _: gone.append("gone"))
    assert reference() is decoded
    del decoded
    assert reference() is None
    assert gone == ["gone"]


def test_extra_slot_is_released() -> None:
    witness = object()
    before = sys.getrefcount(witness)
    decoded = kwire.decode(WithSlot, kwire.encode(WithSlot(), version=0), version=0)
    object.__setattr__(decoded, "note", witness)
    assert sys.getrefcount(witness) == before + 1
    del decoded
    assert sys.getrefcount(witness) == before


def test_finalizer_runs_once_for_each_object() -> None:
    WithFinalizer.ended.clear()
    body = kwire.encode(WithFinalizer(name="built"), version=0)
    assert WithFinalizer.ended == ["built"]
    for _ in range(3):
        kwire.decode(WithFinalizer, body, version=0)
    assert WithFinalizer.ended == ["built"] * 4


def test_finalizer_can_revive_its_object() -> None:
    revived: list[Small] = []

    class Reviving(Small):
        def __del__(self) -> None:
            revived.append(self)

    kwire.decode(Reviving, kwire.encode(Small(name="back"), version=0), version=0)
    gc.collect()
    assert [found.name for found in revived] == ["back"]
    assert kwire.encode(revived[0], version=0) == kwire.encode(Small(name="back"), version=0)
