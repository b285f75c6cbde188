"""Engine and reference treat hostile values alike, and call no method of them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import pytest

import kwire
from kwire import reference
from kwire.declare import (
    Message,
    Struct,
    UnknownTags,
    array,
    field,
    float64,
    int32,
    maybe,
    nullable,
    string,
    uuid,
    zero,
)
from kwire.declare.introspect import fields
from tests.for_rows import for_rows
from tests.proof.forged import put
from tests.proof.hostile_values import CALLS, hostile_class, hostile_values
from tests.proof.outcomes import outcome


class Part(Struct):
    number: int32 = 0


class Everything(Message, versions="0-2", flexible="1+"):
    """Version 2 lacks some fields; their values are compared with the default."""

    number: int32 = field(until=1, default=0)
    load: float64 = field(until=1, default=1.5)
    alive: bool = field(until=1, default=False)
    name: string = field(until=1, default="text")
    seal: bytes = field(until=1, default=b"")
    id: uuid = field(until=1, default=zero)
    ids: array[int32] = field(until=1, default=())
    part: Part = field(until=1, default=zero)
    perhaps_name: nullable[string] = None
    perhaps_seal: nullable[bytes] = None
    names: array[string] = ()
    loads: array[float64] = ()
    grid: array[array[int32]] = ()
    parts: nullable[array[Part]] = None
    perhaps_part: nullable[Part] = field(default=None)
    maybe_part: maybe[Part] = None
    tagged_number: int32 = field(since=1, tag=0, default=7)
    tagged_name: string = field(since=1, tag=2, default="")
    tagged_id: uuid = field(since=1, tag=3, default=zero)
    tagged_ids: array[int32] = field(since=1, tag=4, default=())


NAMES = [*(f.name for f in fields(Everything)), "unknown_tags"]


@cache
def values() -> dict[str, Any]:
    part = hostile_class(Part)
    forged_part = object.__new__(part)
    slot: Any = Part.number
    slot.__set__(forged_part, 5)
    tags = hostile_class(object, UnknownTags)
    raw = UnknownTags()
    object.__setattr__(raw, "_raw", hostile_values()["bytes"])
    return hostile_values() | {
        "subclass of Part": forged_part,
        "claims to be a Part": hostile_class(object, Part)(),
        "claims to be UnknownTags": tags(),
        "UnknownTags with hostile bytes": raw,
        "exact tuple of claimed parts": (hostile_class(object, Part)(),),
    }


def encoded(codec: Any, name: str, value: Any, version: int) -> Any:
    message = Everything()
    put(message, name, value)
    CALLS.clear()
    found = outcome(codec.encode, message, version=version)
    assert not CALLS
    return found


@for_rows("value", list(values()))
@for_rows("version", [0, 1, 2])
def test_codecs_agree_on_hostile_values_and_call_no_method(value: str, version: int) -> None:
    for name in NAMES:
        by_engine = encoded(kwire, name, values()[value], version)
        assert encoded(reference, name, values()[value], version) == by_engine, name


@for_rows("codec", [kwire, reference])
@for_rows("cached", [False, True])
@for_rows("version", [True, False, 0.0, 1.0, "1", None, [1]], ids=repr)
def test_versions_that_are_not_ints_are_rejected(codec: Any, cached: bool, version: Any) -> None:
    class Fresh(Message, versions="0-1"):
        number: int32 = 0

    for known in (0, 1) if cached else ():
        codec.encode(Fresh(), version=known)
    for call in (
        partial(codec.encode, Fresh()),
        partial(codec.decode, Fresh, bytes(4)),
        partial(codec.validate, Fresh, bytes(4)),
    ):
        with pytest.raises(TypeError, match="version: expected an int"):
            call(version=version)


@for_rows("codec", [kwire, reference])
def test_encode_rejects_a_class(codec: Any) -> None:
    with pytest.raises(TypeError, match="message: expected an instance, found the class Everything"):
        codec.encode(Everything, version=7)


@for_rows("codec", [kwire, reference])
def test_objects_that_are_not_messages_are_rejected(codec: Any) -> None:
    class Foreign:
        pass

    for value in (5, None, Foreign(), Part()):
        with pytest.raises(kwire.DeclarationError, match="is not a message"):
            codec.encode(value, version=0)
    for cls in (int, Foreign, Part):
        with pytest.raises(kwire.DeclarationError, match="is not a message"):
            codec.decode(cls, b"", version=0)
    assert not any(name.startswith("__kwire") for name in vars(Foreign))
