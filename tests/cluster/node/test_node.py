"""A node's life: how it comes into the cluster, loses its session and has another, and leaves in order."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from kwire.cluster.node.node import STALE_BROKER_EPOCH, Node
from kwire.cluster.node.registration import IdInUse
from kwire.cluster.zookeeper import BrokerRegistration, ControllerEpoch
from kwire.cluster.zookeeper.configs import EntityConfig
from kwire.cluster.zookeeper.errors import Unreachable
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
from tests.cluster.node.nodes import ask, known, new_root, nodes, run, session, settings, until

if TYPE_CHECKING:
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper


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


def is_led(node: Node, topic: str, partitions: int) -> bool:
    return len(leaders(node, topic)) == partitions


def has_setting(node: Node, value: str | None) -> bool:
    entries = node.metadata.configs.get("t", ())
    return [entry.config_value for entry in entries] == ([] if value is None else [value])


# Into the cluster


def test_it_tells_the_brokers_and_the_controller(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as both:
            for node in both:
                answer = await ask(node, ClusterMetadataRequest())
                assert [(each.node_id, each.host, each.port) for each in answer.brokers] == [
                    (each.settings.id, each.host, each.port) for each in both
                ]
                assert answer.controller.node_id == 1

    run(scene())


def test_a_node_on_all_addresses_tells_the_name_of_its_host(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, listen=("0.0.0.0", 0)) as [node]:
            [told] = node.metadata.brokers.values()
            assert (told.host, told.port) == (socket.getfqdn(), node.port)

    run(scene())


def test_a_chroot_that_is_missing_is_made(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(f"{root}/deep/kafka", 1, 2), session(root) as store:
            assert await store.children("/deep/kafka/brokers/ids") == ["1", "2"]

    run(scene())


def test_an_address_in_use_leaves_nothing_behind(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1) as [node]:
            other = Node(settings(root, 2, listen=("127.0.0.1", node.port)))
            with pytest.raises(OSError, match="in use"):
                await other.start()
            third = Node(settings(root, 3, metrics=("127.0.0.1", node.port)))
            with pytest.raises(OSError, match="in use"):
                await third.start()
            async with session(root) as store:
                assert await store.children(BrokerRegistration.root) == ["1"]

    run(scene())


def test_without_zookeeper_it_does_not_start() -> None:
    async def scene() -> None:
        node = Node(settings("127.0.0.1:1", zookeeper_connection_timeout_ms=300))
        with pytest.raises(Unreachable):
            await node.start()

    run(scene())


def test_an_id_that_another_has_is_told_with_its_address(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1) as [node]:
            other = Node(settings(root, 1, zookeeper_session_timeout_ms=400))
            with pytest.raises(IdInUse, match=f"id 1, at ADMIN://127.0.0.1:{node.port}"):
                await other.start()

    run(scene())


def test_a_node_that_comes_back_waits_for_its_earlier_registration(server: EmbeddedZooKeeper) -> None:
    """As after kill -9: ZooKeeper keeps the registration until the session ends."""

    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1):
            pass
        async with session(root) as earlier:
            earlier_one = BrokerRegistration(()).encode()
            await earlier.create(BrokerRegistration.path(1), earlier_one, ephemeral=True)
            node = Node(settings(root, 1))
            starting = asyncio.create_task(node.start())
            await asyncio.sleep(0.3)
            assert not starting.done()
            await earlier.delete(BrokerRegistration.path(1))
            await starting
            await node.stop()

    run(scene())


# Sessions


def test_a_lost_session_is_followed_by_another(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as (first, second):
            await ask(first, creation("t", (1, 2), (2, 1)))
            await until(lambda: leaders(second, "t") == [1, 2], "the topic is known")
            before = first.session
            assert before is not None
            epoch = before.broker_epoch
            await before.store.close()
            await until(lambda: second.metadata.controller_id == 2, "the other is controller")
            await until(lambda: first.session is not None and first.session.broker_epoch > epoch, "it is back")
            await until(lambda: known(first, 2), "and knows of the other")
            assert (await ask(first, creation("u", (1,)))).topics[0].error_code == 22
            assert (await ask(second, creation("u", (1,)))).topics[0].error_code == 0
            await until(lambda: leaders(first, "u") == [1], "and is told")

    run(scene())


def test_a_controller_that_ended_by_a_fault_does_not_hold_the_office(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as (first, second):
            before = first.session
            assert before is not None
            [task] = [each for each in asyncio.all_tasks() if each.get_name() == "controller 1"]
            task.cancel()
            await until(lambda: second.metadata.controller_id == 2, "the other is controller")
            await until(lambda: first.session is not before and known(first, 2), "it is back with another session")

    run(scene())


# Who is believed


def update(node: Node, *topics: UpdateMetadataTopicState, **others: Any) -> UpdateMetadataRequest:
    endpoint = UpdateMetadataEndpoint(port=node.port, host=node.host, listener="ADMIN", security_protocol=0)
    facts: dict[str, Any] = {"controller_id": 1, "controller_epoch": node.metadata.controller_epoch, **others}
    return UpdateMetadataRequest(
        **facts, topic_states=topics, live_brokers=(UpdateMetadataBroker(id=1, endpoints=(endpoint,)),)
    )


def test_messages_to_an_earlier_life_or_from_an_earlier_controller_change_nothing(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1) as [node]:
            epoch = node.metadata.controller_epoch
            assert node.session is not None
            early = node.session.broker_epoch - 1
            topic = UpdateMetadataTopicState(topic_name="ghost", partition_states=(ghost(),))
            asked = {
                STALE_BROKER_EPOCH: update(node, topic, broker_epoch=early),
                ErrorCode.STALE_CONTROLLER_EPOCH: update(node, topic, controller_epoch=epoch - 1),
            }
            for code, request in asked.items():
                assert (await ask(node, request)).error_code == code
                assert "ghost" not in node.metadata.topics
            unheard = UpdateMetadataTopicState(topic_name="n" * 250, partition_states=(ghost(),))
            assert (await ask(node, update(node, unheard, topic))).error_code == 0
            assert set(node.metadata.topics) == {"ghost"}

    run(scene())


@pytest.mark.parametrize(
    "claimed",
    [
        {"controller_epoch": 2**31 - 1},
        {"controller_epoch": 2**31 - 1, "controller_id": 9},
        {"controller_id": 9},
    ],
    ids=["an epoch that nobody has", "an epoch and an office", "an office"],
)
def test_who_was_not_elected_is_not_believed(claimed: dict[str, int], server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as (controller, other):
            forged = replace(update(other, **claimed), live_brokers=(), type=2)
            for node in (controller, other):
                assert (await ask(node, forged)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
                assert known(node, 2)
            assert controller.session is not None
            await controller.session.store.close()
            for node in (controller, other):
                await until(partial(follows, node, 2), "it believes the next controller")

    run(scene())


def test_without_zookeeper_only_a_controller_that_is_known_is_believed() -> None:
    """At once: one of whom nobody knows must not keep the others' messages waiting."""
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    async def scene(server: EmbeddedZooKeeper) -> None:
        async with nodes(server.hosts, 1, zookeeper_session_timeout_ms=30_000) as [node]:
            server.kill()
            session = node.session
            assert session is not None
            await until(lambda: session.store.state == "suspended", "it is noticed")
            later = update(node, controller_epoch=node.metadata.controller_epoch + 1)
            assert (await ask(node, later)).error_code == ErrorCode.REQUEST_TIMED_OUT
            assert (await ask(node, update(node))).error_code == ErrorCode.NO_ERROR

    with EmbeddedZooKeeper(force_sync=False) as server:
        run(scene(server))


