"""Conversations: captured bytes of both directions become pairs of requests and responses."""

from __future__ import annotations

import time
from struct import pack

import pytest

import kwire
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.produce import ProduceResponse
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1, TopicMetadataResponse_V1
from kwire.protocol import NoMessage
from kwire.protocol.negotiated_versions import KIP4_VERSIONS
from tests.for_rows import for_rows
from tests.protocol.conversations import (
    BROKER,
    METADATA,
    conversation,
    ids,
    metadata_request,
    metadata_response,
    produce,
    request,
    response,
    sized,
)

# Pairs


def test_request_and_response_are_one_exchange() -> None:
    traffic = conversation()

    assert traffic.receive_from_client(metadata_request(7), at=10.0) == []
    assert traffic.pending == 1
    [exchange] = traffic.receive_from_server(metadata_response(7), at=10.25)

    assert (exchange.kind, exchange.outcome) == ("message", "answered")
    assert (exchange.api_name, exchange.api_key, exchange.version) == ("Metadata", 3, 12)
    assert (exchange.correlation_id, exchange.client_id) == (7, "app")
    assert (exchange.request_class, exchange.response_class) == (MetadataRequest, MetadataResponse)
    assert exchange.decode_request().message == MetadataRequest(topics=None)
    assert exchange.decode_response().message == METADATA
    assert exchange.latency == 0.25
    assert (traffic.pending, traffic.pending_bytes, traffic.end()) == (0, 0, [])


def test_pipelined_requests_are_answered_in_order() -> None:
    traffic = conversation()
    traffic.receive_from_client(metadata_request(1) + request(ApiVersionsRequest(), 0, 2) + metadata_request(3))

    found = traffic.receive_from_server(
        metadata_response(1) + response(ApiVersionsResponse(error_code=0, api_keys=()), 0, 2) + metadata_response(3)
    )

    assert [(exchange.correlation_id, exchange.api_name) for exchange in found] == [
        (1, "Metadata"),
        (2, "ApiVersions"),
        (3, "Metadata"),
    ]


def test_times_are_optional() -> None:
    traffic = conversation()
    traffic.receive_from_client(metadata_request(7))

    [exchange] = traffic.receive_from_server(metadata_response(7), at=1.0)

    assert exchange.latency is None


def test_surplus_bytes_of_librdkafka_are_kept() -> None:
    traffic = conversation()
    traffic.receive_from_client(sized(metadata_request(7)[4:] + b"\0\0\0"))

    [exchange] = traffic.receive_from_server(metadata_response(7))

    assert exchange.decode_request().surplus == b"\0\0\0"
    assert exchange.decode_response().message == METADATA


# Versions


def test_versions_of_the_broker_are_remembered() -> None:
    assert conversation().negotiated is None
    traffic = conversation()
    served = ApiVersionsResponse(error_code=0, api_keys=(ApiVersion(api_key=3, min_version=0, max_version=12),))
    traffic.receive_from_client(request(ApiVersionsRequest(), 3))
    traffic.receive_from_server(response(served, 3))

    assert traffic.negotiated is not None
    assert traffic.negotiated.endpoint == BROKER
    assert traffic.negotiated.version_of(MetadataRequest) == 12
    assert traffic.dialect == "kafka"


@for_rows("version", [4, 99], ids=["known to kwire", "unknown to kwire"])
def test_unsupported_version_of_api_versions_is_answered_in_version_0(version: int) -> None:
    fallback = ApiVersionsResponse(error_code=35, api_keys=(ApiVersion(api_key=18, min_version=0, max_version=3),))
    traffic = conversation()
    traffic.receive_from_client(sized(pack(">hhih", 18, version, 7, -1) + b"\0\0\0\0"))

    [exchange] = traffic.receive_from_server(response(fallback, 0))

    assert exchange.version == version
    decoded = exchange.decode_response()
    assert (decoded.version, decoded.message) == (0, fallback)
    assert traffic.negotiated is None


def test_kip4_is_found_out_by_api_versions() -> None:
    keys = (ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in KIP4_VERSIONS.items())
    served = ApiVersionsResponse(error_code=0, api_keys=tuple(keys))
    asked = TopicMetadataRequest_V1(topic_names=())
    traffic = conversation()
    # The second request is sent before the response to the first is captured.
    traffic.receive_from_client(request(ApiVersionsRequest(), 0, 1) + request(asked, 1, 2))

    [_, exchange] = traffic.receive_from_server(
        response(served, 0, 1) + response(TopicMetadataResponse_V1(brokers=(), topics=()), 1, 2)
    )

    assert (traffic.dialect, exchange.dialect, exchange.api_name) == ("kip4", "kip4", "TopicMetadata")
    assert exchange.decode_request().message == asked
    assert exchange.decode_response().message == TopicMetadataResponse_V1(brokers=(), topics=())


