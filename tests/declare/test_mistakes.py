"""Mistakes in declarations raise DeclarationError with the class and the field."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire import DeclarationError, KwireError, declare, reference
from kwire.declare import Message, Request, Struct, field
from kwire.declare.introspect import describe, fields
from kwire.declare.representation import short_value
from kwire.declare.wire_types import array, float64, int8, int32, maybe, nullable, string, uint16, uuid
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable


class Point(Struct):
    x: declare.int32
    y: declare.int32


def declaration_error(mistake: Callable[[], Any]) -> tuple[str, str | None, str]:
    with pytest.raises(DeclarationError) as caught:
        mistake()
    error = caught.value
    assert isinstance(error, KwireError)
    assert str(error) == f"{error.declaration}{'.' if error.field else ''}{error.field or ''}: {error.reason}"
    return error.declaration, error.field, error.reason


# When the class is created


def struct(**body: Any) -> Callable[[], Any]:
    """Return a function that creates a class `Wrong` with fields `name=(type,)` or `name=(type, default)`."""
    annotations = {name: entry[0] for name, entry in body.items()}
    defaults = {name: entry[1] for name, entry in body.items() if len(entry) > 1}
    namespace = {"__module__": __name__, "__annotations__": annotations, **defaults}
    metaclass: Any = type(Struct)
    return lambda: metaclass("Wrong", (Struct,), namespace)


@for_rows(
    ("options", "reason"),
    [
        ({"since": 1}, "since= needs a default="),
        ({"until": 1}, "until= needs a default="),
        ({"tag": 0}, "tag= needs a default="),
        ({"since": -1, "default": 0}, "versions must not be negative"),
        ({"nullable_since": -1, "default": 0}, "versions must not be negative"),
        ({"since": 3, "until": 2, "default": 0}, "until=2 is before since=3"),
        ({"tag": -1, "default": 0}, "tag=-1 is not an unsigned 32-bit number"),
        ({"tag": 1 << 32, "default": 0}, "tag=4294967296 is not"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], reason: str) -> None:
    declaration, name, reason_given = declaration_error(struct(good=(int8,), bad=(int32, field(**options))))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in reason_given


@for_rows("name", ["unknown_tags", "_hidden"])
def test_reserved_field_names_are_rejected(name: str) -> None:
    assert declaration_error(struct(**{name: (int32,)}))[:2] == ("Wrong", name)


@for_rows("name", ["api_key", "versions", "flexible"])
def test_names_of_class_keywords_are_reserved_in_messages(name: str) -> None:
    metaclass: Any = type(Message)
    namespace = {"__module__": __name__, "__annotations__": {name: int32}}
    assert declaration_error(lambda: metaclass("Wrong", (Message,), namespace, versions="0"))[:2] == ("Wrong", name)
    assert fields(struct(**{name: (int32,)})())[0].name == name


def test_field_without_annotation_is_rejected() -> None:
    metaclass: Any = type(Struct)
    namespace = {"__module__": __name__, "host": field(default="")}
    assert declaration_error(lambda: metaclass("Wrong", (Struct,), namespace))[:2] == ("Wrong", "host")


def message(**keywords: Any) -> Callable[[], Any]:
    metaclass: Any = type(Message)
    return lambda: metaclass("Wrong", (Message,), {"__module__": __name__}, **keywords)


@for_rows(
    ("keywords", "reason"),
    [
        ({"api_key": 3}, "a message needs versions="),
        ({"versions": "3-0"}, "expected ascending versions from 0 to 32767"),
        ({"versions": "one"}, "'one' is not a version range"),
        ({"versions": "0-40000"}, "expected ascending versions from 0 to 32767"),
        ({"versions": "0-3", "flexible": "4+"}, "flexible='4+' begins after versions='0-3' ends"),
        ({"versions": "0", "flexible": "-"}, "'-' is not a version range"),
        ({"versions": "0", "api_key": -1}, "api_key=-1 does not fit"),
        ({"versions": "0", "api_key": 1 << 15}, "api_key=32768 does not fit"),
    ],
)
def test_invalid_class_keywords_are_rejected(keywords: dict[str, Any], reason: str) -> None:
    declaration, name, reason_given = declaration_error(message(**keywords))
    assert (declaration, name) == ("Wrong", None)
    assert reason in reason_given


def test_struct_with_versions_is_rejected() -> None:
    metaclass: Any = type(Struct)
    assert declaration_error(lambda: metaclass("Wrong", (Struct,), {"__module__": __name__}, versions="0"))[:2] == (
        "Wrong",
        None,
    )


def test_describe_rejects_a_message_without_versions() -> None:
    class Headless(Message):
        number: declare.int32

    assert declaration_error(lambda: describe(Headless))[:2] == ("Headless", None)


# When the class is first used

WRONG_TYPES: list[tuple[str, Any, str]] = [
    ("int", int, "int is not a wire type: use int8 to int64"),
    ("str", str, "str is not a wire type: use string"),
    ("float", float, "float is not a wire type: use float64"),
    ("list", list, "list is not a wire type"),
    ("unknown", "int33", "cannot evaluate the type 'int33'"),
    ("bare array", array, "array needs an element type, for example array[int32]"),
    ("null for a number", nullable[int32], "int32 cannot be null"),
    ("null for maybe", nullable[maybe[string]], "MaybeType(StringType()) cannot be null"),
    ("null deep inside", array[maybe[nullable[bool]]], "bool cannot be null"),
]


@for_rows(("wire", "reason"), [row[1:] for row in WRONG_TYPES], ids=[row[0] for row in WRONG_TYPES])
def test_types_without_wire_format_are_rejected(wire: Any, reason: str) -> None:
    wrong = struct(good=(int8,), bad=(wire,))()
    declaration, name, reason_given = declaration_error(lambda: fields(wrong))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in reason_given


WRONG_OPTIONS: list[tuple[str, Any, Any, str]] = [
    ("tagged maybe", maybe[int32], field(tag=0, default=None), "a tagged field cannot be maybe[...] with default=None"),
    ("tagged struct", Point, field(tag=0, default=Point(x=1, y=0)), "a tagged struct must have default=zero"),
    ("late null of a string", string, field(nullable_since=1), "nullable_since= is for nullable"),
]


@for_rows(("wire", "options", "reason"), [row[1:] for row in WRONG_OPTIONS], ids=[row[0] for row in WRONG_OPTIONS])
def test_options_that_do_not_fit_the_type_are_rejected(wire: Any, options: Any, reason: str) -> None:
    wrong = struct(bad=(wire, options))()
    declaration, name, reason_given = declaration_error(lambda: fields(wrong))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in reason_given


WRONG_DEFAULTS: list[tuple[str, Any, Any]] = [
    ("text for a number", int32, "0"),
    ("bool for a number", int32, False),
    ("float for a number", int32, 0.0),
    ("too large", int8, 128),
    ("negative", uint16, -1),
    ("null for a number", int32, None),
    ("number for a bool", bool, 0),
    ("number for a double", float64, 0),
    ("text for a uuid", uuid, "00000000-0000-0000-0000-000000000000"),
    ("bytes for a string", string, b""),
    ("null for a string", string, None),
    ("text for bytes", bytes, ""),
    ("an array that is not empty", array[int32], (1,)),
    ("null for an array", array[int32], None),
    ("another struct", Point, 0),
    ("a value of a nullable's wrong type", nullable[string], 0),
    ("a value for maybe", maybe[int32], 0),
    ("a lone surrogate", string, "\ud800"),
    ("a string that is too long", nullable[string], "\N{SNOWMAN}" * 10_923),
    ("a NaN that plans cannot express", float64, -float("nan")),
]


@for_rows(("wire", "default"), [row[1:] for row in WRONG_DEFAULTS], ids=[row[0] for row in WRONG_DEFAULTS])
def test_defaults_of_a_wrong_type_are_rejected(wire: Any, default: Any) -> None:
    for written in (default, field(default=default)):
        wrong = struct(bad=(wire, written))()
        declaration, name, reason_given = declaration_error(partial(fields, wrong))
        assert (declaration, name) == ("Wrong", "bad")
        assert reason_given.startswith(f"default={short_value(default)}: ")


class Ring(Struct):
    inner: declare.array[Ring]


class Hen(Struct):
    eggs: declare.array[Egg]


class Egg(Struct):
    hen: declare.nullable[Hen]


def test_structs_cannot_contain_themselves() -> None:
    assert declaration_error(lambda: fields(Ring)) == (
        "Ring",
        "inner",
        "structs cannot contain themselves: Ring -> Ring",
    )
    assert declaration_error(lambda: fields(Hen)) == (
        "Egg",
        "hen",
        "structs cannot contain themselves: Hen -> Egg -> Hen",
    )
    assert declaration_error(lambda: fields(Egg)) == (
        "Hen",
        "eggs",
        "structs cannot contain themselves: Egg -> Hen -> Egg",
    )


def test_fields_of_one_version_cannot_share_a_json_name() -> None:
    changed = struct(
        old=(int32, field(until=1, default=0, name="size")),
        new=(string, field(since=2, default="", name="size")),
    )
    assert [f.json_name for f in fields(changed())] == ["size", "size"]
    overlapping = struct(
        old=(int32, field(until=2, default=0, name="size")),
        new=(string, field(since=2, default="", name="size")),
    )
    assert declaration_error(lambda: fields(overlapping())) == (
        "Wrong",
        "new",
        "old has the same JSON name size in version 2",
    )


def test_every_use_of_a_wrong_declaration_raises() -> None:
    wrong = struct(bad=(int,))()
    for _ in range(2):
        assert declaration_error(lambda: fields(wrong))[:2] == ("Wrong", "bad")
        assert declaration_error(lambda: wrong(bad=1))[:2] == ("Wrong", "bad")


def test_request_can_name_a_response_that_is_declared_later() -> None:
    class FirstRequest(Request["LaterResponse"], api_key=900, versions="0-3", flexible="2+"):
        what: declare.string

    class LaterResponse(Message, api_key=900, versions="0-3", flexible="2+"):
        that: declare.string

    assert describe(FirstRequest).response == "LaterResponse"
    assert describe(FirstRequest).kind == "request"


METACLASS: Any = type(Struct)


def nested_arrays(depth: int) -> Any:
    wire: Any = int32
    for _ in range(depth):
        wire = array[wire]
    return wire


def nested_structs(depth: int) -> Any:
    inner: Any = int32
    for _ in range(depth):
        inner = METACLASS("Nested", (Struct,), {"__module__": __name__, "__annotations__": {"inner": inner}})
    return inner


def nested_message(wire: Any) -> Any:
    body = {"__module__": __name__, "__annotations__": {"value": wire}}
    return METACLASS("Deep", (Message,), body, versions="0")


@for_rows("wire", [nested_arrays(62), nested_structs(31), array[maybe[nested_structs(30)]]])
def test_types_can_be_nested_64_deep(wire: Any) -> None:
    deep = nested_message(wire)
    for codec in (kwire, reference):
        with pytest.raises(kwire.DecodeError):
            codec.decode(deep, b"", version=0)


@for_rows(
    ("wire", "where"),
    [
        (nested_arrays(63), "Deep.value"),
        (nested_arrays(100_000), "Deep.value"),
        (nullable[nested_arrays(63)], "Deep.value"),
        (maybe[nested_arrays(62)], "Deep.value"),
        (nested_structs(32), "Nested.inner"),
        (nested_structs(3_000), "Nested.inner"),
        (array[maybe[nested_structs(31)]], "Nested.inner"),
    ],
    ids=["arrays", "many arrays", "nullable", "maybe", "structs", "many structs", "mixed"],
)
@for_rows("codec", [kwire, reference])
def test_types_nested_deeper_are_rejected(codec: Any, wire: Any, where: str) -> None:
    with pytest.raises(kwire.DeclarationError) as caught:
        codec.decode(nested_message(wire), b"", version=0)
    assert str(caught.value) == f"{where}: types are nested more than 64 deep"
