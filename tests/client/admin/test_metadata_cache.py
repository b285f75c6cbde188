"""The metadata cache of a client: contents, and reasons to refresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kwire.client.admin import LATEST, AdminClient, PartitionOffset, TopicPartition
from kwire.client.admin.metadata_cache import MAX_AGE, ClientMetadata
from kwire.messages.kafka.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kwire.messages.kafka.error_codes import ErrorCode
from kwire.messages.kafka.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kwire.messages.kafka.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kwire.messages.kafka.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.client.admin.scripted_broker import LoseResponse, ScriptedBroker, scripted_broker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kwire.declare import Message

ORDERS = TopicPartition("orders", 0)


class Clock:
    """Returns seconds that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def metadata(port: int, leader: int, *, brokers: tuple[int, ...] = (1, 2), topics: bool = True) -> MetadataResponse:
    """Return the metadata of brokers at one port, and of the topic `orders` with one partition."""
    partition = MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=leader, leader_epoch=leader, replica_nodes=(1, 2), isr_nodes=(1, 2)
    )
    return MetadataResponse(
        brokers=tuple(MetadataResponseBroker(node_id=id, host="127.0.0.1", port=port) for id in brokers),
        controller_id=1,
        topics=(MetadataResponseTopic(error_code=0, name="orders", partitions=(partition,)),) if topics else (),
    )


def end_of_log(code: int = 0) -> ListOffsetsResponse:
    partition = ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=7)
    return ListOffsetsResponse(topics=(ListOffsetsTopicResponse(name="orders", partitions=(partition,)),))


def deleted(code: int = 0) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        throttle_time_ms=0, results=(DeletableGroupResult(group_id="billing", error_code=code),)
    )


