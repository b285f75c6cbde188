"""Every mistake in a declaration is told with its class and its field: early where that is cheap, else on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire import DeclarationError, KwireError, declare
from kwire.declare import Message, Request, Struct, field, zero
from kwire.declare.introspect import describe, fields
from kwire.declare.wire_types import array, float64, int8, int32, maybe, nullable, string, uint16, uuid

if TYPE_CHECKING:
    from collections.abc import Callable


class Point(Struct):
    x: declare.int32
    y: declare.int32


def blamed(mistake: Callable[[], Any]) -> tuple[str, str | None, str]:
    with pytest.raises(DeclarationError) as caught:
        mistake()
    error = caught.value
    assert isinstance(error, KwireError)
    assert str(error) == f"{error.declaration}{'.' if error.field else ''}{error.field or ''}: {error.reason}"
    return error.declaration, error.field, error.reason


# When the class is made.


def struct(**body: Any) -> Callable[[], Any]:
    """A class ``Wrong`` whose fields are ``name=(type,)`` or ``name=(type, default)``."""
    annotations = {name: entry[0] for name, entry in body.items()}
    defaults = {name: entry[1] for name, entry in body.items() if len(entry) > 1}
    namespace = {"__module__": __name__, "__annotations__": annotations, **defaults}
    metaclass: Any = type(Struct)
    return lambda: metaclass("Wrong", (Struct,), namespace)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"since": 1}, "since= needs a default="),
        ({"until": 1}, "until= needs a default="),
        ({"tag": 0}, "tag= needs a default="),
        ({"since": -1, "default": 0}, "versions start at 0"),
        ({"nullable_since": -1, "default": 0}, "versions start at 0"),
        ({"since": 3, "until": 2, "default": 0}, "until=2 is before since=3"),
        ({"tag": -1, "default": 0}, "tag=-1 is not an unsigned 32-bit number"),
        ({"tag": 1 << 32, "default": 0}, "tag=4294967296 is not"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], reason: str) -> None:
    declaration, name, said = blamed(struct(good=(int8,), bad=(int32, field(**options))))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in said


@pytest.mark.parametrize("name", ["unknown_tags", "_hidden"])
def test_names_that_structs_cannot_have(name: str) -> None:
    assert blamed(struct(**{name: (int32,)}))[:2] == ("Wrong", name)


@pytest.mark.parametrize("name", ["api_key", "versions", "flexible"])
def test_names_that_messages_cannot_have(name: str) -> None:
    metaclass: Any = type(Message)
    namespace = {"__module__": __name__, "__annotations__": {name: int32}}
    assert blamed(lambda: metaclass("Wrong", (Message,), namespace, versions="0"))[:2] == ("Wrong", name)
    assert fields(struct(**{name: (int32,)})())[0].name == name


def test_a_field_without_a_type() -> None:
    metaclass: Any = type(Struct)
    namespace = {"__module__": __name__, "host": field(default="")}
    assert blamed(lambda: metaclass("Wrong", (Struct,), namespace))[:2] == ("Wrong", "host")


def message(**keywords: Any) -> Callable[[], Any]:
    metaclass: Any = type(Message)
    return lambda: metaclass("Wrong", (Message,), {"__module__": __name__}, **keywords)


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        ({"api_key": 3}, "a message needs versions="),
        ({"versions": "3-0"}, "the lowest first"),
        ({"versions": "one"}, "'one' is not a range of versions"),
        ({"versions": "0-40000"}, "they go from 0 to 32767"),
        ({"versions": "0-3", "flexible": "4+"}, "flexible='4+' begins after versions='0-3' ends"),
        ({"versions": "0", "flexible": "-"}, "'-' is not a range of versions"),
        ({"versions": "0", "api_key": -1}, "api_key=-1 does not fit"),
        ({"versions": "0", "api_key": 1 << 15}, "api_key=32768 does not fit"),
    ],
)
def test_class_keywords_that_do_not_fit(keywords: dict[str, Any], reason: str) -> None:
    declaration, name, said = blamed(message(**keywords))
    assert (declaration, name) == ("Wrong", None)
    assert reason in said


def test_a_struct_has_no_versions() -> None:
    metaclass: Any = type(Struct)
    assert blamed(lambda: metaclass("Wrong", (Struct,), {"__module__": __name__}, versions="0"))[:2] == ("Wrong", None)


def test_a_base_that_declares_nothing_is_no_message() -> None:
    class Headless(Message):
        number: declare.int32

    assert blamed(lambda: describe(Headless))[:2] == ("Headless", None)


# When the class is first used.

WRONG_TYPES: list[tuple[str, Any, str]] = [
    ("int", int, "int is not a wire type: say int8 to int64"),
    ("str", str, "str is not a wire type: say string"),
    ("float", float, "float is not a wire type: say float64"),
    ("list", list, "list is not a wire type"),
    ("unknown", "int33", "the type 'int33' cannot be read"),
    ("bare array", array, "write array[int32]"),
    ("null for a number", nullable[int32], "the wire has no null for int32"),
    ("null for maybe", nullable[maybe[string]], "the wire has no null for MaybeType"),
    ("null deep inside", array[maybe[nullable[bool]]], "the wire has no null for bool"),
]


@pytest.mark.parametrize(("wire", "reason"), [row[1:] for row in WRONG_TYPES], ids=[row[0] for row in WRONG_TYPES])
def test_types_that_the_wire_does_not_have(wire: Any, reason: str) -> None:
    wrong = struct(good=(int8,), bad=(wire,))()
    declaration, name, said = blamed(lambda: fields(wrong))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in said


WRONG_OPTIONS: list[tuple[str, Any, Any, str]] = [
    ("tagged maybe", maybe[int32], field(tag=0, default=None), "a tagged field cannot be maybe"),
    ("tagged struct", Point, field(tag=0, default=zero), "a tagged struct must be nullable"),
    ("late null of a string", string, field(nullable_since=1), "nullable_since= is for nullable"),
]


@pytest.mark.parametrize(
    ("wire", "options", "reason"), [row[1:] for row in WRONG_OPTIONS], ids=[row[0] for row in WRONG_OPTIONS]
)
def test_options_that_do_not_go_with_the_type(wire: Any, options: Any, reason: str) -> None:
    wrong = struct(bad=(wire, options))()
    declaration, name, said = blamed(lambda: fields(wrong))
    assert (declaration, name) == ("Wrong", "bad")
    assert reason in said


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
]


@pytest.mark.parametrize(
    ("wire", "default"), [row[1:] for row in WRONG_DEFAULTS], ids=[row[0] for row in WRONG_DEFAULTS]
)
def test_defaults_of_another_type(wire: Any, default: Any) -> None:
    for written in (default, field(default=default)):
        wrong = struct(bad=(wire, written))()
        declaration, name, said = blamed(lambda wrong=wrong: fields(wrong))  # type: ignore[misc]  # bound early
        assert (declaration, name) == ("Wrong", "bad")
        assert said.startswith(f"default={default!r}: ")


class Ring(Struct):
    inner: declare.array[Ring]


class Hen(Struct):
    eggs: declare.array[Egg]


class Egg(Struct):
    hen: declare.nullable[Hen]


def test_structs_cannot_contain_themselves() -> None:
    assert blamed(lambda: fields(Ring)) == ("Ring", "inner", "structs cannot contain themselves: Ring -> Ring")
    assert blamed(lambda: fields(Hen)) == ("Egg", "hen", "structs cannot contain themselves: Hen -> Egg -> Hen")
    assert blamed(lambda: fields(Egg)) == ("Hen", "eggs", "structs cannot contain themselves: Egg -> Hen -> Egg")


def test_one_name_in_json_is_for_one_field_of_a_version() -> None:
    changed = struct(
        old=(int32, field(until=1, default=0, name="size")),
        new=(string, field(since=2, default="", name="size")),
    )
    assert [f.json_name for f in fields(changed())] == ["size", "size"]
    overlapping = struct(
        old=(int32, field(until=2, default=0, name="size")),
        new=(string, field(since=2, default="", name="size")),
    )
    assert blamed(lambda: fields(overlapping())) == (
        "Wrong",
        "new",
        "its name in JSON, size, is old's too in version 2",
    )


def test_a_mistake_is_told_again_and_again() -> None:
    """It is not remembered as a class without fields."""
    wrong = struct(bad=(int,))()
    for _ in range(2):
        assert blamed(lambda: fields(wrong))[:2] == ("Wrong", "bad")
        assert blamed(lambda: wrong(bad=1))[:2] == ("Wrong", "bad")


def test_a_request_may_name_its_response_before_that_exists() -> None:
    class Ask(Request["Answer"], api_key=900, versions="0-3", flexible="2+"):
        what: declare.string

    class Answer(Message, api_key=900, versions="0-3", flexible="2+"):
        that: declare.string

    assert describe(Ask).response == "Answer"
    assert describe(Ask).kind == "request"
