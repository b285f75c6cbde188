"""Instances: construction, immutability, comparison, copies, and subclasses."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from dataclasses import FrozenInstanceError
from enum import IntEnum
from typing import Any
from uuid import UUID

import pytest

import kwire
from kwire import EncodeError
from kwire.declare import (
    Message,
    Struct,
    array,
    field,
    float64,
    int16,
    int32,
    maybe,
    nullable,
    string,
    uuid,
    zero,
)
from tests.for_rows import for_rows


class Broker(Struct):
    """A broker."""

    node_id: int32
    host: string
    rack: nullable[string] = field(since=1, default=None)


class Cluster(Message, api_key=900, versions="0-2", flexible="2+"):
    brokers: array[Broker]
    controller: maybe[Broker] = None
    grid: array[array[int32]] = ()
    id: uuid = zero
    load: float64 = field(default=0.5)
    seal: bytes = b""
    alive: bool = True
    home: Broker = field(since=1, default=Broker(node_id=-1, host=""))


class NamedLikeBuiltins(Struct):
    type: int16
    int: int16
    str: string
    bytes: bytes
    self: int16
    cls: int16
    tuple: array[int16] = ()


class Nothing(Message, versions="0-1", flexible="1+"):
    pass


class Here(Struct, weakref=True):
    number: int32


class Racked(Broker):
    """A subclass with a field and a method of its own."""

    shelf: int16 = 0

    def place(self) -> str:
        return f"{self.rack}/{self.shelf}"


class Noted(Broker):
    """A subclass with a `__dict__`."""

    __slots__ = ("__dict__",)


ONE = Broker(node_id=1, host="h")


# Construction


def test_constructor_takes_keywords_only() -> None:
    made: Any = Broker
    assert (ONE.node_id, ONE.host, ONE.rack) == (1, "h", None)
    with pytest.raises(TypeError, match="positional"):
        made(1, "h")
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'host'"):
        made(node_id=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'shelf'"):
        made(node_id=1, host="h", shelf=1)


def test_misspelled_keyword_of_a_first_instance_is_suggested() -> None:
    class Shelf(Struct):
        """A class without instances."""

        books: int32
        height: int32 = 0

    made: Any = Shelf
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Shelf.__init__\(\) got an .* argument 'book'. Did you mean 'books'\?$"):
            made(book=1)
    with pytest.raises(TypeError, match=r"keyword argument 'unknown_tag'. Did you mean 'unknown_tags'\?$"):
        made(books=1, unknown_tag={})
    with pytest.raises(TypeError, match=r"keyword argument 'color'$"):
        made(color=1)
    assert made(books=1).height == 0


def test_defaults() -> None:
    cluster = Cluster(brokers=())
    assert (cluster.controller, cluster.grid, cluster.load, cluster.seal, cluster.alive) == (None, (), 0.5, b"", True)
    assert cluster.id == UUID(int=0)
    assert cluster.home == Broker(node_id=-1, host="")


def test_lists_become_tuples() -> None:
    lists: Any = {"brokers": [ONE], "grid": [[1], (2, 3), []]}
    cluster = Cluster(**lists)
    assert cluster.brokers == (ONE,)
    assert cluster.grid == ((1,), (2, 3), ())
    brokers = (ONE,)
    assert Cluster(brokers=brokers).brokers is brokers


def test_fields_can_be_named_like_builtins() -> None:
    made = NamedLikeBuiltins(type=1, int=2, str="3", bytes=b"4", self=5, cls=6)
    assert (made.type, made.int, made.str, made.bytes, made.self, made.cls, made.tuple) == (1, 2, "3", b"4", 5, 6, ())


def test_message_without_fields() -> None:
    assert Nothing() == Nothing()
    assert repr(Nothing()) == "Nothing()"
    assert Nothing(unknown_tags={1: b"a"}) != Nothing()
    assert kwire.encode(Nothing(), version=0) == b""
    assert kwire.decode(Nothing, b"\x01\x01\x01a", version=1) == Nothing(unknown_tags={1: b"a"})


class Number(IntEnum):
    ONE = 1


def test_values_of_subclasses_are_accepted() -> None:
    assert Broker(node_id=Number.ONE, host="h") == ONE


@for_rows(
    ("wrong", "kind", "path"),
    [
        ({"brokers": (), "alive": 1}, "wrong_type", ("alive",)),
        ({"brokers": (), "load": 1}, "wrong_type", ("load",)),
        ({"brokers": (), "id": "0" * 32}, "wrong_type", ("id",)),
        ({"brokers": (), "seal": bytearray()}, "wrong_type", ("seal",)),
        ({"brokers": (), "seal": None}, "null_not_allowed", ("seal",)),
        ({"brokers": (), "controller": 1}, "wrong_type", ("controller",)),
        ({"brokers": (), "home": None}, "null_not_allowed", ("home",)),
        ({"brokers": None}, "null_not_allowed", ("brokers",)),
        ({"brokers": "a string"}, "wrong_type", ("brokers",)),
        ({"brokers": {ONE}}, "wrong_type", ("brokers",)),
        ({"brokers": iter((ONE,))}, "wrong_type", ("brokers",)),
        ({"brokers": (ONE, ONE, 3)}, "wrong_type", ("brokers", 2)),
        ({"brokers": (None,)}, "null_not_allowed", ("brokers", 0)),
        ({"brokers": (), "grid": ((1,), (2, True))}, "wrong_type", ("grid", 1, 1)),
        ({"brokers": (), "unknown_tags": ()}, "wrong_type", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {1: "text"}}, "wrong_type", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {True: b""}}, "wrong_type", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {"1": b""}}, "wrong_type", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {1: b"", "1": b""}}, "wrong_type", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {-1: b""}}, "out_of_range", ("unknown_tags",)),
        ({"brokers": (), "unknown_tags": {1 << 32: b""}}, "out_of_range", ("unknown_tags",)),
    ],
)
def test_values_of_a_wrong_type_are_rejected_with_their_path(wrong: Any, kind: str, path: tuple[Any, ...]) -> None:
    with pytest.raises(EncodeError) as caught:
        Cluster(**wrong)
    assert (caught.value.kind, caught.value.path) == (kind, path)


@for_rows("value", [True, 1.0, "1", b"1"], ids=repr)
def test_int_field_rejects_other_types(value: Any) -> None:
    with pytest.raises(EncodeError, match=f"node_id: wrong_type: expected an int, found {type(value).__name__}"):
        Broker(node_id=value, host="h")


def test_encode_error_is_a_type_error_and_a_value_error() -> None:
    for expected in (TypeError, ValueError):
        with pytest.raises(expected):
            Broker(node_id="1", host="h")  # type: ignore[arg-type]  # that is the point


def test_out_of_range_numbers_are_rejected_by_encode() -> None:
    large = Broker(node_id=1 << 40, host="h")
    with pytest.raises(EncodeError, match="out_of_range"):
        kwire.encode(Cluster(brokers=(large,)), version=0)


# Immutability


def test_attributes_cannot_be_assigned_or_deleted() -> None:
    broker: Any = Broker(node_id=1, host="h")
    for name in ("node_id", "unknown_tags", "shelf"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(broker, name, 1)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(broker, name)
    assert broker == ONE


def test_instances_have_no_dict() -> None:
    assert not hasattr(ONE, "__dict__")


def test_class_keywords_cannot_be_changed() -> None:
    for name in ("api_key", "versions", "flexible"):
        with pytest.raises(AttributeError, match="is part of the declaration"):
            setattr(Cluster, name, 1)


def test_copy_returns_the_same_object() -> None:
    assert copy.copy(ONE) is ONE
    assert copy.deepcopy(ONE) is ONE


# Comparison


def test_equality_compares_values_and_class() -> None:
    assert Broker(node_id=1, host="h") == ONE
    assert hash(Broker(node_id=1, host="h")) == hash(ONE)
    assert Broker(node_id=2, host="h") != ONE
    assert Broker(node_id=1, host="h", unknown_tags={5: b""}) != ONE
    assert Racked(node_id=1, host="h") != ONE
    others: tuple[object, ...] = (1, None, "h", (1, "h", None))
    assert ONE not in others
    assert len({ONE, Broker(node_id=1, host="h"), Racked(node_id=1, host="h")}) == 2


class Shares(Struct):
    one: float64
    all: array[float64] = ()
    perhaps: maybe[float64] = None


def test_nan_compares_by_its_bits() -> None:
    quiet, other = float("nan"), another_nan()
    same = [Shares(one=nan, all=(nan,), perhaps=nan) for nan in (quiet, float("nan"))]
    assert same[0] == same[1]
    assert hash(same[0]) == hash(same[1])
    assert Shares(one=other) != Shares(one=quiet)
    assert Shares(one=1.0, all=(other,)) != Shares(one=1.0, all=(quiet,))


def another_nan() -> float:
    """Return a NaN with other bits than Python's."""
    from struct import unpack

    (nan,) = unpack(">d", bytes.fromhex("7ff8000000000001"))
    assert isinstance(nan, float)
    return nan


