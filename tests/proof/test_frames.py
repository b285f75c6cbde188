"""Requests and responses of real clients and brokers round-trip through kwire without a changed byte.

`frames-excepted.json` lists the few exceptions with reasons. The tests check that each exception is necessary.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import kwire
from kwire import frame, messages, reference
from kwire.declare.introspect import describe
from tests.for_rows import for_rows
from tests.proof.codecs import BOTH
from tests.proof.material import DATA, Exchange, exchanges

if TYPE_CHECKING:
    from kwire.declare import Message


@cache
def excepted() -> dict[str, str]:
    """The reason of each excepted frame."""
    groups = json.loads((DATA / "frames-excepted.json").read_text())
    named = [(f"{group['source']}:{line}", group["kind"]) for group in groups for line in group["lines"]]
    assert len(named) == len(dict(named)), "a frame is excepted twice"
    return dict(named)


def exceptions(kind: str) -> list[Exchange]:
    return [exchange for exchange in exchanges() if excepted().get(exchange.name) == kind]


@cache
def by_api() -> dict[str, list[Exchange]]:
    """Return the exchanges that are not excepted, by API name."""
    found: dict[str, list[Exchange]] = {}
    for exchange in exchanges():
        if exchange.name not in excepted():
            cls = request_class(exchange)
            found.setdefault(cls.__name__, []).append(exchange)
    return found


def request_class(exchange: Exchange) -> type[Message]:
    return messages.find("kafka", api_key=exchange.api_key, version=exchange.version, kind="request")


def response_class(exchange: Exchange) -> type[Message]:
    return messages.find("kafka", api_key=exchange.api_key, version=exchange.version, kind="response")


def written_request(request: frame.DecodedRequest) -> bytes:
    return frame.encode_request(
        request.message,
        version=request.header.request_api_version,
        correlation_id=request.header.correlation_id,
        client_id=request.header.client_id,
    )


def written_response(response: frame.DecodedResponse[Any]) -> bytes:
    return frame.encode_response(response.message, version=response.version, correlation_id=response.correlation_id)


def sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


each_api = for_rows("api", sorted(by_api()))


@each_api
def test_requests_round_trip(api: str) -> None:
    for exchange in by_api()[api]:
        request = frame.decode_request(exchange.request)
        assert type(request.message).__name__ == api
        assert request.header.client_id == exchange.client
        assert not request.surplus, exchange.name
        assert written_request(request) == sized(exchange.request), exchange.name


@each_api
def test_responses_round_trip(api: str) -> None:
    for exchange in by_api()[api]:
        response = frame.decode_response(exchange.response, response_class(exchange), version=exchange.version)
        assert response.version == exchange.version, exchange.name
        assert response.correlation_id == frame.decode_request(exchange.request).header.correlation_id
        assert written_response(response) == sized(exchange.response), exchange.name


@each_api
def test_messages_round_trip_through_json(api: str) -> None:
    for exchange in by_api()[api]:
        for message in (
            frame.decode_request(exchange.request).message,
            frame.decode_response(exchange.response, response_class(exchange), version=exchange.version).message,
        ):
            document = json.loads(json.dumps(kwire.to_json(message, version=exchange.version)))
            again = kwire.from_json(type(message), document, version=exchange.version)
            assert again == message, exchange.name
            for codec in BOTH:
                assert codec.encode(again, version=exchange.version) == kwire.encode(
                    message, version=exchange.version
                ), exchange.name


@each_api
def test_both_codecs_round_trip_the_bodies(api: str) -> None:
    """`frame` uses the engine, so the bodies are extracted here and given to both codecs."""
    for exchange in by_api()[api]:
        for cls, payload in (
            (request_class(exchange), exchange.request),
            (response_class(exchange), exchange.response),
        ):
            body = payload[header_size(cls, payload, exchange.version) :]
            decoded = [codec.decode(cls, body, version=exchange.version) for codec in BOTH]
            assert decoded[0] == decoded[1], exchange.name
            assert [codec.encode(decoded[0], version=exchange.version) for codec in BOTH] == [body, body], exchange.name


def header_size(cls: type[Message], payload: bytes, version: int) -> int:
    """Return the header size, derived from the trailing bytes error of the reference codec."""
    header = messages.find("kafka", name="RequestHeader" if describe(cls).kind == "request" else "ResponseHeader")
    _, error = reference.spans(header, payload, version=describe(cls).header_version(version))
    if error is None:
        return len(payload)
    assert error.kind == "trailing_bytes"
    return error.offset


# Exceptions, and why each is necessary


def test_few_frames_are_excepted() -> None:
    assert set(excepted()) <= {exchange.name for exchange in exchanges()}
    assert Counter(excepted().values()) == {
        "version not declared": 6,
        "response in version 0": 2,
        "surplus bytes": 2,
    }
    assert len(exchanges()) == 1926


def test_frames_of_undeclared_versions_are_rejected() -> None:
    """All are ApiVersions version 99. The header is enough to respond as the brokers did."""
    for exchange in exceptions("version not declared"):
        with pytest.raises(frame.UnsupportedRequest) as caught:
            frame.decode_request(exchange.request)
        header = caught.value.header
        assert (header.request_api_key, header.request_api_version) == (18, 99)
        cls = messages.find("kafka", name="ApiVersionsResponse")
        response = frame.decode_response(exchange.response, cls, version=5)
        assert (response.version, response.correlation_id) == (0, header.correlation_id)
        assert written_response(response) == sized(exchange.response)


def test_api_versions_responses_in_version_0() -> None:
    """The response is not in the requested version."""
    for exchange in exceptions("response in version 0"):
        request = frame.decode_request(exchange.request)
        assert written_request(request) == sized(exchange.request)
        response: Any = frame.decode_response(exchange.response, response_class(exchange), version=exchange.version)
        assert response.version == 0 < exchange.version
        assert response.message.error_code == 35
        assert written_response(response) == sized(exchange.response)


def test_surplus_bytes_of_requests_are_kept_apart() -> None:
    """Three bytes that librdkafka sends after Metadata requests are returned separately and not encoded again."""
    for exchange in exceptions("surplus bytes"):
        request = frame.decode_request(exchange.request)
        assert request.surplus == bytes.fromhex("010000")
        assert written_request(request) == sized(exchange.request.removesuffix(request.surplus))
        response = frame.decode_response(exchange.response, response_class(exchange), version=exchange.version)
        assert written_response(response) == sized(exchange.response)


def test_splitter_splits_a_stream_of_all_payloads() -> None:
    payloads = [payload for exchange in exchanges() for payload in (exchange.request, exchange.response)]
    stream = b"".join(map(sized, payloads))
    splitter = frame.Splitter()
    chunks = (stream[start : start + 1460] for start in range(0, len(stream), 1460))
    assert [payload for chunk in chunks for payload in splitter.feed(chunk)] == payloads
