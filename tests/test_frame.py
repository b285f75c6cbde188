"""Encoding and decoding of frames, and splitting of streams."""

from __future__ import annotations

import ctypes
import pickle
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError, EncodeError, KwireError, UnsupportedVersion, encode, frame
from kwire.messages import UnknownMessage
from kwire.messages.headers import RequestHeader, ResponseHeader
from kwire.messages.kafka.api_versions import ApiVersion, ApiVersionsResponse
from kwire.messages.kafka.controlled_shutdown import ControlledShutdownRequest
from kwire.messages.kafka.end_txn_marker import EndTxnMarker
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from tests.for_rows import for_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.declare import Message

ALL_TOPICS = MetadataRequest(topics=None)
NO_TOPICS = MetadataResponse(brokers=(), topics=())


def payload_of(whole: bytes) -> bytes:
    """Return a frame without its size prefix, after checking the size."""
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    return whole[4:]


def request_payload(message: Message, version: int, client_id: str | None = "me") -> bytes:
    return payload_of(frame.encode_request(message, version=version, correlation_id=7, client_id=client_id))


# Requests.


@for_rows("client_id", ["me", "", "żółć", None])
@for_rows("version", MetadataRequest.versions)
def test_request_round_trip(version: int, client_id: str | None) -> None:
    message = MetadataRequest(topics=())
    read = frame.decode_request(request_payload(message, version, client_id))
    header = RequestHeader(request_api_key=3, request_api_version=version, correlation_id=7, client_id=client_id)
    assert read == (header, message, b"")


def test_request_bytes() -> None:
    classic = frame.encode_request(ALL_TOPICS, version=1, correlation_id=7, client_id="me")
    assert classic == bytes.fromhex("00000010 0003 0001 00000007 0002 6d65 ffffffff")
    # A flexible message has header 2. Its client id keeps the two-byte length.
    flexible = frame.encode_request(ALL_TOPICS, version=9, correlation_id=7, client_id="me")
    assert flexible == bytes.fromhex("00000012 0003 0009 00000007 0002 6d65 00 00 01 00 00 00")


def test_controlled_shutdown_0_has_no_client_id() -> None:
    message = ControlledShutdownRequest(broker_id=5)
    first = frame.encode_request(message, version=0, correlation_id=7, client_id="me")
    assert first == bytes.fromhex("0000000c 0007 0000 00000007 00000005")
    assert frame.decode_request(first[4:]).header.client_id == ""
    assert frame.decode_request(first[4:]).message == message
    second = frame.encode_request(message, version=1, correlation_id=7, client_id="me")
    assert frame.decode_request(second[4:]).header.client_id == "me"


def test_data_without_an_api_key_has_no_frame() -> None:
    with pytest.raises(EncodeError, match="expected a request, but EndTxnMarker is a data message"):
        frame.encode_request(EndTxnMarker(coordinator_epoch=1), version=0, correlation_id=7)


@for_rows("wrap", [bytes, bytearray, memoryview])
def test_payloads_are_bytes_like(wrap: Any) -> None:
    payload = request_payload(ALL_TOPICS, 9)
    assert frame.decode_request(wrap(payload)).message == ALL_TOPICS
    response = payload_of(frame.encode_response(NO_TOPICS, version=9, correlation_id=7))
    assert frame.decode_response(wrap(response), MetadataResponse, version=9).message == NO_TOPICS


def interleaved(payload: bytes) -> memoryview:
    """Return a view with gaps between the bytes."""
    return memoryview(bytes(value for byte in payload for value in (byte, 0)))[::2]


