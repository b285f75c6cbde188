"""Declarations in a module that does not import `annotations` from `__future__`, as this one.

Up to CPython 3.13 the annotations of a class body are evaluated when the class is created, from 3.14 on (PEP 649) when
they are asked for.
"""

import pickle
import sys
from contextlib import nullcontext
from dataclasses import fields as dataclass_fields
from inspect import signature
from typing import Any, ClassVar, get_type_hints

import pytest

import kwire
from kwire.declare import Message, Struct, array, field, int32, nullable, string
from kwire.declare.introspect import fields

LAZY = sys.version_info >= (3, 14)


class Part(Struct):
    limit: ClassVar[int] = 3
    number: int32
    name: nullable[string] = None


class Parts(Message, versions="0-1"):
    parts: array[Part]
    count: int32 = field(since=1, default=7)
    note: "string" = ""


class More(Parts, versions="0-1"):
    more: int32


MESSAGE = Parts(parts=(Part(number=1, name="a"), Part(number=2)))


def test_message_is_encoded_and_decoded() -> None:
    data = kwire.encode(MESSAGE, version=1)

    assert data == bytes.fromhex("00000002 00000001 0001 61 00000002 ffff 00000007 0000")
    assert kwire.decode(Parts, data, version=1) == MESSAGE
    assert kwire.reference.decode(Parts, data, version=1) == MESSAGE
    assert pickle.loads(pickle.dumps(MESSAGE)) == MESSAGE


def test_class_variable_is_not_a_field() -> None:
    assert Part.limit == 3
    assert [f.name for f in fields(Part)] == ["number", "name"]


def test_class_is_a_dataclass_with_evaluated_hints() -> None:
    assert [f.name for f in dataclass_fields(More)] == ["parts", "count", "note", "more"]
    assert list(signature(More).parameters) == ["parts", "count", "note", "more", "unknown_tags"]
    assert get_type_hints(Parts)["parts"] == tuple[Part, ...]


def test_types_of_a_function_are_found() -> None:
    alias = array[Part]

    class Local(Struct):
        parts: alias

    assert Local(parts=(Part(number=1),)).parts[0].name is None


class Early:
    """Holds a class that names one of those below."""

    declared: Any = None


with nullcontext() if LAZY else pytest.raises(NameError):

    class Whole(Struct):
        later: array[Later]  # noqa: F821  # defined below

    Early.declared = Whole


class Later(Struct):
    number: int32


def test_name_that_is_defined_later_is_found_where_python_allows_it() -> None:
    if LAZY:
        whole = Early.declared(later=(Later(number=1),))
        assert kwire.full_repr(whole).startswith("Whole(later=(Later(number=1)")
    else:
        assert Early.declared is None


def test_unknown_type_is_an_error_with_class_and_field() -> None:
    def declare() -> Any:
        class Wrong(Struct):
            number: Missing  # type: ignore[name-defined]  # noqa: F821  # the mistake that is tested

        return Wrong

    if LAZY:
        with pytest.raises(kwire.DeclarationError, match=r"Wrong\.number: cannot evaluate the type 'Missing'"):
            fields(declare())
    else:
        with pytest.raises(NameError, match="Missing"):
            declare()
