"""Whom a poller asks: brokers that come and go, are lost, and speak another dialect than the last."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kwire.client import AdminClient, Poller
from kwire.client.poller_options import PollerContext
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
    TopicAdded,
    TopicRemoved,
)
from kwire.protocol import ConnectFailed, NoCommonVersion
from kwire.testing import FakeCluster
from tests.client.polling import (
    ALL,
    INTERVAL,
    SHORT_TIMEOUT,
    TOPIC,
    events_of,
    failed,
    has_events,
    poller,
    succeeded,
    until,
    until_all,
)

# Brokers that come and go.


async def test_unreachable_broker_is_still_polled(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        cluster.stop_broker(2)
        polls = await until_all(polling, {1, 3}, has_events)
        polls += await until(polling, failed, 3)
        gone = events_of([poll for poll in polls if poll.broker_id == 1])
        assert gone[0] == BrokerLeft(2)
        assert OfflineReplicasChanged(TOPIC, 0, (), (2,)) in gone
        silence = [poll for poll in polls if poll.error is not None]
        assert {poll.broker_id for poll in silence} == {2}
        assert {poll.endpoint for poll in silence} == {cluster.endpoint(2)}
        assert isinstance(silence[-1].error, ConnectFailed)
        assert (silence[-1].message, silence[-1].payload, silence[-1].api_key) == (None, None, 3)
        assert silence[-1].cluster_id == cluster.state.cluster_id

        cluster.start_broker(2)
        polls = await until_all(polling, ALL, has_events)
        back = events_of([poll for poll in polls if poll.broker_id == 1])
        assert isinstance(back[0], BrokerJoined)
        assert IsrExpanded(TOPIC, 0, (1, 3), (1, 2, 3), (2,)) in back
        assert polling.broker_ids == (1, 2, 3)


async def test_new_broker_is_polled() -> None:
    with FakeCluster([1, 2], topics=2, replication_factor=1) as cluster:
        cluster.stop_broker(2)
        async with Poller(cluster.endpoint(1), interval=INTERVAL) as polling:
            await until(polling, succeeded, 3)
            assert polling.broker_ids == (1,)
            cluster.start_broker(2)
            polls = await until_all(polling, {1, 2})
            assert isinstance(events_of(polls)[0], BrokerJoined)


async def test_returning_broker_is_polled_at_once(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PollerContext, "pause", lambda _context, _failures: 3600.0)
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        cluster.stop_broker(2)
        await until(polling, failed)
        cluster.start_broker(2)
        async with asyncio.timeout(60):
            await until(polling, lambda poll: poll.broker_id == 2 and succeeded(poll))


async def test_unlisted_broker_is_forgotten(cluster: FakeCluster) -> None:
    async with poller(cluster, forget_after=0.3) as polling:
        await until_all(polling, ALL)
        cluster.stop_broker(2)
        while polling.broker_ids != (1, 3):
            await until(polling, succeeded)


async def test_versions_are_negotiated_for_every_connection(cluster: FakeCluster) -> None:
    """A broker that is restarted with an older version reports no changes."""
    async with poller(cluster, brokers="all") as polling:
        await until_all(polling, ALL)
        cluster.set_api_versions(3, 0, 6, broker_id=2)
        cluster.drop_connections(2)
        polls = await until(polling, lambda poll: poll.broker_id == 2 and poll.api_version == 6, 2)
        assert events_of(polls) == []
        assert polls[-1].same


async def test_empty_response_after_a_restart_has_no_events(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        cluster.empty_metadata(2, brokers=True)
        polls = await until(polling, lambda poll: poll.suspect, 3)
        cluster.move_leader(TOPIC, 1, 3)
        cluster.unfreeze_metadata(2)
        polls += await until_all(polling, ALL, has_events)
        assert {poll.broker_id for poll in polls if poll.suspect} == {2}
        assert events_of(polls) == [LeaderMoved(TOPIC, 1, 2, 3, 0, 1)] * 3


async def test_deletion_of_all_topics_is_reported(cluster: FakeCluster) -> None:
    async with poller(cluster) as polling:
        await until_all(polling, ALL)
        cluster.delete_topics(*cluster.state.topics)
        polls = await until_all(polling, ALL, has_events)
        assert {type(event) for event in events_of(polls)} == {TopicRemoved}
        assert len(events_of(polls)) == 36


async def test_new_cluster_without_topics_is_accepted_after_a_second() -> None:
    with FakeCluster(2) as cluster:
        async with poller(cluster) as polling:
            polls = await until_all(polling, {1, 2}, lambda poll: not poll.suspect)
            for broker_id in (1, 2):
                times = [poll.polled_at for poll in polls if poll.broker_id == broker_id]
                assert times[-1] - times[0] >= timedelta(seconds=1)
            cluster.create_topic("new")
            polls += await until_all(polling, {1, 2}, has_events)
            assert events_of(polls) == [TopicAdded("new", cluster.state.topics["new"].topic_id, 1)] * 2


async def test_polling_one_broker_of_a_cluster_without_topics_learns_about_the_others() -> None:
    with FakeCluster(2) as cluster:
        async with poller(cluster, brokers="one", bootstrap=cluster.endpoint(1)) as polling:
            await until(polling, lambda poll: not poll.suspect)
            cluster.stop_broker(1)
            await until(polling, lambda poll: poll.broker_id == 2 and succeeded(poll))


@pytest.mark.parametrize(
    ("host", "port"), [("a" * 64 + ".com", 9092), ("a\0b", 9092), ("127.0.0.1", 70_000)], ids=ascii
)
async def test_invalid_advertised_address_fails_polls_of_that_broker_only(
    cluster: FakeCluster, host: str, port: int
) -> None:
    state = cluster.state
    unusable = MetadataResponseBroker(node_id=9, host=host, port=port)
    for broker_id in ALL:
        cluster.freeze_metadata(broker_id, replace(state, brokers=(*state.brokers, unusable)))
    async with poller(cluster) as polling:
        polls = await until(polling, failed, 2)
        polls += await until_all(polling, ALL, succeeded)
        assert {(poll.broker_id, type(poll.error)) for poll in polls if failed(poll)} == {(9, ConnectFailed)}


# Bootstrap.


async def test_bootstrap_servers_are_tried_until_one_responds(cluster: FakeCluster) -> None:
    cluster.stop_broker(1, fence=False)
    async with poller(cluster) as polling:
        polls = await until_all(polling, {2, 3}, succeeded)
        assert {poll.broker_id for poll in polls if failed(poll)} <= {-1, 1}


async def test_failed_bootstrap_is_reported_and_retried(cluster: FakeCluster) -> None:
    for broker_id in ALL:
        cluster.stop_broker(broker_id, fence=False)
    async with poller(cluster) as polling:
        polls = await until(polling, failed, 4)
        assert {poll.broker_id for poll in polls} == {-1}
        for broker_id in ALL:
            cluster.start_broker(broker_id)
        await until_all(polling, ALL, succeeded)


async def test_bootstrap_servers_are_used_again_when_all_brokers_fail() -> None:
    """The cluster was moved: what the old brokers listed is useless now."""
    with FakeCluster(1, cluster_id="old") as old, FakeCluster(1, cluster_id="new") as new:
        async with Poller(f"{old.bootstrap},{new.bootstrap}", interval=INTERVAL, longest_pause=0.2) as polling:
            while polling.broker_ids != (1,):  # whichever was asked first
                await until(polling, succeeded)
            first = await until(polling, succeeded)
            gone, left = (old, new) if first[0].cluster_id == "old" else (new, old)
            gone.stop_broker(1, fence=False)
            polls = await until(polling, lambda poll: succeeded(poll) and poll.cluster_id == left.state.cluster_id)
            assert any(map(failed, polls))


# One broker.


async def test_one_broker_is_polled_and_the_next_one_when_it_fails(cluster: FakeCluster) -> None:
    async with poller(cluster, brokers="one") as polling:
        polls = await until(polling, succeeded, 4)
        asked = polls[-1].broker_id
        assert {poll.broker_id for poll in polls[1:]} == {asked}
        assert polling.broker_ids == (asked,)
        cluster.stop_broker(asked)
        cluster.move_leader(TOPIC, 0, next(iter(cluster.state.partition(TOPIC, 0).isr_nodes)))
        polls = await until(polling, lambda poll: succeeded(poll) and poll.broker_id != asked)
        assert failed(polls[-2])
        assert BrokerLeft(asked) in polls[-1].events


async def test_polling_one_broker_survives_the_failure_of_all(cluster: FakeCluster) -> None:
    async with poller(cluster, brokers="one", timeout=SHORT_TIMEOUT) as polling:
        await until(polling, succeeded, 2)
        for broker_id in ALL:
            cluster.pause_broker(broker_id)
        polls = await until(polling, failed, 6)
        assert {poll.endpoint for poll in polls if failed(poll)} == {cluster.endpoint(n) for n in ALL}
        cluster.resume_broker(3)
        assert (await until(polling, succeeded))[-1].broker_id == 3


# Dialects.


async def test_kip4_cluster_is_polled() -> None:
    with FakeCluster(3, topics=12, partitions=3, dialect="kip4") as cluster:
        requests: list[Any] = [(ClusterMetadataRequest(), INTERVAL)]
        async with poller(cluster, cluster_id="mine", requests=requests) as polling:
            polls = await until_all(polling, ALL, lambda poll: poll.api_key == 3)
            assert {(poll.dialect, poll.api_version, poll.cluster_id) for poll in polls if poll.api_key == 3} == {
                ("kip4", 1, cluster.state.cluster_id)
            }
            await until_all(polling, ALL, lambda poll: poll.api_key == 1000)
            cluster.move_leader(TOPIC, 1, 3)
            cluster.set_config("retention.ms", "5", topic=TOPIC)
            cluster.move_controller(2)
            polls = await until_all(polling, ALL, lambda poll: has_events(poll) and poll.api_key == 1000)
            polls += await until_all(polling, ALL, lambda poll: succeeded(poll) and poll.api_key == 3)
            assert set(events_of(polls)) == {
                LeaderMoved(TOPIC, 1, 2, 3, -1, -1),
                ConfigChanged("topic", TOPIC, "retention.ms", None, "5", None, 1),
                ControllerMoved(1, 2),
            }


async def test_next_broker_may_have_another_dialect() -> None:
    with FakeCluster(1, topics=2, dialect="kip4") as one, FakeCluster(1, topics=3) as other:
        other.stop_broker(1)
        async with poller(one, brokers="one", bootstrap=[one.bootstrap, other.bootstrap]) as polling:
            await until(polling, succeeded, 2)
            other.start_broker(1)
            one.stop_broker(1)
            first, again = [poll for poll in await until(polling, succeeded, 2) if succeeded(poll)]
            assert (first.dialect, first.events) == ("kafka", ())
            assert first.changed is not None
            assert first.changed.first
            assert again.same


async def test_other_dialect_than_required_is_an_error(cluster: FakeCluster) -> None:
    async with poller(cluster, dialect="kip4") as polling:
        poll = (await until(polling, failed))[-1]
        assert isinstance(poll.error, NoCommonVersion)
        assert poll.error.message in ("ClusterMetadataRequest", "TopicMetadataRequest_V1")


@pytest.mark.parametrize("keys", [range(501, 520), (999, 1000), (1100,), (10_000, 10_001), (32_767,)], ids=str)
async def test_api_keys_of_vendors_change_nothing(cluster: FakeCluster, keys: range | tuple[int, ...]) -> None:
    for key in keys:
        cluster.set_api_versions(key, 0, 4)
    for dialect in (None, "kafka"):
        async with poller(cluster, dialect=dialect) as polling:
            poll = (await until(polling, succeeded))[-1]
            assert poll.message is not None
            assert (poll.dialect, len(poll.message.topics)) == ("kafka", 12)
    async with await AdminClient.open(cluster.bootstrap) as admin:
        assert (admin.dialect, len(await admin.list_topics())) == ("kafka", 12)
