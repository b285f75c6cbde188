"""Polling a cluster that changes: who is asked, what is told, how often."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.client import Ask, Poller, broker_configs, topic_configs
from kwire.client.differences import (
    BrokerGone,
    BrokerJoined,
    ConfigChanged,
    ControllerMoved,
    IsrExpanded,
    IsrShrank,
    LeaderMoved,
    OfflineReplicasChanged,
    PartitionsAdded,
    ReplicasChanged,
    TopicAdded,
    TopicRecreated,
    TopicRemoved,
)
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kwire.messages.kafka.metadata import Broker, MetadataRequest, MetadataResponse
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.protocol import ConnectFailed, NoCommonVersion
from kwire.testing import FakeCluster
from tests.client.polling import INTERVAL, TIMEOUT, answered, comes_true, differs, failed, run, told, until, until_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kwire.client import Difference, Poll

ALL = {1, 2, 3}


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(3, topics=12, partitions=3) as cluster:
        yield cluster


def poller(cluster: FakeCluster, **options: Any) -> Poller:
    settings = {"bootstrap": cluster.bootstrap, "interval": INTERVAL, "timeout": TIMEOUT, "longest_pause": 0.2}
    return Poller(**{**settings, **options})


# What a poll is.


def test_every_broker_tells_the_whole_cluster(cluster: FakeCluster) -> None:
    async def work() -> list[Poll]:
        async with poller(cluster) as polling:
            return await until_all(polling, ALL)

    began = datetime.now(UTC)
    for poll in run(work()):
        assert poll.message == cluster.state.metadata()
        assert poll.cluster_id == cluster.state.cluster_id
        assert poll.endpoint == cluster.endpoint(poll.broker_id)
        assert (poll.dialect, poll.api_key, poll.api_version, poll.controller_id) == ("kafka", 3, 13, 1)
        assert (poll.error, poll.same, poll.suspect, poll.differences) == (None, False, False, ())
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
    async def work() -> list[Poll]:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.shuffle()
            return await until(polling, lambda poll: poll.same, 6)

    polls = run(work())
    assert told(polls) == []
    assert all(poll.same for poll in polls)


@pytest.mark.parametrize("version", range(14))
def test_whatever_version_the_brokers_know(version: int) -> None:
    async def work(cluster: FakeCluster) -> Poll:
        async with poller(cluster) as polling:
            return (await until(polling, answered))[-1]

    with FakeCluster(2, topics=3, partitions=2) as cluster:
        cluster.set_versions(3, 0, version)
        poll = run(work(cluster))
        assert poll.api_version == version
        assert poll.controller_id == (None if version == 0 else 1)  # version 0 does not tell it
        message: Any = poll.message
        assert [topic.name for topic in message.topics] == list(cluster.state.topics)
        assert [broker.node_id for broker in message.brokers] == [1, 2]


# Differences.

TOPIC = "topic-00003"
"""Of three partitions; broker 1 leads the first, 2 the second, 3 the third."""


def made_anew(cluster: FakeCluster) -> tuple[Difference, ...]:
    before = cluster.state.topics[TOPIC].topic_id
    cluster.recreate_topic(TOPIC, 5)
    return (TopicRecreated(TOPIC, before, cluster.state.topics[TOPIC].topic_id, 5),)


def made(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.create_topic("new", 2)
    return (TopicAdded("new", cluster.state.topics["new"].topic_id, 2),)


def deleted(cluster: FakeCluster) -> tuple[Difference, ...]:
    topic_id = cluster.state.topics[TOPIC].topic_id
    cluster.delete_topic(TOPIC)
    return (TopicRemoved(TOPIC, topic_id),)


def extended(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.add_partitions(TOPIC, 2)
    return (PartitionsAdded(TOPIC, (3, 4)),)


def led_by_another(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.move_leader(TOPIC, 1, 3)
    return (LeaderMoved(TOPIC, 1, 2, 3, 0, 1),)


def out_of_sync(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.shrink_isr(TOPIC, 0, 2, 3)
    return (IsrShrank(TOPIC, 0, (1, 2, 3), (1,), (2, 3)),)


def reassigned(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.reassign(TOPIC, 0, (1, 2))
    return (
        IsrShrank(TOPIC, 0, (1, 2, 3), (1, 2), (3,)),
        ReplicasChanged(TOPIC, 0, (1, 2, 3), (1, 2)),
    )


def ruled_by_another(cluster: FakeCluster) -> tuple[Difference, ...]:
    cluster.move_controller(2)
    return (ControllerMoved(1, 2),)


@pytest.mark.parametrize(
    "change", [made, deleted, made_anew, extended, led_by_another, out_of_sync, reassigned, ruled_by_another]
)
def test_every_broker_tells_a_change_once(
    cluster: FakeCluster, change: Callable[[FakeCluster], tuple[Difference, ...]]
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


# Brokers that come and go.


def test_a_broker_that_is_gone_is_asked_on_and_its_silence_told(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.stop_broker(2)
            polls = await until_all(polling, {1, 3}, differs)
            polls += await until(polling, failed, 3)
            gone = told([poll for poll in polls if poll.broker_id == 1])
            assert gone[0] == BrokerGone(2)
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
            cluster.set_versions(3, 0, 6, node_id=2)
            cluster.drop_connections(2)
            polls = await until(polling, lambda poll: poll.broker_id == 2 and poll.api_version == 6, 2)
            assert told(polls) == []
            assert polls[-1].same

    run(work())


def test_an_empty_answer_after_a_restart_is_no_deletion(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.empty_view(2, brokers=True)
            polls = await until(polling, lambda poll: poll.suspect, 3)
            cluster.move_leader(TOPIC, 1, 3)
            cluster.thaw_view(2)
            polls += await until_all(polling, ALL, differs)
            assert {poll.broker_id for poll in polls if poll.suspect} == {2}
            assert told(polls) == [LeaderMoved(TOPIC, 1, 2, 3, 0, 1)] * 3

    run(work())


def test_a_deletion_of_everything_is_one(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until_all(polling, ALL)
            cluster.delete_topic(*cluster.state.topics)
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
        unusable = Broker(node_id=9, host=host, port=port)
        for broker_id in ALL:
            cluster.freeze_view(broker_id, replace(told, brokers=(*told.brokers, unusable)))
        async with poller(cluster) as polling:
            polls = await until(polling, failed, 2)
            polls += await until_all(polling, ALL, answered)
            assert {(poll.broker_id, type(poll.error)) for poll in polls if failed(poll)} == {(9, ConnectFailed)}

    run(work())


# Bootstrap.


def test_bootstrap_servers_are_tried_until_one_answers(cluster: FakeCluster) -> None:
    async def work() -> None:
        cluster.stop_broker(1, noticed=False)
        async with poller(cluster) as polling:
            polls = await until_all(polling, {2, 3}, answered)
            assert {poll.broker_id for poll in polls if failed(poll)} <= {-1, 1}

    run(work())


def test_while_none_answers_that_is_told_and_it_goes_on(cluster: FakeCluster) -> None:
    async def work() -> None:
        for broker_id in ALL:
            cluster.stop_broker(broker_id, noticed=False)
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
            gone.stop_broker(1, noticed=False)
            polls = await until(polling, lambda poll: answered(poll) and poll.cluster_id == left.state.cluster_id)
            assert any(map(failed, polls))

    with FakeCluster(1, cluster_id="old") as old, FakeCluster(1, cluster_id="new") as new:
        run(work(old, new))


def test_somebody_must_be_asked() -> None:
    with pytest.raises(ValueError, match="no bootstrap server"):
        Poller("")


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[
            (option, value)
            for option in ("interval", "timeout", "longest_pause")
            for value in (0, -1, NAN, INFINITY, "1")
        ],
        *[("forget_after", value) for value in (-1, NAN, None)],
        *[("queue_size", value) for value in (0, -1, 1.5)],
        ("overflow", "block"),
        ("brokers", "some"),
        ("dialect", "foo"),
    ],
)
def test_an_option_that_means_nothing_is_refused_by_its_name(option: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{option} is {value!r}: it must be "):
        Poller("127.0.0.1:1", **{option: value})


@pytest.mark.parametrize("ask", [Ask(topic_configs(), 0), Ask(topic_configs(), 1, brokers="some")])  # type: ignore[arg-type]
def test_so_is_one_of_a_further_request(ask: Ask) -> None:
    with pytest.raises(ValueError, match="of a request is "):
        Poller("127.0.0.1:1", requests=[ask])


def test_a_poller_polls_once(cluster: FakeCluster) -> None:
    async def work() -> None:
        async with poller(cluster) as polling:
            await until(polling, answered)
            with pytest.raises(RuntimeError, match="a poller polls once"):
                await polling.__aenter__()
            await until(polling, answered)
        with pytest.raises(RuntimeError, match="a poller polls once"):
            await polling.__aenter__()

    run(work())


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
            assert BrokerGone(asked) in polls[-1].differences

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
                ConfigChanged("topic", TOPIC, "retention.ms", None, "5"),
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
            assert (first.dialect, first.differences) == ("kafka", ())
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


# Further requests.


def test_settings_are_asked_at_their_own_pace_and_their_changes_told(cluster: FakeCluster) -> None:
    async def work() -> None:
        requests = [Ask(topic_configs(), 2 * INTERVAL, brokers="one"), Ask(broker_configs(), INTERVAL, apart=True)]
        async with poller(cluster, requests=requests) as polling:
            await until_all(polling, ALL, lambda poll: poll.api_key == 32)
            await until(polling, lambda poll: isinstance(poll.message, DescribeConfigsResponse), 9)
            cluster.set_config("retention.ms", "5", topic=TOPIC)
            cluster.set_config("log.retention.ms", "7", broker=2)
            cluster.set_config("log.retention.ms", "8")
            polls = await until_all(polling, ALL, differs)
            polls += await until(polling, lambda poll: poll.api_key == 32, 9)
            by_all = ConfigChanged("broker", "", "log.retention.ms", None, "8", None, 3)
            found = told(polls)
            assert found.count(ConfigChanged("topic", TOPIC, "retention.ms", None, "5", None, 1)) == 1
            assert found.count(ConfigChanged("broker", "2", "log.retention.ms", None, "7", None, 2)) == 1
            assert found.count(by_all) == 3

    run(work())
    names = [
        [query.resource_name for query in seen.message.resources]
        for seen in cluster.requests()
        if isinstance(seen.message, DescribeConfigsRequest)
    ]
    assert sorted(cluster.state.topics) in names
    assert ["2", ""] in names


def test_any_request_can_be_asked(cluster: FakeCluster) -> None:
    async def work() -> None:
        requests = [
            (DescribeClusterRequest(include_cluster_authorized_operations=False), INTERVAL),
            (ApiVersionsRequest(client_software_name="me", client_software_version="1"), INTERVAL),
        ]
        async with poller(cluster, requests=requests) as polling:
            polls = await until_all(polling, ALL, lambda poll: poll.api_key == 60)
            polls += await until_all(polling, ALL, lambda poll: poll.api_key == 18 and poll.same)
            [described, *_] = [poll for poll in polls if poll.api_key == 60]
            assert isinstance(described.message, DescribeClusterResponse)
            assert described.message.cluster_id == cluster.state.cluster_id
            assert told(polls) == []

    run(work())


def test_a_request_that_a_broker_cannot_be_asked_is_an_error_of_that_request(cluster: FakeCluster) -> None:
    async def work() -> None:
        too_new = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
        cluster.set_versions(60, 0, 1, node_id=1)
        async with poller(cluster, requests=[(too_new, INTERVAL)]) as polling:
            polls = await until_all(polling, ALL, lambda poll: poll.api_key == 60)
            polls += await until_all(polling, ALL, lambda poll: poll.api_key == 3)
            assert {(poll.broker_id, poll.api_key) for poll in polls if failed(poll)} == {(1, 60)}

    run(work())


def test_a_mistake_in_what_makes_a_request_is_raised_to_the_reader(cluster: FakeCluster) -> None:
    def make(metadata: object, broker_id: int) -> Any:
        del metadata
        raise LookupError(broker_id)

    async def work() -> None:
        async with poller(cluster, requests=[(make, INTERVAL)]) as polling:
            with pytest.raises(LookupError):
                await until(polling, failed)

    run(work())


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
        async with poller(cluster, requests=[Ask(broker_configs(), INTERVAL, apart=True)]) as polling:
            await until_all(polling, ALL, lambda poll: poll.api_key == 32)
            assert [cluster.connections(n) for n in sorted(ALL)] == [2, 2, 2]
        await comes_true(lambda: not any(cluster.connections(n) for n in ALL))

    run(work())


def test_a_first_answer_does_not_wait_for_the_interval() -> None:
    async def work(cluster: FakeCluster) -> None:
        async with Poller(cluster.bootstrap, interval=3600.0) as polling:
            await until_all(polling, ALL)

    with FakeCluster(3, topics=3) as cluster:
        run(work(cluster))
