"""Numbers that brokers send size, index, and repeat nothing without a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kwire._util.concurrency import bounded_gather, sleep
from kwire.client import Poller
from kwire.client.admin import AdminClient, AdminError
from kwire.client.admin.features import LEVELS, lowest_accepted_level
from kwire.client.admin.metadata_cache import MAX_LISTED_IDS, ClientMetadata
from kwire.client.admin.partitions import GROWTH
from kwire.client.poller import MAX_SILENT_BROKERS
from kwire.messages.kafka.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kwire.messages.kafka.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kwire.messages.kafka.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from tests.client.admin.scripted_broker import scripted_broker
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire.declare import Message


def metadata(port: int, *, brokers: int = 1, partitions: int = 1) -> MetadataResponse:
    """Return metadata with one broker that exists, and a topic."""
    missing = tuple(MetadataResponseBroker(node_id=n, host="127.0.0.1", port=1) for n in range(2, brokers + 1))
    return MetadataResponse(
        brokers=(MetadataResponseBroker(node_id=1, host="127.0.0.1", port=port), *missing),
        cluster_id="numbers",
        controller_id=1,
        topics=(
            MetadataResponseTopic(
                error_code=0,
                name="orders",
                partitions=tuple(
                    MetadataResponsePartition(
                        error_code=0, partition_index=n, leader_id=1, replica_nodes=(1,), isr_nodes=(1,)
                    )
                    for n in range(partitions)
                ),
            ),
        ),
    )


def page(*partitions: int, cursor: tuple[str, int] | None) -> DescribeTopicPartitionsResponse:
    described = tuple(
        DescribeTopicPartitionsResponsePartition(
            error_code=0,
            partition_index=n,
            leader_id=1,
            replica_nodes=(1,),
            isr_nodes=(1,),
            eligible_leader_replicas=(),
            last_known_elr=(),
            offline_replicas=(),
        )
        for n in partitions
    )
    topic = DescribeTopicPartitionsResponseTopic(
        error_code=0, name="orders", topic_id=UUID(int=1), is_internal=False, partitions=described
    )
    following = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=(topic,), next_cursor=following)


@pytest.mark.parametrize("kind", ["growing", "growing with partitions", "repeated", "another topic", "backward"])
async def test_pages_of_partitions_end(kind: str) -> None:
    pages = 0

    def respond(request: Any) -> Message:
        nonlocal pages
        if not isinstance(request, DescribeTopicPartitionsRequest):
            return metadata(broker.port)
        pages += 1
        return {
            "growing": lambda: page(cursor=("orders", pages)),
            "growing with partitions": lambda: page(pages - 1, cursor=("orders", pages)),
            "repeated": lambda: page(0, cursor=("orders", 0)),
            "another topic": lambda: page(0, cursor=(f"topic-{pages}", 2**31 - 1)),
            "backward": lambda: page(0, cursor=("orders", 100 - pages)),
        }[kind]()

    async with (
        scripted_broker("kafka", respond) as broker,
        await AdminClient.open(f"127.0.0.1:{broker.port}") as admin,
    ):
        with pytest.raises(AdminError, match="its pages do not end"):
            await admin.describe_eligible_leaders(["orders"])
    assert pages <= GROWTH + 2


async def test_pages_of_one_partition_each_are_put_together() -> None:
    def respond(request: Any) -> Message:
        if not isinstance(request, DescribeTopicPartitionsRequest):
            return metadata(broker.port, partitions=30)
        first = 0 if request.cursor is None else request.cursor.partition_index
        return page(first, cursor=("orders", first + 1) if first < 29 else None)

    async with (
        scripted_broker("kafka", respond) as broker,
        await AdminClient.open(f"127.0.0.1:{broker.port}") as admin,
    ):
        leaders = await admin.describe_eligible_leaders(["orders"])
    assert list(leaders["orders"]) == list(range(30))


async def test_levels_of_a_feature_are_tried_up_to_a_limit() -> None:
    def respond(request: Any) -> Message:
        if isinstance(request, UpdateFeaturesRequest):
            return UpdateFeaturesResponse(throttle_time_ms=0, error_code=0, error_message=None)
        return metadata(broker.port)

    async with (
        scripted_broker("kafka", respond) as broker,
        await AdminClient.open(f"127.0.0.1:{broker.port}") as admin,
    ):
        safe = await lowest_accepted_level(admin, "metadata.version", 2**15 - 1)
    assert safe.level == 2**15 - 1 - LEVELS
    assert safe.reason == f"levels below {safe.level} were not tried"


@pytest.mark.parametrize("client_loop", ["asyncio"], indirect=True)  # the poller has a loop of its own
async def test_poller_polls_brokers_that_exist_beside_twenty_thousand_that_do_not() -> None:
    polled = 0

    def respond(_: Any) -> Message:
        return metadata(broker.port, brokers=20_000)

    async with scripted_broker("kafka", respond) as broker:
        poller = Poller(f"127.0.0.1:{broker.port}", interval=0.01, longest_pause=3600.0, queue_size=1, overflow="drop")
        async with poller:
            async for poll in poller:
                polled += poll.broker_id == 1 and poll.error is None
                if polled == 3:
                    break
            assert len(poller.broker_ids) <= MAX_SILENT_BROKERS + 1
            assert 1 in poller.broker_ids
            assert poller.statistics.unpolled == 20_000 - len(poller.broker_ids)


def test_ids_of_brokers_are_remembered_up_to_a_limit() -> None:
    cache = ClientMetadata()
    for first in range(0, 10 * MAX_LISTED_IDS, 1_000):
        listed = tuple(MetadataResponseBroker(node_id=first + n, host="h", port=1) for n in range(1_000))
        cache.update(MetadataResponse(brokers=listed, topics=(), controller_id=-1))
        assert len(cache.listed_ids) <= MAX_LISTED_IDS + 1_000
        assert first + 999 in cache.listed_ids


async def test_limited_calls_are_made_at_once_and_canceled_after_an_error() -> None:
    running = most = ended = 0

    async def call(number: int) -> int:
        nonlocal running, most, ended
        running += 1
        most = max(most, running)
        try:
            await sleep(0 if number < 50 else 3600)
            if number == 49:
                raise LookupError
        finally:
            running -= 1
            ended += 1
        return -number

    assert await bounded_gather(call, range(40), at_once=7) == [-n for n in range(40)]
    assert (most, running) == (7, 0)
    with pytest.raises(LookupError):
        await bounded_gather(call, range(100), at_once=7)
    await eventually(lambda: running == 0)
    assert ended < 40 + 100
