"""Polls of a cluster that changes, and their pace."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.client import PolledRequest, Poller, broker_configs
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.metadata.events import (
    ControllerMoved,
    IsrShrank,
    LeaderMoved,
    PartitionsAdded,
    ReplicasChanged,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)
from kwire.testing import FakeCluster
from tests.client.polling import (
    ALL,
    INTERVAL,
    TOPIC,
    events_of,
    failed,
    has_events,
    poller,
    succeeded,
    until,
    until_all,
)
from tests.eventually import PATIENCE, eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.client import MetadataEvent


# Fields of a poll


async def test_every_broker_reports_the_whole_cluster(cluster: FakeCluster) -> None:
    began = datetime.now(UTC)
    async with poller(cluster) as polling:
        polls = await until_all(polling, ALL)
    for poll in polls:
        assert poll.message == cluster.state.metadata()
        assert poll.cluster_id == cluster.state.cluster_id
        assert poll.endpoint == cluster.endpoint(poll.broker_id)
        assert (poll.dialect, poll.api_key, poll.api_version, poll.controller_id) == ("kafka", 3, 13, 1)
        assert (poll.error, poll.same, poll.suspect, poll.events) == (None, False, False, ())
        assert poll.changed is not None
        assert poll.changed.first
        assert began < poll.polled_at < datetime.now(UTC)
        assert 0 < poll.duration_us < 30_000_000
        assert poll.payload is not None
        assert frame.decode_response(poll.payload, MetadataResponse, version=13).message == poll.message
        assert poll.request is not None
        asked = frame.decode_request(poll.request).message
        assert asked == MetadataRequest(topics=None, allow_auto_topic_creation=False)


async def test_poll_without_a_change_is_the_same(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        cluster.shuffle_metadata()
        polls = await until(polling, lambda poll: poll.same, 6)
    assert events_of(polls) == []
    assert all(poll.same for poll in polls)


@pytest.mark.parametrize("version", range(14))
async def test_every_version_of_metadata_is_supported(version: int) -> None:
    with FakeCluster(2, topics=3, partitions=2) as cluster:
        cluster.set_api_versions(3, 0, version)
        async with poller(cluster) as polling:
            poll = (await until(polling, succeeded))[-1]
        assert poll.api_version == version
        assert poll.controller_id == (None if version == 0 else 1)  # version 0 does not have it
        message: Any = poll.message
        assert [topic.name for topic in message.topics] == list(cluster.state.topics)
        assert [broker.node_id for broker in message.brokers] == [1, 2]


# Events

"""Of three partitions; broker 1 leads the first, 2 the second, 3 the third."""


def recreated(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    before = cluster.state.topics[TOPIC].topic_id
    cluster.recreate_topic(TOPIC, 5)
    return (TopicRecreated(TOPIC, before, cluster.state.topics[TOPIC].topic_id, 5),)


def made(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.create_topic("new", 2)
    return (TopicAdded("new", cluster.state.topics["new"].topic_id, 2),)


def deleted(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    topic_id = cluster.state.topics[TOPIC].topic_id
    cluster.delete_topics(TOPIC)
    return (TopicRemoved(TOPIC, topic_id),)


def extended(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.add_partitions(TOPIC, 2)
    return (PartitionsAdded(TOPIC, (3, 4)),)


def led_by_another(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.move_leader(TOPIC, 1, 3)
    return (LeaderMoved(TOPIC, 1, 2, 3, 0, 1),)


def out_of_sync(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.shrink_isr(TOPIC, 0, 2, 3)
    return (IsrShrank(TOPIC, 0, (1, 2, 3), (1,), (2, 3)),)


def reassigned(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.reassign_partition(TOPIC, 0, (1, 2))
    return (
        IsrShrank(TOPIC, 0, (1, 2, 3), (1, 2), (3,)),
        ReplicasChanged(TOPIC, 0, (1, 2, 3), (1, 2)),
    )


def ruled_by_another(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
    cluster.move_controller(2)
    return (ControllerMoved(1, 2),)


@pytest.mark.parametrize(
    "change", [made, deleted, recreated, extended, led_by_another, out_of_sync, reassigned, ruled_by_another]
)
async def test_every_broker_reports_a_change_once(
    cluster: FakeCluster, change: Callable[[FakeCluster], tuple[MetadataEvent, ...]]
) -> None:
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        expected = change(cluster)
        polls = await until_all(polling, ALL, has_events)
        polls += await until_all(polling, ALL)
        for broker_id in ALL:
            assert events_of([poll for poll in polls if poll.broker_id == broker_id]) == list(expected)


async def test_controller_moves_are_not_reported_with_kraft() -> None:
    with FakeCluster(3, topics=2, kraft=True) as cluster:
        async with poller(cluster) as polling:
            polls = await until(polling, succeeded, 30)
            assert len({poll.controller_id for poll in polls}) > 1
            assert events_of(polls) == []
            assert sum(poll.same for poll in polls) == 27


async def test_unchanged_parts_of_a_response_are_the_same_objects() -> None:
    with FakeCluster(3, topics=12, partitions=3) as cluster:
        async with poller(cluster, brokers="one") as polling:
            [first] = await until(polling, succeeded)
            cluster.move_leader(TOPIC, 1, 3)
            second = (await until(polling, has_events))[-1]
            assert second.changed is not None
            changes = second.changed.arrays["topics"]
            assert [after.name for _, after in changes.changed] == [TOPIC]
            one: Any = first.message
            two: Any = second.message
            before = {topic.name: topic for topic in one.topics}
            same = [topic.name for topic in two.topics if before[topic.name] is topic]
            assert sorted(same) == sorted(before.keys() - {TOPIC})


# Pace.


async def test_slow_reader_delays_polling(cluster: FakeCluster) -> None:
    async with poller(cluster, queue_size=4, timeout=20.0) as polling:
        in_flight = 4 + len(ALL)  # four in the queue, and one that each broker's task holds
        await eventually(lambda: polling.statistics.polls == in_flight)
        assert polling.statistics.longest_queue == 4
        await asyncio.sleep(3 * INTERVAL)  # makes the next polls late
        for read in range(1, 13):
            await anext(polling)
            assert polling.statistics.polls <= in_flight + read
        await eventually(lambda: polling.statistics.late > 0)
        assert polling.statistics.dropped == 0


async def test_slow_reader_loses_the_oldest_polls(cluster: FakeCluster) -> None:
    async with poller(cluster, queue_size=4, overflow="drop") as polling:
        await eventually(lambda: polling.statistics.polls > 20)
        statistics = polling.statistics
        assert statistics.dropped == statistics.polls - 4
        polls = await until(polling, succeeded, 4)
        assert all(poll.same for poll in polls)


async def test_statistics_count_polls(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        polls = await until(polling, succeeded, 20)
        cluster.stop_broker(1)
        polls += await until(polling, failed, 2)
        await polling.close()
        polls += [poll async for poll in polling]
        statistics = polling.statistics
        assert statistics.polls == len(polls)
        assert statistics.same == sum(poll.same for poll in polls)
        assert statistics.errors == sum(map(failed, polls))
        assert statistics.bytes == sum(len(poll.payload or b"") for poll in polls)


async def test_close_closes_all_connections(cluster: FakeCluster) -> None:
    async with poller(
        cluster, requests=[PolledRequest(broker_configs(), INTERVAL, separate_connection=True)]
    ) as polling:
        await until_all(polling, ALL, lambda poll: poll.api_key == 32)
        assert [cluster.connection_count(n) for n in sorted(ALL)] == [2, 2, 2]
    await eventually(lambda: not any(cluster.connection_count(n) for n in ALL))


@pytest.mark.parametrize("steps", [0, 1])
async def test_close_ends_tasks_in_which_a_timeout_ends_at_that_moment(cluster: FakeCluster, steps: int) -> None:
    """Such a task is `cancelling`, but goes on. One of the numbers of steps of the event loop meets that moment."""
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(0):
                        await asyncio.Event().wait()
        finally:
            ended.set()

    async with poller(cluster) as polling:
        await until(polling, succeeded)
        polling._start(wait())
        for _ in range(10 + steps):
            await asyncio.sleep(0)
        closing = asyncio.create_task(polling.close())
        await asyncio.wait([closing], timeout=PATIENCE)
        assert ended.is_set()
        await closing


async def test_first_poll_does_not_wait_for_the_interval() -> None:
    with FakeCluster(3, topics=3) as cluster:
        async with Poller(cluster.bootstrap, interval=3600.0) as polling:
            await until_all(polling, ALL)
