"""Arrays of views: sequences that decode elements when they are read."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.declare import Message, Struct, array, int8, int32
from kwire.messages.kafka.metadata import (
    MetadataResponseTopic,
)
from kwire.views import LARGEST_BLOCK
from tests.views.samples import (
    METADATA,
    TOPICS,
    Menu,
    array_of,
    metadata,
    touched,
)


def test_array_is_a_sequence_like_a_tuple() -> None:
    topics: Any = metadata().topics

    assert len(topics) == 2_000
    assert topics[0] == TOPICS[0]
    assert topics[-1] == TOPICS[-1]
    assert topics[1_998:] == TOPICS[1_998:]
    assert topics[3:1:-1] == TOPICS[3:1:-1]
    assert type(topics[:2]) is tuple
    assert list(reversed(topics)) == list(reversed(TOPICS))
    assert TOPICS[700] in topics
    assert METADATA.brokers[0] not in topics
    assert topics.index(TOPICS[3]) == 3
    assert topics.count(TOPICS[3]) == 1
    for a, b in ((topics, TOPICS), (TOPICS, topics)):
        assert a == b
    assert topics != TOPICS[1:]
    assert topics != list(TOPICS)
    assert topics == metadata().topics
    assert topics[:1] + topics == TOPICS[:1] + TOPICS
    assert topics + topics[:1] == TOPICS + TOPICS[:1]
    assert (metadata().brokers * 2) == 2 * METADATA.brokers == 2 * metadata().brokers


def test_invalid_indexes_are_rejected() -> None:
    brokers: Any = metadata().brokers

    for index in (3, -4, 1 << 70):
        with pytest.raises(IndexError):
            brokers[index]
    with pytest.raises(TypeError):
        brokers["0"]
    with pytest.raises(TypeError):
        brokers[0] = 1


def test_elements_are_decoded_when_read_and_remembered() -> None:
    topics = array_of(metadata())
    topic = topics[5]

    assert touched(topics) == 1
    assert type(topic) is MetadataResponseTopic
    assert topics[5] is topic
    assert topics[5 - 2_000] is topic
    assert topics[4:6][1] is topic
    assert touched(topics) == 2


def test_fields_are_remembered() -> None:
    view = metadata()

    assert view.topics is view.topics
    assert view.cluster_id is view.cluster_id


def test_iteration_decodes_growing_blocks_and_keeps_elements() -> None:
    topics = array_of(metadata())
    third = topics[2]
    read = iter(topics)
    for _ in range(3):
        next(read)
    assert touched(topics) == 3

    seen = [*topics]
    assert seen[2] is third
    assert tuple(seen) == TOPICS
    assert [*topics] == seen
    assert all(a is b for a, b in zip(topics, seen, strict=True))
    assert LARGEST_BLOCK < 2_000


def test_null_and_empty_arrays() -> None:
    for version in (0, 1):
        null = kwire.view(Menu, kwire.encode(Menu(version=1), version=version), version=version)
        empty = kwire.view(Menu, kwire.encode(Menu(version=1, brews=()), version=version), version=version)
        assert null.brews is None
        assert empty.brews == ()
        assert hash(empty.brews) == hash(())


def test_elements_of_fixed_size() -> None:
    class Point(Struct):
        x: int32
        y: int32

    class Line(Message, versions="0"):
        points: array[Point]
        end: int8 = 0

    line = Line(points=tuple(Point(x=x, y=-x) for x in range(50)), end=9)
    view = kwire.view(Line, kwire.encode(line, version=0), version=0)

    assert view.end == 9
    assert view.points[49] == Point(x=49, y=-49)
    assert kwire.find(view.points, x=7, y=-7) == Point(x=7, y=-7)
    assert view.points == line.points
