"""Encodings of files that people edit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire._util.text_files import EncodingError, decode_properties, decode_text, read_properties, read_text

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"))
MARKED = ("utf-8-sig", "utf-16", "utf-32")


@given(TEXTS, st.sampled_from(("utf-8", *MARKED)), st.sampled_from(("\n", "\r\n", "\r")))
def test_every_marked_encoding_and_end_of_line_gives_the_same_text(text: str, encoding: str, end: str) -> None:
    lines = text.replace("\r", "\n")
    assert decode_text(lines.replace("\n", end).encode(encoding)) == lines


@given(TEXTS, st.sampled_from(MARKED))
def test_mark_decides_the_encoding_of_properties(text: str, encoding: str) -> None:
    assert decode_properties(text.encode(encoding)) == text.replace("\r\n", "\n").replace("\r", "\n")


def test_properties_without_a_mark_are_in_the_encoding_of_java(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_bytes(b"a=\xe9\r\n")
    assert read_properties(file) == "a=é\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_utf_16_without_a_mark_is_named(encoding: str) -> None:
    for decode in (decode_text, decode_properties):
        with pytest.raises(EncodingError, match="UTF-16 needs a byte order mark"):
            decode("password=secret\n".encode(encoding))


def test_damaged_text_is_refused_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content, name in ((b"s\xe9cret", "UTF-8"), (b"\xff\xfes\0e", "UTF-16"), (b"\xef\xbb\xbfs\xff", "UTF-8")):
        file.write_bytes(content)
        with pytest.raises(EncodingError, match=f"expected a text in {name}, found other bytes at offset"):
            read_text(file)
