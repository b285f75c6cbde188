"""Conversations: captured bytes of both directions become pairs of requests and responses."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from struct import pack
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire import frame
from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages import UnknownMessage
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.produce import ProduceRequest, ProduceResponse
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kwire.messages.kafka.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1, TopicMetadataResponse_V1
from kwire.protocol import Conversation, Endpoint, Exchange, NoMessage
from tests.proof.material import exchanges

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kwire.declare import Message

BROKER = Endpoint("broker-1", 9092)
METADATA = MetadataResponse(brokers=(), topics=())


def sized(payload: bytes) -> bytes:
    return pack(">i", len(payload)) + payload


def request(message: Message, version: int, correlation_id: int = 7, client_id: str | None = "app") -> bytes:
    return frame.encode_request(message, version=version, correlation_id=correlation_id, client_id=client_id)


def response(message: Message, version: int, correlation_id: int = 7) -> bytes:
    return frame.encode_response(message, version=version, correlation_id=correlation_id)


def metadata_request(correlation_id: int) -> bytes:
    return request(MetadataRequest(topics=None), 12, correlation_id)


def metadata_response(correlation_id: int) -> bytes:
    return response(METADATA, 12, correlation_id)


def produce(acks: int, correlation_id: int) -> bytes:
    return request(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=()), 9, correlation_id)


def conversation(**options: Any) -> Conversation:
    return Conversation(BROKER, **options)


def ids(found: list[Exchange]) -> list[int | None]:
    return [each.correlation_id for each in found]


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

    assert [(each.correlation_id, each.api_name) for each in found] == [
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


@pytest.mark.parametrize("version", [4, 99], ids=["known to kwire", "unknown to kwire"])
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
    served = ApiVersionsResponse(error_code=0, api_keys=(ApiVersion(api_key=1000, min_version=0, max_version=0),))
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


@pytest.mark.parametrize("acks", [1, -1])
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
    assert [(each.outcome, each.correlation_id) for each in traffic.end()] == [("unanswered", 2)]
    assert traffic.end() == []


def test_requests_before_an_answered_one_are_unanswered() -> None:
    """Brokers answer in order, so frames are missing in the capture."""
    traffic = conversation()
    traffic.receive_from_client(metadata_request(1) + metadata_request(2) + metadata_request(3))

    found = traffic.receive_from_server(metadata_response(3))

    assert [(each.outcome, each.correlation_id) for each in found] == [
        ("unanswered", 1),
        ("unanswered", 2),
        ("answered", 3),
    ]


def test_waiting_requests_are_bounded() -> None:
    traffic = conversation(max_pending=3)

    found = traffic.receive_from_client(b"".join(map(metadata_request, range(5))))

    assert [(each.outcome, each.correlation_id) for each in found] == [("dropped", 0), ("dropped", 1)]
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


# Frames that cannot be decoded


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
    assert f"looks like {protocol}" in str(traffic.client_error)
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


# SASL


def handshake(version: int, mechanism: str) -> tuple[bytes, bytes]:
    return (
        request(SaslHandshakeRequest(mechanism=mechanism), version, 0),
        response(SaslHandshakeResponse(error_code=0, mechanisms=(mechanism,)), version, 0),
    )


@pytest.mark.parametrize(
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
    assert [(each.kind, each.request, each.response) for each in middle] == [("sasl_token", *token) for token in tokens]
    assert {(each.outcome, each.api_key, each.correlation_id) for each in middle} == {("answered", None, None)}
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


# Recorded traffic of real clients and brokers


@cache
def recorded() -> tuple[Any, ...]:
    return tuple(exchanges())


def test_recorded_traffic_is_paired_and_decoded_as_it_was_recorded() -> None:
    traffic = conversation()
    found = []
    for each in recorded():
        found += traffic.receive_from_client(sized(each.request))
        found += traffic.receive_from_server(sized(each.response))

    assert [(each.api_key, each.version, each.client_id, each.request, each.response) for each in found] == [
        (each.api_key, each.version, each.client, each.request, each.response) for each in recorded()
    ]
    assert {each.outcome for each in found} == {"answered"}
    surplus = [each.decode_request().surplus for each in found if each.version != 99]
    assert [len(each) for each in surplus if each] == [3, 3], "librdkafka sends three bytes after Metadata, twice"
    versions = {(each.version, each.decode_response().version) for each in found if each.api_name == "ApiVersions"}
    assert (5, 0) in versions, "Kafka 3.9 answers version 5 in version 0"
    for each in found:
        assert each.decode_response().correlation_id == each.correlation_id


@st.composite
def cuts(draw: st.DrawFn, size: int) -> list[int]:
    """Positions at which a stream of that many bytes is cut, the end included."""
    return [*sorted(draw(st.sets(st.integers(1, max(size - 1, 1)), max_size=30))), size]


def pieces(stream: bytes, positions: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for end in positions:
        yield stream[start:end]
        start = end


@given(st.data())
@settings(max_examples=150)
def test_exchanges_do_not_depend_on_chunks(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(recorded()[::7]), min_size=1, max_size=8))
    sent = [sized(each.request) for each in chosen]
    received = [sized(each.response) for each in chosen]
    whole = conversation()
    expected = whole.receive_from_client(b"".join(sent)) + whole.receive_from_server(b"".join(received))

    # A broker answers after the whole request, so that a chunk of a response waits for its request.
    traffic, found = conversation(), []
    requests = list(pieces(b"".join(sent), data.draw(cuts(sum(map(len, sent))))))
    responses = list(pieces(b"".join(received), data.draw(cuts(sum(map(len, received))))))
    ends = [(sum(map(len, received[:n])), sum(map(len, sent[: n + 1]))) for n in range(len(chosen))]
    fed = answered = 0
    while requests or responses:
        end = answered + len(responses[0]) if responses else 0
        needed = max((size for start, size in ends if start < end), default=0)
        if requests and (not responses or fed < needed or data.draw(st.booleans())):
            fed += len(requests[0])
            found += traffic.receive_from_client(requests.pop(0))
        else:
            answered = end
            found += traffic.receive_from_server(responses.pop(0))

    assert found == expected
    assert len(found) == len(chosen)


@given(st.data())
@settings(max_examples=300)
def test_damaged_traffic_raises_only_documented_errors(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(recorded()[::7]), min_size=1, max_size=5))
    traffic = conversation(max_size=1 << 20, max_pending=4, dialect=data.draw(st.sampled_from([None, "kafka", "kip4"])))
    found = []
    for each in chosen:
        for receive, payload in (
            (traffic.receive_from_client, each.request),
            (traffic.receive_from_server, each.response),
        ):
            damaged = bytearray(sized(payload))
            for position in data.draw(st.lists(st.integers(0, min(len(damaged) - 1, 60)), max_size=3)):
                damaged[position] = data.draw(st.integers(0, 255))
            found += receive(bytes(damaged))
            assert traffic.pending <= 4
    found += traffic.end()

    for each in found:
        for decode in (each.decode_request, each.decode_response):
            with suppress(DecodeError, UnsupportedVersion, UnknownMessage, NoMessage):
                decode()
        assert each.api_name is None or each.request_class is not None


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200)), max_size=20))
def test_random_bytes_raise_nothing(chunks: list[tuple[bool, bytes]]) -> None:
    traffic = conversation()
    for from_client, chunk in chunks:
        (traffic.receive_from_client if from_client else traffic.receive_from_server)(chunk)
    traffic.end()

    assert (traffic.pending, traffic.pending_bytes) == (0, 0)


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