def test_dialect_can_be_given() -> None:
    traffic = conversation(dialect="kip4")
    traffic.receive_from_client(request(TopicMetadataRequest_V1(topic_names=()), 1))

    [exchange] = traffic.receive_from_server(response(TopicMetadataResponse_V1(brokers=(), topics=()), 1))

    assert isinstance(exchange.decode_response().message, TopicMetadataResponse_V1)


# Requests without a response


def test_produce_without_acknowledgment_has_no_response() -> None:
    traffic = conversation()

    [one_way] = traffic.receive_from_client(produce(0, 1) + metadata_request(2))
    [answered] = traffic.receive_from_server(metadata_response(2))

    assert (one_way.outcome, one_way.correlation_id, one_way.latency) == ("one_way", 1, None)
    assert answered.correlation_id == 2
    with pytest.raises(NoMessage, match="the request has no response"):
        one_way.decode_response()


@for_rows("acks", [1, -1])
def test_produce_with_acknowledgment_has_a_response(acks: int) -> None:
    traffic = conversation()

    assert traffic.receive_from_client(produce(acks, 1)) == []
    [exchange] = traffic.receive_from_server(response(ProduceResponse(responses=()), 9, 1))

    assert exchange.outcome == "answered"


def test_requests_at_the_end_are_unanswered() -> None:
    traffic = conversation()
    traffic.receive_from_client(metadata_request(1) + metadata_request(2) + metadata_request(3)[:10])
    traffic.receive_from_server(metadata_response(1) + metadata_response(2)[:9])

    assert traffic.partial_bytes == (10, 9)
    assert [(exchange.outcome, exchange.correlation_id) for exchange in traffic.end()] == [("unanswered", 2)]
    assert traffic.end() == []


def test_requests_before_an_answered_one_are_unanswered() -> None:
    """Brokers answer in order, so frames are missing in the capture."""
    traffic = conversation()
    traffic.receive_from_client(metadata_request(1) + metadata_request(2) + metadata_request(3))

    found = traffic.receive_from_server(metadata_response(3))

    assert [(exchange.outcome, exchange.correlation_id) for exchange in found] == [
        ("unanswered", 1),
        ("unanswered", 2),
        ("answered", 3),
    ]


def test_waiting_requests_are_bounded() -> None:
    traffic = conversation(max_pending=3)

    found = traffic.receive_from_client(b"".join(map(metadata_request, range(5))))

    assert [(exchange.outcome, exchange.correlation_id) for exchange in found] == [("dropped", 0), ("dropped", 1)]
    assert traffic.pending == 3
    assert ids(traffic.receive_from_server(metadata_response(2))) == [2]


def test_bytes_of_waiting_requests_are_bounded() -> None:
    size = len(metadata_request(0)) - 4
    traffic = conversation(max_pending_bytes=3 * size)

    found = traffic.receive_from_client(b"".join(map(metadata_request, range(5))))

    assert ids(found) == [0, 1]
    assert (traffic.pending, traffic.pending_bytes) == (3, 3 * size)


def test_one_large_request_may_wait() -> None:
    traffic = conversation(max_pending_bytes=1)

    assert traffic.receive_from_client(metadata_request(0)) == []
    assert ids(traffic.receive_from_client(metadata_request(1))) == [0]


def test_at_least_one_request_may_wait() -> None:
    with pytest.raises(ValueError, match="max_pending=0: at least one request must be allowed to wait"):
        conversation(max_pending=0)


# Responses without a request


def test_capture_can_start_in_mid_connection() -> None:
    traffic = conversation()

    [early] = traffic.receive_from_server(metadata_response(41))
    traffic.receive_from_client(metadata_request(43))
    [late, paired] = traffic.receive_from_server(metadata_response(42) + metadata_response(43))

    assert (early.outcome, early.correlation_id, early.api_name) == ("unrequested", 41, None)
    assert (late.outcome, late.correlation_id) == ("unrequested", 42)
    assert (paired.outcome, paired.correlation_id) == ("answered", 43)
    with pytest.raises(NoMessage, match="its request was not captured"):
        early.decode_response()
    with pytest.raises(NoMessage, match="the request was not captured"):
        early.decode_request()


# SASL


