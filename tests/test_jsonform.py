"""Kafka's JSON form of messages.

`tests/data/vectors*.jsonl.xz` hold bodies of every message and the documents of Kafka's JsonConverter classes for them.
"""

from __future__ import annotations

import json
import lzma
import struct
from dataclasses import replace
from enum import IntEnum
from functools import cache
from math import inf, isnan, nan
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kwire import EncodeError, UnsupportedVersion, from_json, messages, reference, to_json
from kwire.declare import (
    Message,
    Struct,
    array,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    maybe,
    nullable,
    string,
    uint16,
    uint32,
    uuid,
    zero,
)
from tests.for_rows import for_rows


class Everything(Message, versions="0"):
    """A message with one field of every type."""

    flag: bool
    tiny: int8
    small: int16
    medium: int32
    large: int64
    port: uint16
    crc: uint32
    share: float64
    id: uuid
    text: string
    blob: bytes
    numbers: array[int32]
    part: Part
    parts: array[Part]
    text_or_null: nullable[string]
    blob_or_null: nullable[bytes]
    numbers_or_null: nullable[array[int32]]
    part_or_null: nullable[Part]
    number_if_any: maybe[int32]
    part_if_any: maybe[Part]


class Part(Struct):
    """A nested struct."""

    name: string


EVERYTHING = Everything(
    flag=True,
    tiny=-128,
    small=-32768,
    medium=-(2**31),
    large=2**63 - 1,
    port=65535,
    crc=2**32 - 1,
    share=0.5,
    id=UUID("fbffbffb-ffbf-fbff-bffb-ffbffbffbffb"),
    text="aé€😀",
    blob=b"\xfb\xff\xfe\x00",
    numbers=(1, 2),
    part=Part(name="p"),
    parts=(Part(name="q"), Part(name="r")),
    text_or_null="t",
    blob_or_null=b"",
    numbers_or_null=(),
    part_or_null=Part(name="s"),
    number_if_any=0,
    part_if_any=Part(name=""),
)

EVERYTHING_IN_JSON = {
    "flag": True,
    "tiny": -128,
    "small": -32768,
    "medium": -2147483648,
    "large": 9223372036854775807,
    "port": 65535,
    "crc": 4294967295,
    "share": 0.5,
    "id": "-_-_-_-_-_-_-_-_-_-_-w",
    "text": "aé€😀",
    "blob": "+//+AA==",
    "numbers": [1, 2],
    "part": {"name": "p"},
    "parts": [{"name": "q"}, {"name": "r"}],
    "textOrNull": "t",
    "blobOrNull": "",
    "numbersOrNull": [],
    "partOrNull": {"name": "s"},
    "numberIfAny": 0,
    "partIfAny": {"name": ""},
}


class Changing(Message, versions="0-3", flexible="2+"):
    """A message with fields that are added, removed, and changed."""

    old_form: string = field(until=0, default="", name="form")
    new_form: array[string] = field(since=1, default=(), name="form")
    is_kraft_controller: bool = field(since=1, default=False, name="isKRaftController")
    hint: int32 = field(since=1, default=-1, ignorable=True)
    owner: nullable[string] = field(nullable_since=2, default="")
    epoch: int64 = field(since=2, tag=0, default=-1)
    share: float64 = field(since=2, tag=1, default=0.0)
    ranges: array[Range] = field(since=2, tag=7, default=())


class Range(Struct):
    """A struct with fields of different versions."""

    lowest: int16
    highest: int16 = field(since=3, default=32767)
    id: uuid = field(since=3, tag=0, default=zero)


