"""One connection's conversation, without a connection."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kwire import DecodeError, encode, frame
from kwire.declare import Message, Request, int32
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol import (
    ClientConnection,
    ConnectFailed,
    ConnectionClosed,
    ConnectionFault,
    Endpoint,
    InvalidResponse,
    NegotiationFailed,
    NoCommonVersion,
    OversizedFrame,
    SentRequest,
    Timeout,
    WrongCorrelation,
)

BROKER = Endpoint("broker-1", 9092)
NO_TOPICS = MetadataResponse(brokers=(), topics=())


def table(versions: dict[int, tuple[int, int]], error_code: int = 0, **more: Any) -> ApiVersionsResponse:
    entries = (ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items())
    return ApiVersionsResponse(error_code=error_code, api_keys=tuple(entries), **more)


def answered(sent: SentRequest[Any], message: Message, version: int | None = None) -> bytes:
    version = sent.version if version is None else version
    return frame.encode_response(message, version=version, correlation_id=sent.correlation_id)[4:]


def connected(versions: dict[int, tuple[int, int]], **more: Any) -> ClientConnection:
    connection = ClientConnection(BROKER)
    assert connection.receive_api_versions(answered(connection.request_api_versions(), table(versions, **more))) is None
    return connection


# The first words.


def test_the_first_words_are_api_versions_in_our_newest_version() -> None:
    sent = ClientConnection(BROKER, client_id="me").request_api_versions()
    read = frame.decode_request(sent.payload)
    assert (read.header.request_api_key, read.header.request_api_version, read.header.client_id) == (18, 5, "me")
    assert isinstance(read.message, ApiVersionsRequest)
    assert read.message.client_software_name == "kwire"


def test_a_broker_that_does_not_know_them_says_which_it_knows() -> None:
    connection = ClientConnection(BROKER)
    refused = answered(connection.request_api_versions(), table({18: (0, 4)}, error_code=35), version=0)
    again = connection.receive_api_versions(refused)
    assert again is not None
    assert again.version == 4
    assert connection.receive_api_versions(answered(again, table({18: (0, 4), 3: (0, 12)}))) is None
    assert connection.version_of(MetadataRequest) == 12


def test_one_older_than_kip_511_does_not_and_is_asked_in_version_0() -> None:
    connection = ClientConnection(BROKER)
    again = connection.receive_api_versions(
        answered(connection.request_api_versions(), table({}, error_code=35), version=0)
    )
    assert again is not None
    assert again.version == 0


def test_one_that_refuses_for_ever_is_not_asked_for_ever() -> None:
    connection = ClientConnection(BROKER)
    refusal = table({18: (0, 5)}, error_code=35)
    sent = connection.request_api_versions()
    versions = []
    while sent.version > 0:
        again = connection.receive_api_versions(answered(sent, refusal, version=0))
        assert again is not None
        sent = again
        versions.append(sent.version)
    assert versions == [4, 3, 2, 1, 0]
    with pytest.raises(NegotiationFailed):
        connection.receive_api_versions(answered(sent, refusal))


def test_one_that_refuses_and_knows_only_newer_ones_has_none_in_common() -> None:
    connection = ClientConnection(BROKER)
    with pytest.raises(NoCommonVersion) as caught:
        connection.receive_api_versions(
            answered(connection.request_api_versions(), table({18: (9, 11)}, error_code=35), version=0)
        )
    assert caught.value.broker_versions == (9, 11)


def test_another_error_is_a_refusal() -> None:
    connection = ClientConnection(BROKER)
    with pytest.raises(NegotiationFailed) as caught:
        connection.receive_api_versions(answered(connection.request_api_versions(), table({}, error_code=42)))
    assert caught.value.error_code == 42


def test_garbage_is_a_bad_answer() -> None:
    connection = ClientConnection(BROKER)
    sent = connection.request_api_versions()
    with pytest.raises(InvalidResponse) as caught:
        connection.receive_api_versions(sent.correlation_id.to_bytes(4, "big") + b"\x7f" * 9)
    assert (caught.value.message, caught.value.version) == ("ApiVersionsResponse", 5)


def test_nothing_can_be_asked_before_versions_are_known() -> None:
    with pytest.raises(ValueError, match="not known yet"):
        ClientConnection(BROKER).request(MetadataRequest(topics=None))


# Versions.


@pytest.mark.parametrize(("theirs", "common"), [((0, 9), 9), ((0, 99), 13), ((5, 5), 5), ((13, 20), 13)], ids=str)
def test_the_highest_common_version_is_spoken(theirs: tuple[int, int], common: int) -> None:
    connection = connected({3: theirs})
    assert connection.request(MetadataRequest(topics=None)).version == common


@pytest.mark.parametrize("theirs", [None, (14, 20)], ids=str)
def test_without_a_common_version_nothing_is_sent(theirs: tuple[int, int] | None) -> None:
    connection = connected({} if theirs is None else {3: theirs})
    with pytest.raises(NoCommonVersion) as caught:
        connection.request(MetadataRequest(topics=None))
    assert (
        caught.value.endpoint,
        caught.value.message,
        caught.value.client_versions,
        caught.value.broker_versions,
    ) == (
        BROKER,
        "MetadataRequest",
        "0-13",
        theirs,
    )
    assert connection.in_flight == 0


def test_keys_from_1000_mean_kip_4() -> None:
    connection = connected({3: (0, 1), 1000: (0, 0)})
    assert connection.negotiated is not None
    assert connection.negotiated.dialect == "kip4"
    assert connection.version_of(ClusterMetadataRequest) == 0
    assert connection.version_of(TopicMetadataRequest_V1) == 1
    with pytest.raises(NoCommonVersion):
        connection.version_of(MetadataRequest)  # the same key, another protocol


def test_a_kafka_broker_is_not_asked_in_kip_4() -> None:
    connection = connected({3: (0, 13)})
    with pytest.raises(NoCommonVersion):
        connection.version_of(TopicMetadataRequest_V1)


def test_kraft_shows_by_a_key_or_by_a_feature() -> None:
    metadata_version = FinalizedFeatureKey(name="metadata.version", max_version_level=20, min_version_level=20)
    for connection, kraft in (
        (connected({3: (0, 12)}), False),
        (connected({3: (0, 13), 55: (0, 2)}), True),
        (connected({3: (0, 13)}, finalized_features=(metadata_version,)), True),
        (connected({55: (0, 2), 1000: (0, 0)}), False),
    ):
        assert connection.negotiated is not None
        assert connection.negotiated.kraft is kraft


# Questions and answers.


def test_answers_come_in_the_order_of_the_requests() -> None:
    connection = connected({3: (0, 13), 18: (0, 5)})
    first = connection.request(MetadataRequest(topics=None))
    second = connection.request(ApiVersionsRequest())
    assert connection.in_flight == 2
    assert connection.receive(answered(first, NO_TOPICS)).sent is first
    assert connection.receive(answered(second, table({}))).sent is second
    assert connection.in_flight == 0


def test_an_answer_is_decoded_by_its_request() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None), version=5)
    answer = connection.receive(answered(sent, NO_TOPICS))
    assert answer.decode() == NO_TOPICS
    assert bytes(answer.body) == encode(NO_TOPICS, version=5)


def test_a_header_may_have_tags() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None))
    header = sent.correlation_id.to_bytes(4, "big") + bytes.fromhex("01 07 02 abcd")
    assert connection.receive(header + encode(NO_TOPICS, version=13)).decode() == NO_TOPICS


@pytest.mark.parametrize("got_first", [False, True])
def test_an_answer_to_something_else_is_told_apart(got_first: bool) -> None:
    connection = connected({3: (0, 13)})
    first = connection.request(MetadataRequest(topics=None))
    second = connection.request(MetadataRequest(topics=None))
    if got_first:
        connection.receive(answered(first, NO_TOPICS))
        stray = first
        expected = second.correlation_id
    else:
        stray = second
        expected = first.correlation_id
    with pytest.raises(WrongCorrelation) as caught:
        connection.receive(answered(stray, NO_TOPICS))
    assert (caught.value.expected, caught.value.actual) == (expected, stray.correlation_id)


def test_an_answer_that_nobody_asked_for() -> None:
    connection = connected({3: (0, 13)})
    with pytest.raises(WrongCorrelation) as caught:
        connection.receive(bytes.fromhex("00000063 00"))
    assert (caught.value.expected, caught.value.actual) == (None, 99)


def test_correlation_ids_begin_again_at_their_end() -> None:
    connection = connected({3: (0, 13)})
    connection._next_id = 0x7FFF_FFFF
    ids = []
    for _ in range(2):
        sent = connection.request(MetadataRequest(topics=None))
        ids.append(connection.receive(answered(sent, NO_TOPICS)).sent.correlation_id)
    assert ids == [0x7FFF_FFFF, 0]


def test_a_bad_answer_says_where_counted_from_its_correlation_id() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None))
    payload = answered(sent, NO_TOPICS)[:-1]
    answer = connection.receive(payload)
    with pytest.raises(InvalidResponse) as caught:
        answer.decode()
    error = caught.value.error
    assert (error.kind, error.offset) == ("truncated", len(payload))
    assert caught.value.payload == payload
    assert isinstance(caught.value.__cause__, DecodeError)


@pytest.mark.parametrize("payload", [b"", b"\0\0\0"], ids=len)
def test_too_short_for_a_correlation_id(payload: bytes) -> None:
    connection = connected({3: (0, 13)})
    connection.request(MetadataRequest(topics=None))
    with pytest.raises(InvalidResponse) as caught:
        connection.receive(payload)
    assert caught.value.error.path == ("correlation_id",)


class BrewCoffeeRequest(Request["BrewCoffeeResponse"], api_key=418, versions="0"):
    cups: int32


class BrewCoffeeResponse(Message, api_key=418, versions="0"):
    minutes: int32


def test_messages_of_a_third_party_are_asked_like_ours() -> None:
    connection = connected({418: (0, 0)})
    sent = connection.request(BrewCoffeeRequest(cups=2))
    assert connection.receive(answered(sent, BrewCoffeeResponse(minutes=4))).decode() == BrewCoffeeResponse(minutes=4)


# Faults.

TRUNCATED = DecodeError("truncated", 5, ("brokers",), 4, 0)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (ConnectFailed(BROKER, "refused"), "cannot connect: refused"),
        (ConnectionClosed(BROKER, 0), "closed by the broker after 0 bytes of the answer"),
        (ConnectionClosed(BROKER, 7, "reset"), "closed (reset) after 7 bytes of the answer"),
        (Timeout(BROKER, "MetadataRequest", 2.0), "no answer to MetadataRequest within 2 s"),
        (Timeout(BROKER, "MetadataRequest", 0.5, 9), "only 9 bytes of the answer to MetadataRequest within 0.5 s"),
        (WrongCorrelation(BROKER, 1, 2), "an answer with correlation id 2 where 1 was due"),
        (WrongCorrelation(BROKER, None, 2), "an answer with correlation id 2 where none was due"),
        (OversizedFrame(BROKER, 200, 100), "a frame of 200 bytes where between 4 and 100 are allowed"),
        (
            InvalidResponse(BROKER, "MetadataResponse", 12, TRUNCATED, b"12345"),
            "no MetadataResponse of version 12: brokers: truncated at byte 5: 4 bytes wanted, 0 left",
        ),
        (NegotiationFailed(BROKER, 42), "ApiVersions answered with error 42"),
        (
            NoCommonVersion(BROKER, "MetadataRequest", "0-13", (14, 15)),
            "no common version of MetadataRequest: we have 0-13, the broker answers 14-15",
        ),
        (
            NoCommonVersion(BROKER, "MetadataRequest", "0-13", None),
            "no common version of MetadataRequest: we have 0-13, the broker does not answer it",
        ),
    ],
    ids=str,
)
def test_every_fault_names_the_broker_and_survives_pickling(fault: ConnectionFault, text: str) -> None:
    assert str(fault) == f"broker-1:9092: {text}"
    assert fault.endpoint == BROKER
    copied = pickle.loads(pickle.dumps(fault))
    assert (type(copied), str(copied)) == (type(fault), str(fault))
