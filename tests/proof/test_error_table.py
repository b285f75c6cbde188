"""Every kind of error for every field type that can have it, with offset, path, and numbers, in both codecs.

The table covers all known cases; random tests find the others. Each message has one byte before the field, so that
offsets are never zero by chance.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from kwire import DecodeError, EncodeError
from kwire.declare import Message, Struct, UnknownTags, field, int8, int16, zero
from kwire.declare.wire_types import (
    PRIMITIVES,
    ArrayType,
    BytesType,
    MaybeType,
    NullableType,
    StringType,
    StructType,
    WireType,
)
from kwire.errors import DECODE_KINDS, ENCODE_KINDS
from tests.for_rows import for_rows
from tests.proof.codecs import Codec, through_both
from tests.proof.forged import UNSET, put


class Point(Struct):
    x: int16
    y: int16


LENGTHY = {"string": StringType(), "bytes": BytesType(), "array": ArrayType(PRIMITIVES["int32"])}

TYPES: dict[str, tuple[WireType, bool]] = {
    **{name: (primitive, False) for name, primitive in PRIMITIVES.items()},
    **{name: (type, False) for name, type in LENGTHY.items()},
    **{f"compact {name}": (type, True) for name, type in LENGTHY.items()},
    **{f"nullable {name}": (NullableType(type), False) for name, type in LENGTHY.items()},
    **{f"nullable compact {name}": (NullableType(type), True) for name, type in LENGTHY.items()},
    "array of structs": (ArrayType(StructType(Point)), False),
    "struct": (StructType(Point), False),
    "nullable struct": (NullableType(StructType(Point)), False),
    "maybe": (MaybeType(PRIMITIVES["int32"]), False),
}
"""The type of each name, and whether its message is flexible."""


@cache
def message(name: str) -> Any:
    """Return a message with one byte followed by a field `value` of the given type."""
    wire, flexible = TYPES[name]
    return declare({"before": int8, "value": wire}, flexible)


def declare(annotations: dict[str, object], flexible: bool, **options: Any) -> Any:
    namespace = {"__module__": __name__, "__annotations__": annotations, **options}
    keywords = {"versions": "0-1"} | ({"flexible": "0+"} if flexible else {})
    metaclass: Any = type(Message)
    return metaclass("Row", (Message,), namespace, **keywords)


TAGGED = declare({"before": int8, "value": int16}, True, value=field(tag=3, default=0))


class Bad(NamedTuple):
    """The bytes after the first one, and the expected error."""

    type: str
    body: str
    kind: str
    offset: int
    path: tuple[str | int, ...] = ("value",)
    wanted: int | None = None
    left: int | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.type}: {self.body}"


def bad_numbers() -> list[Bad]:
    return [
        Bad(name, "00" * left, "truncated", 1, wanted=primitive.size, left=left)
        for name, primitive in PRIMITIVES.items()
        for left in {0, primitive.size - 1}
    ]


def bad_lengths() -> list[Bad]:
    """Return the cases that strings, bytes, and arrays share, nullable or not."""
    rows = []
    for name in LENGTHY:
        size = 2 if name == "string" else 4
        negative, null = ("ff" * (size - 1) + "fe", "ff" * size)
        for nullable_or_not in ("", "nullable "):
            classic, compact = f"{nullable_or_not}{name}", f"{nullable_or_not}compact {name}"
            rows += [
                Bad(classic, "", "truncated", 1, wanted=size, left=0),
                Bad(classic, "00", "truncated", 1, wanted=size, left=1),
                Bad(classic, negative, "negative_length", 1),
                Bad(classic, "80" + "00" * (size - 1), "negative_length", 1),
                Bad(compact, "", "truncated", 1, wanted=1, left=0),
                Bad(compact, "80", "truncated", 1, wanted=1, left=0),
                Bad(compact, "80 80 80 80 10", "varint_overflow", 1),
                Bad(compact, "80 80 80 80 80 00", "varint_overflow", 1),
            ]
            if name == "array":
                rows += [
                    Bad(classic, "00000002 00000001 000000", "count_exceeds_input", 1, wanted=8, left=7),
                    Bad(classic, "7fffffff", "count_exceeds_input", 1, wanted=4 * 0x7FFF_FFFF, left=0),
                    Bad(compact, "03 00000001 000000", "count_exceeds_input", 1, wanted=8, left=7),
                    Bad(compact, "ffffffff0f 00", "count_exceeds_input", 1, wanted=4 * 0xFFFF_FFFE, left=1),
                ]
            else:
                rows += [
                    Bad(classic, "00" * (size - 1) + "03 61 62", "truncated", 1, wanted=3, left=2),
                    Bad(compact, "04 61 62", "truncated", 1, wanted=3, left=2),
                ]
            if name == "string":
                rows += [
                    Bad(classic, "0002 c3 28 00", "invalid_utf8", 1),
                    Bad(compact, "04 ed a0 80 00", "invalid_utf8", 1),
                    Bad(compact, "81 80 02", "too_long", 1),
                    Bad(compact, "ffffffff0f", "too_long", 1),
                ]
        rows += [
            Bad(name, null, "null_not_allowed", 1),
            Bad(f"compact {name}", "00", "null_not_allowed", 1),
            Bad(f"compact {name}", "8000", "null_not_allowed", 1),
        ]
    return rows


BAD_BODIES = [
    *bad_numbers(),
    *bad_lengths(),
    Bad("array of structs", "00000001 000000", "count_exceeds_input", 1, wanted=4, left=3),
    Bad("struct", "0001 00", "truncated", 3, ("value", "y"), wanted=2, left=1),
    Bad("nullable struct", "", "truncated", 1, wanted=1, left=0),
    Bad("nullable struct", "01 0001 00", "truncated", 4, ("value", "y"), wanted=2, left=1),
    Bad("nullable struct", "00 0001 0002", "invalid_marker", 1),
    Bad("nullable struct", "02 0001 0002", "invalid_marker", 1),
    Bad("nullable struct", "fe", "invalid_marker", 1),
    Bad("maybe", "", "truncated", 1, wanted=1, left=0),
    Bad("maybe", "80 000000", "truncated", 2, wanted=4, left=3),
    Bad("message", "00", "trailing_bytes", 1, (), wanted=0, left=1),
    Bad("tags", "", "truncated", 1, (), wanted=1, left=0),
    Bad("tags", "8080808070", "varint_overflow", 1, ()),
    Bad("tags", "01 00", "count_exceeds_input", 1, (), wanted=2, left=1),
    Bad("tags", "ffffffff0f", "count_exceeds_input", 1, (), wanted=2 * 0xFFFF_FFFF, left=0),
    Bad("tags", "01 8080808070 00", "varint_overflow", 2, ()),
    Bad("tags", "01 8080", "truncated", 2, (), wanted=1, left=0),
    Bad("tags", "01 05 80", "truncated", 3, (), wanted=1, left=0),
    Bad("tags", "01 05 8080808070", "varint_overflow", 3, ()),
    Bad("tags", "01 05 02 aa", "truncated", 4, (), wanted=2, left=1),
    Bad("tags", "02 05 00 05 00", "tag_order", 4, ()),
    Bad("tags", "02 05 00 04 00", "tag_order", 4, ()),
    Bad("tags", "02 03 02 0001 03 02 0001", "tag_order", 6, ()),
    Bad("tagged field", "01 03 80", "truncated", 3, wanted=1, left=0),
    Bad("tagged field", "01 03 8080808070", "varint_overflow", 3),
    Bad("tagged field", "01 03 03 0001", "truncated", 4, wanted=3, left=2),
    Bad("tagged field", "01 03 01 0001", "truncated", 4, wanted=2, left=1),
    Bad("tagged field", "01 03 03 000102", "tag_size", 4, wanted=3, left=1),
]

LENGTHY_TYPES = {
    f"{nullable_or_not}{compact}{name}"
    for nullable_or_not in ("", "nullable ")
    for compact in ("", "compact ")
    for name in LENGTHY
}
COMPACT_TYPES = {name for name in LENGTHY_TYPES if "compact" in name}
STRING_TYPES = {name for name in LENGTHY_TYPES if "string" in name}

POSSIBLE: dict[str, set[str]] = {
    "truncated": {*PRIMITIVES, *LENGTHY_TYPES, "struct", "nullable struct", "maybe", "tags", "tagged field"},
    "count_exceeds_input": {name for name in LENGTHY_TYPES if "array" in name} | {"array of structs", "tags"},
    "negative_length": LENGTHY_TYPES - COMPACT_TYPES,
    "too_long": STRING_TYPES & COMPACT_TYPES,
    "null_not_allowed": {name for name in LENGTHY_TYPES if "nullable" not in name},
    "invalid_utf8": STRING_TYPES,
    "varint_overflow": COMPACT_TYPES | {"tags", "tagged field"},
    "tag_order": {"tags"},
    "tag_size": {"tagged field"},
    "invalid_marker": {"nullable struct"},
    "trailing_bytes": {"message"},
}
"""The types that can have each kind of error. The table must cover exactly these."""


def test_table_of_bodies_is_complete() -> None:
    assert set(POSSIBLE) == set(DECODE_KINDS)
    assert {(row.kind, row.type) for row in BAD_BODIES} == {
        (kind, name) for kind, names in POSSIBLE.items() for name in names
    }


@for_rows("row", BAD_BODIES, ids=[row.name for row in BAD_BODIES])
@through_both
def test_invalid_body_raises_the_expected_error(codec: Codec, row: Bad) -> None:
    match row.type:
        case "tags" | "tagged field":
            cls = TAGGED
        case "message":
            cls = declare({"before": int8}, flexible=False)
        case _:
            cls = message(row.type)
    for call in (codec.decode, codec.validate):
        with pytest.raises(DecodeError) as caught:
            call(cls, bytes.fromhex("07" + row.body), version=0)
        error = caught.value
        assert (error.kind, error.offset, error.path, error.wanted, error.left) == row[2:]


# Values.

GOOD_VALUES: dict[str, Any] = {
    **{name: 1 for name, primitive in PRIMITIVES.items() if primitive.is_integer},
    "float64": 1.5,
    "bool": True,
    "uuid": UUID(int=1),
    **dict.fromkeys(STRING_TYPES, "a"),
    **{name: b"a" for name in LENGTHY_TYPES if "bytes" in name},
    **{name: (1,) for name in LENGTHY_TYPES if "array" in name},
    "array of structs": (Point(x=1, y=2),),
    "struct": Point(x=1, y=2),
    "nullable struct": Point(x=1, y=2),
    "maybe": 1,
}

NEVER_NULL = {name for name in TYPES if "nullable" not in name and name != "maybe"}

WRONG_TYPES: dict[str, tuple[Any, ...]] = {
    **{name: (True, 1.0, "1", UNSET) for name, primitive in PRIMITIVES.items() if primitive.is_integer},
    "float64": (1, True, "1", UNSET),
    "bool": (0, 1, "", UNSET),
    "uuid": (str(UUID(int=1)), UUID(int=1).bytes, 1, UNSET),
    **dict.fromkeys(sorted(STRING_TYPES), (b"a", 1, ("a",), UNSET)),
    **{name: ("a", bytearray(b"a"), memoryview(b"a"), UNSET) for name in sorted(LENGTHY_TYPES) if "bytes" in name},
    **{name: ([1], "a", {1: 1}, 1, UNSET) for name in sorted(LENGTHY_TYPES) if "array" in name},
    "array of structs": ([Point(x=1, y=2)], Point(x=1, y=2), UNSET),
    "struct": ((1, 2), Struct, UNSET),
    "nullable struct": ((1, 2), Struct, UNSET),
    "maybe": (True, "1", (), UNSET),
}


class BadValue(NamedTuple):
    """A value forged into the field, and the expected error."""

    type: str
    value: Any
    kind: str
    path: tuple[str | int, ...] = ("value",)

    @property
    def name(self) -> str:
        shown = re.sub(" at 0x[0-9a-f]+", "", repr(self.value))  # the same in every run
        return f"{self.kind}: {self.type}: {shown:.40}"


def out_of_range() -> list[BadValue]:
    return [
        BadValue(name, value, "out_of_range")
        for name, primitive in PRIMITIVES.items()
        if primitive.lowest is not None and primitive.highest is not None
        for value in (primitive.lowest - 1, primitive.highest + 1, 1 << 200, -(1 << 200))
    ]


BAD_VALUES = [
    *out_of_range(),
    *(BadValue(name, value, "wrong_type") for name, values in WRONG_TYPES.items() for value in values),
    *(BadValue(name, None, "null_not_allowed") for name in sorted(NEVER_NULL)),
    *(BadValue(name, "a" * 32_768, "too_long") for name in sorted(STRING_TYPES)),
    *(BadValue(name, "\N{SNOWMAN}" * 10_923, "too_long") for name in sorted(STRING_TYPES)),
    *(BadValue(name, "a\ud800", "invalid_utf8") for name in sorted(STRING_TYPES)),
    BadValue("array", (1, None), "null_not_allowed", ("value", 1)),
    BadValue("array", (1, 2, "3"), "wrong_type", ("value", 2)),
    BadValue("array of structs", (Point(x=1, y=1 << 15),), "out_of_range", ("value", 0, "y")),
    BadValue("maybe", 1 << 31, "out_of_range"),
]

POSSIBLE_IN_VALUES: dict[str, set[str]] = {
    "out_of_range": {name for name, primitive in PRIMITIVES.items() if primitive.is_integer}
    | {"array of structs", "maybe"},
    "too_long": STRING_TYPES,
    "null_not_allowed": NEVER_NULL,
    "wrong_type": set(TYPES),
    "invalid_utf8": STRING_TYPES,
}


def test_table_of_values_is_complete() -> None:
    # The other two kinds have their own tests below.
    assert {*POSSIBLE_IN_VALUES, "not_in_version", "tag_clash"} == set(ENCODE_KINDS)
    assert {(row.kind, row.type) for row in BAD_VALUES} == {
        (kind, name) for kind, names in POSSIBLE_IN_VALUES.items() for name in names
    }


@for_rows("row", BAD_VALUES, ids=[f"{index} {row.name}" for index, row in enumerate(BAD_VALUES)])
@through_both
def test_invalid_value_raises_the_expected_error(codec: Codec, row: BadValue) -> None:
    forged = message(row.type)(before=7, value=GOOD_VALUES[row.type])
    put(forged, "value", row.value)
    assert error_of(codec, forged, 0) == (row.kind, row.path)


@for_rows("name", sorted(TYPES))
@through_both
def test_value_of_an_absent_field_is_rejected(codec: Codec, name: str) -> None:
    wire, flexible = TYPES[name]
    strict = declare({"before": int8, "value": wire}, flexible, value=field(since=1, default=zero))
    lenient = declare({"before": int8, "value": wire}, flexible, value=field(since=1, default=zero, ignorable=True))
    body = bytes.fromhex("07 00" if flexible else "07")
    assert error_of(codec, strict(before=7, value=GOOD_VALUES[name]), 0) == ("not_in_version", ("value",))
    assert codec.encode(strict(before=7), version=0) == body
    assert codec.encode(lenient(before=7, value=GOOD_VALUES[name]), version=0) == body
    assert codec.decode(strict, body, version=0) == strict(before=7)


@through_both
def test_value_counts_as_set_if_it_differs_from_the_default(codec: Codec) -> None:
    """A value is set if it differs from the default. False is not 0, and doubles compare by bits."""
    number = declare({"before": int8, "value": int16}, flexible=False, value=field(since=1, default=0))
    share = declare({"before": int8, "value": PRIMITIVES["float64"]}, flexible=False, value=field(since=1, default=0.0))
    forged = number(before=7)
    put(forged, "value", False)
    assert error_of(codec, forged, 0) == ("not_in_version", ("value",))
    assert error_of(codec, share(before=7, value=-0.0), 0) == ("not_in_version", ("value",))
    assert codec.encode(share(before=7, value=0.0), version=0) == b"\x07"


@through_both
def test_clashing_unknown_tags_are_rejected(codec: Codec) -> None:
    plain = message("int8")(before=7, value=1, unknown_tags={9: b""})
    assert error_of(codec, plain, 0) == ("tag_clash", ("unknown_tags",))
    assert error_of(codec, TAGGED(before=7, unknown_tags={1: b"", 3: b""}), 0) == ("tag_clash", ("unknown_tags",))
    assert codec.encode(TAGGED(before=7, value=1, unknown_tags={4: b"d", 2: b"b"}), version=0) == bytes.fromhex(
        "07 03 020162 03020001 040164"
    )


@for_rows(
    "raw",
    ["05", "05 02 aa", "80", "ffffffff1f 00", "8080808080 00", "05 00 04 00", "05 00 05 00"],
)
@through_both
def test_forged_unknown_tags_that_are_truncated_or_unordered(codec: Codec, raw: str) -> None:
    forged = TAGGED(before=7, unknown_tags=UnknownTags(bytes.fromhex(raw)))
    assert error_of(codec, forged, 0) == ("wrong_type", ("unknown_tags",))


@through_both
def test_first_of_several_errors_is_raised(codec: Codec) -> None:
    """The order is absent fields, unknown tags in inflexible versions, fields in wire order, tagged fields."""
    cls = declare(
        {"early": int8, "late": int8, "tagged": int8},
        flexible=True,
        late=field(since=1, default=0),
        tagged=field(tag=0, default=0),
    )
    everything = cls(early=1000, late=1, tagged=1000, unknown_tags={0: b""})
    assert error_of(codec, everything, 0) == ("not_in_version", ("late",))
    assert error_of(codec, everything, 1) == ("out_of_range", ("early",))
    assert error_of(codec, cls(early=1, tagged=1000, unknown_tags={0: b""}), 1) == ("tag_clash", ("unknown_tags",))
    assert error_of(codec, cls(early=1, tagged=1000), 1) == ("out_of_range", ("tagged",))


def error_of(codec: Codec, forged: Any, version: int) -> tuple[str, tuple[str | int, ...]]:
    with pytest.raises(EncodeError) as caught:
        codec.encode(forged, version=version)
    return caught.value.kind, caught.value.path
