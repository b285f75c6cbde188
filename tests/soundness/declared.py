"""Declarations for the soundness tests, with every kind of value a slot can hold."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from kwire.declare import Message, Struct, array, field, float64, int32, maybe, nullable, string, uuid, zero

Kind = TypeVar("Kind")


class Leaf(Struct):
    number: int32 = 0
    load: float64 = field(default=0.0)
    inner: nullable[Leaf2] = field(default=None)


class Leaf2(Struct):
    text: string = ""


class Referable(Struct, weakref=True):
    number: int32 = 0


class Tree(Message, versions="0-1", flexible="1+"):
    leaves: array[Leaf] = ()
    name: nullable[string] = None
    grid: array[array[int32]] = ()
    numbers: array[float64] = ()
    id: uuid = zero
    seal: bytes = b""
    alive: bool = True
    home: Leaf = field(default=zero)
    perhaps: maybe[Leaf] = None


class Small(Message, versions="0"):
    number: int32 = 0
    name: string = ""
    leaves: array[Leaf2] = ()


class Identified(Message, versions="0"):
    id: uuid = zero


class Aged(Struct):
    """`old` is absent in version 1: encoding compares it with its default."""

    old: int32 = field(until=0, default=0)
    present: int32 = 0


class Ages(Message, versions="0-1"):
    items: array[Aged] = ()


def full_tree() -> Tree:
    """An instance where every field differs from its default."""
    return Tree(
        leaves=tuple([Leaf(number=n, load=n / 2, inner=Leaf2(text="é" * n)) for n in range(3)]),
        name="name",
        grid=((1, 2), (), (3,)),
        numbers=(0.0, 1.5),
        id=UUID(int=7),
        seal=b"seal",
        alive=False,
        home=Leaf(number=9),
        perhaps=Leaf(number=8),
        unknown_tags={3: b"three", 900: b""},
    )


def replaced(instance: Kind, **changes: Any) -> Kind:
    """`copy.replace` of Python 3.13, for older versions."""
    untyped: Any = instance
    made: Kind = untyped.__replace__(**changes)
    return made
