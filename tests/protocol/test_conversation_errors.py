"""Conversations with frames that cannot be decoded."""

from __future__ import annotations

from struct import pack

import pytest

from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages import UnknownMessage
from tests.protocol.conversations import (
    METADATA,
    conversation,
    ids,
    metadata_request,
    metadata_response,
    response,
    sized,
)


def test_unknown_api_key_is_kept_with_the_reason() -> None:
    unknown = pack(">hhih", 999, 1, 7, 3) + b"app" + b"body"
    traffic = conversation()
    traffic.receive_from_client(sized(unknown) + metadata_request(8))

    [exchange, later] = traffic.receive_from_server(sized(pack(">i", 7) + b"answer") + metadata_response(8))

    assert (exchange.api_key, exchange.version, exchange.api_name) == (999, 1, None)
    assert (exchange.client_id, exchange.request) == ("app", unknown)
    with pytest.raises(UnknownMessage, match="no request with key 999"):
        exchange.decode_request()
    with pytest.raises(UnknownMessage, match="no response with key 999 version 1"):
        exchange.decode_response()
    assert later.decode_response().message == METADATA


def test_unknown_version_is_kept_with_the_reason() -> None:
    traffic = conversation()
    traffic.receive_from_client(sized(pack(">hhih", 3, 99, 7, -1) + b"\0body"))

    [exchange] = traffic.receive_from_server(sized(pack(">i", 7) + b"\0answer"))

    assert (exchange.api_name, exchange.version) == ("Metadata", 99)
    with pytest.raises(UnsupportedVersion, match="version 99 is not supported: MetadataRequest"):
        exchange.decode_request()
    with pytest.raises(UnsupportedVersion, match="version 99 is not supported: MetadataResponse"):
        exchange.decode_response()


def test_malformed_bodies_do_not_affect_later_frames() -> None:
    traffic = conversation()
    traffic.receive_from_client(sized(metadata_request(1)[4:-2]) + metadata_request(2))

    [malformed, later] = traffic.receive_from_server(sized(metadata_response(1)[4:-1]) + metadata_response(2))

    for decode in (malformed.decode_request, malformed.decode_response):
        with pytest.raises(DecodeError) as raised:
            decode()
        assert raised.value.kind == "truncated"
    assert later.decode_response().message == METADATA


@pytest.mark.parametrize("size", range(8))
def test_frames_too_short_for_a_header_are_paired_in_order(size: int) -> None:
    traffic = conversation()
    traffic.receive_from_client(sized(bytes(size)) + metadata_request(2))

    [short, paired] = traffic.receive_from_server(metadata_response(2))

    assert (short.outcome, short.api_key, short.correlation_id, short.client_id) == ("unanswered", None, None, None)
    assert paired.outcome == "answered"
    with pytest.raises(DecodeError, match="truncated"):
        short.decode_request()


def test_response_too_short_for_a_header_belongs_to_the_oldest_request() -> None:
    traffic = conversation()
    traffic.receive_from_client(metadata_request(1))

    [exchange] = traffic.receive_from_server(sized(b"\0\0"))

    with pytest.raises(DecodeError, match="correlation_id: truncated"):
        exchange.decode_response()


def test_client_id_that_is_not_utf8_does_not_prevent_pairing() -> None:
    """Kafka accepts such client ids."""
    traffic = conversation()
    traffic.receive_from_client(sized(pack(">hhih", 3, 1, 7, 2) + b"\xff\xfe" + b"\xff\xff\xff\xff"))

    [exchange] = traffic.receive_from_server(response(METADATA, 1))

    assert (exchange.client_id, exchange.outcome) == (None, "answered")
    assert exchange.decode_response().message == METADATA
    with pytest.raises(DecodeError, match="client_id: invalid_utf8"):
        exchange.decode_request()


@pytest.mark.parametrize(
    ("data", "protocol"),
    [(b"GET / HTTP/1.1\r\n\r\n", "HTTP"), (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS")],
    ids=["HTTP", "TLS"],
)
def test_other_protocols_are_named(data: bytes, protocol: str) -> None:
    traffic = conversation()

    assert traffic.receive_from_client(data) == []
    assert traffic.receive_from_client(metadata_request(1)) == []
    assert f"received {protocol}" in str(traffic.client_error)
    assert traffic.server_error is None


def test_frames_before_an_invalid_size_are_paired() -> None:
    traffic = conversation(max_size=1000)
    traffic.receive_from_client(metadata_request(1) + pack(">i", 1001) + bytes(2000))
    found = traffic.receive_from_server(metadata_response(1) + pack(">i", -1))

    assert ids(found) == [1]
    assert str(traffic.client_error) == "frame of 1001 bytes, but between 0 and 1000 are allowed"
    assert str(traffic.server_error) == "frame of -1 bytes, but between 0 and 1000 are allowed"
    assert traffic.receive_from_server(metadata_response(2)) == []
    assert traffic.partial_bytes == (0, 0)
