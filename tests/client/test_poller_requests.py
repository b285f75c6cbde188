"""Further requests of a poller, each with its own interval."""

from __future__ import annotations

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from kwire.client import PolledRequest, broker_configs, topic_configs
from kwire.client.poller_options import PollerContext
from kwire.messages.kafka.api_versions import ApiVersionsRequest
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kwire.metadata.events import ConfigChanged
from kwire.testing import FakeCluster
from tests.client.polling import ALL, INTERVAL, TOPIC, events_of, failed, has_events, poller, until, until_all


async def test_configs_are_polled_at_their_own_interval(cluster: FakeCluster) -> None:
    requests = [
        PolledRequest(topic_configs(), 2 * INTERVAL, brokers="one"),
        PolledRequest(broker_configs(), INTERVAL, separate_connection=True),
    ]
    async with poller(cluster, requests=requests) as polling:
        await until_all(polling, ALL, lambda poll: poll.api_key == 32)
        await until(polling, lambda poll: isinstance(poll.message, DescribeConfigsResponse), 9)
        cluster.set_config("retention.ms", "5", topic=TOPIC)
        cluster.set_config("log.retention.ms", "7", broker=2)
        cluster.set_config("log.retention.ms", "8")
        polls = await until_all(polling, ALL, has_events)
        polls += await until(polling, lambda poll: poll.api_key == 32, 9)
        by_all = ConfigChanged("broker", "", "log.retention.ms", None, "8", None, 3)
        found = events_of(polls)
        assert found.count(ConfigChanged("topic", TOPIC, "retention.ms", None, "5", None, 1)) == 1
        assert found.count(ConfigChanged("broker", "2", "log.retention.ms", None, "7", None, 2)) == 1
        assert found.count(by_all) == 3
    names = [
        [query.resource_name for query in seen.message.resources]
        for seen in cluster.requests()
        if isinstance(seen.message, DescribeConfigsRequest)
    ]
    assert sorted(cluster.state.topics) in names
    assert ["2", ""] in names


async def test_any_request_can_be_polled(cluster: FakeCluster) -> None:
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
        assert events_of(polls) == []


async def test_unsupported_request_is_an_error_of_that_request(cluster: FakeCluster) -> None:
    too_new = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    cluster.set_api_versions(60, 0, 1, broker_id=1)
    async with poller(cluster, requests=[(too_new, INTERVAL)]) as polling:
        polls = await until_all(polling, ALL, lambda poll: poll.api_key == 60)
        polls += await until_all(polling, ALL, lambda poll: poll.api_key == 3)
        assert {(poll.broker_id, poll.api_key) for poll in polls if failed(poll)} == {(1, 60)}


async def test_brokers_that_answer_further_requests_need_no_metadata(cluster: FakeCluster) -> None:
    """With `topics="one"`, the others get Metadata at the start, and after a failure."""
    second = 1.0  # long against pauses of a busy machine
    described = DescribeClusterRequest(include_cluster_authorized_operations=False)
    async with poller(cluster, topics="one", interval=second, requests=[(described, second)]) as polling:
        await until(polling, lambda poll: poll.api_key == 60, 5 * len(ALL))
        counts = Counter(
            (broker, seen.api_key) for broker in ALL for seen in cluster.requests(broker) if seen.api_key in (3, 60)
        )
        assert sorted(counts[broker, 3] for broker in ALL)[1] <= 3, counts
        assert min(counts[broker, 60] for broker in ALL) >= 4, counts
        for broker in (2, 3):
            cluster.stop_broker(broker, fence=False)
        await until_all(polling, {2, 3}, lambda poll: failed(poll) and poll.api_key == 3)
        for broker in (2, 3):
            cluster.start_broker(broker)
        await until_all(polling, {2, 3}, lambda poll: not failed(poll) and poll.api_key == 60)


async def test_error_of_a_request_factory_is_raised_to_the_reader(cluster: FakeCluster) -> None:
    def make(metadata: object, broker_id: int) -> Any:
        del metadata
        raise LookupError(broker_id)

    async with poller(cluster, requests=[(make, INTERVAL)]) as polling:
        with pytest.raises(LookupError):
            await until(polling, failed)


async def test_timeout_of_a_request_factory_does_not_end_a_run_silently(cluster: FakeCluster) -> None:
    def make(metadata: object, broker_id: int) -> Any:
        del metadata, broker_id
        raise TimeoutError("of the factory")

    async with poller(cluster, requests=[(make, INTERVAL)]) as polling:
        with pytest.raises(TimeoutError, match="of the factory"):
            await polling.run(60.0)


async def test_response_that_is_not_kept_is_always_the_first(cluster: FakeCluster) -> None:
    described = DescribeClusterRequest(include_cluster_authorized_operations=False)
    for keeps_response in (True, False):
        request = PolledRequest(described, INTERVAL, separate_connection=True, keeps_response=keeps_response)
        async with poller(cluster, requests=[request]) as polling:
            polls = [poll for poll in await until(polling, lambda poll: poll.api_key == 60, 12) if poll.api_key == 60]
        firsts = [poll.changed is not None and poll.changed.first for poll in polls]
        assert sum(firsts) == (len(ALL) if keeps_response else len(polls))
        assert all(poll.message == polls[0].message for poll in polls)


def test_all_brokers_are_asked_in_the_same_rounds() -> None:
    """The first request to a broker is sent at once; the next one follows after half an interval at least."""
    random_ = Random(7)
    for _ in range(500):
        context: Any = SimpleNamespace(first_round=None)
        interval = random_.choice([0.05, 1.0, 15.0, 59.9])
        rounds = []
        for start in (1000.0, *(random_.uniform(1000, 10_000) for _ in range(5))):
            due = start
            for number in range(20):
                following = PollerContext.nearest_round(context, due, interval) + interval
                assert following - due >= (0.999 if number else 0.499) * interval
                assert following - due <= (1.001 if number else 1.501) * interval
                due = following
                rounds.append((due - 1000.0) / interval)
        assert all(abs(round(at) - at) < 1e-6 for at in rounds)
