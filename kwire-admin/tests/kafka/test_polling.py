"""`Connection`, `Poller`, and `Capture` against real brokers of both versions, compared with confluent-kafka."""

from __future__ import annotations

import asyncio
import socket
import struct
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kwire import frame
from kwire.capture import Capture, replay
from kwire.client import Connection, Poll, PolledRequest, Poller, topic_configs
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.metadata.events import MetadataEvent, TopicAdded, TopicRemoved
from tests.kafka.administrator import Administrator, listing_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real_kafka import KafkaCluster

pytestmark = pytest.mark.change

SECONDS = 30
HIGHEST_METADATA = {"3.9.1": 12, "4.4.0": 13}
HIGHEST_API_VERSIONS = {"3.9.1": 4, "4.4.0": 5}


@pytest.fixture
def administrator(cluster: KafkaCluster) -> Administrator:
    return Administrator(cluster)


@pytest.fixture
def topic(administrator: Administrator) -> str:
    """Create a topic with three partitions."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    administrator.create(name, 3)
    return name


async def polls_until(poller: Poller[Any], enough: Callable[[list[Poll[Any]]], bool]) -> list[Poll[Any]]:
    """Return polls until `enough` returns True for them."""
    polls: list[Poll[Any]] = []
    async with asyncio.timeout(SECONDS):
        async for poll in poller:
            polls.append(poll)
            if enough(polls):
                break
    return polls


def events_of(polls: list[Poll[Any]]) -> list[MetadataEvent]:
    return [event for poll in polls for event in poll.events]


async def test_connection_uses_the_highest_common_version(cluster: KafkaCluster) -> None:
    async with await Connection.open(cluster.bootstrap) as connection:
        arrival = await connection.submit(MetadataRequest(topics=None))
        negotiated = connection.negotiated

    assert arrival.response.sent.version == HIGHEST_METADATA[cluster.version]
    assert negotiated.versions[18][1] == HIGHEST_API_VERSIONS[cluster.version]
    assert negotiated.kraft == (cluster.version == "4.4.0")
    assert [broker.port for broker in arrival.response.decode().brokers] == [broker.port for broker in cluster.brokers]


async def test_every_served_version_of_metadata_is_decoded(cluster: KafkaCluster, topic: str) -> None:
    async with await Connection.open(cluster.bootstrap) as connection:
        lowest, highest = connection.negotiated.versions[3]
        responses = {
            # In version 0 an empty list requests all topics.
            version: await connection.send(MetadataRequest(topics=None if version else ()), version=version)
            for version in range(lowest, highest + 1)
        }

    assert max(responses) == HIGHEST_METADATA[cluster.version]
    partitions = [listing_of(message).partitions for message in responses.values()]
    assert all(partition == partitions[0] for partition in partitions)
    assert (topic, 2) in partitions[0]


def test_unsupported_api_versions_request_gets_version_0(cluster: KafkaCluster) -> None:
    """The response has error 35 and the supported versions, and the connection stays usable (KIP-511)."""
    header = struct.pack(">hhihB", 18, 99, 7, -1, 0)  # no client id, no tags
    with socket.create_connection(("127.0.0.1", cluster.brokers[0].port), timeout=SECONDS) as connection:
        for _ in range(2):
            connection.sendall(struct.pack(">i", len(header)) + header)
            size = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))[0]
            payload = connection.recv(size, socket.MSG_WAITALL)

            response = frame.decode_response(payload, ApiVersionsResponse, version=4)

            assert (response.correlation_id, response.version, response.message.error_code) == (7, 0, 35)
            assert [(api.api_key, api.max_version) for api in response.message.api_keys] == [
                (18, HIGHEST_API_VERSIONS[cluster.version])
            ]


async def test_first_poll_equals_the_listing_of_confluent_kafka(
    cluster: KafkaCluster, administrator: Administrator, topic: str
) -> None:
    async with Poller(cluster.bootstrap) as poller:
        [poll] = await polls_until(poller, lambda polls: bool(polls[0].message))

    assert isinstance(poll.message, MetadataResponse)
    assert listing_of(poll.message) == administrator.list()
    assert (topic, 0) in listing_of(poll.message).partitions
    assert poll.cluster_id == poll.message.cluster_id
    assert (poll.broker_id, poll.endpoint) == (1, cluster.brokers[0].endpoint)


async def test_created_and_deleted_topics_are_events(cluster: KafkaCluster, administrator: Administrator) -> None:
    name = f"comes-and-goes-{uuid.uuid4().hex[:8]}"

    async with Poller(cluster.bootstrap, interval=0.05) as poller:
        polls = await polls_until(poller, lambda polls: polls[-1].same)
        await asyncio.to_thread(administrator.create, name, 2)
        polls += await polls_until(
            poller, lambda polls: any(isinstance(event, TopicAdded) for event in events_of(polls))
        )
        await asyncio.to_thread(administrator.delete, name)
        polls += await polls_until(
            poller, lambda polls: any(isinstance(event, TopicRemoved) for event in events_of(polls))
        )

    added = [event for event in events_of(polls) if isinstance(event, TopicAdded)]
    removed = [event for event in events_of(polls) if isinstance(event, TopicRemoved)]
    assert [(event.topic, event.partitions) for event in added] == [(name, 2)]
    assert [(event.topic, event.topic_id) for event in removed] == [(name, added[0].topic_id)]
    assert all(poll.error is None for poll in polls)


async def test_other_requests_are_polled_at_their_own_interval(
    cluster: KafkaCluster, administrator: Administrator, topic: str
) -> None:
    requests = [
        PolledRequest(DescribeClusterRequest(include_cluster_authorized_operations=False), 0.2),
        PolledRequest(topic_configs(), 0.2, "one"),
    ]

    async with Poller(cluster.bootstrap, interval=0.1, requests=requests) as poller:
        polls = await polls_until(poller, lambda polls: {3, 32, 60} <= {poll.api_key for poll in polls})

    responses = {poll.api_key: poll.message for poll in polls}

    described = responses[60]
    assert isinstance(described, DescribeClusterResponse)
    assert [broker.broker_id for broker in described.brokers] == [1]
    configs = responses[32]
    assert isinstance(configs, DescribeConfigsResponse)
    [result] = [result for result in configs.results if result.resource_name == topic]
    assert {entry.name: entry.value for entry in result.configs} == await asyncio.to_thread(
        administrator.topic_configs, topic
    )


async def test_polls_are_captured_and_replayed(
    cluster: KafkaCluster, administrator: Administrator, topic: str, tmp_path: Path
) -> None:
    """Replay also works while the poller is running, and unchanged polls are stored as 'same'."""
    with Capture(tmp_path, roll_seconds=0.3) as capture:
        async with Poller(cluster.bootstrap, interval=0.05, capture=capture) as poller:
            polls = await polls_until(poller, lambda polls: len(polls) >= 10)
            await asyncio.to_thread(administrator.delete, topic)
            polls += await polls_until(poller, lambda polls: bool(events_of(polls)))
            polls += await polls_until(poller, lambda polls: len(polls) >= 3)
        live = list(replay(tmp_path))[: len(polls)]
    closed = list(replay(tmp_path))

    assert [row.polled_at for row in closed[: len(polls)]] == [poll.polled_at for poll in polls]
    assert [row.kind for row in live] == [row.kind for row in closed[: len(polls)]]
    for row, poll in zip(closed, polls, strict=False):
        assert row.frame is not None
        assert isinstance(poll.message, MetadataResponse)
        message = frame.decode_response(row.frame, MetadataResponse, version=row.api_version).message
        assert listing_of(message) == listing_of(poll.message)
        assert (row.cluster_id, row.broker_id) == (poll.cluster_id, 1)
        assert row.kind == ("same" if poll.same else "full")
        assert row.controller_id == poll.message.controller_id
