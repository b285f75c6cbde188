"""Records of internal topics: the bytes of Kafka's classes after their type and version."""

from __future__ import annotations

from typing import Any

import pytest

import kwire
from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages import TOPICS, record_classes
from kwire.messages.cluster_metadata import TopicRecord
from kwire.messages.consumer_offsets import OffsetCommitKey, OffsetCommitValue
from kwire.records import INTERNAL_TOPICS, InternalRecord, Record, UnknownTopic, encode_internal_record, internal_record
from tests.for_rows import for_rows
from tests.proof.material import vectors

KEY = bytes.fromhex("0001 0001 67 0001 74 00000005")
VALUE = bytes.fromhex("0003 000000000000002a 00000007 0000 0000018bcfe56800")


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(offset=0, timestamp=0, key=key, value=value)


def test_committed_offset_has_a_key_and_a_value() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=5)
    value = OffsetCommitValue(offset=42, leader_epoch=7, metadata="", commit_timestamp=1_700_000_000_000)
    decoded = InternalRecord(1, key, value, 3)

    assert internal_record("__consumer_offsets", record(KEY, VALUE)) == decoded
    assert encode_internal_record("__consumer_offsets", decoded) == (KEY, VALUE)


def test_record_without_a_value_deletes_its_key() -> None:
    decoded = internal_record("__consumer_offsets", record(KEY, None))

    assert (decoded.value, decoded.version) == (None, 0)
    assert encode_internal_record("__consumer_offsets", decoded) == (KEY, None)


def test_metadata_record_has_its_type_in_the_value() -> None:
    value = bytes.fromhex("01 02 00 06 6f7264657273 00000000000000000000000000000001".replace("06 6f", "07 6f") + "00")
    decoded = internal_record("__cluster_metadata", record(None, value))

    assert decoded.value is not None
    assert isinstance(decoded.value, TopicRecord)
    assert (decoded.type, decoded.key, decoded.version, decoded.value.name) == (2, None, 0, "orders")
    assert encode_internal_record("__cluster_metadata", decoded) == (None, value)


@for_rows("topic", INTERNAL_TOPICS)
def test_vectors_of_every_type_round_trip(topic: str) -> None:
    classes = record_classes(topic)
    bodies = {(kind, part): vectors()[cls.__name__] for (kind, part), cls in classes.items()}
    for (kind, part), cases in bodies.items():
        key = bodies.get((kind, "Key"), [None])[0]
        for case in cases:
            prefix = case.version.to_bytes(2, "big") if part == "Value" else bytes((1, kind, case.version))
            key_bytes = None if key is None else kind.to_bytes(2, "big") + (case if part == "Key" else key).body
            value_bytes = None if part == "Key" else prefix + case.body
            decoded = internal_record(topic, record(key_bytes, value_bytes))

            message: Any = decoded.key if part == "Key" else decoded.value
            assert type(message) is classes[kind, part]
            assert kwire.encode(message, version=case.version) == case.body, case.name
            assert encode_internal_record(topic, decoded) == (key_bytes, value_bytes), case.name


@for_rows(
    ("topic", "key", "value"),
    [("__consumer_offsets", b"\0\x63any", VALUE), ("__cluster_metadata", None, b"\x01\xb6\x01\0 any")],
)
def test_unknown_type_has_neither_key_nor_value(topic: str, key: bytes | None, value: bytes) -> None:
    decoded = internal_record(topic, record(key, value))
    assert (decoded.key, decoded.value) == (None, None)
    assert decoded.type in {99, 182}


@for_rows(
    ("topic", "key", "value", "error"),
    [
        ("__consumer_offsets", None, VALUE, "key: null_not_allowed at byte 0"),
        ("__consumer_offsets", b"\0", VALUE, "key.version: truncated at byte 0: 2 bytes wanted, 1 left"),
        ("__consumer_offsets", b"\xff\xff", VALUE, "key.version: invalid_marker at byte 0"),
        ("__consumer_offsets", KEY[:-1], VALUE, "key.partition: truncated at byte 8: 4 bytes wanted, 3 left"),
        ("__consumer_offsets", KEY + b"\0", VALUE, "key: trailing_bytes at byte 12: 1 left over"),
        ("__consumer_offsets", KEY, b"", "value.version: truncated at byte 0: 2 bytes wanted, 0 left"),
        ("__consumer_offsets", KEY, VALUE[:5], "value.offset: truncated at byte 2: 8 bytes wanted, 3 left"),
        ("__cluster_metadata", None, None, "value: null_not_allowed at byte 0"),
        ("__cluster_metadata", None, b"", "value.frame_version: truncated at byte 0: 1 bytes wanted, 0 left"),
        ("__cluster_metadata", None, b"\0\x02\0", "value.frame_version: invalid_marker at byte 0"),
        ("__cluster_metadata", None, b"\x01\x80\x80\x80\x80\x80\x01", "value.type: varint_overflow at byte 1"),
        ("__cluster_metadata", None, b"\x01\xff\xff\x02\0", "value.type: varint_overflow at byte 1"),
        ("__cluster_metadata", None, b"\x01\x80", "value.type: truncated at byte 1: 1 bytes wanted, 0 left"),
        ("__cluster_metadata", None, b"\x01\x02\x00\x05ab", "value.name: truncated at byte 3: 4 bytes wanted, 2 left"),
    ],
)
def test_error_has_the_offset_in_the_key_or_value(topic: str, key: bytes | None, value: bytes, error: str) -> None:
    with pytest.raises(DecodeError) as caught:
        internal_record(topic, record(key, value))
    assert str(caught.value) == error


def test_unknown_version_and_topic_are_errors() -> None:
    with pytest.raises(UnsupportedVersion, match="OffsetCommitValue"):
        internal_record("__consumer_offsets", record(KEY, b"\0\x09"))
    with pytest.raises(UnknownTopic, match="'orders': expected one of __consumer_offsets, "):
        internal_record("orders", record(KEY, VALUE))
    assert len(TOPICS) == len(INTERNAL_TOPICS)
