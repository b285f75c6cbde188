"""Views: what they share with messages, how they are opened, and views without the engine."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import partial
from typing import Any

import pytest

import kwire
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.metadata import (
    MetadataResponse,
)
from kwire.views import DecodedMessage, Opener
from tests.views.samples import (
    BODY,
    BREWS,
    MENU,
    MENU_BODY,
    METADATA,
    TOPICS,
    Brew,
    Menu,
    menu,
    metadata,
)


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

    assert all(isinstance(view, type) for type in (Menu, kwire.View))
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


def test_repr_is_bounded_as_for_messages() -> None:
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
    assert [field.name for field in dataclasses.fields(menu())] == [field.name for field in dataclasses.fields(MENU)]


def test_class_of_a_view_stands_for_the_message_class() -> None:
    assert kwire.view(type(menu()), MENU_BODY, version=1) == MENU


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
