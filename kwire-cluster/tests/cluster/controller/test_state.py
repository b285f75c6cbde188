"""Tests of the topic map: memory, cost of changes, and immutability."""

from __future__ import annotations

import gc
import tracemalloc
import uuid
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire_cluster.controller.topic_map import TopicMap
from kwire_cluster.controller.topic_state import Partition, Topic
from kwire_cluster.zookeeper.json_object import intern_ids
from kwire_cluster.zookeeper.topics import PartitionState

if TYPE_CHECKING:
    from collections.abc import Iterator


def load_topics(topics: int, partitions: int) -> Iterator[Topic]:
    """Create topics as the state loader does: every state is decoded, and equal values are shared."""
    for number in range(topics):
        decoded = []
        for index in range(partitions):
            first = (number * partitions + index) % 50
            replicas = intern_ids((first, (first + 1) % 50, (first + 7) % 50))
            data = PartitionState(first, index % 40, replicas, 1 + number % 30).encode()
            decoded.append(Partition(index, replicas, PartitionState.decode(data), index % 40))
        yield Topic(f"topic-{number:06d}", uuid.UUID(int=number), tuple(decoded), has_partitions_znode=True)


@pytest.mark.parametrize(("topics", "partitions"), [(1_000, 20), (4_000, 5)])
def test_partition_takes_at_most_400_bytes(topics: int, partitions: int) -> None:
    gc.collect()
    tracemalloc.start()
    try:
        state = TopicMap().updated(load_topics(topics, partitions))
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert state.partition_count == topics * partitions == 20_000
    assert size / state.partition_count <= 400


def test_change_copies_a_small_part() -> None:
    state = TopicMap().updated(Topic(f"t{number}", None, ()) for number in range(10_000))
    tracemalloc.start()
    try:
        states = [state.updated([Topic(f"t{number}", None, (Partition(0, (1,)),))]) for number in range(100)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(states) == 100
    assert size / 100 < 12_000, "10,000 topics are a dict of 600 kB"


names = st.text("ab._", min_size=1, max_size=3)


@given(st.lists(st.tuples(names, st.integers(0, 3), st.booleans())))
def test_topic_map_is_an_immutable_mapping(changes: list[tuple[str, int, bool]]) -> None:
    model: dict[str, Topic] = {}
    state = TopicMap()
    kept = []
    for name, partitions, removed in changes:
        kept.append((state, dict(model)))
        if removed:
            model.pop(name, None)
            state = state.updated(removed=[name])
        else:
            model[name] = Topic(name, None, tuple(Partition(index, (1,)) for index in range(partitions)))
            state = state.updated([model[name]])
    for one, expected in [*kept, (state, model)]:
        assert len(one) == len(expected)
        assert one.names() == sorted(expected)
        assert {topic.name: topic for topic in one} == expected
        assert one.partition_count == sum(len(topic.partitions) for topic in expected.values())
        for name in ("a.b", "a_b", "ab", "a"):
            assert (name in one) == (name in expected)
            assert one.get(name) is expected.get(name)
            others = {
                other for other in expected if other != name and other.replace(".", "_") == name.replace(".", "_")
            }
            colliding = one.colliding_topic(name)
            assert colliding in others if others else colliding is None
