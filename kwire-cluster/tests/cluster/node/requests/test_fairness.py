"""Nodes stay responsive while one client sends expensive requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from kwire import frame
from kwire.messages.kafka.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.alter_topic_v2 import AlterTopicRequest_V2, TopicAlteration
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.delete_topic_v2 import DeleteTopicRequest_V2
from kwire.messages.kip4.preferred_replica_leader_election import PreferredReplicaLeaderElectionRequest, TopicPartitions
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire.messages.kip584.update_features import Feature, FeatureUpdate, UpdateFeaturesRequest
from kwire_cluster.node.listener.connection_limits import CloseReason
from tests.cluster.node.nodes import new_root, nodes, send
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from kwire.declare import Message
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

pytestmark = pytest.mark.nightly


async def responses_meanwhile(node: Node, work: Awaitable[object]) -> int:
    """Return how many requests of another client, one after another, are answered while `work` is in progress."""
    count = 0
    task = asyncio.ensure_future(work)
    reader, writer = await asyncio.open_connection(node.host, node.port, local_addr=("127.0.0.2", 0))
    request = frame.encode_request(ClusterMetadataRequest(), version=0, correlation_id=1, client_id="other")
    while not task.done():
        writer.write(request)
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        count += 1
    writer.close()
    await task
    return count


def unknown_names(request: type[TopicMetadataRequest | TopicMetadataRequest_V1], count: int) -> Message:
    return request(topic_names=tuple(f"unknown-{number}" for number in range(count)))


@pytest.mark.parametrize("request_type", [TopicMetadataRequest, TopicMetadataRequest_V1])
async def test_others_are_answered_while_many_unknown_topics_are_described(
    request_type: type[TopicMetadataRequest | TopicMetadataRequest_V1], server: EmbeddedZooKeeper
) -> None:
    async with nodes(await new_root(server), 1, auto_create_topics=False) as [node]:
        work = asyncio.gather(*(send(node, *[unknown_names(request_type, 5_000)] * 3) for _ in range(4)))
        assert await responses_meanwhile(node, work) >= 25


async def test_others_are_answered_while_one_connection_sends_many_small_requests(server: EmbeddedZooKeeper) -> None:
    """Names differ, so that no response comes from the cache."""
    async with nodes(await new_root(server), 1) as [node]:
        requests = [
            TopicMetadataRequest_V1(topic_names=tuple(f"{number}-{name}" for name in range(100)))
            for number in range(250)
        ]
        assert await responses_meanwhile(node, send(node, *requests)) >= 20


async def test_others_are_answered_while_many_topics_are_created(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        creations = tuple(
            TopicCreation(topic_name=f"t{number}", partitions=1, replication_factor=1) for number in range(600)
        )
        work = send(node, CreateTopicRequest_V2(topics=creations))
        assert await responses_meanwhile(node, work) >= 30


LONG_BATCHES = {
    "alterations": AlterTopicRequest_V2(
        topics=tuple(TopicAlteration(topic_name=f"unknown-{number}", partitions=2) for number in range(5_000))
    ),
    "deletions": DeleteTopicRequest_V2(topic_names=tuple(f"unknown-{number}" for number in range(5_000))),
    "refused creations": CreateTopicRequest_V2(
        topics=tuple(
            TopicCreation(topic_name=f"t{number}", partitions=1, replication_factor=9) for number in range(5_000)
        )
    ),
}


@pytest.mark.parametrize("batch", LONG_BATCHES)
async def test_others_are_answered_while_long_batches_are_refused(batch: str, server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, zookeeper_session_timeout_ms=30_000) as [node]:
        work = asyncio.gather(*(send(node, LONG_BATCHES[batch]) for _ in range(2)))
        assert await responses_meanwhile(node, work) >= 20


async def test_others_are_answered_while_one_client_repeats_invalid_requests(server: EmbeddedZooKeeper) -> None:
    async def repeat(request: Message, times: int) -> None:
        for _ in range(times):
            with pytest.raises(asyncio.IncompleteReadError):
                await send(node, request)

    async with nodes(await new_root(server), 1, max_request_items=1_000) as [node]:
        invalid = unknown_names(TopicMetadataRequest_V1, 10_000)
        work = asyncio.gather(*(repeat(invalid, 2) for _ in range(8)))
        assert await responses_meanwhile(node, work) >= 20


async def test_a_small_command_does_not_wait_for_a_large_batch(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        creations = tuple(
            TopicCreation(topic_name=f"t{number}", partitions=1, replication_factor=1) for number in range(500)
        )
        large = asyncio.ensure_future(send(node, CreateTopicRequest_V2(topics=creations)))
        await asyncio.sleep(0)
        small = CreateTopicRequest_V2(topics=(TopicCreation(topic_name="s", partitions=1, replication_factor=1),))
        assert [one.error_code for one in (await send(node, small)).topics] == [0]
        assert not large.done()
        assert {one.error_code for one in (await large).topics} == {0}


async def test_request_that_lists_too_many_topics_is_refused(
    server: EmbeddedZooKeeper, capsys: pytest.CaptureFixture[str]
) -> None:
    async with nodes(await new_root(server), 1, max_request_items=1_000) as [node]:
        assert len((await send(node, unknown_names(TopicMetadataRequest_V1, 1_000))).topics) == 1_000
        with pytest.raises(asyncio.IncompleteReadError):
            await send(node, unknown_names(TopicMetadataRequest_V1, 1_001))
        assert "TopicMetadataRequest_V1 lists 1,001 topic_names: at most 1,000 are allowed" in capsys.readouterr().out


async def test_request_that_lists_too_many_partitions_is_refused(
    server: EmbeddedZooKeeper, capsys: pytest.CaptureFixture[str]
) -> None:
    """A request of 300,000 partitions of one topic took 30 MB, and the controller as many steps at once."""

    def election(count: int) -> Message:
        topics = (TopicPartitions(topic=f"t{number}", partition_ids=tuple(range(count // 2))) for number in range(2))
        return PreferredReplicaLeaderElectionRequest(topics=tuple(topics))

    async with nodes(await new_root(server), 1, max_partitions=1_000) as [node]:
        assert [one.error_code for one in (await send(node, election(1_000))).topics] == [3, 3]
        with pytest.raises(asyncio.IncompleteReadError):
            await send(node, election(1_002))
        assert "lists 1,002 partition_ids: at most 1,000 are allowed" in capsys.readouterr().out


async def test_update_of_too_many_features_is_refused(server: EmbeddedZooKeeper) -> None:
    """An update of 400,000 features stopped the node for seconds."""
    features = tuple(Feature(name=str(number), max_version_level=1) for number in range(1_001))
    request = UpdateFeaturesRequest(feature_updates=(FeatureUpdate(allow_downgrade=False, features=features),))
    async with nodes(await new_root(server), 1, max_request_items=1_000) as [node]:
        response = await send(node, request)
        assert (response.error_code, response.error_message) == (42, "expected at most 1,000 features, got 1,001")


async def test_only_metadata_of_the_controller_may_be_large(
    server: EmbeddedZooKeeper, capsys: pytest.CaptureFixture[str]
) -> None:
    async with nodes(await new_root(server), 1, request_bytes=1_000, broker_request_bytes=5_000) as [node]:
        for key, size, allowed in ((3, 1_000, True), (3, 1_001, False), (6, 5_000, True), (6, 5_001, False)):
            reader, writer = await asyncio.open_connection(node.host, node.port)
            writer.write(size.to_bytes(4, "big") + key.to_bytes(2, "big"))
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
            reason = "disconnected_within_frame" if allowed else "invalid_frame"
            assert reason in capsys.readouterr().out


async def test_metadata_of_as_many_partitions_as_a_cluster_may_have_is_accepted(server: EmbeddedZooKeeper) -> None:
    """A node closed the connection of the controller, because the request exceeded the memory of all connections."""
    async with nodes(await new_root(server), 1) as [node]:
        states = tuple(
            UpdateMetadataPartitionState(
                partition_index=index,
                controller_epoch=1,
                leader=1,
                leader_epoch=0,
                isr=(1, 2, 3),
                zk_version=0,
                replicas=(1, 2, 3),
            )
            for index in range(node.settings.max_partitions)
        )
        topic = UpdateMetadataTopicState(topic_name="many", topic_id=UUID(int=1), partition_states=states)
        update = UpdateMetadataRequest(
            controller_id=1,
            controller_epoch=node.metadata.controller_epoch,
            broker_epoch=-1,
            topic_states=(topic,),
            live_brokers=(),
        )
        assert (await send(node, update)).error_code == 0
        assert len(node.metadata.topics["many"].partitions) == 200_000


async def test_count_of_a_request_is_checked_before_its_topics_are_decoded(
    server: EmbeddedZooKeeper, capsys: pytest.CaptureFixture[str]
) -> None:
    """The topics are damaged, which decoding would report."""
    async with nodes(await new_root(server), 1) as [node]:
        for request, version in (
            (TopicMetadataRequest_V1(topic_names=()), 1),
            (DeleteTopicRequest_V2(topic_names=()), 2),
        ):
            empty = frame.encode_request(request, version=version, correlation_id=1, client_id="greedy")
            damaged = empty[4:-4] + (1_500_000).to_bytes(4, "big") + b"\xff" * 3_000_000
            reader, writer = await asyncio.open_connection(node.host, node.port)
            writer.write(len(damaged).to_bytes(4, "big") + damaged)
            assert await reader.read() == b""
            writer.close()
            assert f"{type(request).__name__} lists 1,500,000 topic_names" in capsys.readouterr().out


async def test_clients_that_disconnect_within_frames_do_not_fill_the_log(
    server: EmbeddedZooKeeper, capsys: pytest.CaptureFixture[str]
) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        for _ in range(300):
            _, writer = await asyncio.open_connection(node.host, node.port)
            writer.write(b"\0\0\1\0")
            writer.close()
            await writer.wait_closed()
        await eventually(lambda: node.metrics.closed[CloseReason.DISCONNECTED] == 300)
        lines = capsys.readouterr().out.count("disconnected within a frame")
        assert lines < 300