def test_an_office_that_nobody_can_read_is_nobodys(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1) as [node], session(root) as tool:
            await tool.set(ControllerEpoch.path(), b"many")
            later = update(node, controller_epoch=node.metadata.controller_epoch + 1)
            assert (await ask(node, later)).error_code == ErrorCode.STALE_CONTROLLER_EPOCH

    run(scene())


def follows(node: Node, controller_id: int) -> bool:
    return node.metadata.controller_id == controller_id and known(node, 2)


def ghost() -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=0, controller_epoch=1, leader=1, leader_epoch=0, isr=(1,), zk_version=0, replicas=(1,)
    )


# Topics


def test_topics_are_made_when_version_0_asks_for_them(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2, num_partitions=3) as (controller, other):
            for node, name in ((controller, "here"), (other, "there")):
                [told] = (await ask(node, TopicMetadataRequest(topic_names=(name,)), version=0)).topics
                assert (told.topic_error_code, len(told.partitions)) in {(5, 0), (0, 3)}, "it is on its way, or there"
                await until(partial(is_led, other, name, 3), f"{name} is made")
            assert (await ask(other, TopicMetadataRequest_V1(topic_names=("not",)))).topics[0].topic_error_code == 3
            await asyncio.sleep(0.1)
            assert set(controller.metadata.topics) == {"here", "there"}

    run(scene())