def test_repr_of_a_small_struct_can_be_evaluated() -> None:
    assert repr(ONE) == "Broker(node_id=1, host='h', rack=None)"
    tagged = Broker(node_id=1, host="h", unknown_tags={7: b"x"})
    assert repr(tagged) == "Broker(node_id=1, host='h', rack=None, unknown_tags={7: b'x'})"
    assert eval(repr(tagged), {"Broker": Broker}) == tagged  # it says so


def test_repr_of_a_large_message_is_short() -> None:
    cluster = Cluster(
        brokers=(ONE,) * 5000,
        grid=(tuple(range(100)), ()),
        seal=bytes(1000),
        unknown_tags=dict.fromkeys(range(99), b"x"),
    )
    assert repr(cluster) == (
        "Cluster(brokers=<5000 Broker>, controller=None, grid=(<100 int>, ()), "
        "id=UUID('00000000-0000-0000-0000-000000000000'), load=0.5, seal=<1000 bytes>, alive=True, "
        "home=Broker(node_id=-1, host='', rack=None), unknown_tags=<99 tags>)"
    )
    assert kwire.full_repr(cluster).count("Broker(node_id=1, host='h', rack=None)") == 5000
    assert eval(kwire.full_repr(cluster), {"Broker": Broker, "Cluster": Cluster, "UUID": UUID}) == cluster