class TestAllTypes:
    def test_to_json_of_all_types(self) -> None:
        assert to_json(EVERYTHING, version=0) == EVERYTHING_IN_JSON

    def test_from_json_of_all_types(self) -> None:
        assert from_json(Everything, EVERYTHING_IN_JSON, version=0) == EVERYTHING

    def test_document_is_plain_json(self) -> None:
        assert json.loads(json.dumps(to_json(EVERYTHING, version=0))) == EVERYTHING_IN_JSON

    def test_null_and_absent_are_null(self) -> None:
        message = replace(
            EVERYTHING,
            text_or_null=None,
            blob_or_null=None,
            numbers_or_null=None,
            part_or_null=None,
            number_if_any=None,
            part_if_any=None,
        )
        document = to_json(message, version=0)
        assert [name for name, value in document.items() if value is None] == [
            "textOrNull",
            "blobOrNull",
            "numbersOrNull",
            "partOrNull",
            "numberIfAny",
            "partIfAny",
        ]
        assert from_json(Everything, document, version=0) == message

    @for_rows(("value", "written"), [(inf, "Infinity"), (-inf, "-Infinity"), (nan, "NaN")])
    def test_infinities_and_nan_are_strings(self, value: float, written: str) -> None:
        document = to_json(replace(EVERYTHING, share=value), version=0)
        assert document["share"] == written
        back = from_json(Everything, document, version=0).share
        assert back == value or (isnan(back) and isnan(value))

    def test_double_keeps_sign_and_smallest_value(self) -> None:
        for value in (-0.0, 5e-324, 1.7976931348623157e308):
            document = to_json(replace(EVERYTHING, share=value), version=0)
            back = from_json(Everything, json.loads(json.dumps(document)), version=0).share
            assert struct.pack(">d", back) == struct.pack(">d", value)

    def test_integer_is_accepted_as_double(self) -> None:
        """JSON has one number type, and many programs write 3.0 as 3."""
        share = from_json(Everything, EVERYTHING_IN_JSON | {"share": 3}, version=0).share
        assert (share, type(share)) == (3.0, float)

    def test_zero_uuid_has_22_characters(self) -> None:
        assert to_json(replace(EVERYTHING, id=UUID(int=0)), version=0)["id"] == "A" * 22

    def test_values_of_subclasses_become_plain(self) -> None:
        class Code(IntEnum):
            BROKEN = 7

        class Name(str):
            __slots__ = ()

        document = to_json(replace(EVERYTHING, medium=Code.BROKEN, text=Name("n")), version=0)
        assert (document["medium"], type(document["medium"])) == (7, int)
        assert (document["text"], type(document["text"])) == ("n", str)


class TestVersions:
    def test_document_has_only_fields_of_the_version(self) -> None:
        assert to_json(Changing(old_form="a"), version=0) == {"form": "a", "owner": ""}
        assert to_json(Changing(new_form=("a",)), version=1) == {
            "form": ["a"],
            "isKRaftController": False,
            "hint": -1,
            "owner": "",
        }

    def test_fields_of_different_versions_can_share_a_name(self) -> None:
        assert from_json(Changing, {"form": "a", "owner": ""}, version=0) == Changing(old_form="a")
        assert from_json(Changing, {"form": ["a"], "owner": ""}, version=1) == Changing(new_form=("a",))

    def test_tagged_field_with_its_default_is_left_out(self) -> None:
        assert to_json(Changing(), version=3).keys() == {"form", "isKRaftController", "hint", "owner"}

    def test_tagged_field_with_another_value_is_written(self) -> None:
        message = Changing(epoch=0, share=-0.0, ranges=(Range(lowest=1, id=UUID(int=1)),))
        document = to_json(message, version=3)
        assert document["epoch"] == 0
        assert document["ranges"] == [{"lowest": 1, "highest": 32767, "id": "AAAAAAAAAAAAAAAAAAAAAQ"}]
        assert "share" in document, "minus zero is another double than zero"
        assert from_json(Changing, document, version=3) == message

    def test_nested_structs_use_the_version_of_the_message(self) -> None:
        assert to_json(Changing(ranges=(Range(lowest=1),)), version=2)["ranges"] == [{"lowest": 1}]

    def test_ignorable_value_is_dropped_if_the_version_lacks_it(self) -> None:
        assert to_json(Changing(old_form="a", hint=5), version=0) == {"form": "a", "owner": ""}

    @for_rows(
        ("message", "version", "path"),
        [
            (Changing(is_kraft_controller=True), 0, ("is_kraft_controller",)),
            (Changing(old_form="a"), 1, ("old_form",)),
            (Changing(epoch=0), 1, ("epoch",)),
            (Changing(ranges=(Range(lowest=0), Range(lowest=0, highest=1))), 2, ("ranges", 1, "highest")),
        ],
    )
    def test_other_value_is_rejected_if_the_version_lacks_it(
        self, message: Changing, version: int, path: tuple[str | int, ...]
    ) -> None:
        with pytest.raises(EncodeError) as caught:
            to_json(message, version=version)
        assert (caught.value.kind, caught.value.path) == ("not_in_version", path)

    def test_null_is_rejected_in_versions_before_nullable_since(self) -> None:
        assert to_json(Changing(owner=None), version=2)["owner"] is None
        for convert in (
            lambda: to_json(Changing(owner=None), version=1),
            lambda: from_json(Changing, {"form": [], "owner": None}, version=1),
        ):
            with pytest.raises(EncodeError) as caught:
                convert()
            assert (caught.value.kind, caught.value.path) == ("null_not_allowed", ("owner",))

    def test_unknown_tags_are_left_out(self) -> None:
        unknown: dict[str, Any] = {"unknown_tags": {9: b"x"}}
        assert to_json(Changing(**unknown), version=3) == to_json(Changing(), version=3)

    @for_rows("version", [-1, 4])
    def test_undeclared_versions_are_rejected(self, version: int) -> None:
        with pytest.raises(UnsupportedVersion):
            to_json(Changing(), version=version)
        with pytest.raises(UnsupportedVersion):
            from_json(Changing, {}, version=version)


