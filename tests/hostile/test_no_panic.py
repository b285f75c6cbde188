"""The engine does not panic, whatever its input.

A panic would raise `pyo3_runtime.PanicException`, which does not derive from `Exception` and is not caught by any
handler here. An abort would end the test run.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import kwire
from kwire import messages
from kwire._kwire import Plan
from kwire.declare import Message, Struct, array, int8, string
from tests.for_rows import for_rows
from tests.proof.material import message_class, vectors
from tests.proof.outcomes import outcome

SUBJECTS = [(cls, version) for cls in messages.every() for version in cls.versions]
INTERESTING = [
    b"\xff" * 4,
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff",
    b"\0",
    b"\1",
    b"\x80",
]


def attempt(cls: Any, body: bytes, version: int) -> None:
    """Assert that the engine decodes a value that it can encode, or raises the error of `validate`."""
    decoded = outcome(kwire.decode, cls, body, version=version)
    assert outcome(kwire.validate, cls, body, version=version).fault == decoded.fault
    if decoded.fault is None:
        written = kwire.encode(decoded.value, version=version)
        assert kwire.decode(cls, written, version=version) == decoded.value


def test_random_bytes_do_not_panic() -> None:
    random = Random(20_151_121)
    for cls, version in SUBJECTS:
        for _ in range(50):
            attempt(cls, random.randbytes(random.randrange(60)), version)


def test_random_damage_does_not_panic() -> None:
    random = Random(20_161_121)
    for name, found in sorted(vectors().items()):
        for vector in random.sample(found, min(10, len(found))):
            for _ in range(10):
                body = bytearray(vector.body[:2_000])
                for _ in range(random.randint(1, 3)):
                    at = random.randrange(len(body) + 1)
                    body[at : at + random.randrange(5)] = random.choice(INTERESTING)
                attempt(message_class(name), bytes(body), vector.version)


def test_random_plans_do_not_panic() -> None:
    """A plan text with a few changed characters is a plan or raises a ValueError with a position."""
    random = Random(20_171_121)
    characters = [
        *'{}<>[]()?:#=-~"\\ \n',
        "a",
        "0",
        "9" * 40,
        "\N{SNOWMAN}",
        "\N{GRINNING FACE}",
        "\ud800",
        "\0",
        "compact[",
    ]
    for cls, version in SUBJECTS:
        text = kwire.plan(cls, version=version)
        for _ in range(20):
            changed = text
            for _ in range(random.randint(1, 3)):
                at = random.randrange(len(changed))
                changed = changed[:at] + random.choice(characters) + changed[at + random.randrange(3) :]
            with pytest.raises(ValueError, match=r"plan|surrogates"):
                Plan(changed, [])


class Named(Struct):
    x: int8
    name: string


class Holder(Message, versions="0"):
    items: array[Named]


TEXT = "Holder v0 {items:[{x:int8 name:string}]}"
RIGHT: list[Any] = [(Holder, {}), (Named, {})]


def test_plan_accepts_the_right_classes() -> None:
    assert Plan(TEXT, RIGHT).decode(b"\0\0\0\1\7\0\1n") == Holder(items=(Named(x=7, name="n"),))


@for_rows(
    "structs",
    [
        [],
        [(Holder, {})],
        [*RIGHT, (Named, {})],
        [(Named, {}), (Holder, {})],
        [(Holder, {}), (Struct, {})],
        [(Holder, {}), (int, {})],
        [(Holder, {}), (object, {})],
        [(Holder, {}), (7, {})],
        [(Holder, {}), (Named, None)],
        [Holder, Named],
        None,
    ],
    ids=repr,
)
def test_plan_rejects_wrong_classes(structs: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        Plan(TEXT, structs)


def test_plan_rejects_a_missing_default() -> None:
    with pytest.raises(KeyError, match="gone"):
        Plan("Holder v0 {-gone=0}", [(Holder, {})])


def kind(value: object) -> str:
    return type(value).__name__


@for_rows("data", [None, 7, "text", [1], object(), memoryview(b"abcd")[::2]], ids=kind)
def test_decode_rejects_other_inputs(data: Any) -> None:
    plan = Plan(TEXT, RIGHT)
    for call in (plan.decode, plan.validate):
        with pytest.raises((TypeError, kwire.DecodeError)):
            call(data)


@for_rows("message", [None, 7, "text", (), object(), Holder, Named(x=1, name="")], ids=kind)
def test_encode_rejects_other_objects(message: Any) -> None:
    with pytest.raises(kwire.EncodeError):
        Plan(TEXT, RIGHT).encode(message)
