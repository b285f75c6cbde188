"""Polling a cluster that changes: what is told, and how often."""

from __future__ import annotations

import asyncio
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
    answered,
    comes_true,
    differs,
    failed,
    poller,
    run,
    told,
    until,
    until_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.client import MetadataEvent, Poll


# What a poll is.


def test_every_broker_tells_the_whole_cluster(cluster: FakeCluster) -> None:
    async def work() -> list[Poll[Any]]:
        async with poller(cluster) as polling:
            return await until_all(polling, ALL)

    began = datetime.now(UTC)
    for poll in run(work()):
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


def test_nothing_new_is_the_same(cluster: FakeCluster) -> None:
    async def work() -> list[Poll[Any]]:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.shuffle_metadata()
            return await until(polling, lambda poll: poll.same, 6)

    polls = run(work())
    assert told(polls) == []
    assert all(poll.same for poll in polls)


@pytest.mark.parametrize("version", range(14))
def test_whatever_version_the_brokers_know(version: int) -> None:
    async def work(cluster: FakeCluster) -> Poll[Any]:
        async with poller(cluster) as polling:
            return (await until(polling, answered))[-1]

    with FakeCluster(2, topics=3, partitions=2) as cluster:
        cluster.set_api_versions(3, 0, version)
        poll = run(work(cluster))
        assert poll.api_version == version
        assert poll.controller_id == (None if version == 0 else 1)  # version 0 does not tell it
        message: Any = poll.message
        assert [topic.name for topic in message.topics] == list(cluster.state.topics)
        assert [broker.node_id for broker in message.brokers] == [1, 2]


# Differences.

"""Of three partitions; broker 1 leads the first, 2 the second, 3 the third."""


def made_anew(cluster: FakeCluster) -> tuple[MetadataEvent, ...]:
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
    "change", [made, deleted, made_anew, extended, led_by_another, out_of_sync, reassigned, ruled_by_another]
)
def test_every_broker_tells_a_change_once(
    cluster: FakeCluster, change: Callable[[FakeCluster], tuple[MetadataEvent, ...]]
) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            expected = change(cluster)
            polls = await until_all(polling, ALL, differs)
            polls += await until_all(polling, ALL)
            for broker_id in ALL:
                assert told([poll for poll in polls if poll.broker_id == broker_id]) == list(expected)

    run(work())


def test_the_controller_is_not_told_to_move_where_answers_name_anybody() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with poller(cluster) as polling:
            polls = await until(polling, answered, 30)
            assert len({poll.controller_id for poll in polls}) > 1
            assert told(polls) == []
            assert sum(poll.same for poll in polls) == 27

    with FakeCluster(3, topics=2, kraft=True) as cluster:
        run(work(cluster))


def test_unchanged_parts_of_an_answer_are_the_objects_of_the_last() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with poller(cluster, brokers="one") as polling:
            [first] = await until(polling, answered)
            cluster.move_leader(TOPIC, 1, 3)
            second = (await until(polling, differs))[-1]
            assert second.changed is not None
            changes = second.changed.arrays["topics"]
            assert [after.name for _, after in changes.changed] == [TOPIC]
            one: Any = first.message
            two: Any = second.message
            before = {topic.name: topic for topic in one.topics}
            same = [topic.name for topic in two.topics if before[topic.name] is topic]
            assert sorted(same) == sorted(before.keys() - {TOPIC})

    with FakeCluster(3, topics=12, partitions=3) as cluster:
        run(work(cluster))


# Pace.


def test_a_slow_reader_makes_polling_wait(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, queue_size=4, timeout=20.0) as polling:
            await comes_true(lambda: polling.statistics.polls >= 4)
            await asyncio.sleep(0.5)
            waited = polling.statistics.polls
            assert 4 <= waited <= 7  # four in the queue, one in each hand
            assert polling.statistics.longest_queue == 4
            await until(polling, answered, 12)
            assert polling.statistics.late > 0
            assert polling.statistics.dropped == 0

    run(work())


def test_or_lets_the_oldest_go(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, queue_size=4, overflow="drop") as polling:
            await comes_true(lambda: polling.statistics.polls > 20)
            statistics = polling.statistics
            assert statistics.dropped == statistics.polls - 4
            polls = await until(polling, answered, 4)
            assert all(poll.same for poll in polls)

    run(work())


def test_counters_count(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            polls = await until(polling, answered, 20)
            cluster.stop_broker(1)
            polls += await until(polling, failed, 2)
            await polling.close()
            polls += [poll async for poll in polling]
            statistics = polling.statistics
            assert statistics.polls == len(polls)
            assert statistics.same == sum(poll.same for poll in polls)
            assert statistics.errors == sum(map(failed, polls))
            assert statistics.bytes == sum(len(poll.payload or b"") for poll in polls)

    run(work())


def test_after_the_end_nobody_is_connected(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(
            cluster, requests=[PolledRequest(broker_configs(), INTERVAL, separate_connection=True)]
        ) as polling:
            await until_all(polling, ALL, lambda poll: poll.api_key == 32)
            assert [cluster.connection_count(n) for n in sorted(ALL)] == [2, 2, 2]
        await comes_true(lambda: not any(cluster.connection_count(n) for n in ALL))

    run(work())


def test_a_first_answer_does_not_wait_for_the_interval() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with Poller(cluster.bootstrap, interval=3600.0) as polling:
            await until_all(polling, ALL)

    with FakeCluster(3, topics=3) as cluster:
        run(work(cluster))
