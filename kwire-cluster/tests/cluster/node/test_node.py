"""The life of a node: registration, sessions, metadata updates, topics, and controlled shutdown."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import structlog

from kwire.messages.kafka.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.error_codes import ErrorCode
from kwire.messages.kip4.structures import ConfigEntry, PartitionReplicas
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire_cluster.node.metadata.metadata_updates import STALE_BROKER_EPOCH
from kwire_cluster.node.node import Node
from kwire_cluster.node.session import IdInUse
from kwire_cluster.zookeeper import BrokerRegistration, ControllerEpoch
from kwire_cluster.zookeeper.configs import EntityConfig
from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper
from kwire_cluster.zookeeper.errors import Unreachable
from tests.cluster.node.nodes import knows_cluster, new_root, node_tools, nodes, send, session, settings
from tests.eventually import eventually


def creation(name: str, *assignment: tuple[int, ...]) -> CreateTopicRequest_V2:
    replicas = tuple(PartitionReplicas(partition_id=at, replica_ids=ids) for at, ids in enumerate(assignment))
    return CreateTopicRequest_V2(
        topics=(
            TopicCreation(
                topic_name=name,
                partitions=-1,
                replication_factor=-1,
                replica_assignment=replicas,
                config_entries=(ConfigEntry(config_key="retention.ms", config_value="1000"),),
            ),
        )
    )


def leaders(node: Node, topic: str) -> list[int]:
    known = node.metadata.topics.get(topic)
    return [] if known is None else [state.leader for _, state in sorted(known.partitions.items())]


def has_leaders(node: Node, topic: str, partitions: int) -> bool:
    return len(leaders(node, topic)) == partitions


def has_config(node: Node, value: str | None) -> bool:
    entries = node.metadata.configs.get("t", ())
    return [entry.config_value for entry in entries] == ([] if value is None else [value])


# Joining the cluster


async def test_cluster_metadata_lists_brokers_and_controller(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as both:
        for node in both:
            response = await send(node, ClusterMetadataRequest())
            assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [
                (node.settings.id, node.host, node.port) for node in both
            ]
            assert response.controller.node_id == 1
        ids = {(await send(node, ClusterMetadataRequest())).cluster_id for node in both}
        assert ids == {both[0].status()["cluster_id"]}
        assert len(*ids) == 22


async def test_node_on_wildcard_address_advertises_its_host_name(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, listen=("0.0.0.0", 0), allow_anonymous=True) as [node]:
        [broker] = node.metadata.brokers.values()
        assert (broker.host, broker.port) == (socket.getfqdn(), node.port)


async def test_missing_chroot_is_created(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(f"{root}/deep/kafka", 1, 2), session(root) as store:
        assert await store.children("/deep/kafka/brokers/ids") == ["1", "2"]


async def test_failed_start_leaves_nothing_behind(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1) as [node]:
        other = Node(settings(root, 2, listen=("127.0.0.1", node.port)), node_tools())
        with pytest.raises(OSError, match="in use"):
            await other.start()
        third = Node(settings(root, 3, metrics=("127.0.0.1", node.port)), node_tools())
        with pytest.raises(OSError, match="in use"):
            await third.start()
        async with session(root) as store:
            assert await store.children(BrokerRegistration.root) == ["1"]


async def test_start_fails_without_zookeeper() -> None:
    node = Node(settings("127.0.0.1:1", zookeeper_connection_timeout_ms=300), node_tools())
    with pytest.raises(Unreachable):
        await node.start()


async def test_start_fails_if_the_id_is_in_use(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1) as [node]:
        other = Node(settings(root, 1, zookeeper_session_timeout_ms=400), node_tools())
        with pytest.raises(IdInUse, match=f"id 1, at PLAINTEXT://127.0.0.1:{node.port}"):
            await other.start()


async def test_restarted_node_waits_for_the_end_of_its_earlier_registration(server: EmbeddedZooKeeper) -> None:
    """As after kill -9: ZooKeeper keeps the registration until the earlier session ends."""
    root = await new_root(server)
    async with nodes(root, 1):
        pass
    async with session(root) as earlier:
        registration = BrokerRegistration(()).encode()
        await earlier.create(BrokerRegistration.path(1), registration, ephemeral=True)
        node = Node(settings(root, 1), node_tools())
        with structlog.testing.capture_logs() as events:
            starting = asyncio.create_task(node.start())
            waiting = "waiting for the end of an earlier registration"
            await eventually(lambda: waiting in [event["event"] for event in events], waiting)
        assert not starting.done()
        await earlier.delete(BrokerRegistration.path(1))
        await starting
        await node.stop()


# Sessions


async def test_lost_session_is_replaced(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as (first, second):
        await send(first, creation("t", (1, 2), (2, 1)))
        await eventually(lambda: leaders(second, "t") == [1, 2])
        before = first.session
        assert before is not None
        epoch = before.broker_epoch
        await before.store.close()
        await eventually(lambda: second.metadata.controller_id == 2)
        await eventually(lambda: first.session is not None and first.session.broker_epoch > epoch)
        await eventually(lambda: knows_cluster(first, 2))
        assert (await send(first, creation("u", (1,)))).topics[0].error_code == 22
        assert (await send(second, creation("u", (1,)))).topics[0].error_code == 0
        await eventually(lambda: leaders(first, "u") == [1])


async def test_failed_controller_gives_up_its_session(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as (first, second):
        before = first.session
        assert before is not None
        [task] = [task for task in asyncio.all_tasks() if task.get_name() == "controller 1"]
        task.cancel()
        await eventually(lambda: second.metadata.controller_id == 2)
        await eventually(lambda: first.session is not before and knows_cluster(first, 2))


# Metadata updates


def update(node: Node, *topics: UpdateMetadataTopicState, **others: Any) -> UpdateMetadataRequest:
    endpoint = UpdateMetadataEndpoint(port=node.port, host=node.host, listener="ADMIN", security_protocol=0)
    facts: dict[str, Any] = {"controller_id": 1, "controller_epoch": node.metadata.controller_epoch, **others}
    return UpdateMetadataRequest(
        **facts, topic_states=topics, live_brokers=(UpdateMetadataBroker(id=1, endpoints=(endpoint,)),)
    )


async def test_stale_updates_change_nothing(
    server: EmbeddedZooKeeper,
) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        epoch = node.metadata.controller_epoch
        assert node.session is not None
        early = node.session.broker_epoch - 1
        topic = UpdateMetadataTopicState(topic_name="ghost", partition_states=(ghost(),))
        rejected = {
            STALE_BROKER_EPOCH: update(node, topic, broker_epoch=early),
            ErrorCode.STALE_CONTROLLER_EPOCH: update(node, topic, controller_epoch=epoch - 1),
        }
        for code, request in rejected.items():
            assert (await send(node, request)).error_code == code
            assert "ghost" not in node.metadata.topics
        invalid = UpdateMetadataTopicState(topic_name="n" * 250, partition_states=(ghost(),))
        assert (await send(node, update(node, invalid, topic))).error_code == 0
        assert set(node.metadata.topics) == {"ghost"}


@pytest.mark.parametrize(
    "forged_fields",
    [
        {"controller_epoch": 2**31 - 1},
        {"controller_epoch": 2**31 - 1, "controller_id": 9},
        {"controller_id": 9},
    ],
    ids=["unknown epoch", "unknown epoch and controller", "unknown controller"],
)
async def test_update_from_a_broker_that_was_not_elected_is_rejected(
    forged_fields: dict[str, int], server: EmbeddedZooKeeper
) -> None:
    async with nodes(await new_root(server), 1, 2) as (controller, other):
        forged = replace(update(other, **forged_fields), live_brokers=(), type=2)
        for node in (controller, other):
            assert (await send(node, forged)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
            assert knows_cluster(node, 2)
        assert controller.session is not None
        await controller.session.store.close()
        for node in (controller, other):
            await eventually(partial(follows, node, 2))


@pytest.mark.usefixtures("java")
async def test_without_zookeeper_only_the_known_controller_is_accepted() -> None:
    """The rejection is immediate: waiting for ZooKeeper would block the updates of the known controller."""
    with EmbeddedZooKeeper(force_sync=False) as server:
        async with nodes(server.hosts, 1, zookeeper_session_timeout_ms=30_000) as [node]:
            server.kill()
            session = node.session
            assert session is not None
            await eventually(lambda: session.store.state == "suspended")
            later = update(node, controller_epoch=node.metadata.controller_epoch + 1)
            assert (await send(node, later)).error_code == ErrorCode.REQUEST_TIMED_OUT
            assert (await send(node, update(node))).error_code == ErrorCode.NO_ERROR


async def test_malformed_controller_epoch_rejects_new_controllers(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1) as [node], session(root) as tool:
        await tool.set(ControllerEpoch.path(), b"many")
        later = update(node, controller_epoch=node.metadata.controller_epoch + 1)
        assert (await send(node, later)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH


def follows(node: Node, controller_id: int) -> bool:
    return node.metadata.controller_id == controller_id and knows_cluster(node, 2)


def ghost() -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=0, controller_epoch=1, leader=1, leader_epoch=0, isr=(1,), zk_version=0, replicas=(1,)
    )


# Topics


async def test_topic_metadata_version_0_creates_topics(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2, num_partitions=3) as (controller, other):
        response = await send(other, TopicMetadataRequest_V1(topic_names=("not",)))
        assert response.topics[0].topic_error_code == 3, "version 1 creates no topic"
        for node, name in ((controller, "here"), (other, "there")):
            [listed] = (await send(node, TopicMetadataRequest(topic_names=(name,)), version=0)).topics
            assert (listed.topic_error_code, len(listed.partitions)) in {(5, 0), (0, 3)}, "created, or about to be"
            await eventually(partial(has_leaders, other, name, 3))
        assert set(controller.metadata.topics) == {"here", "there"}


@pytest.mark.parametrize(("name", "factor", "code"), [("no name", 1, 17), ("wide", 3, 38)])
async def test_failed_topic_creation_is_reported_with_kafkas_code(
    name: str, factor: int, code: int, server: EmbeddedZooKeeper
) -> None:
    async with nodes(await new_root(server), 1, 2, default_replication_factor=factor) as both:
        for node in both:
            [listed] = (await send(node, TopicMetadataRequest(topic_names=(name,)), version=0)).topics
            assert (listed.topic_name, listed.topic_error_code, listed.partitions) == (name, code, ())


async def test_topic_creation_can_be_disabled(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, auto_create_topics=False) as [node]:
        response = await send(node, TopicMetadataRequest(topic_names=("none",)), version=0)
        assert response.topics[0].topic_error_code == 3
        assert not node.metadata.topics


NOTIFICATIONS = {
    "0.8.1": b'"t"',
    "version 1": b'{"version":1,"entity_type":"topics","entity_name":"t"}',
    "version 2": b'{"version":2,"entity_path":"topics/t"}',
}


@pytest.mark.parametrize("notification", NOTIFICATIONS.values(), ids=NOTIFICATIONS)
async def test_config_changes_of_other_programs_are_followed(notification: bytes, server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2) as both, session(root) as tool:
        await send(both[0], creation("t", (1,)))
        await eventually(lambda: all("t" in node.metadata.configs for node in both))
        await tool.create("/config/changes/config_change_", b"no notification", sequential=True)
        await tool.set(EntityConfig.path("topics", "t"), EntityConfig({"retention.ms": "7"}).encode())
        await tool.create("/config/changes/config_change_", notification, sequential=True)
        for node in both:
            await eventually(partial(has_config, node, "7"), "it follows")
        await tool.set(EntityConfig.path("topics", "t"), b"nothing that is JSON")
        await tool.create("/config/changes/config_change_", notification, sequential=True)
        await tool.set(EntityConfig.path("topics", "t"), EntityConfig({}).encode())
        await tool.create("/config/changes/config_change_", notification, sequential=True)
        for node in both:
            await eventually(partial(has_config, node, None))


async def test_config_too_long_for_the_protocol_is_skipped(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1) as [node], session(root) as tool:
        await send(node, creation("t", (1,)))
        await eventually(lambda: has_config(node, "1000"))
        written = EntityConfig({"comment": "x" * 40_000, "retention.ms": "7"}).encode()
        await tool.set(EntityConfig.path("topics", "t"), written)
        await tool.create("/config/changes/config_change_", NOTIFICATIONS["version 2"], sequential=True)
        await eventually(lambda: has_config(node, "7"))
        [listed] = (await send(node, TopicMetadataRequest_V1(topic_names=()))).topics
        assert [entry.config_key for entry in listed.config_entries] == ["retention.ms"]


# Controlled shutdown


@pytest.mark.parametrize("stopping_id", [1, 2], ids=["controller", "other broker"])
async def test_leaders_move_before_a_node_stops(stopping_id: int, server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as both:
        await send(both[0], creation("t", (stopping_id, 3 - stopping_id)))
        stopping_node, staying = (node for node in sorted(both, key=lambda node: node.settings.id != stopping_id))
        await eventually(lambda: leaders(staying, "t") == [stopping_id])
        seen: list[int] = []
        stopping = asyncio.create_task(stopping_node.stop())
        while not stopping.done():
            seen += leaders(staying, "t")
            await asyncio.sleep(0.001)
        await eventually(lambda: leaders(staying, "t") == [3 - stopping_id])
        assert -1 not in seen, "the partition had no leader for a while"
        assert stopping_node.status()["connections"] == 0


async def test_only_the_controller_performs_controlled_shutdown(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as (controller, other):
        assert other.session is not None
        epoch = str(other.session.broker_epoch)
        request = AdminRequest(tool="controlled-shutdown", arguments=("2", epoch))
        assert (await send(other, request)).error_code == 22
        for stale in ("-1", "0", str(int(epoch) + 1)):
            refused = await send(controller, AdminRequest(tool="controlled-shutdown", arguments=("2", stale)))
            assert refused.error_description == f"stale epoch {stale} of broker 2: the current epoch is {epoch}"
        bad = AdminRequest(tool="controlled-shutdown", arguments=("me",))
        assert (await send(controller, bad)).error_code == 21
        response = await send(controller, request)
        assert (response.error_code, json.loads(response.output)) == (0, [])


@pytest.mark.usefixtures("java")
async def test_stop_does_not_wait_for_zookeeper() -> None:
    with EmbeddedZooKeeper(force_sync=False) as server:
        async with nodes(server.hosts, 1) as [node]:
            server.kill()
            assert node.session is not None
            await eventually(lambda: node.session is not None and node.session.store.state != "connected")
            async with asyncio.timeout(8):
                await node.stop()
