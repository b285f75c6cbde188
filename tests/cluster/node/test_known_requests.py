"""Requests that are answered by their bytes: what leaves is what reading each of them would have answered."""

from __future__ import annotations

import asyncio
import gc
import struct
import weakref
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kwire import frame
from kwire._kwire import KnownRequests
from kwire.cluster.node.listener import Listener, Peer
from kwire.cluster.node.metadata_cache import MetadataCache
from kwire.cluster.node.metrics import Metrics
from kwire.cluster.node.requests import KNOWN, Requests
from kwire.cluster.node.tools import Surroundings, ToolRegistry, ToolRunner
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest, ClusterMetadataResponse
from kwire.messages.kip4.create_topic import CreateTopicRequest, CreateTopicResponse
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip584.api_versions import ApiVersionsRequest
from tests.cluster.node.test_listener import Client, Told
from tests.cluster.node.test_metadata_cache import live, state, topic, update

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from kwire.declare import Message
    from kwire.messages.headers import RequestHeader
    from kwire.messages.kafka.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
    from kwire.messages.kip4.admin import AdminRequest, AdminResponse

MESSAGES: tuple[tuple[Message, int], ...] = (
    (ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
    (ClusterMetadataRequest(), 0),
    (TopicMetadataRequest_V1(topic_names=()), 1),
    (TopicMetadataRequest_V1(topic_names=("b", "gone")), 1),
    (CreateTopicRequest(topic_name="c", partitions=1, replicas=1), 1),
)


class SlowController:
    """Duties of a node whose controller answers once it is let."""

    creates_topics = False

    def __init__(self) -> None:
        self.let = asyncio.Event()

    async def create_topics(self, names: tuple[str, ...]) -> Mapping[str, int]:
        raise AssertionError(names)

    async def take_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        raise AssertionError(request)

    async def let_leave(self, request: AdminRequest) -> AdminResponse:
        raise AssertionError(request)

    async def command(self, request: Message, header: RequestHeader) -> Message:
        assert isinstance(request, CreateTopicRequest), header
        await self.let.wait()
        return CreateTopicResponse(error_code=0)


class Served:
    """What answers a port's requests."""

    def __init__(self) -> None:
        self.metadata = MetadataCache()
        self.metadata.update(update(topic("a", state(0, 1, (1, 2), (1, 2))), topic("b", state(0, 2, (2,), (2, 1)))))
        self.metrics = Metrics(1)
        self.controller = SlowController()
        registry = ToolRegistry()
        tools = ToolRunner(registry, Surroundings(1, registry, dict))
        self.requests = Requests(self.metadata, self.metrics, tools, self.controller)

    async def read_each(self, frames: list[bytes]) -> list[bytes]:
        """The answers, when every request is read."""
        answers = []
        for each in frames:
            answer = self.requests.answer(each[4:], Peer("?"))
            answers.append(answer if isinstance(answer, bytes | tuple) else await answer)
        return [b"".join(each) if isinstance(each, tuple) else each for each in answers]


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Served, Client]]:
    at = Served()
    listener = Listener(at.requests.answer, Told(), known=at.requests.known)
    await listener.start("127.0.0.1")
    client = Client(*await asyncio.open_connection(listener.host, listener.port))
    try:
        yield at, client
    finally:
        client.writer.close()
        await listener.stop(grace=1)


def asking(message: Message, version: int, correlation_id: int, client_id: str | None = "tester") -> bytes:
    return frame.encode_request(message, version=version, correlation_id=correlation_id, client_id=client_id)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


