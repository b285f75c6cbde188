"""`ClientConnection`: handshake, version negotiation, matching of responses, and error texts."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError, encode, frame
from kwire.declare import Message, Request, int32
from kwire.messages.kafka.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kafka.produce import ProduceRequest
from kwire.messages.kafka.sasl_authenticate import SaslAuthenticateRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.protocol import (
    ClientConnection,
    Endpoint,
    InvalidResponse,
    NegotiationFailed,
    NoCommonVersion,
    SentRequest,
    WrongCorrelation,
)
from kwire.protocol.negotiated_versions import KIP4_VERSIONS
from kwire.releases import release
from tests.for_rows import for_rows

BROKER = Endpoint("broker-1", 9092)
NO_TOPICS = MetadataResponse(brokers=(), topics=())


def api_versions(versions: dict[int, tuple[int, int]], error_code: int = 0, **more: Any) -> ApiVersionsResponse:
    entries = (ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in versions.items())
    return ApiVersionsResponse(error_code=error_code, api_keys=tuple(entries), **more)


def payload_of(sent: SentRequest[Any], message: Message, version: int | None = None) -> bytes:
    version = sent.version if version is None else version
    return frame.encode_response(message, version=version, correlation_id=sent.correlation_id)[4:]


def connected(
    versions: dict[int, tuple[int, int]], *, dialect: Literal["kafka", "kip4"] | None = None, **more: Any
) -> ClientConnection:
    connection = ClientConnection(BROKER, dialect=dialect)
    assert (
        connection.receive_api_versions(payload_of(connection.request_api_versions(), api_versions(versions, **more)))
        is None
    )
    return connection


# Handshake.


def test_handshake_starts_with_the_highest_version() -> None:
    sent = ClientConnection(BROKER, client_id="me").request_api_versions()
    read = frame.decode_request(sent.payload)
    assert (read.header.request_api_key, read.header.request_api_version, read.header.client_id) == (18, 5, "me")
    assert isinstance(read.message, ApiVersionsRequest)
    assert read.message.client_software_name == "kwire"


def test_handshake_retries_in_a_supported_version() -> None:
    connection = ClientConnection(BROKER)
    unsupported = payload_of(connection.request_api_versions(), api_versions({18: (0, 4)}, error_code=35), version=0)
    again = connection.receive_api_versions(unsupported)
    assert again is not None
    assert again.version == 4
    assert connection.receive_api_versions(payload_of(again, api_versions({18: (0, 4), 3: (0, 12)}))) is None
    assert connection.version_of(MetadataRequest) == 12


def test_handshake_with_a_broker_older_than_kip_511_uses_version_0() -> None:
    connection = ClientConnection(BROKER)
    again = connection.receive_api_versions(
        payload_of(connection.request_api_versions(), api_versions({}, error_code=35), version=0)
    )
    assert again is not None
    assert again.version == 0


def test_handshake_ends_after_version_0() -> None:
    connection = ClientConnection(BROKER)
    unsupported = api_versions({18: (0, 5)}, error_code=35)
    sent = connection.request_api_versions()
    versions = []
    while sent.version > 0:
        again = connection.receive_api_versions(payload_of(sent, unsupported, version=0))
        assert again is not None
        sent = again
        versions.append(sent.version)
    assert versions == [4, 3, 2, 1, 0]
    with pytest.raises(NegotiationFailed):
        connection.receive_api_versions(payload_of(sent, unsupported))


def test_handshake_without_common_version_fails() -> None:
    connection = ClientConnection(BROKER)
    with pytest.raises(NoCommonVersion) as caught:
        connection.receive_api_versions(
            payload_of(connection.request_api_versions(), api_versions({18: (9, 11)}, error_code=35), version=0)
        )
    assert caught.value.broker_versions == (9, 11)


def test_handshake_with_another_error_fails() -> None:
    connection = ClientConnection(BROKER)
    with pytest.raises(NegotiationFailed) as caught:
        connection.receive_api_versions(payload_of(connection.request_api_versions(), api_versions({}, error_code=42)))
    assert caught.value.error_code == 42


def test_malformed_handshake_is_an_invalid_response() -> None:
    connection = ClientConnection(BROKER)
    sent = connection.request_api_versions()
    with pytest.raises(InvalidResponse) as caught:
        connection.receive_api_versions(sent.correlation_id.to_bytes(4, "big") + b"\x7f" * 9)
    assert (caught.value.message, caught.value.version) == ("ApiVersionsResponse", 5)


def test_request_before_the_handshake_is_rejected() -> None:
    with pytest.raises(ValueError, match="complete the handshake first"):
        ClientConnection(BROKER).request(MetadataRequest(topics=None))


# Versions.


@for_rows(("served", "common"), [((0, 9), 9), ((0, 99), 13), ((5, 5), 5), ((13, 20), 13)], ids=str)
def test_request_uses_the_highest_common_version(served: tuple[int, int], common: int) -> None:
    connection = connected({3: served})
    assert connection.request(MetadataRequest(topics=None)).version == common


@for_rows("served", [None, (14, 20)], ids=str)
def test_request_without_common_version_is_not_sent(served: tuple[int, int] | None) -> None:
    connection = connected({} if served is None else {3: served})
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
        served,
    )
    assert connection.in_flight == 0


def test_all_api_keys_of_a_node_select_kip4() -> None:
    connection = connected({3: (0, 1), **KIP4_VERSIONS})
    assert connection.negotiated is not None
    assert connection.negotiated.dialect == "kip4"
    assert connection.version_of(ClusterMetadataRequest) == 1
    assert connection.version_of(TopicMetadataRequest_V1) == 1
    with pytest.raises(NoCommonVersion):
        connection.version_of(MetadataRequest)  # the same key in another dialect


VERSION_RANGES = st.integers(0, 3).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, 20)))
VENDOR_KEYS = st.dictionaries(st.integers(500, 0x7FFF), VERSION_RANGES, max_size=40)


@given(VENDOR_KEYS, st.sampled_from(["0.11", "2.0", "3.9", "4.4"]))
def test_api_keys_of_vendors_are_ignored(vendor: dict[int, tuple[int, int]], name: str) -> None:
    of_kafka = dict(release(name).versions)
    for keys in (vendor, {**vendor, **KIP4_VERSIONS}):
        negotiated = connected(of_kafka | keys).negotiated
        assert negotiated is not None
        assert negotiated.dialect == "kafka"
        assert negotiated.versions == of_kafka | keys, "unknown keys are shown, not dropped"
        assert negotiated.version_of(MetadataRequest) == min(of_kafka[3][1], MetadataRequest.versions.highest)


@given(VENDOR_KEYS, st.sampled_from(sorted(KIP4_VERSIONS)))
def test_some_keys_of_a_node_are_not_a_node(vendor: dict[int, tuple[int, int]], missing: int) -> None:
    """Even without Fetch, as from a proxy that serves metadata only."""
    keys = {key: served for key, served in KIP4_VERSIONS.items() if key != missing}
    others = {key: served for key, served in vendor.items() if key not in KIP4_VERSIONS}
    negotiated = connected({3: (0, 12), **keys, **others}).negotiated
    assert negotiated is not None
    assert negotiated.dialect == "kafka"


def test_a_newer_node_is_a_node() -> None:
    newer = {key: (lowest, highest + 1) for key, (lowest, highest) in KIP4_VERSIONS.items()}
    negotiated = connected({3: (0, 2), 1007: (0, 0), **newer}).negotiated
    assert negotiated is not None
    assert negotiated.dialect == "kip4"


def test_required_dialect_wins() -> None:
    kafka = connected({3: (0, 12), **KIP4_VERSIONS}, dialect="kafka")
    assert kafka.version_of(MetadataRequest) == 12
    part_of_a_node = connected({1: (0, 1), 3: (0, 1), 1000: (0, 0)}, dialect="kip4")
    assert part_of_a_node.version_of(TopicMetadataRequest_V1) == 1


def test_required_dialect_that_the_broker_certainly_lacks_is_an_error() -> None:
    with pytest.raises(NoCommonVersion):
        connected({3: (0, 12)}, dialect="kip4").version_of(TopicMetadataRequest_V1)


def test_kafka_broker_rejects_kip4_requests() -> None:
    connection = connected({3: (0, 13)})
    with pytest.raises(NoCommonVersion):
        connection.version_of(TopicMetadataRequest_V1)


def test_kraft_is_detected_by_api_key_or_feature() -> None:
    metadata_version = FinalizedFeatureKey(name="metadata.version", max_version_level=20, min_version_level=20)
    for connection, kraft in (
        (connected({3: (0, 12)}), False),
        (connected({3: (0, 13), 55: (0, 2)}), True),
        (connected({3: (0, 13)}, finalized_features=(metadata_version,)), True),
        (connected({55: (0, 2), **KIP4_VERSIONS}), False),
    ):
        assert connection.negotiated is not None
        assert connection.negotiated.kraft is kraft


# Requests and responses.


def test_responses_match_requests_in_order() -> None:
    connection = connected({3: (0, 13), 18: (0, 5)})
    first = connection.request(MetadataRequest(topics=None))
    second = connection.request(ApiVersionsRequest())
    assert connection.in_flight == 2
    assert connection.receive(payload_of(first, NO_TOPICS)).sent is first
    assert connection.receive(payload_of(second, api_versions({}))).sent is second
    assert connection.in_flight == 0


def test_response_is_decoded_in_the_version_of_its_request() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None), version=5)
    response = connection.receive(payload_of(sent, NO_TOPICS))
    assert response.decode() == NO_TOPICS
    assert bytes(response.body) == encode(NO_TOPICS, version=5)


def test_response_header_may_have_tags() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None))
    header = sent.correlation_id.to_bytes(4, "big") + bytes.fromhex("01 07 02 abcd")
    assert connection.receive(header + encode(NO_TOPICS, version=13)).decode() == NO_TOPICS


@for_rows("first_received", [False, True])
def test_wrong_correlation_id_is_rejected(first_received: bool) -> None:
    connection = connected({3: (0, 13)})
    first = connection.request(MetadataRequest(topics=None))
    second = connection.request(MetadataRequest(topics=None))
    if first_received:
        connection.receive(payload_of(first, NO_TOPICS))
        stray = first
        expected = second.correlation_id
    else:
        stray = second
        expected = first.correlation_id
    with pytest.raises(WrongCorrelation) as caught:
        connection.receive(payload_of(stray, NO_TOPICS))
    assert (caught.value.expected, caught.value.actual) == (expected, stray.correlation_id)


def test_unexpected_response_is_rejected() -> None:
    connection = connected({3: (0, 13)})
    with pytest.raises(WrongCorrelation) as caught:
        connection.receive(bytes.fromhex("00000063 00"))
    assert (caught.value.expected, caught.value.actual) == (None, 99)


def test_correlation_ids_wrap_around() -> None:
    connection = connected({3: (0, 13)})
    connection._next_id = 0x7FFF_FFFF
    ids = []
    for _ in range(2):
        sent = connection.request(MetadataRequest(topics=None))
        ids.append(connection.receive(payload_of(sent, NO_TOPICS)).sent.correlation_id)
    assert ids == [0x7FFF_FFFF, 0]


def test_error_offset_counts_from_the_correlation_id() -> None:
    connection = connected({3: (0, 13)})
    sent = connection.request(MetadataRequest(topics=None))
    payload = payload_of(sent, NO_TOPICS)[:-1]
    response = connection.receive(payload)
    with pytest.raises(InvalidResponse) as caught:
        response.decode()
    error = caught.value.error
    assert (error.kind, error.offset) == ("truncated", len(payload))
    assert caught.value.payload == payload
    assert isinstance(caught.value.__cause__, DecodeError)


@for_rows("payload", [b"", b"\0\0\0"], ids=len)
def test_payload_without_correlation_id_is_invalid(payload: bytes) -> None:
    connection = connected({3: (0, 13)})
    connection.request(MetadataRequest(topics=None))
    with pytest.raises(InvalidResponse) as caught:
        connection.receive(payload)
    assert caught.value.error.path == ("correlation_id",)


class BrewCoffeeRequest(Request["BrewCoffeeResponse"], api_key=418, versions="0"):
    cups: int32


class BrewCoffeeResponse(Message, api_key=418, versions="0"):
    minutes: int32


def test_user_declared_messages_are_supported() -> None:
    connection = connected({418: (0, 0)})
    sent = connection.request(BrewCoffeeRequest(cups=2))
    assert connection.receive(payload_of(sent, BrewCoffeeResponse(minutes=4))).decode() == BrewCoffeeResponse(minutes=4)


# Secrets.


def test_request_is_shown_without_its_content() -> None:
    sent = connected({36: (0, 2)}).request(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonderland"))

    assert repr(sent) == "<SaslAuthenticateRequest v2, correlation id 1>"


def test_error_has_no_payload_of_a_request_that_may_carry_a_secret() -> None:
    connection = connected({36: (0, 2), 51: (0, 0), 3: (0, 12)})
    credential = ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"s", salted_password=b"wonderland"
    )
    requests: list[Request[Any]] = [
        SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonderland"),
        AlterUserScramCredentialsRequest(deletions=(), upsertions=(credential,)),
        MetadataRequest(topics=None),
    ]
    faults = []
    for request in requests:
        sent = connection.request(request)
        with pytest.raises(InvalidResponse) as caught:
            connection.receive(sent.correlation_id.to_bytes(4, "big") + b"\0").decode()
        faults.append(caught.value)

    assert [fault.request is None for fault in faults] == [True, True, False]
    assert "wonderland" not in repr(faults)


def test_request_that_is_encoded_first_can_be_sent_later() -> None:
    connection = connected({3: (0, 12), 60: (0, 1)})
    later = connection.encode(MetadataRequest(topics=None))
    first = connection.request(DescribeClusterRequest(include_cluster_authorized_operations=False))
    assert connection.in_flight == 1

    connection.expect(later)

    with pytest.raises(WrongCorrelation):
        connection.receive(payload_of(later, NO_TOPICS))
    assert first.correlation_id == later.correlation_id + 1


@pytest.mark.parametrize("version", [9, 11])
def test_request_without_response_is_never_in_flight(version: int) -> None:
    connection = connected({0: (9, version), 3: (0, 12)})
    produce = ProduceRequest(acks=0, timeout_ms=1, topic_data=())

    first = connection.request(MetadataRequest(topics=None))
    one_way = connection.request(produce)
    last = connection.request(MetadataRequest(topics=()))

    assert (first.has_response, one_way.has_response, last.has_response) == (True, False, True)
    assert connection.in_flight == 2
    assert connection.receive(payload_of(first, NO_TOPICS)).sent is first
    assert connection.receive(payload_of(last, NO_TOPICS)).sent is last
    assert connection.in_flight == 0

    connection.expect(connection.encode(produce))
    assert connection.in_flight == 0


@pytest.mark.parametrize(("acks", "in_flight"), [(0, 0), (1, 1), (-1, 1)])
def test_acks_decide_whether_produce_has_a_response(acks: int, in_flight: int) -> None:
    connection = connected({0: (9, 11)})

    connection.request(ProduceRequest(acks=acks, timeout_ms=1, topic_data=()))

    assert connection.in_flight == in_flight


def test_response_is_expected_once() -> None:
    connection = connected({3: (0, 12)})
    sent = connection.request(MetadataRequest(topics=None))
    with pytest.raises(ValueError, match="is expected already: `request` has called `expect`"):
        connection.expect(sent)
    assert connection.in_flight == 1