def test_repr_cuts_long_strings() -> None:
    assert repr(Broker(node_id=1, host="h" * 1000)) == (
        f"Broker(node_id=1, host=<1000 characters: '{'h' * 120}'...>, rack=None)"
    )


class Tree(Message, api_key=901, versions="0"):
    branches: array[Branch]


class Branch(Struct):
    twigs: array[Twig]


class Twig(Struct):
    leaves: array[Broker]


def test_repr_of_deeply_nested_arrays_is_bounded() -> None:
    tree = Tree(branches=(Branch(twigs=(Twig(leaves=(ONE,) * 16),) * 16),) * 16)
    assert len(repr(tree)) < 5000
    assert "<Branch>" in repr(tree)
    assert len(kwire.full_repr(tree)) > 100_000


# Pickles and copies


@for_rows("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    cluster = Cluster(
        brokers=(ONE, Racked(node_id=2, host="i", shelf=3, unknown_tags={9: b"z"})),
        controller=ONE,
        load=float("nan"),
        unknown_tags={5: b"", 1: b"a"},
    )
    again = pickle.loads(pickle.dumps(cluster, protocol))
    assert again == cluster
    assert type(again.brokers[1]) is Racked
    assert again.unknown_tags == {1: b"a", 5: b""}


def redeclared(monkeypatch: pytest.MonkeyPatch, made: Any, **body: Any) -> Any:
    """Pickle an instance of `Pickled`, declare the class again with other fields, and load the pickle."""
    pickled = pickle.dumps(made)
    metaclass: Any = type(Struct)
    cls = metaclass("Pickled", (Struct,), {"__module__": __name__, "__qualname__": "Pickled", **body})
    monkeypatch.setattr(sys.modules[__name__], "Pickled", cls)
    return pickle.loads(pickled)


class Pickled(Struct):
    first: int32
    second: int32 = 2


PICKLED = Pickled(first=1, second=3, unknown_tags={9: b"z"})


def test_pickle_survives_another_order_of_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    again = redeclared(monkeypatch, PICKLED, __annotations__={"second": int32, "first": int32})
    assert (again.first, again.second, again.unknown_tags) == (1, 3, {9: b"z"})


def test_pickle_gives_new_fields_their_default(monkeypatch: pytest.MonkeyPatch) -> None:
    annotations = {"first": int32, "new": int32, "second": int32}
    again = redeclared(monkeypatch, PICKLED, __annotations__=annotations, new=7)
    assert (again.first, again.new, again.second, again.unknown_tags) == (1, 7, 3, {9: b"z"})