class TestReading:
    def test_fields_with_a_default_can_be_missing(self) -> None:
        assert from_json(Changing, {}, version=3) == Changing()

    @for_rows("name", EVERYTHING_IN_JSON)
    def test_missing_required_field_is_rejected(self, name: str) -> None:
        document = {key: value for key, value in EVERYTHING_IN_JSON.items() if key != name}
        with pytest.raises(EncodeError) as caught:
            from_json(Everything, document, version=0)
        assert (caught.value.kind, caught.value.path) == ("wrong_type", (name,))
        assert str(caught.value) == f"{name}: wrong_type: required field is missing"

    @for_rows(
        ("name", "value", "kind", "path"),
        [
            ("flag", 1, "wrong_type", ("flag",)),
            ("flag", None, "null_not_allowed", ("flag",)),
            ("tiny", 128, "out_of_range", ("tiny",)),
            ("tiny", True, "wrong_type", ("tiny",)),
            ("small", -32769, "out_of_range", ("small",)),
            ("medium", "1", "wrong_type", ("medium",)),
            ("medium", 1.0, "wrong_type", ("medium",)),
            ("large", 2**63, "out_of_range", ("large",)),
            ("port", -1, "out_of_range", ("port",)),
            ("crc", 2**32, "out_of_range", ("crc",)),
            ("share", "0.5", "wrong_type", ("share",)),
            ("share", "infinity", "wrong_type", ("share",)),
            ("share", 10**400, "out_of_range", ("share",)),
            ("share", False, "wrong_type", ("share",)),
            ("id", "", "wrong_type", ("id",)),
            ("id", "A" * 21, "wrong_type", ("id",)),
            ("id", "A" * 23, "wrong_type", ("id",)),
            ("id", "A" * 22 + "==", "wrong_type", ("id",)),
            ("id", "A" * 21 + "B", "wrong_type", ("id",)),
            ("id", "+" * 22, "wrong_type", ("id",)),
            ("id", "é" * 22, "wrong_type", ("id",)),
            ("id", "00000000-0000-0000-0000-000000000000", "wrong_type", ("id",)),
            ("text", b"t", "wrong_type", ("text",)),
            ("text", "\ud800", "invalid_utf8", ("text",)),
            ("blob", "AA", "wrong_type", ("blob",)),
            ("blob", "A A=", "wrong_type", ("blob",)),
            ("blob", "é===", "wrong_type", ("blob",)),
            ("blob", b"", "wrong_type", ("blob",)),
            ("numbers", {}, "wrong_type", ("numbers",)),
            ("numbers", "12", "wrong_type", ("numbers",)),
            ("numbers", None, "null_not_allowed", ("numbers",)),
            ("numbers", [1, None], "null_not_allowed", ("numbers", 1)),
            ("part", [], "wrong_type", ("part",)),
            ("part", None, "null_not_allowed", ("part",)),
            ("part", {}, "wrong_type", ("part", "name")),
            ("parts", [{"name": "q"}, {"name": 5}], "wrong_type", ("parts", 1, "name")),
            ("partOrNull", {"name": None}, "null_not_allowed", ("partOrNull", "name")),
            ("numberIfAny", "0", "wrong_type", ("numberIfAny",)),
            ("partIfAny", {"name": "n", "rank": 1}, "not_in_version", ("partIfAny", "rank")),
        ],
    )
    def test_wrong_value_is_rejected_with_its_path(
        self, name: str, value: object, kind: str, path: tuple[str | int, ...]
    ) -> None:
        with pytest.raises(EncodeError) as caught:
            from_json(Everything, EVERYTHING_IN_JSON | {name: value}, version=0)
        assert (caught.value.kind, caught.value.path) == (kind, path)

    @for_rows("document", [None, [], "{}", 5])
    def test_document_must_be_an_object(self, document: object) -> None:
        with pytest.raises(EncodeError) as caught:
            from_json(Changing, document, version=0)
        assert caught.value.path == ()

    @for_rows(
        ("name", "reason"),
        [
            ("epoch", "version 1 does not have this field"),
            ("new_form", "Changing has no such field"),
            ("unknownTags", "Changing has no such field"),
        ],
    )
    def test_name_that_the_version_lacks_is_rejected(self, name: str, reason: str) -> None:
        with pytest.raises(EncodeError) as caught:
            from_json(Changing, {"form": [], name: []}, version=1)
        assert (caught.value.kind, caught.value.path, caught.value.reason) == ("not_in_version", (name,), reason)