sent_requests = st.lists(
    st.builds(
        lambda what, correlation_id, client_id, times: [asking(what[0], what[1], correlation_id, client_id)] * times,
        st.sampled_from(MESSAGES),
        st.integers(-(2**31), 2**31 - 1),
        st.sampled_from([None, "", "one", "two"]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=30,
).map(lambda runs: [each for run in runs for each in run])


@settings(deadline=None)
@given(sent_requests, st.lists(st.integers(1, 400), max_size=5))
def test_any_stream_of_requests_is_answered_as_if_each_was_read(sent: list[bytes], cuts: list[int]) -> None:
    """However it is cut, and with answers among them that wait for the controller."""

    async def scene() -> None:
        async with served() as (at, client):
            at.controller.let.set()
            stream, start = b"".join(sent), 0
            for stop in [*sorted(cuts), len(stream)]:
                client.writer.write(stream[start:stop])
                await asyncio.sleep(0)
                start = max(start, stop)
            answers = [framed(await client.receive()) for _ in sent]
            by_reading = Served()
            by_reading.controller.let.set()
            assert answers == await by_reading.read_each(sent)

    asyncio.run(scene())


def test_known_ones_wait_behind_an_answer_that_takes_its_time() -> None:
    known = [asking(ClusterMetadataRequest(), 0, each) for each in range(5)]
    slow = asking(MESSAGES[-1][0], 1, 99)

    async def scene() -> None:
        async with served() as (at, client):
            client.writer.write(known[0] + slow + b"".join(known[1:]))
            assert (await client.receive())[:4] == bytes(4)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.reader.readexactly(1)
            at.controller.let.set()
            ids = [struct.unpack(">i", (await client.receive())[:4])[0] for _ in range(5)]
            assert ids == [99, 1, 2, 3, 4]

    asyncio.run(scene())


def test_a_change_of_the_metadata_is_in_the_next_answer() -> None:
    request = asking(ClusterMetadataRequest(), 0, 1)

    async def scene() -> None:
        async with served() as (at, client):
            for brokers in ((1, 2), (1, 2, 3), (2,)):
                at.metadata.update(update(brokers=live(*brokers)))
                for _ in range(3):
                    client.writer.write(request)
                    answer = frame.decode_response(await client.receive(), ClusterMetadataResponse, version=0)
                    assert tuple(broker.node_id for broker in answer.message.brokers) == brokers

    asyncio.run(scene())


def test_a_change_between_a_read_request_and_the_next_known_one_is_not_missed() -> None:
    """What is kept after a change is never found beside what was kept before it."""
    at, peer = Served(), Peer("?")
    one, other = (asking(ClusterMetadataRequest(), 0, 1, name) for name in ("one", "other"))
    at.requests.answer(one[4:], peer)
    at.metadata.update(update(brokers=live(1, 2, 3)))
    at.requests.answer(other[4:], peer)

    assert at.requests.known(one, 0, 0, peer) is None


def test_each_is_counted_and_the_last_client_is_known() -> None:
    sent = [asking(*MESSAGES[place % 3], place, f"client-{place // 7}") for place in range(40)]

    async def scene() -> None:
        async with served() as (at, client):
            client.writer.write(b"".join(sent))
            for _ in sent:
                await client.receive()
            assert at.metrics.at_once == {
                "ApiVersionsRequest": 14,
                "ClusterMetadataRequest": 13,
                "TopicMetadataRequest_V1": 13,
            }

    asyncio.run(scene())

    at, peer = Served(), Peer("?")
    at.requests.answer(sent[0][4:], peer)
    peer.client_id = None
    assert at.requests.known(sent[0], 0, 0, peer) is not None
    assert peer.client_id == "client-0"


def test_however_many_clients_there_are_few_are_known() -> None:
    at, peer = Served(), Peer("?")
    for place in range(3 * KNOWN):
        at.requests.answer(asking(ClusterMetadataRequest(), 0, 1, f"client-{place}")[4:], peer)
    known = sum(
        at.requests.known(asking(ClusterMetadataRequest(), 0, 1, f"client-{place}"), 0, 0, peer) is not None
        for place in range(3 * KNOWN)
    )

    assert 0 < known <= KNOWN


def test_labels_are_the_collectors_business() -> None:
    class Label:
        """Holds what holds it."""

        def __init__(self, known: KnownRequests) -> None:
            self.known = known

    known = KnownRequests()
    label = Label(known)
    assert known.insert(bytes(8), b"body", label)
    alive = weakref.ref(label)
    del known, label
    gc.collect()

    assert alive() is None


@pytest.mark.parametrize("start", [0, 1, 20, 2**62])
def test_the_engine_looks_at_nothing_that_is_not_there(start: int) -> None:
    known = KnownRequests()
    request = asking(ClusterMetadataRequest(), 0, 1)
    assert known.insert(request[4:], b"", None)

    assert (known.answer(request, start, 0) is not None) == (start == 0)
    assert not known.insert(bytes(7), b"", None)
    assert not known.insert(bytes(261), b"", None)
    assert len(known) == 1
