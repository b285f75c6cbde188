"""Views equal decoded messages, and have the errors of `decode`, with and without the engine."""

from __future__ import annotations

import pickle
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire import codec, reference
from kwire.declare.introspect import fields
from kwire.testing import strategies
from kwire.views import ArrayView, DecodedMessage, Opener
from tests.for_rows import for_rows
from tests.proof.material import message_class, mutants, vectors
from tests.proof.outcomes import outcome
from tests.proof.view_checks import check_view
from tests.random_declarations import message_classes, versions

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn


def decoded_view(cls: Any, data: bytes, *, version: int) -> Any:
    """Return the view of a program without the engine."""
    return Opener(cls, version, partial(DecodedMessage, cls, version)).open(data)


OPENERS = [kwire.view, decoded_view]

both_views = pytest.mark.parametrize("open_view", OPENERS, ids=["engine", "without engine"])


@both_views
@for_rows("message", sorted(vectors()))
def test_views_of_vectors_equal_messages(open_view: Any, message: str) -> None:
    cls = message_class(message)
    for vector in vectors()[message]:
        view = open_view(cls, vector.body, version=vector.version)
        check_view(view, kwire.decode(cls, vector.body, version=vector.version), vector.body, vector.version)


@both_views
def test_views_of_damaged_bodies_raise_the_errors_of_decode(open_view: Any) -> None:
    for mutant in mutants():
        cls = message_class(mutant.message)
        expected = outcome(kwire.decode, cls, mutant.body, version=mutant.version)
        assert outcome(open_view, cls, mutant.body, version=mutant.version) == expected, mutant.name


@for_rows("message", sorted(vectors()))
def test_views_of_every_prefix_raise_the_errors_of_decode(message: str) -> None:
    cls = message_class(message)
    vector = max(
        (candidate for candidate in vectors()[message] if len(candidate.body) < 1_000),
        key=lambda candidate: len(candidate.body),
    )
    for length in range(len(vector.body)):
        body = vector.body[:length]
        expected = outcome(kwire.decode, cls, body, version=vector.version)
        assert expected.fault is not None
        assert outcome(kwire.view, cls, body, version=vector.version) == expected


@st.composite
def bodies(draw: DrawFn) -> tuple[Any, int, bytes]:
    """Generate a class, a version, and a body, usually a valid one."""
    cls = draw(message_classes())
    version = draw(versions)
    body = bytearray(codec.encode(draw(strategies.messages(cls, version=version)), version=version))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=4))
    return cls, version, bytes(body)


@both_views
@given(bodies())
def test_views_agree_with_decode(open_view: Any, case: tuple[Any, int, bytes]) -> None:
    cls, version, body = case
    expected = outcome(reference.decode, cls, body, version=version)
    found = outcome(open_view, cls, body, version=version)
    assert found == expected
    if expected.fault is None:
        check_view(open_view(cls, body, version=version), expected.value, body, version)


@given(bodies())
def test_find_returns_the_same_element_of_view_and_message(case: tuple[Any, int, bytes]) -> None:
    cls, version, body = case
    expected = outcome(reference.decode, cls, body, version=version)
    if expected.fault is not None:
        return
    message = expected.value
    view = kwire.view(cls, body, version=version)
    for f in fields(cls):
        elements = getattr(message, f.name)
        if not isinstance(getattr(view, f.name), ArrayView):
            continue
        for element in elements[:4]:
            for part in fields(type(element)):
                values = {part.name: getattr(element, part.name)}
                assert kwire.find(getattr(view, f.name), **values) == kwire.find(elements, **values)
            values = {part.name: getattr(element, part.name) for part in fields(type(element))}
            assert kwire.find(getattr(view, f.name), **values) == element


def test_pickles_of_views_are_messages() -> None:
    for message in sorted(vectors()):
        cls = message_class(message)
        for vector in vectors()[message]:
            loaded = pickle.loads(pickle.dumps(kwire.view(cls, vector.body, version=vector.version)))
            assert type(loaded) is cls
            assert loaded == kwire.decode(cls, vector.body, version=vector.version), vector.name
