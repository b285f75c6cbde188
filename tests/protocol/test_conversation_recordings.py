"""Conversations of recorded traffic: whole, in any chunks, and damaged."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kwire.errors import DecodeError, UnsupportedVersion
from kwire.messages import UnknownMessage
from kwire.protocol import NoMessage
from tests.proof.material import exchanges
from tests.protocol.conversations import (
    conversation,
    sized,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Recorded traffic of real clients and brokers


@cache
def recorded() -> tuple[Any, ...]:
    return tuple(exchanges())


def test_recorded_traffic_is_paired_and_decoded_as_it_was_recorded() -> None:
    traffic = conversation()
    found = []
    for recorded_exchange in recorded():
        found += traffic.receive_from_client(sized(recorded_exchange.request))
        found += traffic.receive_from_server(sized(recorded_exchange.response))

    assert [
        (exchange.api_key, exchange.version, exchange.client_id, exchange.request, exchange.response)
        for exchange in found
    ] == [
        (
            recorded_exchange.api_key,
            recorded_exchange.version,
            recorded_exchange.client,
            recorded_exchange.request,
            recorded_exchange.response,
        )
        for recorded_exchange in recorded()
    ]
    assert {exchange.outcome for exchange in found} == {"answered"}
    surplus = [exchange.decode_request().surplus for exchange in found if exchange.version != 99]
    assert [len(rest) for rest in surplus if rest] == [3, 3], "librdkafka sends three bytes after Metadata, twice"
    versions = {
        (exchange.version, exchange.decode_response().version)
        for exchange in found
        if exchange.api_name == "ApiVersions"
    }
    assert (5, 0) in versions, "Kafka 3.9 answers version 5 in version 0"
    for recorded_exchange in found:
        assert recorded_exchange.decode_response().correlation_id == recorded_exchange.correlation_id


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
    sent = [sized(exchange.request) for exchange in chosen]
    received = [sized(exchange.response) for exchange in chosen]
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
    for exchange in chosen:
        for receive, payload in (
            (traffic.receive_from_client, exchange.request),
            (traffic.receive_from_server, exchange.response),
        ):
            damaged = bytearray(sized(payload))
            for position in data.draw(st.lists(st.integers(0, min(len(damaged) - 1, 60)), max_size=3)):
                damaged[position] = data.draw(st.integers(0, 255))
            found += receive(bytes(damaged))
            assert traffic.pending <= 4
    found += traffic.end()

    for exchange in found:
        for decode in (exchange.decode_request, exchange.decode_response):
            with suppress(DecodeError, UnsupportedVersion, UnknownMessage, NoMessage):
                decode()
        assert exchange.api_name is None or exchange.request_class is not None


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200)), max_size=20))
def test_random_bytes_raise_nothing(chunks: list[tuple[bool, bytes]]) -> None:
    traffic = conversation()
    for from_client, chunk in chunks:
        (traffic.receive_from_client if from_client else traffic.receive_from_server)(chunk)
    traffic.end()

    assert (traffic.pending, traffic.pending_bytes) == (0, 0)
