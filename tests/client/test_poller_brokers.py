"""Whom a poller asks: brokers that come and go, are lost, and speak another dialect than the last."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from kwire.client import Poller
from kwire.messages.kafka.metadata import MetadataResponseBroker
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.metadata.events import (
    BrokerJoined,
    BrokerLeft,
    ConfigChanged,
    ControllerMoved,
    IsrExpanded,
    LeaderMoved,
    OfflineReplicasChanged,
    TopicRemoved,
)
from kwire.protocol import ConnectFailed, NoCommonVersion
from kwire.testing import FakeCluster
from tests.client.polling import ALL, INTERVAL, TOPIC, answered, differs, failed, poller, run, told, until, until_all

# Brokers that come and go.


def test_a_broker_that_is_gone_is_asked_on_and_its_silence_told(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.stop_broker(2)
            polls = await until_all(polling, {1, 3}, differs)
            polls += await until(polling, failed, 3)
            gone = told([poll for poll in polls if poll.broker_id == 1])
            assert gone[0] == BrokerLeft(2)
            assert OfflineReplicasChanged(TOPIC, 0, (), (2,)) in gone
            silence = [poll for poll in polls if poll.error is not None]
            assert {poll.broker_id for poll in silence} == {2}
            assert {poll.endpoint for poll in silence} == {cluster.endpoint(2)}
            assert isinstance(silence[-1].error, ConnectFailed)
            assert (silence[-1].message, silence[-1].payload, silence[-1].api_key) == (None, None, 3)
            assert silence[-1].cluster_id == cluster.state.cluster_id

            cluster.start_broker(2)
            polls = await until_all(polling, ALL, differs)
            back = told([poll for poll in polls if poll.broker_id == 1])
            assert isinstance(back[0], BrokerJoined)
            assert IsrExpanded(TOPIC, 0, (1, 3), (1, 2, 3), (2,)) in back
            assert polling.broker_ids == (1, 2, 3)

    run(work())


def test_one_that_comes_is_asked_from_then_on() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with Poller(cluster.endpoint(1), interval=INTERVAL) as polling:
            await until(polling, answered, 3)
            assert polling.broker_ids == (1,)
            cluster.start_broker(2)
            polls = await until_all(polling, {1, 2})
            assert isinstance(told(polls)[0], BrokerJoined)

    with FakeCluster([1, 2], topics=2, replication_factor=1) as cluster:
        cluster.stop_broker(2)
        run(work(cluster))


def test_one_that_comes_back_is_asked_at_once_however_long_it_was_silent(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, longest_pause=20.0) as polling:
            await until_all(polling, ALL)
            cluster.stop_broker(2)
            await until(polling, failed, 8)  # pauses of more than 4 s by now
            cluster.start_broker(2)
            async with asyncio.timeout(3.5):
                await until(polling, lambda poll: poll.broker_id == 2 and answered(poll))

    run(work())


def test_a_broker_that_nobody_lists_is_forgotten_in_the_end(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, forget_after=0.3) as polling:
            await until_all(polling, ALL)
            cluster.stop_broker(2)
            while polling.broker_ids != (1, 3):
                await until(polling, answered)

    run(work())


def test_versions_are_negotiated_anew_with_every_connection(cluster: FakeCluster) -> None:
    """A broker is restarted with older software: it still tells no change that is none."""

    async def work() -> None:
        async with poller(cluster, brokers="all") as polling:
            await until_all(polling, ALL)
            cluster.set_api_versions(3, 0, 6, broker_id=2)
            cluster.drop_connections(2)
            polls = await until(polling, lambda poll: poll.broker_id == 2 and poll.api_version == 6, 2)
            assert told(polls) == []
            assert polls[-1].same

    run(work())


def test_an_empty_answer_after_a_restart_is_no_deletion(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.empty_metadata(2, brokers=True)
            polls = await until(polling, lambda poll: poll.suspect, 3)
            cluster.move_leader(TOPIC, 1, 3)
            cluster.unfreeze_metadata(2)
            polls += await until_all(polling, ALL, differs)
            assert {poll.broker_id for poll in polls if poll.suspect} == {2}
            assert told(polls) == [LeaderMoved(TOPIC, 1, 2, 3, 0, 1)] * 3

    run(work())


def test_a_deletion_of_everything_is_one(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.delete_topics(*cluster.state.topics)
            polls = await until_all(polling, ALL, differs)
            assert {type(difference) for difference in told(polls)} == {TopicRemoved}
            assert len(told(polls)) == 36

    run(work())


@pytest.mark.parametrize(
    ("host", "port"), [("a" * 64 + ".com", 9092), ("a\0b", 9092), ("127.0.0.1", 70_000)], ids=ascii
)
def test_an_address_that_is_none_is_silence_of_that_broker_only(cluster: FakeCluster, host: str, port: int) -> None:
    async def work() -> None:
        told = cluster.state
        unusable = MetadataResponseBroker(node_id=9, host=host, port=port)
        for broker_id in ALL:
            cluster.freeze_metadata(broker_id, replace(told, brokers=(*told.brokers, unusable)))
        async with poller(cluster) as polling:
            polls = await until(polling, failed, 2)
            polls += await until_all(polling, ALL, answered)
            assert {(poll.broker_id, type(poll.error)) for poll in polls if failed(poll)} == {(9, ConnectFailed)}

    run(work())


# Bootstrap.


def test_bootstrap_servers_are_tried_until_one_answers(cluster: FakeCluster) -> None:
    async def work() -> None:
        cluster.stop_broker(1, fence=False)
        async with poller(cluster) as polling:
            polls = await until_all(polling, {2, 3}, answered)
            assert {poll.broker_id for poll in polls if failed(poll)} <= {-1, 1}

    run(work())


def test_while_none_answers_that_is_told_and_it_goes_on(cluster: FakeCluster) -> None:
    async def work() -> None:
        for broker_id in ALL:
            cluster.stop_broker(broker_id, fence=False)
        async with poller(cluster) as polling:
            polls = await until(polling, failed, 4)
            assert {poll.broker_id for poll in polls} == {-1}
            for broker_id in ALL:
                cluster.start_broker(broker_id)
            await until_all(polling, ALL, answered)

    run(work())


def test_when_all_are_lost_the_bootstrap_servers_are_asked_again() -> None:
    """The cluster was moved: what the old brokers listed is of no use any more."""

    async def work(old: FakeCluster, new: FakeCluster) -> None:
        async with Poller(f"{old.bootstrap},{new.bootstrap}", interval=INTERVAL, longest_pause=0.2) as polling:
            while polling.broker_ids != (1,):  # whichever was asked first
                await until(polling, answered)
            first = await until(polling, answered)
            gone, left = (old, new) if first[0].cluster_id == "old" else (new, old)
            gone.stop_broker(1, fence=False)
            polls = await until(polling, lambda poll: answered(poll) and poll.cluster_id == left.state.cluster_id)
            assert any(map(failed, polls))

    with FakeCluster(1, cluster_id="old") as old, FakeCluster(1, cluster_id="new") as new:
        run(work(old, new))


# One broker.


def test_one_broker_is_asked_and_the_next_when_it_fails(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, brokers="one") as polling:
            polls = await until(polling, answered, 4)
            asked = polls[-1].broker_id
            assert {poll.broker_id for poll in polls[1:]} == {asked}
            assert polling.broker_ids == (asked,)
            cluster.stop_broker(asked)
            cluster.move_leader(TOPIC, 0, next(iter(cluster.state.partition(TOPIC, 0).isr_nodes)))
            polls = await until(polling, lambda poll: answered(poll) and poll.broker_id != asked)
            assert failed(polls[-2])
            assert BrokerLeft(asked) in polls[-1].events

    run(work())


def test_all_fail_and_one_comes_back(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, brokers="one") as polling:
            await until(polling, answered, 2)
            for broker_id in ALL:
                cluster.pause_broker(broker_id)
            polls = await until(polling, failed, 6)
            assert {poll.endpoint for poll in polls if failed(poll)} == {cluster.endpoint(n) for n in ALL}
            cluster.resume_broker(3)
            assert (await until(polling, answered))[-1].broker_id == 3

    run(work())


# Dialects.


def test_kip_4_is_polled_in_its_own_words() -> None:
    async def work(cluster: FakeCluster) -> None:
        requests: list[Any] = [(ClusterMetadataRequest(), INTERVAL)]
        async with poller(cluster, cluster_id="mine", requests=requests) as polling:
            polls = await until_all(polling, ALL, lambda poll: poll.api_key == 3)
            assert {(poll.dialect, poll.api_version, poll.cluster_id) for poll in polls if poll.api_key == 3} == {
                ("kip4", 1, "mine")
            }
            await until_all(polling, ALL, lambda poll: poll.api_key == 1000)
            cluster.move_leader(TOPIC, 1, 3)
            cluster.set_config("retention.ms", "5", topic=TOPIC)
            cluster.move_controller(2)
            polls = await until_all(polling, ALL, lambda poll: differs(poll) and poll.api_key == 1000)
            polls += await until_all(polling, ALL, lambda poll: answered(poll) and poll.api_key == 3)
            assert set(told(polls)) == {
                LeaderMoved(TOPIC, 1, 2, 3, -1, -1),
                ConfigChanged("topic", TOPIC, "retention.ms", None, "5", None, 1),
                ControllerMoved(1, 2),
            }

    with FakeCluster(3, topics=12, partitions=3, dialect="kip4") as cluster:
        run(work(cluster))


def test_the_next_broker_may_speak_the_other_dialect() -> None:
    async def work(one: FakeCluster, other: FakeCluster) -> None:
        other.stop_broker(1)
        async with poller(one, brokers="one", bootstrap=[one.bootstrap, other.bootstrap]) as polling:
            await until(polling, answered, 2)
            other.start_broker(1)
            one.stop_broker(1)
            first, again = [poll for poll in await until(polling, answered, 2) if answered(poll)]
            assert (first.dialect, first.events) == ("kafka", ())
            assert first.changed is not None
            assert first.changed.first
            assert again.same

    with FakeCluster(1, topics=2, dialect="kip4") as one, FakeCluster(1, topics=3) as other:
        run(work(one, other))


def test_a_dialect_that_was_asked_for_and_is_not_spoken_is_an_error(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster, dialect="kip4") as polling:
            poll = (await until(polling, failed))[-1]
            assert isinstance(poll.error, NoCommonVersion)
            assert poll.error.message == "TopicMetadataRequest_V1"

    run(work())
