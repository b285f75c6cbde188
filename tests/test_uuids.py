"""Uuids in Kafka's form."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.uuids import uuid_from_text, uuid_to_text

KNOWN = {
    "AAAAAAAAAAAAAAAAAAAAAA": UUID(int=0),
    "AAAAAAAAAAAAAAAAAAAAAQ": UUID(int=1),
    "_____________________w": UUID(int=(1 << 128) - 1),
    "--------------------vQ": UUID("fbefbefb-efbe-fbef-befb-efbefbefbebd"),
}


@pytest.mark.parametrize(("text", "uuid"), KNOWN.items())
def test_texts_of_kafka_are_read_and_written(text: str, uuid: UUID) -> None:
    assert uuid_to_text(uuid) == text
    assert uuid_from_text(text) == uuid
    assert uuid_from_text(f"{text}==") == uuid


@given(st.uuids(allow_nil=True))
def test_every_uuid_survives(uuid: UUID) -> None:
    assert uuid_from_text(uuid_to_text(uuid)) == uuid


def test_unused_bits_of_the_last_character_are_ignored() -> None:
    assert uuid_from_text("AAAAAAAAAAAAAAAAAAAAAB") == UUID(int=0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("++++++++++++++++++++++", "Illegal base64 character 2b"),
        ("//////////////////////", "Illegal base64 character 2f"),
        ("AAAAAAAAAAAAAAAAAAAAA\n", "Illegal base64 character a"),
        ("A=AAAAAAAAAAAAAAAAAAAA", "Illegal base64 character 3d"),
        ("é" * 22, "Illegal base64 character e9"),
        ("AAAAAAAAAAAAAAAAAAAAAA=", "Input byte array has wrong 4-byte ending unit"),
        ("AAAAAAAAAAAAAAAAAAAA====", "Input byte array has wrong 4-byte ending unit"),
        ("AAAAAAAAAAAAAAAAAAAAA", "Last unit does not have enough valid bits"),
        ("", "decoded as 0 bytes"),
        ("rubbish", "decoded as 5 bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID"),
        ("A" * 23, "decoded as 17 bytes"),
        ("A" * 25, f"Input string with prefix `{'A' * 24}` is too long to be decoded as a base64 UUID"),
    ],
)
def test_other_text_is_rejected_with_the_sentence_of_kafka(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="(?s)" + sentence):
        uuid_from_text(text)
