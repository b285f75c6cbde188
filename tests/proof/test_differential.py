"""Engine and reference agree on random declarations, values, versions, and damaged bytes.

The declarations are random because the codecs must agree on every declaration, not only on the messages of kwire.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire import codec as engine
from kwire import reference
from kwire.declare.introspect import fields
from kwire.testing import strategies
from tests.proof.forged import forged
from tests.proof.outcomes import outcome
from tests.random_declarations import message_classes, versions

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

more = settings(max_examples=3 * settings().max_examples)
"""The settings for the largest search spaces."""


@st.composite
def cases(draw: DrawFn) -> tuple[Any, int, Any]:
    """Generate a class, a version, and an instance that the version supports."""
    cls = draw(message_classes())
    version = draw(versions)
    return cls, version, draw(strategies.messages(cls, version=version))


@st.composite
def damaged(draw: DrawFn, body: bytes) -> bytes:
    """Generate a body with a few bytes changed, removed, or inserted, preferably with limit values."""
    octets = bytearray(body)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(octets)))
        new = draw(
            st.sampled_from([b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80", b"\xff", b"\xff\xff\xff\xff\x0f"])
            | st.binary(max_size=6)
        )
        match draw(st.sampled_from(["overwrite", "insert", "delete", "repeat", "cut"])):
            case "overwrite":
                octets[at : at + len(new)] = new
            case "insert":
                octets[at:at] = new
            case "delete":
                del octets[at : at + len(new)]
            case "repeat":
                octets[at:at] = octets[at : at + 8]
            case "cut":
                del octets[at:]
    return bytes(octets)


@more
@given(cases())
def test_codecs_encode_and_decode_alike(case: tuple[Any, int, Any]) -> None:
    cls, version, message = case
    body = reference.encode(message, version=version)
    assert engine.encode(message, version=version) == body
    engine.validate(cls, body, version=version)
    by_engine = engine.decode(cls, body, version=version)
    by_reference = reference.decode(cls, body, version=version)
    assert by_engine == message == by_reference
    assert hash(by_engine) == hash(message) == hash(by_reference)
    assert kwire.full_repr(by_engine) == kwire.full_repr(message) == kwire.full_repr(by_reference)
    # Equality does not distinguish 1.0 and True from 1, but the encoded bytes do.
    assert engine.encode(by_reference, version=version) == body == reference.encode(by_engine, version=version)


@given(cases())
def test_spans_cover_every_byte_once(case: tuple[Any, int, Any]) -> None:
    cls, version, message = case
    body = engine.encode(message, version=version)
    found, error = reference.spans(cls, body, version=version)
    assert error is None
    assert [0, *(span.end for span in found)] == [*(span.start for span in found), len(body)]


@given(cases())
def test_codecs_raise_the_same_error_for_every_prefix(case: tuple[Any, int, Any]) -> None:
    cls, version, message = case
    body = engine.encode(message, version=version)
    for length in range(len(body)):
        expected = outcome(reference.decode, cls, body[:length], version=version)
        assert expected.fault is not None
        assert outcome(engine.decode, cls, body[:length], version=version) == expected
        assert outcome(engine.validate, cls, body[:length], version=version) == expected


@more
@given(cases(), st.data())
def test_codecs_agree_on_damaged_bytes(case: tuple[Any, int, Any], data: st.DataObject) -> None:
    cls, version, message = case
    body = data.draw(damaged(engine.encode(message, version=version)))
    agree(cls, body, version)


@given(message_classes(), versions, st.binary(max_size=60))
def test_codecs_agree_on_random_bytes(cls: Any, version: int, body: bytes) -> None:
    agree(cls, body, version)


def agree(cls: Any, body: bytes, version: int) -> None:
    """Assert that both codecs decode `body` to equal values or raise the same error."""
    expected = outcome(reference.decode, cls, body, version=version)
    found = outcome(engine.decode, cls, body, version=version)
    assert found == expected
    assert outcome(engine.validate, cls, body, version=version).fault == expected.fault
    spans, error = reference.spans(cls, body, version=version)
    assert (error is None) == (expected.fault is None)
    assert all(span.end <= len(body) for span in spans)
    if expected.fault is None:
        again = reference.encode(expected.value, version=version)
        assert engine.encode(found.value, version=version) == again
        assert engine.decode(cls, again, version=version) == expected.value


@more
@given(cases(), versions)
def test_codecs_agree_on_another_version(case: tuple[Any, int, Any], version: int) -> None:
    """A value of one version is possibly not supported by another."""
    cls, _, message = case
    expected = outcome(reference.encode, message, version=version)
    assert outcome(engine.encode, message, version=version) == expected
    if expected.fault is None:
        agree(cls, expected.value, version)


@more
@given(cases(), versions, st.data())
def test_codecs_agree_on_forged_objects(case: tuple[Any, int, Any], version: int, data: st.DataObject) -> None:
    message = data.draw(forged(case[2])).message
    expected = outcome(reference.encode, message, version=version)
    assert outcome(engine.encode, message, version=version) == expected


@given(cases())
def test_absent_fields_hold_their_defaults(case: tuple[Any, int, Any]) -> None:
    cls, version, message = case
    decoded = engine.decode(cls, engine.encode(message, version=version), version=version)
    for f in fields(cls):
        if not f.in_version(version):
            assert repr(getattr(decoded, f.name)) == repr(f.default)
