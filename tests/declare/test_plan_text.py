"""Plan texts: golden plans of messages, and each part of the grammar."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
import kwire.declare
from kwire import DeclarationError, codec, messages
from kwire.declare import Message, Struct, array, field, int8, int32, zero
from tests.for_rows import for_rows
from tests.proof.material import DATA

# A line with a dialect is followed by plans of its messages.
GOLDEN = (DATA / "plans-golden.txt").read_text(encoding="utf-8").splitlines()


def golden() -> list[Any]:
    found, dialect = [], ""
    for line in GOLDEN:
        if line.startswith("# "):
            dialect = line.removeprefix("# ")
        else:
            name, version, _ = line.split(" ", 2)
            found.append(
                pytest.param(dialect, name, int(version.removeprefix("v")), line, id=f"{dialect} {name} {version}")
            )
    return found


@for_rows(("dialect", "name", "version", "text"), golden())
def test_golden(dialect: str, name: str, version: int, text: str) -> None:
    assert kwire.plan(messages.find(dialect, name=name), version=version) == text


@for_rows("cls", messages.every(), ids=lambda cls: f"{cls.__module__.removeprefix('kwire.messages.')}.{cls.__name__}")
def test_engine_round_trips_every_plan(cls: type[Message]) -> None:
    for version in cls.versions:
        assert codec._engine_plan(cls, version).text == kwire.plan(cls, version=version)


# The parts of declarations


wire: Any = kwire.declare
"""The wire types as values; type checkers only know them as types."""


class Inner(Struct):
    x: int8


def text_of(annotation: Any, version: int = 1, **options: Any) -> str:
    """Return the plan of a message with one field `f`, where only version 1 is flexible."""
    namespace: dict[str, Any] = {"__module__": __name__, "__annotations__": {"f": annotation}}
    if options:
        namespace["f"] = field(**options)
    metaclass: Any = type(Message)
    cls = metaclass("M", (Message,), namespace, versions="0-1", flexible="1+")
    return kwire.plan(cls, version=version).removeprefix(f"M v{version} ")


@for_rows(
    ("annotation", "classic", "flexible"),
    [
        (bool, "{f:bool}", "<f:bool>"),
        (wire.int8, "{f:int8}", "<f:int8>"),
        (wire.int16, "{f:int16}", "<f:int16>"),
        (wire.int32, "{f:int32}", "<f:int32>"),
        (wire.int64, "{f:int64}", "<f:int64>"),
        (wire.uint16, "{f:uint16}", "<f:uint16>"),
        (wire.uint32, "{f:uint32}", "<f:uint32>"),
        (wire.float64, "{f:float64}", "<f:float64>"),
        (wire.uuid, "{f:uuid}", "<f:uuid>"),
        (wire.string, "{f:string}", "<f:compact_string>"),
        (bytes, "{f:bytes}", "<f:compact_bytes>"),
        (wire.array[wire.int32], "{f:[int32]}", "<f:compact[int32]>"),
        (wire.array[wire.array[wire.string]], "{f:[[string]]}", "<f:compact[compact[compact_string]]>"),
        (wire.array[wire.nullable[wire.string]], "{f:[string?]}", "<f:compact[compact_string?]>"),
        (wire.nullable[wire.string], "{f:string?}", "<f:compact_string?>"),
        (wire.nullable[bytes], "{f:bytes?}", "<f:compact_bytes?>"),
        (wire.nullable[wire.array[wire.int8]], "{f:[int8]?}", "<f:compact[int8]?>"),
        (Inner, "{f:{x:int8}}", "<f:<x:int8>>"),
        (wire.nullable[Inner], "{f:{x:int8}?}", "<f:<x:int8>?>"),
        (wire.array[Inner], "{f:[{x:int8}]}", "<f:compact[<x:int8>]>"),
        (wire.maybe[wire.string], "{f:maybe(string)}", "<f:maybe(compact_string)>"),
        (wire.maybe[Inner], "{f:maybe({x:int8})}", "<f:maybe(<x:int8>)>"),
    ],
)
def test_types(annotation: Any, classic: str, flexible: str) -> None:
    assert (text_of(annotation, 0), text_of(annotation, 1)) == (classic, flexible)


@for_rows(
    ("annotation", "options", "text"),
    [
        (wire.string, {"compact": False}, "<f:string>"),
        (wire.nullable[wire.string], {"nullable_since": 2, "default": ""}, "<f:compact_string>"),
        (wire.nullable[wire.string], {"nullable_since": 1, "default": ""}, "<f:compact_string?>"),
        (wire.int32, {"since": 1, "default": 7}, "<f:int32>"),
        (wire.int32, {"until": 0, "default": 7}, "<-f=7>"),
        (wire.int32, {"until": 0, "default": 7, "ignorable": True}, "<~f=7>"),
        (wire.int32, {"since": 1, "tag": 3, "default": -1}, "<f#3:int32=-1>"),
        (wire.nullable[Inner], {"since": 1, "tag": 0xFFFF_FFFF, "default": None}, "<f#4294967295:<x:int8>?=null>"),
        (wire.array[Inner], {"since": 1, "tag": 0, "default": zero}, "<f#0:compact[<x:int8>]=[]>"),
    ],
)
def test_options(annotation: Any, options: dict[str, Any], text: str) -> None:
    assert text_of(annotation, **options) == text


@for_rows(
    ("annotation", "default", "text"),
    [
        (bool, True, "true"),
        (wire.int64, -(2**63), "-9223372036854775808"),
        (wire.float64, -0.0, "-0.0"),
        (wire.float64, 1e300, "1e300"),
        (wire.float64, float("inf"), "inf"),
        (wire.float64, float("nan"), "nan"),
        (wire.string, 'say "\N{SNOWMAN}"\n', r'"say \"\u2603\"\n"'),
        (wire.string, "\N{GRINNING FACE}", r'"\ud83d\ude00"'),
        (bytes, b"\x00\xff", 'x"00ff"'),
        (wire.uuid, zero, 'u"00000000-0000-0000-0000-000000000000"'),
        (wire.nullable[wire.string], None, "null"),
        (wire.array[wire.int8], zero, "[]"),
        (Inner, zero, "{}"),
    ],
)
def test_defaults(annotation: Any, default: Any, text: str) -> None:
    assert text_of(annotation, until=0, default=default) == f"<-f={text}>"


def test_order_is_plain_then_tagged_then_absent_fields() -> None:
    """The order of the class does not matter: classes are listed in the order of the text."""

    class First(Struct):
        x: int8

    class Second(Struct):
        y: int8

    class Ordered(Message, versions="0-1", flexible="0+"):
        gone: int8 = field(since=1, default=0)
        second: array[Second] = field(since=0, tag=1, default=zero)
        first: array[First] = field(since=0, tag=0, default=zero)
        plain: int8

    plan = "<plain:int8 first#0:compact[<x:int8>]=[] second#1:compact[<y:int8>]=[] -gone=0>"
    assert kwire.plan(Ordered, version=0) == f"Ordered v0 {plan}"
    ordered = Ordered(plain=1, first=(First(x=2),), second=(Second(y=3),))
    assert kwire.decode(Ordered, kwire.encode(ordered, version=0), version=0) == ordered


# Declarations that the wire format cannot express raise an error with class and field


def test_arrays_of_empty_elements_are_rejected() -> None:
    class Empty(Struct):
        gone: int32 = field(until=0, default=0)

    class Holder(Message, versions="0-1"):
        items: array[Empty]

    assert kwire.plan(Holder, version=0) == "Holder v0 {items:[{gone:int32}]}"
    with pytest.raises(DeclarationError, match=r"Holder\.items: its elements are empty in version 1") as caught:
        kwire.plan(Holder, version=1)
    assert (caught.value.declaration, caught.value.field) == ("Holder", "items")


def test_tag_in_an_inflexible_version_is_rejected() -> None:
    class Early(Message, versions="0-1", flexible="1+"):
        tagged: int32 = field(tag=0, since=0, default=0)

    assert kwire.plan(Early, version=1) == "Early v1 <tagged#0:int32=0>"
    with pytest.raises(DeclarationError, match=r"Early\.tagged: version 0 is not flexible"):
        kwire.plan(Early, version=0)


def test_duplicate_tag_is_rejected() -> None:
    class Twice(Message, versions="0", flexible="0+"):
        one: int32 = field(tag=4, since=0, default=0)
        two: int32 = field(tag=4, since=0, default=0)

    with pytest.raises(DeclarationError, match=r"Twice\.two: tag 4 is already used by one"):
        kwire.plan(Twice, version=0)


def test_undeclared_version_is_rejected() -> None:
    cls = messages.find("kafka", name="MetadataResponse")
    with pytest.raises(kwire.UnsupportedVersion, match="version 99 is not supported"):
        kwire.plan(cls, version=99)