def foreign(payload: bytes) -> memoryview:
    """Return a view with a format that `memoryview.cast` does not know."""
    return memoryview((ctypes.c_uint16.__ctype_be__ * (len(payload) // 2)).from_buffer_copy(payload))


VIEWS: dict[str, Callable[[bytes], Any]] = {
    "signed": lambda payload: memoryview(payload).cast("b"),
    "characters": lambda payload: memoryview(payload).cast("c"),
    "of 2 bytes": lambda payload: memoryview(payload).cast("H"),
    "of 4 bytes": lambda payload: memoryview(payload).cast("I"),
    "two-dimensional": lambda payload: memoryview(payload).cast("B", [len(payload) // 4, 4]),
    "interleaved": interleaved,
    "foreign": foreign,
}


@for_rows("view", VIEWS.values(), ids=VIEWS)
def test_payloads_are_views_of_any_items(view: Callable[[bytes], Any]) -> None:
    request = frame.encode_request(MetadataRequest(topics=None), version=1, correlation_id=9, client_id="to")[4:]
    assert len(request) == 16
    assert frame.decode_request(view(request)) == frame.decode_request(request)
    with pytest.raises(DecodeError) as of_bytes:
        frame.decode_request(request[:8])
    with pytest.raises(DecodeError) as of_view:
        frame.decode_request(view(request[:8]))
    assert str(of_view.value) == str(of_bytes.value)

    supported = ApiVersionsResponse(error_code=0, api_keys=())
    response = frame.encode_response(supported, version=3, correlation_id=9)[4:]
    assert len(response) == 12
    assert frame.decode_response(view(response), ApiVersionsResponse, version=3).message == supported

    rejected = ApiVersionsResponse(error_code=35, api_keys=(ApiVersion(api_key=18, min_version=0, max_version=0),))
    response = frame.encode_response(rejected, version=0, correlation_id=9)[4:]
    assert len(response) == 16
    assert frame.decode_response(view(response), ApiVersionsResponse, version=3) == (9, 0, rejected)


def test_dialect_selects_the_message_of_a_key() -> None:
    payload = request_payload(TopicMetadataRequest(topic_names=("t",)), 0)
    assert isinstance(frame.decode_request(payload, "kip4").message, TopicMetadataRequest)
    assert isinstance(frame.decode_request(payload).message, MetadataRequest)


def test_surplus_bytes_of_a_kafka_client_are_returned() -> None:
    read = frame.decode_request(request_payload(ALL_TOPICS, 9) + b"\x01\x00\x00")
    assert read.message == ALL_TOPICS
    assert read.surplus == b"\x01\x00\x00"


def test_surplus_bytes_in_another_dialect_are_an_error() -> None:
    payload = request_payload(ListTopicsRequest(), 1)
    with pytest.raises(DecodeError, match="trailing_bytes") as caught:
        frame.decode_request(payload + b"\x00", "kip4")
    assert caught.value.offset == len(payload)


def test_offsets_count_from_the_start_of_the_payload() -> None:
    payload = request_payload(MetadataRequest(topics=()), 1)
    with pytest.raises(DecodeError) as caught:
        frame.decode_request(payload[:-1])
    error = caught.value
    assert (error.kind, error.offset, error.path) == ("truncated", len(payload) - 4, ("topics",))
    assert (error.wanted, error.left) == (4, 3)


@for_rows("length", range(12))
def test_truncated_header_is_an_error(length: int) -> None:
    with pytest.raises(DecodeError, match="truncated"):
        frame.decode_request(request_payload(ALL_TOPICS, 1)[:length])


def test_unknown_api_key() -> None:
    payload = bytes.fromhex("7000 0000 00000007 ffff")
    with pytest.raises(UnknownMessage, match="no request with key 28672"):
        frame.decode_request(payload)


# Unsupported versions.


def test_unsupported_version_of_api_versions_can_be_answered() -> None:
    """The server responds in version 0 with error 35, and the client decodes that."""
    request = bytes.fromhex("0012 0063 00000007 0002 6d65 00") + b"whatever version 99 holds"
    with pytest.raises(frame.UnsupportedRequest) as caught:
        frame.decode_request(request)
    error = caught.value
    assert (error.message, error.version, error.supported) == ("ApiVersionsRequest", 99, "0-5")
    assert error.header == RequestHeader(request_api_key=18, request_api_version=99, correlation_id=7, client_id="me")

    supported = (ApiVersion(api_key=18, min_version=0, max_version=5),)
    response = frame.encode_response(
        ApiVersionsResponse(error_code=35, api_keys=supported),
        version=0,
        correlation_id=error.header.correlation_id,
    )
    read = frame.decode_response(payload_of(response), ApiVersionsResponse, version=5)
    assert read == (7, 0, ApiVersionsResponse(error_code=35, api_keys=supported))


def test_unsupported_version_of_another_request_has_its_header() -> None:
    payload = b"\x00\x03\x00\x63" + request_payload(ALL_TOPICS, 13)[4:]
    with pytest.raises(
        UnsupportedVersion, match="version 99 is not supported: MetadataRequest has versions 0-13"
    ) as caught:
        frame.decode_request(payload)
    assert isinstance(caught.value, frame.UnsupportedRequest)
    assert caught.value.header.client_id == "me"


def test_versions_of_all_classes_of_a_key_are_listed() -> None:
    """CreateTopic of dialect kip4 has two layouts with disjoint versions."""
    with pytest.raises(frame.UnsupportedRequest) as caught:
        frame.decode_request(bytes.fromhex("000d 0063 00000007 ffff"), "kip4")
    assert caught.value.supported == "2, 0-1"


@for_rows(
    ("payload", "client_id", "end"),
    [("0003 0001 00000007 0001 61 ffffffff", "a", 11), ("03e7 0001 00000007 0001 61 0000", "a", 11),
     ("0012 0063 00000007 ffff 00 00", None, 11), ("0007 0000 00000007 00000001", "", 8)],
    ids=["known", "unknown API", "unknown version", "header version 0"],
)  # fmt: skip
def test_header_can_be_decoded_alone(payload: str, client_id: str | None, end: int) -> None:
    header, found_end = frame.decode_request_header(bytes.fromhex(payload))

    assert (header.correlation_id, header.client_id, found_end) == (7, client_id, end)


def test_negative_version() -> None:
    with pytest.raises(frame.UnsupportedRequest):
        frame.decode_request(bytes.fromhex("0003 ffff 00000007 ffff"))


# Responses.


@for_rows("version", MetadataResponse.versions)
def test_response_round_trip(version: int) -> None:
    response = frame.encode_response(NO_TOPICS, version=version, correlation_id=-1)
    read = frame.decode_response(payload_of(response), MetadataResponse, version=version)
    assert read == (-1, version, NO_TOPICS)


@for_rows("version", ApiVersionsResponse.versions)
def test_api_versions_response_has_header_0(version: int) -> None:
    message = ApiVersionsResponse(error_code=0, api_keys=())
    payload = payload_of(frame.encode_response(message, version=version, correlation_id=7))
    assert payload == bytes.fromhex("00000007") + encode(message, version=version)
    assert frame.decode_response(payload, ApiVersionsResponse, version=version) == (7, version, message)


def test_error_35_in_the_requested_version_keeps_the_version() -> None:
    message = ApiVersionsResponse(error_code=35, api_keys=())
    payload = payload_of(frame.encode_response(message, version=3, correlation_id=7))
    assert frame.decode_response(payload, ApiVersionsResponse, version=3).version == 3


def test_error_35_is_decoded_for_a_version_that_kwire_does_not_know_either() -> None:
    payload = frame.encode_response(ApiVersionsResponse(error_code=35, api_keys=()), version=0, correlation_id=7)[4:]

    decoded = frame.decode_response(payload, ApiVersionsResponse, version=99)

    assert (decoded.version, decoded.message.error_code) == (0, 35)


@for_rows("body", ["0000 00000000", "0023 00000001", "0023 00000000 00"])
def test_malformed_api_versions_response_is_an_error(body: str) -> None:
    with pytest.raises(DecodeError):
        frame.decode_response(bytes.fromhex("00000007" + body), ApiVersionsResponse, version=3)


def test_tags_in_a_response_header_are_skipped() -> None:
    header = encode(ResponseHeader(correlation_id=7, unknown_tags={5: b"x"}), version=1)
    payload = header + encode(NO_TOPICS, version=9)
    assert frame.decode_response(payload, MetadataResponse, version=9) == (7, 9, NO_TOPICS)


def test_surplus_bytes_in_a_response_are_an_error() -> None:
    payload = payload_of(frame.encode_response(NO_TOPICS, version=9, correlation_id=7)) + b"\x00"
    with pytest.raises(DecodeError, match="trailing_bytes") as caught:
        frame.decode_response(payload, MetadataResponse, version=9)
    assert caught.value.offset == len(payload) - 1


# Invalid arguments.


def test_versions_are_checked() -> None:
    with pytest.raises(UnsupportedVersion):
        frame.encode_request(ALL_TOPICS, version=14, correlation_id=7)
    with pytest.raises(UnsupportedVersion):
        frame.encode_response(NO_TOPICS, version=-1, correlation_id=7)
    with pytest.raises(UnsupportedVersion):
        frame.decode_response(b"", MetadataResponse, version=14)


def test_request_and_response_are_not_interchangeable() -> None:
    with pytest.raises(EncodeError, match="MetadataRequest is a request"):
        frame.encode_response(ALL_TOPICS, version=1, correlation_id=7)
    with pytest.raises(EncodeError, match="MetadataResponse is a response"):
        frame.encode_request(NO_TOPICS, version=1, correlation_id=7)


def test_correlation_id_is_an_int32() -> None:
    with pytest.raises(EncodeError) as caught:
        frame.encode_request(ALL_TOPICS, version=1, correlation_id=1 << 31)
    assert (caught.value.kind, caught.value.path) == ("out_of_range", ("correlation_id",))


def test_errors_can_be_pickled() -> None:
    header = RequestHeader(request_api_key=18, request_api_version=99, correlation_id=7, client_id=None)
    again = pickle.loads(pickle.dumps(frame.UnsupportedRequest("ApiVersionsRequest", 99, "0-5", header)))
    assert (again.version, again.header, str(again)) == (
        99,
        header,
        "version 99 is not supported: ApiVersionsRequest has versions 0-5",
    )


# Streams.

payloads = st.lists(st.binary(max_size=40), max_size=6)


def sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


@given(payloads, st.data())
def test_payloads_do_not_depend_on_chunks(sent: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(sized, sent))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    splitter = frame.Splitter(max_size=40)
    assert [payload for chunk in chunks for payload in splitter.feed(chunk)] == sent


@given(payloads, st.binary(max_size=6))
def test_single_bytes_and_one_chunk_give_equal_results(sent: list[bytes], rest: bytes) -> None:
    stream = b"".join(map(sized, sent)) + b"\xff" + rest
    assert split(stream, 1) == split(stream, len(stream))


def split(stream: bytes, size: int) -> tuple[list[bytes], str | None]:
    """Split a stream in chunks of `size` bytes; return the payloads and the error at its end, if any."""
    splitter = frame.Splitter(max_size=40)
    found: list[bytes] = []
    try:
        for start in range(0, len(stream), size):
            found.extend(splitter.feed(stream[start : start + size]))
    except frame.InvalidFrameSize as error:
        return found, str(error)
    return found, None


@for_rows("size", [-1, -(1 << 31), 41, (1 << 31) - 1])
def test_invalid_size_is_rejected_once_it_is_complete(size: int) -> None:
    splitter = frame.Splitter(max_size=40)
    octets = size.to_bytes(4, "big", signed=True)
    assert list(splitter.feed(sized(b"good") + octets[:3])) == [b"good"]
    with pytest.raises(frame.InvalidFrameSize) as caught:
        next(splitter.feed(octets[3:]))
    assert isinstance(caught.value, KwireError)
    assert (caught.value.size, caught.value.max_size) == (size, 40)


@for_rows(
    ("data", "protocol"),
    [
        (b"HTTP/1.1 400 Bad Request", "HTTP"),
        (b"CONNECT host:443", "HTTP"),
        (b"PRI * HTTP/2.0", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS"),
        (b"\x7f\xff\xff\xff", None),
        (b"\xff\xff\xff\xff", None),
        (b"GETS", None),
        (b"\x16\x03\x05\x00", None),
    ],
)
def test_other_protocols_are_named(data: bytes, protocol: str | None) -> None:
    with pytest.raises(frame.InvalidFrameSize) as caught:
        list(frame.Splitter().feed(data))
    named = f"received {protocol} instead" if protocol else " bytes, but"
    assert named in str(caught.value)


def test_payloads_before_an_invalid_size_are_returned() -> None:
    payload = frame.Splitter(max_size=40).feed(sized(b"good") + b"\xff\xff\xff\xff" + b"more")
    assert next(payload) == b"good"
    with pytest.raises(frame.InvalidFrameSize):
        next(payload)


def test_rejected_stream_stays_rejected_and_buffers_nothing() -> None:
    splitter = frame.Splitter(max_size=40)
    with pytest.raises(frame.InvalidFrameSize):
        list(splitter.feed(b"\xff\xff\xff\xff"))
    with pytest.raises(frame.InvalidFrameSize):
        list(splitter.feed(sized(b"good") * 1000))
    assert splitter.partial_bytes == len(splitter.received) == 0


def test_at_most_one_incomplete_frame_is_buffered() -> None:
    splitter = frame.Splitter(max_size=1000)
    for _ in range(100):
        for chunk in (sized(bytes(1000))[:700], sized(bytes(1000))[700:]):
            assert all(len(payload) == 1000 for payload in splitter.feed(chunk))
            assert splitter.partial_bytes == (len(chunk) if len(chunk) == 700 else 0)
        assert splitter.received == b""


def test_unconsumed_payloads_are_returned_with_the_next_chunk() -> None:
    splitter = frame.Splitter()
    splitter.feed(sized(b"first"))
    assert list(splitter.feed(sized(b"second"))) == [b"first", b"second"]


def test_empty_payload_is_returned() -> None:
    assert list(frame.Splitter().feed(bytes(8))) == [b"", b""]
