"""Columns equal decoded objects, for Kafka's bodies, damaged bodies, and random messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import encode
from kwire.declare import Message, int32
from kwire.testing import strategies
from tests.columnar.expected import array_paths, assert_columns_are_right
from tests.for_rows import for_rows
from tests.proof.material import message_class, mutants, vectors
from tests.proof.test_differential import damaged
from tests.random_declarations import message_classes, versions

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


def by_version(bodies: list[Any]) -> dict[int, list[bytes]]:
    found: dict[int, list[bytes]] = {}
    for body in bodies:
        found.setdefault(body.version, []).append(body.body)
    return found


@for_rows("message", sorted(vectors()))
def test_columns_of_kafkas_bodies_equal_decoded_objects(message: str) -> None:
    """Use every array of the message as rows, with all bodies of a version in one batch."""
    cls = message_class(message)
    for version, bodies in by_version(vectors()[message]).items():
        for rows in ("", *array_paths(cls)):
            assert_columns_are_right(cls, bodies, version, rows)


@for_rows("message", sorted({mutant.message for mutant in mutants()}))
def test_damaged_bodies_become_error_rows(message: str) -> None:
    cls = message_class(message)
    good = by_version(vectors()[message])
    damaged = by_version([mutant for mutant in mutants() if mutant.message == message])
    for version, bodies in damaged.items():
        mixed = [item for body in bodies for item in (body, *good.get(version, [])[:1])]
        for rows in ("", *array_paths(cls)):
            assert_columns_are_right(cls, mixed, version, rows)


@st.composite
def cases(draw: DrawFn) -> tuple[Any, int, str, list[bytes | None]]:
    """Generate a class, a version, rows, and frames: valid, damaged, random, or None."""
    cls = draw(message_classes())
    version = draw(versions)
    rows = draw(st.sampled_from(["", *array_paths(cls)]))
    bodies = strategies.messages(cls, version=version).map(lambda message: encode(message, version=version))
    frame = st.one_of(bodies, bodies, bodies.flatmap(damaged), st.binary(max_size=30), st.none())
    return cls, version, rows, draw(st.lists(frame, max_size=8))


@given(cases())
def test_columns_of_random_messages_equal_decoded_objects(case: tuple[Any, int, str, list[bytes | None]]) -> None:
    cls, version, rows, frames = case
    assert_columns_are_right(cls, frames, version, rows)


def test_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fresh(Message, versions="0"):
        number: int32 = 0

    monkeypatch.setitem(sys.modules, "kwire._kwire", None)
    with pytest.raises(ImportError, match=r"kwire\.columns needs the compiled module kwire\._kwire") as caught:
        kwire.columns(Fresh, [], version=0, rows="")
    assert caught.value.name == "kwire._kwire"
