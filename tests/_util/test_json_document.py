"""JSON from outside of the process."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.json_document import MalformedJson, parse_json_document
from tests.for_rows import for_rows

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda children: st.lists(children) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), children),
)


@given(VALUES, st.booleans(), st.booleans())
def test_json_is_parsed_as_by_the_standard_library(value: object, is_ascii: bool, is_bytes: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert parse_json_document(text.encode() if is_bytes else text) == value


@for_rows(
    "text, reason",
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("9" * 5_000, "a number has too many digits"),
        (f'{{"a": -{"9" * 5_000}}}', "a number has too many digits"),
        (r'"\ud800"', "lone surrogate"),
        (r'{"\udfff": 1}', "lone surrogate"),
        ('"\ud800"', "lone surrogate"),
        (b'"\xed\xa0\x80"', "lone surrogate"),
        (b'"\xff"', "not a text in Unicode"),
        ("{\n{", "line 2 column 1"),
        ("", "line 1 column 1"),
    ],
)
def test_what_cannot_be_used_is_one_error(text: str | bytes, reason: str) -> None:
    with pytest.raises(MalformedJson, match=reason):
        parse_json_document(text)


def test_escapes_of_a_character_beyond_the_basic_plane_are_one_character() -> None:
    assert parse_json_document(r'"\ud83d\ude00"') == "\U0001f600"


def test_errors_of_a_hook_pass_through() -> None:
    def refuse(_: object) -> None:
        raise ValueError("twice")

    with pytest.raises(ValueError, match="twice"):
        parse_json_document("{}", object_pairs_hook=refuse)
