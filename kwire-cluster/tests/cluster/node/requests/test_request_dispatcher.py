"""The request dispatcher: its cache never changes what a client receives, and large responses are not copied."""

from __future__ import annotations

import asyncio
import gc
import struct
import weakref
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kwire
from kwire import _kwire, frame
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.structures import ConfigEntry
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip584.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kwire_cluster.controller.backend import Outcome
from kwire_cluster.node.listener.connection_limits import CloseReason, ConnectedClient, InvalidRequest
from kwire_cluster.node.listener.listener import Listener
from kwire_cluster.node.metrics import Metrics
from kwire_cluster.node.requests.request_dispatcher import MAX_CACHED_RESPONSES, MIN_SPLIT_BODY, RequestDispatcher
from tests.cluster.node.handling import node_services
from tests.cluster.node.listener.test_listener import Client, RecordingObserver
from tests.cluster.node.metadata.test_metadata_cache import live, state, topic, update
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kwire.declare import Message
    from kwire_cluster.controller.backend import AdminBackend

MESSAGES: tuple[tuple[Message, int], ...] = (
    (ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
    (ClusterMetadataRequest(), 0),
    (TopicMetadataRequest_V1(topic_names=()), 1),
    (TopicMetadataRequest_V1(topic_names=("b", "gone")), 1),
    (CreateTopicRequest(topic_name="c", partitions=1, replicas=1), 1),
)


class SlowBackend:
    """A backend that creates topics once the gate is open."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.requested = asyncio.Event()

    def check_active(self) -> None: ...

    async def create_topics(
        self, creations: Sequence[TopicCreation], client_id: str | None, *, author: str
    ) -> list[Outcome]:
        del client_id, author
        self.requested.set()
        await self.gate.wait()
        return [Outcome(creation.topic_name) for creation in creations]


class Served:
    """A dispatcher with a metadata cache of two topics."""

    def __init__(self) -> None:
        self.backend = SlowBackend()
        services = node_services(cast("AdminBackend", self.backend))
        self.metadata = services.metadata
        topics = topic("a", state(0, 1, (1, 2), (1, 2))), topic("b", state(0, 2, (2,), (2, 1)))
        self.metadata.update(update(*topics, everything=True))
        self.metrics = Metrics(1)
        self.dispatcher = RequestDispatcher(services, self.metrics)

    async def dispatch_each(self, frames: list[bytes]) -> list[bytes]:
        """Return the responses without using the cache."""
        responses = []
        for sent in frames:
            response = self.dispatcher.dispatch(sent[4:], ConnectedClient("?"))
            responses.append(response if isinstance(response, bytes | tuple) else await response)
        return [b"".join(response) if isinstance(response, tuple) else response for response in responses]

    def is_cached(self, frame: bytes, client: ConnectedClient | None = None) -> bool:
        return self.dispatcher.cached_responses(client or ConnectedClient("?"), frame, 0, 0) is not None


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Served, Client]]:
    at = Served()
    listener = Listener(at.dispatcher.dispatch, RecordingObserver(), cached_responses=at.dispatcher.cached_responses)
    await listener.start("127.0.0.1")
    client = Client(*await asyncio.open_connection(listener.host, listener.port))
    try:
        yield at, client
    finally:
        client.writer.close()
        await listener.stop(grace=1)


def request_frame(message: Message, version: int, correlation_id: int, client_id: str | None = "tester") -> bytes:
    return frame.encode_request(message, version=version, correlation_id=correlation_id, client_id=client_id)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


async def round_trips(client: Client) -> None:
    """Send requests on another connection to the same listener, so that anything sent to `client` has arrived."""
    host, port = client.writer.get_extra_info("peername")
    other = Client(*await asyncio.open_connection(host, port))
    for number in range(3):
        other.writer.write(request_frame(ClusterMetadataRequest(), 0, number))
        await other.receive()
    other.writer.close()


sent_requests = st.lists(
    st.builds(
        lambda what, correlation_id, client_id, times: (
            [request_frame(what[0], what[1], correlation_id, client_id)] * times
        ),
        st.sampled_from(MESSAGES),
        st.integers(-(2**31), 2**31 - 1),
        st.sampled_from([None, "", "one", "two"]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=30,
).map(lambda runs: [request for run in runs for request in run])


@settings(deadline=None)
@given(sent_requests, st.lists(st.integers(1, 400), max_size=5))
async def test_cache_does_not_change_responses(sent: list[bytes], cuts: list[int]) -> None:
    """The stream arrives in any pieces, and some responses wait for the controller."""
    async with served() as (at, client):
        at.backend.gate.set()
        stream, start = b"".join(sent), 0
        for stop in [*sorted(cuts), len(stream)]:
            client.writer.write(stream[start:stop])
            await asyncio.sleep(0)
            start = max(start, stop)
        responses = [framed(await client.receive()) for _ in sent]
        uncached = Served()
        uncached.backend.gate.set()
        assert responses == await uncached.dispatch_each(sent)


async def test_cached_responses_wait_behind_a_pending_one() -> None:
    cached = [request_frame(ClusterMetadataRequest(), 0, number) for number in range(5)]
    slow = request_frame(MESSAGES[-1][0], 1, 99)
    async with served() as (at, client):
        client.writer.write(cached[0] + slow + b"".join(cached[1:]))
        assert (await client.receive())[:4] == bytes(4)
        first = asyncio.create_task(client.receive())
        await eventually(at.backend.requested.is_set)
        await round_trips(client)
        assert not first.done()
        at.backend.gate.set()
        received = [await first, *[await client.receive() for _ in range(4)]]
        ids = [struct.unpack(">i", response[:4])[0] for response in received]
        assert ids == [99, 1, 2, 3, 4]


async def test_metadata_change_is_in_the_next_response() -> None:
    request = request_frame(ClusterMetadataRequest(), 0, 1)
    async with served() as (at, client):
        for brokers in ((1, 2), (1, 2, 3), (2,)):
            at.metadata.update(update(brokers=live(*brokers)))
            for _ in range(3):
                client.writer.write(request)
                response = frame.decode_response(await client.receive(), ClusterMetadataResponse, version=0)
                assert tuple(broker.node_id for broker in response.message.brokers) == brokers


def test_cache_keeps_nothing_from_before_a_change() -> None:
    at, client = Served(), ConnectedClient("?")
    one, other = (request_frame(ClusterMetadataRequest(), 0, 1, name) for name in ("one", "other"))
    at.dispatcher.dispatch(one[4:], client)
    at.metadata.update(update(brokers=live(1, 2, 3)))
    at.dispatcher.dispatch(other[4:], client)

    assert not at.is_cached(one)
    assert at.is_cached(other)


def test_topic_metadata_version_0_is_cached_if_it_creates_no_topic() -> None:
    at = Served()
    request = request_frame(TopicMetadataRequest(topic_names=("a",)), 0, 1)
    at.dispatcher.dispatch(request[4:], ConnectedClient("?"))

    assert at.is_cached(request)
    at.metadata.update(update(everything=True))
    assert not at.is_cached(request)


async def test_elements_of_a_request_are_counted() -> None:
    """They occupy memory until the request is answered."""
    at, client = Served(), ConnectedClient("?")
    at.dispatcher.dispatch(request_frame(TopicMetadataRequest_V1(topic_names=("a", "b", "c")), 1, 1)[4:], client)
    assert client.items == 3
    configs = tuple(ConfigEntry(config_key=key, config_value="1") for key in ("retention.ms", "segment.ms"))
    creations = tuple(
        TopicCreation(topic_name=name, partitions=1, replication_factor=1, config_entries=configs) for name in "cde"
    )
    at.backend.gate.set()
    response = at.dispatcher.dispatch(request_frame(CreateTopicRequest_V2(topics=creations), 2, 1)[4:], client)
    assert not isinstance(response, bytes | tuple)
    await response
    assert client.items == 3 + 3 * 2


@pytest.mark.parametrize(
    ("payload", "detail"),
    [
        (b"", "request of 0 bytes"),
        (struct.pack(">hhi", 9999, 3, 7) + bytes(2), "request with key 9999, version 3, correlation id 7"),
        (struct.pack(">hhi", 1000, 5, 7) + bytes(2), "ClusterMetadataRequest"),
    ],
)
def test_request_that_cannot_be_answered_is_invalid(payload: bytes, detail: str) -> None:
    with pytest.raises(InvalidRequest, match=detail) as raised:
        Served().dispatcher.dispatch(payload, ConnectedClient("?"))
    assert raised.value.reason is CloseReason.INVALID_REQUEST


def test_unknown_version_of_api_versions_gets_the_known_versions() -> None:
    response = Served().dispatcher.dispatch(struct.pack(">hhi", 18, 99, 7), ConnectedClient("?"))

    assert isinstance(response, bytes)
    decoded = kwire.decode(ApiVersionsResponse, response[8:], version=0)
    assert response[:8] == struct.pack(">ii", len(response) - 4, 7)
    assert decoded.error_code == 35
    assert [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in decoded.api_keys] == [(18, 0, 3)]


async def test_every_cached_request_is_counted() -> None:
    sent = [request_frame(*MESSAGES[number % 3], number, f"client-{number // 7}") for number in range(40)]
    async with served() as (at, client):
        client.writer.write(b"".join(sent))
        for _ in sent:
            await client.receive()
        assert at.metrics.from_memory == {
            "ApiVersionsRequest": 14,
            "ClusterMetadataRequest": 13,
            "TopicMetadataRequest_V1": 13,
        }


def test_cached_request_sets_the_client_id() -> None:
    at, client = Served(), ConnectedClient("?")
    request = request_frame(ClusterMetadataRequest(), 0, 1, "client-0")
    at.dispatcher.dispatch(request[4:], client)
    client.client_id = None

    assert at.is_cached(request, client)
    assert client.client_id == "client-0"


def test_cache_is_bounded() -> None:
    at, client = Served(), ConnectedClient("?")
    requests = [
        request_frame(ClusterMetadataRequest(), 0, 1, f"client-{number}") for number in range(3 * MAX_CACHED_RESPONSES)
    ]
    for request in requests:
        at.dispatcher.dispatch(request[4:], client)

    assert 0 < sum(map(at.is_cached, requests)) <= MAX_CACHED_RESPONSES


def test_large_response_shares_the_memory_of_the_metadata_cache() -> None:
    at = Served()
    for number in range(4_000):
        at.metadata.update(update(topic(f"topic-{number:0200}", state(0, 1, (1, 2), (1, 2)))))
    body = at.metadata.response_body(1, ())
    assert len(body) > MIN_SPLIT_BODY

    parts = at.dispatcher.dispatch(
        request_frame(TopicMetadataRequest_V1(topic_names=()), 1, 7)[4:], ConnectedClient("?")
    )

    assert isinstance(parts, tuple)
    assert b"".join(parts) == framed(struct.pack(">i", 7) + body)
    assert isinstance(parts[-1], memoryview)
    assert parts[-1].obj is body
    assert len(parts[0]) < len(body) / 2 + 8


def test_cached_labels_are_garbage_collected() -> None:
    class Label:
        """A label that refers to the cache that holds it."""

        def __init__(self, cache: _kwire.ResponseCache) -> None:
            self.cache = cache

    cache = _kwire.ResponseCache()
    label = Label(cache)
    assert cache.insert(bytes(8), b"body", label)
    alive = weakref.ref(label)
    del cache, label
    gc.collect()

    assert alive() is None


@pytest.mark.parametrize("start", [0, 1, 20, 2**62])
def test_offset_beyond_the_received_bytes_finds_nothing(start: int) -> None:
    cache = _kwire.ResponseCache()
    request = request_frame(ClusterMetadataRequest(), 0, 1)
    assert cache.insert(request[4:], b"", None)

    assert (cache.get(request, start, 0) is not None) == (start == 0)
    assert not cache.insert(bytes(7), b"", None)
    assert not cache.insert(bytes(261), b"", None)
    assert len(cache) == 1
