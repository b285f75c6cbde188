"""Views: what they share with messages, what they add, and what they hold."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
import tracemalloc
from functools import partial
from typing import Any
from uuid import UUID

import pytest

import kwire
from kwire.declare import Message, Struct, array, field, float64, int8, int32, maybe, nullable, string, uuid, zero
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.views import LARGEST_BLOCK, ArrayView, DecodedMessage, Opener


class Brew(Struct, key=("name", "year")):
    year: int32
    name: nullable[string] = None
    strength: float64 = 0.0
    token: uuid = field(since=1, default=zero)
    note: string = field(tag=0, since=1, default="")


class Menu(Message, versions="0-1", flexible="1+"):
    version: int32
    decode: string = ""
    brews: nullable[array[Brew]] = None
    codes: array[int8] = ()
    special: maybe[Brew] = None
    closed: bool = field(tag=0, since=1, default=False)
    recent: array[Brew] = field(tag=1, since=1, default=())


BREWS = tuple(Brew(year=2000 + number, name=f"brew-{number}", strength=number / 2) for number in range(1_000))
MENU = Menu(version=7, decode="plain", brews=BREWS, codes=(1, 2, 3), special=BREWS[0], closed=True, recent=BREWS[:2])
MENU_BODY = kwire.encode(MENU, version=1)

TOPICS = tuple(
    MetadataResponseTopic(
        error_code=0,
        name=f"topic-{number:04}",
        topic_id=UUID(int=number + 1),
        partitions=tuple(
            MetadataResponsePartition(
                error_code=0,
                partition_index=index,
                leader_id=1,
                leader_epoch=number % 7,
                replica_nodes=(1, 2, 3),
                isr_nodes=(1, 2, 3),
            )
            for index in range(20)
        ),
    )
    for number in range(2_000)
)
METADATA = MetadataResponse(
    brokers=tuple(MetadataResponseBroker(node_id=number, host="h", port=9092) for number in range(1, 4)),
    cluster_id="c",
    controller_id=1,
    topics=TOPICS,
)
BODY = kwire.encode(METADATA, version=12)


def menu() -> Menu:
    return kwire.view(Menu, MENU_BODY, version=1)


def metadata() -> MetadataResponse:
    return kwire.view(MetadataResponse, BODY, version=12)


def array_of(view: MetadataResponse) -> ArrayView[MetadataResponseTopic]:
    assert isinstance(view.topics, ArrayView)
    return view.topics


def touched(elements: Any) -> int:
    """Return how many elements have been decoded."""
    return sum(element is not None for element in elements._elements)


# Views as messages


def test_view_has_the_attributes_of_the_message() -> None:
    view = menu()

    assert view.version == 7
    assert view.decode == "plain"
    assert view.brews == BREWS
    assert view.codes == (1, 2, 3)
    assert view.special == BREWS[0]
    assert view.closed is True
    assert view.recent == BREWS[:2]
    assert view.unknown_tags == {}


def test_view_equals_the_message_in_both_directions() -> None:
    other = copy.replace(MENU, version=8) if hasattr(copy, "replace") else dataclasses.replace(MENU, version=8)

    view: Any = menu()
    message: Any = MENU

    assert view == message
    assert message == view
    assert view == menu()
    assert view != other
    assert other != view
    assert view != kwire.view(Menu, kwire.encode(other, version=1), version=1)
    assert view != metadata()
    assert view != "menu"


def test_views_of_different_bytes_with_equal_values_are_equal() -> None:
    body = kwire.encode(Menu(version=1, codes=(5,)), version=1)
    longer = body.replace(b"\x02\x05", b"\x82\x00\x05")  # the count with a longer varint

    assert len(longer) == len(body) + 1
    assert kwire.view(Menu, longer, version=1) == kwire.view(Menu, body, version=1)


def test_view_and_message_are_one_key_of_a_dict() -> None:
    assert {menu(): "view"}[MENU] == "view"
    assert {MENU: "message"}[menu()] == "message"
    assert hash(menu().brews) == hash(BREWS)


def test_view_is_an_instance_of_its_message_class() -> None:
    view: Any = menu()

    assert all(isinstance(view, each) for each in (Menu, kwire.View))
    match view:
        case Menu(version=7, brews=[first, *_]):
            assert first == BREWS[0]
        case _:
            pytest.fail("the pattern does not match")


def test_view_cannot_be_changed() -> None:
    view = menu()
    for name in ("version", "brews", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field"):
            setattr(view, name, 1)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field"):
            delattr(view, name)


def test_unknown_attribute_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'MenuView' object has no attribute 'brew'"):
        assert menu().brew  # type: ignore[attr-defined]  # the mistake
    assert not hasattr(menu(), "_brews")


def test_copies_are_the_view_itself() -> None:
    view = menu()

    assert copy.copy(view) is view
    assert copy.deepcopy(view) is view
    assert copy.deepcopy(view.brews) is view.brews


def test_replaced_and_unpickled_views_are_messages() -> None:
    replaced = dataclasses.replace(menu(), version=8)
    loaded = pickle.loads(pickle.dumps(menu()))
    array = pickle.loads(pickle.dumps(menu().brews))

    assert type(replaced) is type(loaded) is Menu
    assert replaced == dataclasses.replace(MENU, version=8)
    assert type(replaced.brews) is tuple
    assert menu().__replace__(version=8) == replaced  # type: ignore[attr-defined]  # copy.replace, Python 3.13
    assert loaded == MENU
    assert type(array) is tuple
    assert array == BREWS


def test_decode_returns_a_message() -> None:
    view = metadata()
    assert isinstance(view, kwire.View)

    assert type(view.decode()) is MetadataResponse
    assert type(view.decode().topics) is tuple
    assert view.decode() == METADATA


def test_fields_have_precedence_over_attributes_of_views() -> None:
    view: Any = menu()

    assert view.version == 7
    assert view.decode == "plain"
    assert kwire.View.decode(view) == MENU
    assert kwire.View.version.fget(view) == 1  # type: ignore[attr-defined]  # a property


def test_views_encode_and_have_a_json_form() -> None:
    assert kwire.encode(menu(), version=1) == MENU_BODY
    assert kwire.reference.encode(menu(), version=1) == MENU_BODY
    assert kwire.to_json(menu(), version=1) == kwire.to_json(MENU, version=1)
    with pytest.raises(kwire.UnsupportedVersion, match="version 2 is not supported: Menu has versions 0-1"):
        kwire.encode(menu(), version=2)


def test_view_of_a_part_can_be_part_of_a_new_message() -> None:
    topics = metadata().topics
    made = MetadataResponse(brokers=(), controller_id=1, topics=topics)

    assert type(made.topics) is tuple
    assert made.topics == TOPICS


def test_repr_is_bounded_like_that_of_messages() -> None:
    assert repr(metadata()) == repr(METADATA).replace("MetadataResponse(", "MetadataResponseView(")
    assert repr(metadata().topics) == "<2000 MetadataResponseTopic>"
    assert kwire.full_repr(metadata()) == kwire.full_repr(METADATA).replace(
        "MetadataResponse(", "MetadataResponseView(", 1
    )


def test_dir_shows_fields_and_attributes() -> None:
    shown = dir(metadata())

    assert {"topics", "decode", "version", "nbytes", "unknown_tags"} <= set(shown)
    assert not [name for name in shown if name.startswith("_view")]


def test_dataclass_functions_read_views() -> None:
    assert dataclasses.is_dataclass(menu())
    assert [each.name for each in dataclasses.fields(menu())] == [each.name for each in dataclasses.fields(MENU)]


def test_class_of_a_view_stands_for_the_message_class() -> None:
    assert kwire.view(type(menu()), MENU_BODY, version=1) == MENU


# Opening


def test_invalid_bytes_raise_the_error_of_decode_when_the_view_is_opened() -> None:
    damaged = BODY[:-3]
    with pytest.raises(kwire.DecodeError) as expected:
        kwire.decode(MetadataResponse, damaged, version=12)
    with pytest.raises(kwire.DecodeError) as found:
        kwire.view(MetadataResponse, damaged, version=12)

    assert found.value.args == expected.value.args
    assert found.value.path[:2] == ("topics", 1999)


def test_other_classes_and_versions_are_rejected() -> None:
    wrong: Any = Brew
    with pytest.raises(kwire.DeclarationError, match="Brew: this class is not a message"):
        kwire.view(wrong, b"", version=0)
    with pytest.raises(kwire.UnsupportedVersion, match="version 2 is not supported: Menu has versions 0-1"):
        kwire.view(Menu, b"", version=2)
    menu()  # now the opener of version 1 exists
    for version in (True, 1.0, "1", None):
        bad: Any = version
        with pytest.raises(TypeError, match="version: expected an int, found"):
            kwire.view(Menu, MENU_BODY, version=bad)
        with pytest.raises(TypeError, match="version: expected an int, found"):
            kwire.encode(menu(), version=bad)


def test_mutable_input_is_copied() -> None:
    data = bytearray(MENU_BODY)
    view = kwire.view(Menu, data, version=1)
    data[:] = bytes(len(data))

    assert view == MENU


def test_bytes_are_held_without_a_copy() -> None:
    received = b"head" + BODY + b"tail"
    whole, part = metadata(), kwire.view(MetadataResponse, memoryview(received)[4:-4], version=12)
    assert isinstance(whole, kwire.View)
    assert isinstance(part, kwire.View)

    assert whole.data is BODY
    assert isinstance(part.data, memoryview)
    assert part.data.obj is received
    assert part == METADATA


# Arrays


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


# Search


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
        written = tuple(dataclasses.replace(each, note="") for each in elements) if version == 0 else elements
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


# Memory


def held_by(work: Any) -> tuple[Any, int]:
    """Return the result of a function and the bytes that Python's allocator holds for it."""
    gc.collect()
    tracemalloc.start()
    try:
        result = work()
        gc.collect()
        return result, tracemalloc.get_traced_memory()[0]
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
    again = min(held_by(lambda: other.topics[7])[1] for _ in range(5))  # once, the interpreter may cache something
    nothing = min(held_by(lambda: None)[1] for _ in range(5))  # callbacks of the collector allocate as well

    assert array <= 8 * 2_000 + 1_000
    assert topic <= 20 * 150 + 1_000
    assert again <= nothing + 200


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
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        view: Any = metadata()
        for topic in view.topics[:10]:
            kwire.find(view.topics, name=topic.name)
        del view, topic
        assert len(gc.get_objects()) <= before
    finally:
        gc.enable()


# Without the engine


def test_view_without_the_engine_has_the_same_interface() -> None:
    view = Opener(Menu, 1, partial(DecodedMessage, Menu, 1)).open(bytearray(MENU_BODY))

    assert view == MENU
    assert view == menu()
    assert view.brews[3] is view.brews[3]
    assert kwire.find(view.brews, name="brew-7") == BREWS[7]
    assert view.recent == BREWS[:2]
    assert view.closed is True
    assert view.nbytes == len(MENU_BODY)


def test_every_version_of_a_small_response_has_views() -> None:
    response = ApiVersionsResponse(error_code=35, api_keys=())
    for version in ApiVersionsResponse.versions:
        assert kwire.view(ApiVersionsResponse, kwire.encode(response, version=version), version=version) == response
