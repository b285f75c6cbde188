"""The memory of views."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kwire
from kwire.declare import Message, Struct, array, field, string
from tests.views.samples import (
    BODY,
    TOPICS,
    metadata,
)

OWN = (tracemalloc.Filter(True, __file__), tracemalloc.Filter(True, str(Path(kwire.__file__).parent / "*")))


def held_by(work: Any) -> tuple[Any, int]:
    """Return the result of a function and the bytes that Python's allocator holds for it.

    Only allocations of this module and of kwire count: those of other threads and of callbacks depend on the machine.
    """
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        traces = tracemalloc.take_snapshot().filter_traces(OWN).traces
        return result, sum(trace.size for trace in traces)
    finally:
        tracemalloc.stop()


def test_view_holds_the_body_and_one_word_for_each_element() -> None:
    """The offsets of the index, which the engine allocates, are part of `nbytes`."""
    metadata()
    view, objects = held_by(metadata)

    assert 8 * 2_000 <= view.nbytes - len(BODY) <= 8 * (2_000 + 3) + 1_000
    assert objects <= 1_000


def test_read_parts_are_added_to_what_a_view_holds() -> None:
    view: Any = metadata()
    assert view.topics[0] == TOPICS[0]  # the first use of a class allocates what is shared
    other: Any = metadata()
    _, array = held_by(lambda: other.topics)
    _, topic = held_by(lambda: other.topics[7])

    assert array <= 8 * 2_000 + 1_000
    assert topic <= 20 * 150 + 1_000
    assert other.topics is other.topics
    assert other.topics[7] is other.topics[7]


def test_table_of_a_search_takes_a_few_words_for_each_element() -> None:
    view: Any = metadata()
    before = view.nbytes
    view.topics.find(name="topic-0001")
    one = view.nbytes - before
    for fields in ({"topic_id": UUID(int=1)}, {"error_code": 0}, {"error_code": 0, "name": "topic-0001"}):
        view.topics.find(**fields)

    assert one <= 8 * (2_000 + 2_048)
    assert view.nbytes - before == one, "an array keeps one table"


def test_memory_of_the_index_is_bounded_for_any_bytes() -> None:
    """An element takes at least one byte and one word of the index."""

    class Empty(Struct):
        note: string = field(tag=0, default="")

    class Many(Message, versions="0", flexible="0+"):
        first: array[Empty]

    body = b"\x80\x80\x04" + bytes((1 << 16) - 1) + b"\0"
    view = kwire.view(Many, body, version=0)
    assert isinstance(view, kwire.View)
    assert len(view.first) == (1 << 16) - 1
    assert view.nbytes <= 9 * len(body) + 1_000

    with pytest.raises(kwire.DecodeError, match="count_exceeds_input"):
        kwire.view(Many, b"\xff\xff\xff\xff\x0f\0\0", version=0)


def test_views_are_freed_without_the_garbage_collector() -> None:
    """A hundred views leave fewer objects than views; the first one also makes the plan and the classes."""

    def read() -> None:
        view: Any = metadata()
        for topic in view.topics[:10]:
            kwire.find(view.topics, name=topic.name)

    read()
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(100):
            read()
        assert len(gc.get_objects()) - before < 100
    finally:
        gc.enable()