class Brokers:
    """Two brokers at one port: the first leads `orders` and coordinates groups until `moved` is set."""

    def __init__(self, *responses: Message | type[Exception]) -> None:
        self.responses = list(responses)
        self.moved = False
        self.server: ScriptedBroker | None = None

    def __call__(self, request: Any) -> Message:
        assert self.server is not None
        responsible = 2 if self.moved else 1
        if isinstance(request, MetadataRequest):
            return metadata(self.server.port, responsible, topics=request.topics != ())
        if isinstance(request, FindCoordinatorRequest):
            found = Coordinator(key="billing", node_id=responsible, host="h", port=1, error_code=0, error_message=None)
            return FindCoordinatorResponse(coordinators=(found,))
        response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        if isinstance(response, type):
            self.moved = True
            raise response
        self.moved = self.moved or response == end_of_log(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return response

    def sent(self, request: type[Message], *, with_topics: bool = False) -> int:
        """Return how often a request was received."""
        assert self.server is not None
        found = [received for received in self.server.received if isinstance(received, request)]
        return sum(not with_topics or bool(getattr(received, "topics", ())) for received in found)


async def run(brokers: Brokers, work: Callable[[AdminClient], Awaitable[Any]]) -> Any:
    async with scripted_broker("kafka", brokers) as server:
        brokers.server = server
        async with await AdminClient.open(f"127.0.0.1:{server.port}", timeout=60.0) as admin:
            return await work(admin)


async def test_leaders_are_looked_up_once() -> None:
    brokers = Brokers(end_of_log())

    async def five_times(admin: AdminClient) -> None:
        for _ in range(5):
            found = (await admin.list_offsets({ORDERS: LATEST}))[ORDERS]
            assert isinstance(found, PartitionOffset)
            assert found.offset == 7

    await run(brokers, five_times)
    assert brokers.sent(ListOffsetsRequest) == 5
    assert brokers.sent(MetadataRequest, with_topics=True) == 1
    assert brokers.sent(MetadataRequest) == 2, "`open` sent the other"


@pytest.mark.parametrize(
    "first", [end_of_log(ErrorCode.NOT_LEADER_OR_FOLLOWER), LoseResponse], ids=["not the leader", "lost connection"]
)
async def test_leader_is_looked_up_again_after_it_has_moved(first: Message | type[Exception]) -> None:
    brokers = Brokers(first, end_of_log())
    found = await run(brokers, lambda admin: admin.list_offsets({ORDERS: LATEST}))
    assert found[ORDERS].offset == 7
    assert brokers.moved
    assert brokers.sent(ListOffsetsRequest) == 2
    # A lost connection is opened again first: that the broker is not the leader any more is another broker's to say.
    assert brokers.sent(MetadataRequest, with_topics=True) == (1 if first is LoseResponse else 2)


async def test_topic_that_is_gone_is_looked_up_once_more() -> None:
    brokers = Brokers(end_of_log(), end_of_log(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    async def twice(admin: AdminClient) -> Any:
        await admin.list_offsets({ORDERS: LATEST})
        return await admin.list_offsets({ORDERS: LATEST})

    found = await run(brokers, twice)
    assert found[ORDERS].name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert brokers.sent(MetadataRequest, with_topics=True) == 2
    assert brokers.sent(ListOffsetsRequest) == 3, "the entry of the cache could have been older than the topic"


async def test_coordinator_is_looked_up_once_and_again_after_it_has_moved() -> None:
    brokers = Brokers(deleted(), deleted(), deleted(ErrorCode.NOT_COORDINATOR), deleted())

    async def three_times(admin: AdminClient) -> None:
        for _ in range(3):
            (await admin.delete_groups(["billing"])).raise_first()

    await run(brokers, three_times)
    assert brokers.sent(DeleteGroupsRequest) == 4
    assert brokers.sent(FindCoordinatorRequest) == 2
    assert brokers.sent(MetadataRequest) == 1, "sent by `open`"


@pytest.mark.parametrize("brokers", [(), (1, 2)], ids=["no brokers", "no topics"])
async def test_empty_response_of_a_restarted_broker_is_checked(brokers: tuple[int, ...]) -> None:
    restarted = True

    def respond(request: Any) -> Message:
        nonlocal restarted
        if not isinstance(request, MetadataRequest) or request.topics == ():
            return metadata(server.port, 1, topics=False)
        empty, restarted = restarted, False
        return metadata(server.port, 1, brokers=brokers if empty else (1, 2), topics=not empty)

    async with (
        scripted_broker("kafka", respond) as server,
        await AdminClient.open(f"127.0.0.1:{server.port}", timeout=60.0) as admin,
    ):
        assert await admin.list_topics() == ["orders"]


def test_entries_are_not_used_after_their_maximum_age() -> None:
    clock = Clock()
    cache = ClientMetadata(clock)
    cache.update(metadata(9092, leader=1))
    cache.add_coordinator(0, "billing", 2)
    clock.now += MAX_AGE
    assert cache.cluster() is not None
    assert cache.topic("orders") is not None
    assert cache.coordinator(0, "billing") == 2
    assert cache.topic("orders", not_before=clock.now) is None
    clock.now += 1
    assert (cache.cluster(), cache.topic("orders"), cache.coordinator(0, "billing")) == (None, None, None)
    assert set(cache.brokers) == {1, 2}, "addresses of brokers are used until a response has others"


def test_broker_that_failed_is_listed_again_by_the_next_response() -> None:
    cache = ClientMetadata(Clock())
    cache.update(metadata(9092, leader=1))
    cache.forget_broker(2)
    assert set(cache.brokers) == {1}
    assert cache.cluster() is None
    cache.update(metadata(9092, leader=1, brokers=()))
    assert set(cache.brokers) == {1}, "a restarted broker may list no brokers"
    cache.update(metadata(9092, leader=1))
    assert set(cache.brokers) == {1, 2}


async def test_unchanged_topics_are_the_same_objects() -> None:
    brokers = Brokers(end_of_log())

    async def twice(admin: AdminClient) -> tuple[Any, Any]:
        cache = admin.router.metadata  # identity shows that the decoder reuses the topic
        await admin.describe_topics()
        first = cache.topic("orders")
        await admin.describe_topics()
        return first, cache.topic("orders")

    first, second = await run(brokers, twice)
    assert first is second
