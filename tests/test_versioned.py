"""Messages after their version as an int16."""

from __future__ import annotations

import pytest

from kwire import decode_versioned, encode_versioned
from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages.kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tests.for_rows import for_rows

SUBSCRIPTION = ConsumerProtocolSubscription(topics=("orders",), generation_id=3)


@for_rows("version", [2, 3])
def test_message_round_trips_with_its_version(version: int) -> None:
    data = encode_versioned(SUBSCRIPTION, version=version)

    assert data[:2] == bytes((0, version))
    for source in (data, bytearray(data), memoryview(data)):
        assert decode_versioned(ConsumerProtocolSubscription, source) == (version, SUBSCRIPTION)


def test_newer_version_is_read_as_the_newest_on_request() -> None:
    data = b"\0\x09" + encode_versioned(SUBSCRIPTION, version=3)[2:]

    for newer in (data, data + b"a field of version 9"):
        with pytest.raises(UnsupportedVersion):
            decode_versioned(ConsumerProtocolSubscription, newer)
        decoded = decode_versioned(ConsumerProtocolSubscription, newer, newer_as_newest=True)
        assert decoded == (9, SUBSCRIPTION)


@for_rows("version", [0, 1, 2, 3, 9])
def test_bytes_after_the_fields_are_ignored_on_request(version: int) -> None:
    body = encode_versioned(ConsumerProtocolSubscription(topics=("orders",)), version=min(version, 3))[2:]
    data = version.to_bytes(2, "big") + body
    message = decode_versioned(ConsumerProtocolSubscription, data, newer_as_newest=True).message

    for rest in (b"!", b"\0" * 4, b"a field"):
        assert decode_versioned(ConsumerProtocolSubscription, data + rest, newer_as_newest=True) == (version, message)
    if version < 4:
        with pytest.raises(DecodeError, match="trailing_bytes"):
            decode_versioned(ConsumerProtocolSubscription, data + b"!")


@for_rows(
    ("data", "error"),
    [
        (b"", "version: truncated at byte 0: 2 bytes wanted, 0 left"),
        (b"\xff\xff\0\0", "version: invalid_marker at byte 0"),
        (b"\0\0\0\0\0\1", "assigned_partitions: count_exceeds_input at byte 2: 6 bytes wanted, 0 left"),
    ],
)
def test_offset_of_an_error_counts_from_the_version(data: bytes, error: str) -> None:
    for newer_as_newest in (False, True):
        with pytest.raises(DecodeError) as caught:
            decode_versioned(ConsumerProtocolAssignment, data, newer_as_newest=newer_as_newest)
        assert str(caught.value) == error
