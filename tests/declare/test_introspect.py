"""Introspection of declarations: fields, class keywords, and versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kwire import DeclarationError, UnsupportedVersion
from kwire.declare import Message, Request, Struct, array, field, int16, int32, nullable, string, uuid, zero
from kwire.declare.fields import MISSING, camel_case
from kwire.declare.introspect import check_version, describe, fields, structs_in
from kwire.declare.wire_types import ArrayType, NullableType, StringType, StructType, wire_type
from kwire.messages.headers import RequestHeader
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.controlled_shutdown import ControlledShutdownRequest
from kwire.messages.kafka.end_txn_marker import EndTxnMarker


class Part(Struct):
    name: nullable[string] = field(nullable_since=2)
    is_kraft: bool = field(since=1, until=2, default=True, ignorable=True, name="isKRaft")


class AskRequest(Request["AskResponse"], api_key=900, versions="0-3", flexible="2+"):
    part: Part
    parts: array[Part] = field(since=2, tag=7, default=())
    id: uuid = zero
    client: string = field(compact=False, default=zero)
    inner: Part = Part(name="")


class AskResponse(Message, api_key=900, versions="0-3", flexible="2+", dialect=("kafka", "kip4")):
    error_code: int16


def test_fields_have_all_options() -> None:
    name, is_kraft = fields(Part)
    assert (name.name, name.json_name, name.type) == ("name", "name", NullableType(StringType()))
    assert (name.since, name.until, name.default, name.nullable_since) == (0, None, MISSING, 2)
    assert [name.nullable_in(version) for version in range(4)] == [False, False, True, True]
    assert (is_kraft.json_name, is_kraft.default, is_kraft.ignorable) == ("isKRaft", True, True)
    assert [is_kraft.in_version(version) for version in range(4)] == [False, True, True, False]


def test_defaults_are_resolved_to_values() -> None:
    by_name = {f.name: f for f in fields(AskRequest)}
    assert list(by_name) == ["part", "parts", "id", "client", "inner"]
    assert by_name["part"].default is MISSING
    assert by_name["parts"].default == ()
    assert by_name["parts"].tag == 7
    assert by_name["id"].default == UUID(int=0)
    assert by_name["client"].default == ""
    assert not by_name["client"].compact
    assert by_name["inner"].default == Part(name="")


def test_describe_returns_class_keywords() -> None:
    request, response = describe(AskRequest), describe(AskResponse)
    assert (request.name, request.api_key, request.kind, request.response) == (
        "AskRequest",
        900,
        "request",
        "AskResponse",
    )
    assert (response.kind, response.response, response.dialects) == ("response", None, ("kafka", "kip4"))
    assert request.dialects == ("kafka",)
    assert [request.is_flexible(version) for version in range(4)] == [False, False, True, True]


def test_header_version_follows_from_the_message() -> None:
    assert [describe(AskRequest).header_version(version) for version in range(4)] == [1, 1, 2, 2]
    assert [describe(AskResponse).header_version(version) for version in range(4)] == [0, 0, 1, 1]
    assert {describe(ApiVersionsResponse).header_version(version) for version in ApiVersionsResponse.versions} == {0}
    assert describe(ApiVersionsRequest).header_version(99) == 2
    assert [describe(ControlledShutdownRequest).header_version(version) for version in range(4)] == [0, 1, 1, 2]


def test_messages_without_an_api_key_are_headers_or_data() -> None:
    assert (describe(RequestHeader).kind, describe(RequestHeader).api_key) == ("header", -1)
    assert (describe(EndTxnMarker).kind, describe(EndTxnMarker).api_key) == ("data", -1)


def test_check_version_rejects_undeclared_versions() -> None:
    check_version(AskRequest, 3)
    with pytest.raises(UnsupportedVersion, match="version 4 is not supported: AskRequest has versions 0-3"):
        check_version(AskRequest, 4)


@pytest.mark.parametrize("version", [True, "3", 3.0, None, [3]])
def test_check_version_rejects_other_types(version: Any) -> None:
    with pytest.raises(TypeError, match="version: expected an int, found "):
        check_version(AskRequest, version)


class Versioned(Struct):
    versions: int32


@pytest.mark.parametrize("cls", [Part, Versioned, Struct, Message, int])
def test_classes_that_are_not_messages_are_rejected(cls: Any) -> None:
    for check in (describe, lambda cls: check_version(cls, 1)):
        with pytest.raises(DeclarationError, match=f"{cls.__name__}: this class is not a message"):
            check(cls)


def test_check_version_rejects_an_instance() -> None:
    with pytest.raises(TypeError, match="cls: expected a message class, found an instance of AskResponse"):
        check_version(AskResponse(error_code=0), 0)  # type: ignore[arg-type]  # the mistake


def test_structs_in_returns_the_struct_of_a_type() -> None:
    assert structs_in(wire_type(array[nullable[Part]])) == (Part,)
    assert structs_in(wire_type(array[int32])) == ()


def test_types_compare_by_value() -> None:
    assert wire_type(array[Part]) == ArrayType(StructType(Part))
    assert hash(wire_type(array[int32])) == hash(wire_type(array[int32]))
    assert wire_type(array[int32]) != wire_type(array[int16])


def test_json_names_are_camel_case() -> None:
    assert camel_case("throttle_time_ms") == "throttleTimeMs"
    assert camel_case("name") == "name"