def test_pickle_without_a_required_field_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    annotations = {"first": int32, "second": int32, "new": int32}
    with pytest.raises(EncodeError) as caught:
        redeclared(monkeypatch, PICKLED, __annotations__=annotations)
    assert str(caught.value) == "new: wrong_type: Pickled requires this field, and the pickle does not have it"


@pytest.mark.parametrize("remaining", [{"first": int32}, {"first": int32, "third": int32}])
def test_pickle_with_an_unknown_field_is_rejected(monkeypatch: pytest.MonkeyPatch, remaining: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        redeclared(monkeypatch, PICKLED, __annotations__=remaining)
    assert caught.value.path == ("second",)
    assert "Pickled has no such field" in str(caught.value)


def test_pickle_with_a_value_of_another_type_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EncodeError, match="second: wrong_type: expected a str, found int"):
        redeclared(monkeypatch, PICKLED, __annotations__={"first": int32, "second": string})


def test_pickle_holds_the_names_once_for_each_class() -> None:
    pickled = pickle.dumps([Pickled(first=number) for number in range(100)])
    assert pickled.count(b"first") == pickled.count(b"second") == 1


def test_replace() -> None:
    from dataclasses import replace

    tagged = Broker(node_id=1, host="h", unknown_tags={7: b"x"})
    moved = replace(tagged, host="i")
    assert moved == Broker(node_id=1, host="i", unknown_tags={7: b"x"})
    assert replace(moved, unknown_tags={}) == Broker(node_id=1, host="i")
    with pytest.raises(EncodeError, match="host: wrong_type"):
        replace(ONE, host=1)  # type: ignore[arg-type]  # that is the point
    if sys.version_info >= (3, 13):
        assert copy.replace(ONE, node_id=2) == Broker(node_id=2, host="h")


def test_match_patterns() -> None:
    match Cluster(brokers=(ONE,), controller=Racked(node_id=2, host="i", shelf=3)):
        case Cluster(brokers=(Broker(host=host),), controller=Racked(shelf=shelf)):
            assert (host, shelf) == ("h", 3)
        case _:
            pytest.fail("it does not match")


def test_weak_references_need_a_class_keyword() -> None:
    here = Here(number=1)
    reference = weakref.ref(here)
    assert reference() is here
    del here
    assert reference() is None
    with pytest.raises(TypeError, match="cannot create weak reference"):
        weakref.ref(ONE)


def test_garbage_collector_frees_cycles_that_refer_to_structs() -> None:
    cluster = Cluster(brokers=(ONE,))
    keeper: list[Any] = [cluster]
    keeper.append(keeper)
    del keeper
    gc.collect()
    assert cluster.brokers == (ONE,)


# Subclasses


def test_subclass_adds_fields_and_methods() -> None:
    racked = Racked(node_id=1, host="h", rack="r", shelf=2)
    assert racked.place() == "r/2"
    assert isinstance(racked, Broker)
    assert repr(racked) == "Racked(node_id=1, host='h', rack='r', shelf=2)"
    with pytest.raises(EncodeError, match="shelf: wrong_type"):
        Racked(node_id=1, host="h", shelf="2")  # type: ignore[arg-type]  # that is the point


def test_subclass_instance_is_encoded_as_its_base() -> None:
    """The fields that the subclass adds are not encoded."""
    with_racked = Cluster(brokers=(Racked(node_id=1, host="h", shelf=2),))
    assert kwire.encode(with_racked, version=0) == kwire.encode(Cluster(brokers=(ONE,)), version=0)


def test_subclass_can_have_a_dict() -> None:
    noted: Any = Noted(node_id=1, host="h")
    object.__setattr__(noted, "note", "to be moved")
    assert noted.note == "to be moved"
    assert noted == Noted(node_id=1, host="h")


class TimedCluster(Cluster):
    """A message with a method and without class keywords."""

    def first(self) -> Broker:
        return self.brokers[0]


def test_decode_returns_the_given_subclass() -> None:
    body = kwire.encode(Cluster(brokers=(ONE,)), version=1)
    for decode in (kwire.decode, kwire.reference.decode):
        decoded = decode(TimedCluster, body, version=1)
        assert type(decoded) is TimedCluster
        assert decoded.first() == ONE
        assert kwire.encode(decoded, version=1) == body
    assert type(kwire.decode(Cluster, body, version=1)) is Cluster
