"""`ServerConnection`: responses have the order of requests, and misuse is rejected."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import frame
from kwire.messages.kafka import MetadataRequest, MetadataResponse, ProduceRequest
from kwire.messages.kafka.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire.protocol import ClientConnection, Endpoint, ServerConnection
from kwire.protocol.server_connection import MAX_BATCH, PendingRequest

EMPTY = MetadataResponse(brokers=(), topics=(), controller_id=-1)


def sized(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


def taken(connection: ServerConnection, *payloads: bytes) -> list[PendingRequest]:
    """Receive requests and take them."""
    connection.receive_data(b"".join(map(sized, payloads)))
    requests = list(iter(connection.next_request, None))
    assert [request.payload for request in requests] == list(payloads)
    return requests


def sent(connection: ServerConnection) -> bytes:
    return b"".join(connection.data_to_send())


def error_of(connection: ServerConnection) -> BaseException | None:
    return connection.error


def test_client_and_server_understand_each_other() -> None:
    client, server = ClientConnection(Endpoint("a", 1)), ServerConnection()
    server.receive_data(client.request(MetadataRequest(topics=None), version=12).frame)
    pending = server.next_request()
    assert pending is not None
    assert pending.decode().message == MetadataRequest(topics=None)
    server.respond(pending, EMPTY)
    [payload] = frame.Splitter().feed(sent(server))
    assert client.receive(payload).decode() == EMPTY


@given(st.permutations(range(6)), st.integers(0, 6))
def test_responses_have_the_order_of_the_requests(order: list[int], sent_after: int) -> None:
    connection = ServerConnection()
    requests = taken(connection, *(b"%d" % number for number in range(6)))
    output = b""
    for count, number in enumerate(order):
        connection.respond(requests[number], b"<%d>" % number)
        if count == sent_after:
            output += sent(connection)
    assert output + sent(connection) == b"<0><1><2><3><4><5>"
    assert (connection.in_flight, connection.waiting_bytes, connection.unsent_bytes) == (0, 0, 0)


def test_waiting_and_unsent_bytes_are_counted() -> None:
    connection = ServerConnection()
    first, second = taken(connection, b"first", b"second")
    connection.respond(second, (b"in", memoryview(b"parts")))
    assert (connection.in_flight, connection.waiting_bytes, connection.unsent_bytes) == (2, 7, 0)
    assert connection.data_to_send() == []
    connection.respond(first, b"!")
    assert (connection.in_flight, connection.waiting_bytes, connection.unsent_bytes) == (0, 0, 8)


def test_small_responses_leave_together_and_large_ones_by_themselves() -> None:
    connection = ServerConnection()
    large = bytes(MAX_BATCH + 1)
    for request, response in zip(taken(connection, *[b""] * 5), (b"a", b"b", large, b"c", b"d"), strict=True):
        connection.respond(request, response)
    chunks = connection.data_to_send()
    assert chunks == [b"ab", large, b"cd"]
    assert chunks[1] is large


def test_response_with_an_error_is_the_last_one() -> None:
    connection, error = ServerConnection(), ZeroDivisionError()
    first, second, third = taken(connection, b"1", b"2", b"3")
    connection.respond(third, b"<3>")
    connection.respond(second, b"<2>", error=error)
    assert error_of(connection) is None
    connection.respond(first, b"<1>")
    assert error_of(connection) is error
    assert sent(connection) == b"<1><2>"
    connection.receive_data(sized(b"4"))
    assert connection.next_request() is None


def test_request_without_a_response_is_skipped() -> None:
    connection = ServerConnection()
    produce = frame.encode_request(ProduceRequest(acks=0, timeout_ms=1, topic_data=()), version=9, correlation_id=1)
    [pending] = taken(connection, produce[4:])
    assert not pending.decode().message.has_response  # type: ignore[attr-defined]  # the message is a ProduceRequest
    connection.respond(pending, None)
    assert (connection.in_flight, sent(connection)) == (0, b"")


def test_unknown_version_of_api_versions_gets_version_0() -> None:
    connection = ServerConnection()
    payload = frame.encode_request(ApiVersionsRequest(), version=4, correlation_id=9)[4:]
    [pending] = taken(connection, payload[:2] + b"\0\x63" + payload[4:])
    with pytest.raises(frame.UnsupportedRequest):
        pending.decode()
    connection.respond(pending, ApiVersionsResponse(error_code=35, api_keys=()), version=0)
    [response] = frame.Splitter().feed(sent(connection))
    assert frame.decode_response(response, ApiVersionsResponse, version=99).message.error_code == 35


def test_each_request_has_one_response() -> None:
    connection = ServerConnection()
    first, second = taken(connection, b"first", b"second")
    [foreign] = taken(ServerConnection(), b"foreign")
    connection.respond(second, b"")
    connection.respond(first, b"")
    for request in (first, second, foreign):
        with pytest.raises(ValueError, match="not pending on this connection"):
            connection.respond(request, b"")


def test_message_needs_the_header_of_its_request() -> None:
    connection = ServerConnection()
    [short] = taken(connection, b"\0\x03\0\x01")
    with pytest.raises(ValueError, match="shorter than its header"):
        connection.respond(short, EMPTY)


def test_runs_are_answered_by_their_bytes() -> None:
    def find(received: bytes, start: int, limit: int) -> tuple[bytes, int] | None:
        limits.append(limit)
        return (b"cached", start + 5) if received.startswith(sized(b"?"), start) else None

    limits: list[int] = []
    connection = ServerConnection()
    connection.receive_data(sized(b"?") + sized(b"other") + sized(b"?") + sized(b"?")[:4])
    assert connection.answer_run(find)
    assert not connection.answer_run(find)
    pending = connection.next_request()
    assert pending is not None
    assert connection.answer_run(find)  # behind a pending request, by itself
    assert not connection.answer_run(find)  # the last request is not complete
    assert limits == [MAX_BATCH, MAX_BATCH - 6, 0]
    assert (sent(connection), connection.waiting_bytes, connection.received_bytes) == (b"cached", 6, 4)
    connection.respond(pending, b"other")
    assert sent(connection) == b"othercached"


def test_larger_requests_of_an_api_are_accepted() -> None:
    connection = ServerConnection()
    connection.limit(10, {6: 20})
    for payload, is_accepted in (
        (b"\0\x06" + bytes(18), True),
        (b"\0\x05" + bytes(8), True),
        (b"\0\x05" + bytes(9), False),
    ):
        connection.receive_data(sized(payload)[:5])
        assert connection.next_request() is None  # the key is not complete
        connection.receive_data(sized(payload)[5:])
        if is_accepted:
            pending = connection.next_request()
            assert pending is not None
            assert pending.payload == payload
        else:
            with pytest.raises(frame.InvalidFrameSize) as caught:
                connection.next_request()
            assert (caught.value.size, caught.value.max_size) == (11, 10)


def test_closed_connection_has_nothing_left() -> None:
    connection = ServerConnection()
    first, _ = taken(connection, b"first", b"second")
    connection.respond(first, b"response")
    connection.receive_data(b"rest")
    connection.close()
    assert (connection.received_bytes, connection.in_flight, sent(connection)) == (0, 0, b"")


def test_responses_in_reverse_take_the_time_of_responses_in_order() -> None:
    """A client decides how many requests wait, so none of them may be searched for."""

    def respond_to_all(*, is_reversed: bool) -> float:
        connection = ServerConnection()
        connection.receive_data(sized(b"12345678") * 40_000)
        requests = list(iter(connection.next_request, None))
        started = time.process_time()
        for request in reversed(requests) if is_reversed else requests:
            connection.respond(request, b"response")
        assert connection.in_flight == 0
        return time.process_time() - started

    # Searching took 2,000 times as long; garbage collections account for single factors.
    assert respond_to_all(is_reversed=True) < 50 * respond_to_all(is_reversed=False)


def test_requests_of_another_connection_or_before_a_close_are_not_pending() -> None:
    first, second = ServerConnection(), ServerConnection()
    [request] = taken(first, b"12345678")
    with pytest.raises(ValueError, match="not pending"):
        second.respond(request, b"response")
    first.close()
    with pytest.raises(ValueError, match="not pending"):
        first.respond(request, b"response")
