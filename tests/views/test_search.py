"""Finding an element by the values of its fields."""

from __future__ import annotations

import dataclasses
from typing import Any
from uuid import UUID

import pytest

import kwire
from tests.views.samples import (
    TOPICS,
    Brew,
    Menu,
    array_of,
    metadata,
    touched,
)


def both_arrays() -> list[Any]:
    return [metadata().topics, TOPICS]


@pytest.mark.parametrize("topics", both_arrays(), ids=["view", "message"])
def test_find_returns_the_first_element_with_the_values(topics: Any) -> None:
    assert kwire.find(topics, name="topic-1234") == TOPICS[1_234]
    assert kwire.find(topics, topic_id=UUID(int=1_235)) == TOPICS[1_234]
    assert kwire.find(topics, name="topic-1234", topic_id=UUID(int=1_235)) == TOPICS[1_234]
    assert kwire.find(topics, error_code=0) == TOPICS[0]
    assert kwire.find(topics, is_internal=False) == TOPICS[0]
    assert kwire.find(topics, partitions=TOPICS[9].partitions) == TOPICS[2]


@pytest.mark.parametrize("topics", both_arrays(), ids=["view", "message"])
def test_find_returns_none_for_values_that_no_element_has(topics: Any) -> None:
    assert kwire.find(topics, name="topic-12345") is None
    assert kwire.find(topics, name=None) is None
    assert kwire.find(topics, name="") is None
    assert kwire.find(topics, name="\ud800") is None
    assert kwire.find(topics, name="topic-1234", topic_id=UUID(int=1)) is None
    assert kwire.find(topics, error_code=1 << 40) is None
    assert kwire.find(topics[:0], name="topic-1234") is None


@pytest.mark.parametrize("topics", both_arrays(), ids=["view", "message"])
def test_find_rejects_mistakes(topics: Any) -> None:
    with pytest.raises(TypeError, match="find: MetadataResponseTopic has no field 'nme'"):
        kwire.find(topics, nme="topic-1234")
    with pytest.raises(TypeError, match="find: name: expected a str, found bytes"):
        kwire.find(topics, name=b"topic-1234")
    with pytest.raises(TypeError, match="find: error_code: expected an int, found None"):
        kwire.find(topics, error_code=None)
    with pytest.raises(TypeError, match="find: expected the value of at least one field"):
        kwire.find(topics)


def test_find_in_an_array_of_a_view_decodes_only_the_element() -> None:
    topics = array_of(metadata())

    found = topics.find(name="topic-1234")
    assert topics.find(name="topic-1234", error_code=0) is found
    assert topics.find(name="topic-9999") is None
    assert touched(topics) == 1
    assert topics[1_234] is found


def test_find_compares_null_tagged_and_absent_fields() -> None:
    elements = (Brew(year=1, name=None), Brew(year=2, name=""), Brew(year=2, note="dry"), Brew(year=3))
    for version in (0, 1):
        written = tuple(dataclasses.replace(element, note="") for element in elements) if version == 0 else elements
        body = kwire.encode(Menu(version=1, brews=written), version=version)
        brews = kwire.view(Menu, body, version=version).brews
        assert brews is not None
        assert kwire.find(brews, name=None) is brews[0]
        assert kwire.find(brews, name="") is brews[1]
        assert kwire.find(brews, year=2, name=None) is brews[2]
        assert kwire.find(brews, token=UUID(int=0), year=3) is brews[3]
        assert kwire.find(brews, note="dry") is (brews[2] if version == 1 else None)


def test_find_compares_strings_with_longer_lengths() -> None:
    """A length can be a longer varint than necessary, which changes the bytes of a key but not its value."""
    body = kwire.encode(Menu(version=1, brews=(Brew(year=1, name="ale"),)), version=1)
    longer = body.replace(b"\x04ale", b"\x84\x00ale")
    assert len(longer) == len(body) + 1

    brews = kwire.view(Menu, longer, version=1).brews
    assert brews is not None
    assert kwire.find(brews, name="ale") == Brew(year=1, name="ale")


def test_find_returns_the_first_of_equal_keys() -> None:
    elements = tuple(Brew(year=year, name="same") for year in range(9))
    brews = kwire.view(Menu, kwire.encode(Menu(version=1, brews=elements), version=1), version=1).brews
    assert brews is not None

    assert kwire.find(brews, name="same") is brews[0]
    assert kwire.find(brews, name="same", year=8) is brews[8]
