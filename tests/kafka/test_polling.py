"""Connection, Poller and capture against real brokers of both generations; confluent-kafka is the witness."""

from __future__ import annotations

import asyncio
import socket
import struct
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire import frame
from kwire.capture import Capture, replay
from kwire.client import Connection, Poll, PolledRequest, Poller, topic_configs
from kwire.messages.kafka.api_versions import ApiVersionsResponse
from kwire.messages.kafka.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kwire.messages.kafka.describe_configs import DescribeConfigsResponse
from kwire.messages.kafka.metadata import MetadataRequest, MetadataResponse
from kwire.metadata.events import MetadataEvent, TopicAdded, TopicRemoved
from tests.kafka.administering import Administrator, told_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.testing.kafka import Cluster

SECONDS = 30
NEWEST_METADATA = {"3.9.1": 12, "4.4.0": 13}
NEWEST_API_VERSIONS = {"3.9.1": 4, "4.4.0": 5}


@pytest.fixture
def administrator(cluster: Cluster) -> Administrator:
    return Administrator(cluster)


@pytest.fixture
def topic(administrator: Administrator) -> str:
    """A new topic of three partitions."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    administrator.create(name, 3)
    return name


async def polls_until(poller: Poller, enough: Callable[[list[Poll]], bool]) -> list[Poll]:
    """Polls until they are enough."""
    polls: list[Poll] = []
    async with asyncio.timeout(SECONDS):
        async for poll in poller:
            polls.append(poll)
            if enough(polls):
                break
    return polls


def differences(polls: list[Poll]) -> list[MetadataEvent]:
    return [difference for poll in polls for difference in poll.events]


def test_a_connection_speaks_the_newest_versions_that_both_know(cluster: Cluster) -> None:
    async def ask() -> tuple[int, int, bool, MetadataResponse]:
        async with await Connection.open(cluster.bootstrap) as connection:
            arrival = await connection.ask(MetadataRequest(topics=None))
            negotiated = connection.negotiated
            highest = negotiated.versions[18][1]
            return arrival.answer.sent.version, highest, negotiated.kraft, arrival.answer.decode()

    version, api_versions, kraft, message = asyncio.run(ask())

    assert version == NEWEST_METADATA[cluster.version]
    assert api_versions == NEWEST_API_VERSIONS[cluster.version]
    assert kraft == (cluster.version == "4.4.0")
    assert [broker.port for broker in message.brokers] == [broker.port for broker in cluster.brokers]


def test_every_version_of_metadata_that_the_broker_names_is_read(cluster: Cluster, topic: str) -> None:
    async def ask() -> dict[int, MetadataResponse]:
        async with await Connection.open(cluster.bootstrap) as connection:
            lowest, highest = connection.negotiated.versions[3]
            # Version 0 has no null for "all": there, empty means it.
            return {
                version: await connection.send(MetadataRequest(topics=None if version else ()), version=version)
                for version in range(lowest, highest + 1)
            }

    answers = asyncio.run(ask())

    assert max(answers) == NEWEST_METADATA[cluster.version]
    partitions = [told_by(message).partitions for message in answers.values()]
    assert all(each == partitions[0] for each in partitions)
    assert (topic, 2) in partitions[0]


def test_api_versions_of_a_version_from_the_future_is_answered_in_version_0(cluster: Cluster) -> None:
    """With error 35 and the versions it does know, and the connection stays usable (KIP-511)."""
    header = struct.pack(">hhihB", 18, 99, 7, -1, 0)  # no client id, no tags
    with socket.create_connection(("127.0.0.1", cluster.brokers[0].port), timeout=SECONDS) as connection:
        for _ in range(2):
            connection.sendall(struct.pack(">i", len(header)) + header)
            size = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))[0]
            payload = connection.recv(size, socket.MSG_WAITALL)

            answer = frame.decode_response(payload, ApiVersionsResponse, version=4)

            assert (answer.correlation_id, answer.version, answer.message.error_code) == (7, 0, 35)
            assert [(api.api_key, api.max_version) for api in answer.message.api_keys] == [
                (18, NEWEST_API_VERSIONS[cluster.version])
            ]


def test_a_snapshot_is_what_confluent_kafka_lists(cluster: Cluster, administrator: Administrator, topic: str) -> None:
    async def snapshot() -> Poll:
        async with Poller(cluster.bootstrap) as poller:
            [poll] = await polls_until(poller, lambda polls: bool(polls[0].message))
            return poll

    poll = asyncio.run(snapshot())

    assert isinstance(poll.message, MetadataResponse)
    assert told_by(poll.message) == administrator.list()
    assert (topic, 0) in told_by(poll.message).partitions
    assert poll.cluster_id == poll.message.cluster_id
    assert (poll.broker_id, poll.endpoint) == (1, cluster.brokers[0].endpoint)


def test_topics_that_come_and_go_are_told(cluster: Cluster, administrator: Administrator) -> None:
    name = f"comes-and-goes-{uuid.uuid4().hex[:8]}"

    async def watch() -> list[Poll]:
        async with Poller(cluster.bootstrap, interval=0.05) as poller:
            polls = await polls_until(poller, lambda polls: polls[-1].same)
            await asyncio.to_thread(administrator.create, name, 2)
            polls += await polls_until(
                poller, lambda polls: any(isinstance(each, TopicAdded) for each in differences(polls))
            )
            await asyncio.to_thread(administrator.delete, name)
            polls += await polls_until(
                poller, lambda polls: any(isinstance(each, TopicRemoved) for each in differences(polls))
            )
            return polls

    polls = asyncio.run(watch())

    added = [each for each in differences(polls) if isinstance(each, TopicAdded)]
    removed = [each for each in differences(polls) if isinstance(each, TopicRemoved)]
    assert [(each.topic, each.partitions) for each in added] == [(name, 2)]
    assert [(each.topic, each.topic_id) for each in removed] == [(name, added[0].topic_id)]
    assert all(poll.error is None for poll in polls)


def test_other_requests_are_asked_in_their_own_time(cluster: Cluster, administrator: Administrator, topic: str) -> None:
    asked = [
        PolledRequest(DescribeClusterRequest(include_cluster_authorized_operations=False), 0.2),
        PolledRequest(topic_configs(), 0.2, "one"),
    ]

    async def watch() -> list[Poll]:
        async with Poller(cluster.bootstrap, interval=0.1, requests=asked) as poller:
            return await polls_until(poller, lambda polls: {3, 32, 60} <= {poll.api_key for poll in polls})

    answers = {poll.api_key: poll.message for poll in asyncio.run(watch())}

    described = answers[60]
    assert isinstance(described, DescribeClusterResponse)
    assert [broker.broker_id for broker in described.brokers] == [1]
    configs = answers[32]
    assert isinstance(configs, DescribeConfigsResponse)
    [told] = [result for result in configs.results if result.resource_name == topic]
    assert {entry.name: entry.value for entry in told.configs} == administrator.topic_configs(topic)


def test_what_was_polled_is_captured_and_replayed(
    cluster: Cluster, administrator: Administrator, topic: str, tmp_path: Path
) -> None:
    """Also while the poller is at work; and the second poll of a quiet cluster costs no bytes."""
    with Capture(tmp_path, roll_seconds=0.3) as capture:

        async def watch() -> list[Poll]:
            async with Poller(cluster.bootstrap, interval=0.05, capture=capture) as poller:
                polls = await polls_until(poller, lambda polls: len(polls) >= 10)
                await asyncio.to_thread(administrator.delete, topic)
                polls += await polls_until(poller, lambda polls: bool(differences(polls)))
                return polls + await polls_until(poller, lambda polls: len(polls) >= 3)

        polls = asyncio.run(watch())
        live = list(replay(tmp_path))[: len(polls)]
    closed = list(replay(tmp_path))

    assert [row.polled_at for row in closed[: len(polls)]] == [poll.polled_at for poll in polls]
    assert [row.kind for row in live] == [row.kind for row in closed[: len(polls)]]
    for row, poll in zip(closed, polls, strict=False):
        assert row.frame is not None
        assert isinstance(poll.message, MetadataResponse)
        message = frame.decode_response(row.frame, MetadataResponse, version=row.api_version).message
        assert told_by(message) == told_by(poll.message)
        assert (row.cluster_id, row.broker_id) == (poll.cluster_id, 1)
        assert row.kind == ("same" if poll.same else "full")
        assert row.controller_id == poll.message.controller_id
