"""Bodies written by Kafka's Java classes round-trip as bytes and as JSON."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire import DecodeError, from_json, to_json
from kwire.declare import Struct
from kwire.declare.introspect import fields
from kwire.reference import spans
from tests.for_rows import for_rows
from tests.proof.codecs import BOTH, ENGINE, Codec, through_both
from tests.proof.material import canonical, message_class, vectors

each_message = for_rows("message", sorted(vectors()))


def test_engine_is_the_compiled_module() -> None:
    """Otherwise the tests of the engine would test the reference codec twice."""
    import kwire._kwire

    assert kwire._kwire.__file__ is not None
    assert not kwire._kwire.__file__.endswith(".py")


@each_message
@through_both
def test_vectors_round_trip(codec: Codec, message: str) -> None:
    cls = message_class(message)
    for vector in vectors()[message]:
        codec.validate(cls, vector.body, version=vector.version)
        decoded = codec.decode(cls, vector.body, version=vector.version)
        assert codec.encode(decoded, version=vector.version) == vector.body, vector.name


@each_message
@through_both
def test_decoded_vectors_equal_kafkas_json(codec: Codec, message: str) -> None:
    cls = message_class(message)
    for vector in vectors()[message]:
        decoded = codec.decode(cls, vector.body, version=vector.version)
        assert canonical(to_json(decoded, version=vector.version)) == canonical(vector.json), vector.name
        assert unknown_tags_of(decoded) == vector.unknown_tags, vector.name


@each_message
def test_both_codecs_decode_to_equal_objects(message: str) -> None:
    cls = message_class(message)
    for vector in vectors()[message]:
        by_engine, by_reference = (codec.decode(cls, vector.body, version=vector.version) for codec in BOTH)
        assert by_engine == by_reference, vector.name
        assert hash(by_engine) == hash(by_reference), vector.name
        assert kwire.full_repr(by_engine) == kwire.full_repr(by_reference), vector.name


@each_message
def test_decoded_object_equals_a_constructed_one(message: str) -> None:
    """`from_json` uses constructors, unlike the codecs, so it shows what they must build."""
    cls = message_class(message)
    for vector in vectors()[message]:
        if not vector.unknown_tags:
            constructed = from_json(cls, vector.json, version=vector.version)
            for codec in BOTH:
                assert codec.decode(cls, vector.body, version=vector.version) == constructed, vector.name
                assert codec.encode(constructed, version=vector.version) == vector.body, vector.name


@each_message
def test_spans_cover_every_byte_once(message: str) -> None:
    for vector in vectors()[message]:
        found, error = spans(message_class(message), vector.body, version=vector.version)
        assert error is None
        assert [span.start for span in found] == [0, *(span.end for span in found)][: len(found)], vector.name
        assert len(vector.body) == (found[-1].end if found else 0), vector.name


@each_message
@through_both
def test_every_prefix_of_a_body_is_rejected(codec: Codec, message: str) -> None:
    cls = message_class(message)
    vector = max(
        (candidate for candidate in vectors()[message] if len(candidate.body) < 1_000),
        key=lambda candidate: len(candidate.body),
    )
    calls = (codec.decode, codec.validate) if codec is ENGINE else (codec.validate,)  # by `decode`
    for length in range(len(vector.body)):
        for call in calls:
            with pytest.raises(DecodeError):
                call(cls, vector.body[:length], version=vector.version)


def unknown_tags_of(value: Any, path: str = "") -> frozenset[tuple[str, int, bytes]]:
    """Return all unknown tags below `value`, with paths in the form of the vectors."""
    found: set[tuple[str, int, bytes]] = set()
    if isinstance(value, Struct):
        found.update((path or "/", tag, content) for tag, content in value.unknown_tags.items())
        for f in fields(type(value)):
            found |= unknown_tags_of(getattr(value, f.name), f"{path}/{f.json_name}")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            found |= unknown_tags_of(item, f"{path}/{index}")
    return frozenset(found)