@pytest.mark.parametrize(("name", "factor", "code"), [("no name", 1, 17), ("wide", 3, 38)])
def test_why_a_topic_cannot_be_made_is_told_as_kafka_tells_it(
    name: str, factor: int, code: int, server: EmbeddedZooKeeper
) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2, default_replication_factor=factor) as both:
            for node in both:
                [told] = (await ask(node, TopicMetadataRequest(topic_names=(name,)), version=0)).topics
                assert (told.topic_name, told.topic_error_code, told.partitions) == (name, code, ())

    run(scene())


def test_topics_are_not_made_when_the_setting_says_no(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, auto_create_topics=False) as [node]:
            answer = await ask(node, TopicMetadataRequest(topic_names=("none",)), version=0)
            assert answer.topics[0].topic_error_code == 3
            assert not node.metadata.topics

    run(scene())


NOTES = {
    "0.8.1": b'"t"',
    "version 1": b'{"version":1,"entity_type":"topics","entity_name":"t"}',
    "version 2": b'{"version":2,"entity_path":"topics/t"}',
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_settings_that_a_tool_changes_are_followed(note: bytes, server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1, 2) as both, session(root) as tool:
            await ask(both[0], creation("t", (1,)))
            await until(lambda: all("t" in node.metadata.configs for node in both), "all know")
            await tool.create("/config/changes/config_change_", b"no note", sequential=True)
            await tool.set(EntityConfig.path("topics", "t"), EntityConfig({"retention.ms": "7"}).encode())
            await tool.create("/config/changes/config_change_", note, sequential=True)
            for node in both:
                await until(partial(has_setting, node, "7"), "it follows")
            await tool.set(EntityConfig.path("topics", "t"), b"nothing that is JSON")
            await tool.create("/config/changes/config_change_", note, sequential=True)
            await tool.set(EntityConfig.path("topics", "t"), EntityConfig({}).encode())
            await tool.create("/config/changes/config_change_", note, sequential=True)
            for node in both:
                await until(partial(has_setting, node, None), "none is left")

    run(scene())


def test_a_setting_that_is_too_long_to_be_told_keeps_back_nothing_else(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        root = await new_root(server)
        async with nodes(root, 1) as [node], session(root) as tool:
            await ask(node, creation("t", (1,)))
            await until(lambda: has_setting(node, "1000"), "the topic is known")
            written = EntityConfig({"comment": "x" * 40_000, "retention.ms": "7"}).encode()
            await tool.set(EntityConfig.path("topics", "t"), written)
            await tool.create("/config/changes/config_change_", NOTES["version 2"], sequential=True)
            await until(lambda: has_setting(node, "7"), "it follows")
            [told] = (await ask(node, TopicMetadataRequest_V1(topic_names=()))).topics
            assert [entry.config_key for entry in told.config_entries] == ["retention.ms"]

    run(scene())


# Leaving


@pytest.mark.parametrize("leaver", [1, 2], ids=["the controller", "another one"])
def test_leaders_are_moved_away_before_it_goes(leaver: int, server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as both:
            await ask(both[0], creation("t", (leaver, 3 - leaver)))
            going, staying = (node for node in sorted(both, key=lambda node: node.settings.id != leaver))
            await until(lambda: leaders(staying, "t") == [leaver], "the topic is known")
            seen: list[int] = []
            stopping = asyncio.create_task(going.stop())
            while not stopping.done():
                seen += leaders(staying, "t")
                await asyncio.sleep(0.001)
            await until(lambda: leaders(staying, "t") == [3 - leaver], "the other leads")
            assert -1 not in seen, "it was without leader for a while"
            assert going.facts()["connections"] == 0

    run(scene())


def test_only_the_controller_lets_others_leave(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        async with nodes(await new_root(server), 1, 2) as (controller, other):
            asked = AdminRequest(tool="controlled-shutdown", arguments=("2", "-1"))
            assert (await ask(other, asked)).error_code == 22
            bad = AdminRequest(tool="controlled-shutdown", arguments=("me",))
            assert (await ask(controller, bad)).error_code == 21
            answer = await ask(controller, asked)
            assert (answer.error_code, json.loads(answer.output)) == (0, [])

    run(scene())


def test_a_stop_without_zookeeper_does_not_wait_for_it() -> None:
    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper

    async def scene(server: EmbeddedZooKeeper) -> None:
        async with nodes(server.hosts, 1) as [node]:
            server.kill()
            assert node.session is not None
            await until(lambda: node.session is not None and node.session.store.state != "connected", "it is noticed")
            async with asyncio.timeout(8):
                await node.stop()

    with EmbeddedZooKeeper(force_sync=False) as server:
        run(scene(server))