@cache
def vectors() -> dict[str, list[dict[str, Any]]]:
    """The vectors of Kafka's Java classes by message name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in ("vectors.jsonl.xz", "vectors-4.4.jsonl.xz"):
        with lzma.open(Path(__file__).parent / "data" / name) as lines:
            for line in lines:
                vector = json.loads(line)
                found.setdefault(vector["message"], []).append(vector)
    return found


def same_json(one: object, other: object) -> bool:
    """Return whether two documents are equal. Unlike `==`, it distinguishes true from 1 and 1 from 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("cls", messages.every("kafka"), ids=lambda cls: cls.__name__)
class TestKafkasOwnDocuments:
    def test_to_json_equals_kafkas_document(self, cls: type[Message]) -> None:
        for vector in vectors()[cls.__name__]:
            version = vector["version"]
            message = reference.decode(cls, bytes.fromhex(vector["hex"]), version=version)
            assert same_json(to_json(message, version=version), vector["json"]), (version, vector["case"])

    def test_from_json_of_kafkas_document_encodes_to_kafkas_body(self, cls: type[Message]) -> None:
        for vector in vectors()[cls.__name__]:
            version = vector["version"]
            if "unknown_tags" not in vector:  # documents do not have unknown tags
                message = from_json(cls, vector["json"], version=version)
                assert reference.encode(message, version=version).hex() == vector["hex"], (version, vector["case"])


class TestForgedObjects:
    """Constructors reject wrong values, so these are set without them."""

    @for_rows(
        ("name", "value", "kind"),
        [
            ("flag", 1, "wrong_type"),
            ("tiny", False, "wrong_type"),
            ("tiny", 128, "out_of_range"),
            ("share", 1, "wrong_type"),
            ("id", "A" * 22, "wrong_type"),
            ("text", None, "null_not_allowed"),
            ("text", "\udfff", "invalid_utf8"),
            ("blob", bytearray(), "wrong_type"),
            ("numbers", [1], "wrong_type"),
            ("part", Range(lowest=1), "wrong_type"),
            ("part", None, "null_not_allowed"),
        ],
    )
    def test_wrong_value_is_rejected_with_its_path(self, name: str, value: object, kind: str) -> None:
        with pytest.raises(EncodeError) as caught:
            to_json(forged(EVERYTHING, name, value), version=0)
        assert (caught.value.kind, caught.value.path) == (kind, (name,))

    def test_unset_value_is_rejected(self) -> None:
        with pytest.raises(EncodeError) as caught:
            to_json(Everything.__new__(Everything), version=0)
        assert str(caught.value) == "flag: wrong_type: expected bool, found unset"


def forged(message: Everything, name: str, value: object) -> Everything:
    """Return a copy of `message` with any value in a slot."""
    copy: Any = replace(message)
    getattr(type(copy), name).__set__(copy, value)
    return copy  # type: ignore[no-any-return]  # Any, because the type is immutable for type checkers


@for_rows("key", [None, 1, True, b"topics", ("a",)])
def test_keys_that_are_not_names_are_rejected(key: Any) -> None:
    with pytest.raises(EncodeError) as caught:
        from_json(Everything, {key: 1}, version=0)
    assert caught.value.kind == "wrong_type"
    assert str(caught.value) == f"wrong_type: expected names as keys, found {key!r}"
