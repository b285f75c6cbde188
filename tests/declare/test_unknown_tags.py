"""Unknown tagged fields: an immutable mapping that round-trips."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kwire
from kwire.declare import Message, UnknownTags, int8
from kwire.declare.unknown_tags import NO_TAGS, unknown_tags


class Parcel(Message, versions="0-1", flexible="1+"):
    number: int8


contents = st.dictionaries(st.integers(0, 0xFFFF_FFFF), st.binary(max_size=200), max_size=4)


@given(contents)
def test_unknown_tags_equal_the_mapping_they_were_made_from(content: dict[int, bytes]) -> None:
    tags = unknown_tags(content)
    assert tags == content
    assert dict(tags) == content
    assert list(tags) == sorted(content)
    assert list(tags.items()) == sorted(content.items())
    assert (len(tags), bool(tags)) == (len(content), bool(content))
    assert all(tags[tag] == content[tag] for tag in content)
    assert hash(tags) == hash(unknown_tags(dict(reversed(content.items()))))
    assert pickle.loads(pickle.dumps(tags)) == tags
    assert eval(repr(tags)) == content


@given(contents)
def test_unknown_tags_round_trip(content: dict[int, bytes]) -> None:
    parcel = Parcel(number=1, unknown_tags=content)
    body = kwire.encode(parcel, version=1)
    decoded = kwire.decode(Parcel, body, version=1)
    assert decoded == parcel
    assert decoded.unknown_tags == content


def test_empty_unknown_tags_are_one_object() -> None:
    assert unknown_tags({}) is NO_TAGS
    assert Parcel(number=1).unknown_tags is Parcel(number=2, unknown_tags={}).unknown_tags
    for decode in (kwire.decode, kwire.reference.decode):
        assert decode(Parcel, b"\x01\x00", version=1).unknown_tags is NO_TAGS
        assert decode(Parcel, b"\x01", version=0).unknown_tags is NO_TAGS


def test_overlong_varints_decode_to_equal_tags() -> None:
    tags = kwire.decode(Parcel, bytes.fromhex("01 8100 8500 8200 aabb"), version=1).unknown_tags
    assert tags == kwire.reference.decode(Parcel, bytes.fromhex("01 01 05 02 aabb"), version=1).unknown_tags
    assert tags == {5: b"\xaa\xbb"}
    assert isinstance(tags, UnknownTags)
    assert tags.raw == bytes.fromhex("05 02 aabb")


def test_unknown_tags_are_immutable() -> None:
    tags = unknown_tags({1: b"a"})
    with pytest.raises(AttributeError, match="create new ones from a dict"):
        tags.more = 1
    with pytest.raises(TypeError):
        tags[1] = b"b"  # type: ignore[index]  # that is the point
    with pytest.raises(KeyError):
        tags[2]