def handshake(version: int, mechanism: str) -> tuple[bytes, bytes]:
    return (
        request(SaslHandshakeRequest(mechanism=mechanism), version, 0),
        response(SaslHandshakeResponse(error_code=0, mechanisms=(mechanism,)), version, 0),
    )


@for_rows(
    ("mechanism", "tokens"),
    [
        ("PLAIN", [(b"\0alice\0secret", b"")]),
        ("OAUTHBEARER", [(b"n,,\x01auth=Bearer token\x01\x01", b"")]),
        ("SCRAM-SHA-256", [(b"n,,n=alice,r=1", b"r=12,s=QQ==,i=4096"), (b"c=biws,r=12,p=QQ==", b"v=QQ==")]),
        ("SCRAM-SHA-512", [(b"n,,n=alice,r=1", b"r=12,s=QQ==,i=4096"), (b"c=biws,r=12,p=QQ==", b"v=QQ==")]),
        ("GSSAPI", [(b"\x60\x82first", b"\x60\x82"), (b"", b"\x05\x04\x01"), (b"\x05\x04\x04\xff", b"")]),
    ],
)
def test_tokens_after_handshake_version_0_have_no_header(mechanism: str, tokens: list[tuple[bytes, bytes]]) -> None:
    asked, answered = handshake(0, mechanism)
    sent = asked + b"".join(sized(token) for token, _ in tokens) + metadata_request(1)
    received = answered + b"".join(sized(token) for _, token in tokens) + metadata_response(1)
    traffic = conversation()

    assert traffic.receive_from_client(sent) == []
    first, *middle, last = traffic.receive_from_server(received)

    assert (first.api_name, first.version) == ("SaslHandshake", 0)
    assert [(exchange.kind, exchange.request, exchange.response) for exchange in middle] == [
        ("sasl_token", *token) for token in tokens
    ]
    assert {(exchange.outcome, exchange.api_key, exchange.correlation_id) for exchange in middle} == {
        ("answered", None, None)
    }
    assert (last.kind, last.api_name) == ("message", "Metadata")
    for decode in (middle[0].decode_request, middle[0].decode_response):
        with pytest.raises(NoMessage, match="a SASL token after SaslHandshake version 0 has no header"):
            decode()


def test_requests_follow_a_rejected_handshake() -> None:
    """On a listener without SASL, Kafka responds with error 34, and the connection stays usable."""
    traffic = conversation()
    traffic.receive_from_client(handshake(0, "PLAIN")[0] + metadata_request(1))
    rejected = response(SaslHandshakeResponse(error_code=34, mechanisms=()), 0, 0)

    [_, exchange] = traffic.receive_from_server(rejected + metadata_response(1))

    assert (exchange.kind, exchange.api_name) == ("message", "Metadata")


def test_tokens_after_handshake_version_1_are_in_messages() -> None:
    asked, answered = handshake(1, "PLAIN")
    traffic = conversation()
    traffic.receive_from_client(asked + request(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), 2, 1))

    token = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"")
    [_, exchange] = traffic.receive_from_server(answered + response(token, 2, 1))

    assert (exchange.kind, exchange.api_name) == ("message", "SaslAuthenticate")
    assert exchange.decode_request().message == SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")


def test_secrets_are_not_in_the_text_of_exchanges() -> None:
    traffic = conversation()
    traffic.receive_from_client(request(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 2, 1))
    [exchange] = traffic.end()

    assert repr(exchange) == (
        "Exchange(kind='message', outcome='unanswered', dialect='kafka', api_key=36, version=2, correlation_id=1,"
        " client_id='app', request=<30 bytes>, response=None, requested_at=None, responded_at=None)"
    )
    assert "hunter2" not in repr(exchange.decode_request())
    assert kwire.encode(exchange.decode_request().message, version=2) in (exchange.request or b"")


def test_responses_without_a_request_are_not_searched_for() -> None:
    """Whoever sends responses decides how many have no request, beside how many requests wait."""
    traffic = conversation(max_pending=10_000)
    for number in range(10_000):
        traffic.receive_from_client(metadata_request(number))
    started = time.process_time()
    unknown = traffic.receive_from_server(sized((1 << 30).to_bytes(4, "big")) * 10_000)
    without_request = time.process_time() - started

    started = time.process_time()
    answered = traffic.receive_from_server(b"".join(sized(number.to_bytes(4, "big")) for number in range(10_000)))
    assert [exchange.outcome for exchange in unknown] == ["unrequested"] * 10_000
    assert [exchange.outcome for exchange in answered] == ["answered"] * 10_000
    # Searching took hundreds of times as long.
    assert without_request < 50 * (time.process_time() - started)
