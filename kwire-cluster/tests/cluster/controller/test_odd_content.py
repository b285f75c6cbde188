"""Tests of unusual but possible content in ZooKeeper: the controller handles it, names it, and stays idle."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from kwire.codec import encode
from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.zookeeper.admin_requests import ReassignPartitions
from kwire_cluster.zookeeper.brokers import BrokerRegistration, RegisteredEndpoint, SupportedVersionRange
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.protocol_version import ProtocolVersion
from kwire_cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration
from tests.cluster.controller.clusters import SETTINGS, cluster_of, codes, creation
from tests.eventually import eventually


@pytest.mark.parametrize("topic", ["known", "unknown", "malformed"])
@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
async def test_child_of_a_deletion_marker_is_deleted_with_it(topic: str, found_by: str) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("a", (3, 2)), creation("known", (3, 2))])
        await cluster.wait_idle()
        if topic == "malformed":
            cluster.write(TopicRegistration.path(topic), b"{x")
        if found_by == "a new controller":
            await cluster.kill(1)
        marker = DeletionMarker.path(topic)
        cluster.write(marker, b"")
        cluster.write(f"{marker}/odd", b"")
        cluster.write(f"{marker}/odd/child", b"")
        if topic == "known":
            cluster.write(f"{EntityConfig.path('topics', topic)}/odd", b"")
            cluster.write(f"{PartitionState.path(topic, 0)}/odd", b"")
        await eventually(lambda: not cluster.exists(marker))
        await cluster.wait_idle()
        assert not cluster.exists(TopicRegistration.path(topic))
        assert not cluster.exists(EntityConfig.path("topics", topic))
        cluster.check_agreement()


async def test_deletion_that_is_not_permitted_does_not_keep_the_controller_busy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (3, 2)), creation("b", (3, 2))])
        await cluster.wait_idle()
        marker = DeletionMarker.path("a")
        cluster.write(marker, b"")
        cluster.write(f"{marker}/odd", b"")
        cluster.memory.forbidden.add(marker)
        await eventually(lambda: [record for record in caplog.records if getattr(record, "path", None) == marker])
        passes = 0
        while passes < 200:
            await cluster.active.describe_topic("b")
            passes += 1
        assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) <= 3
        cluster.memory.forbidden.clear()
        await eventually(lambda: not cluster.exists(marker))
        await cluster.wait_idle()
        cluster.check_agreement()


async def test_topic_on_unknown_brokers_is_deleted() -> None:
    async with cluster_of(1, 2) as cluster:
        # A tool that writes to ZooKeeper checks no broker.
        cluster.write(TopicRegistration.path("a"), TopicRegistration({0: (1, 77), 1: (88, 99)}).encode())
        await cluster.wait_idle()
        assert await codes(cluster.active.delete_topics(["a"])) == {"a": 0}
        await eventually(lambda: not cluster.exists(TopicRegistration.path("a")))
        await cluster.wait_idle()
        cluster.check_agreement()


async def test_deletion_waits_for_a_broker_that_failed_and_names_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 3))])
        await cluster.kill(3)
        await cluster.wait_idle()
        assert await codes(cluster.active.delete_topics(["a"])) == {"a": 0}
        await cluster.wait_idle()
        assert cluster.exists(TopicRegistration.path("a"))
        text = "deletion of topic a waits for brokers [3]"
        assert [record.getMessage() for record in caplog.records].count(text) == 1
        await cluster.start(3, runs_controller=False)
        await eventually(lambda: not cluster.exists(TopicRegistration.path("a")))


@pytest.mark.parametrize(
    ("stored", "elected"),
    [(b"2147483647", 1), (b"2147483646", 2147483647), (b"0", 1), (b"-5", 1), (b"-2147483648", 1)],
)
async def test_controller_epoch_stays_in_range(stored: bytes, elected: int) -> None:
    async with cluster_of(1, 2, controllers=(1, 2)) as cluster:
        first = cluster.active
        cluster.write(ControllerEpoch.path(), stored)
        cluster.tool.delete(ActiveController.path())
        await eventually(lambda: int(cluster.memory.tree.get(ControllerEpoch.path()).data) == elected)
        await cluster.wait_elected()
        assert cluster.active.epoch == elected
        assert (await codes(cluster.active.create_topics([creation("a", (1, 2))]))) == {"a": 0}
        assert first.epoch in {0, elected}


async def test_leader_epoch_at_its_maximum_stays_there() -> None:
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (3, 2))])
        await cluster.wait_idle()
        cluster.write(PartitionState.path("a", 0), PartitionState(3, 2**31 - 1, (3, 2), 1).encode())
        notification = b'{"version":1,"partitions":[{"topic":"a","partition":0}]}'
        cluster.tool.create("/isr_change_notification/isr_change_", notification, sequential=True)
        await cluster.wait_idle()
        await cluster.kill(3)
        await cluster.wait_idle()
        state = cluster.state("a", 0)
        assert (state.leader, state.leader_epoch) == (2, 2**31 - 1)
        for message in cluster.brokers[2].messages:
            encode(message, version=8)


@pytest.mark.parametrize("found_by", ["a watch", "a new controller"])
async def test_topic_id_survives_a_tool_that_drops_it(found_by: str) -> None:
    """Tools of releases before 2.8 rewrite the registration without the id."""
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("a", (3, 2))])
        await cluster.wait_idle()
        topic_id = cluster.registration("a").topic_id
        if found_by == "a new controller":
            await cluster.kill(1)
        cluster.write(TopicRegistration.path("a"), b'{"version":1,"partitions":{"0":[3,2],"1":[2,3]}}')
        await eventually(lambda: cluster.registration("a").topic_id is not None)
        await cluster.wait_idle()
        assert cluster.registration("a").topic_id == topic_id
        assert {message.topic_id for message in cluster.brokers[3].metadata.topics.values()} == {topic_id}
        await eventually(lambda: cluster.exists(PartitionState.path("a", 1)))
        await cluster.wait_idle()
        cluster.check_agreement()


@pytest.mark.parametrize(
    ("protocol_version", "form"),
    [("0.8.2", b'"a"'), ("0.9.0", b'"entity_name":"a"'), ("0.10.1", b'"entity_path":"topics/a"'), ("3.9", b"topics/a")],
)
async def test_form_of_notifications_follows_the_protocol_version(protocol_version: str, form: bytes) -> None:
    settings = replace(SETTINGS, protocol_version=ProtocolVersion.parse(protocol_version))
    async with cluster_of(1, settings=settings) as cluster:
        await cluster.active.create_topics([creation("a", (1,))])
        entry = ConfigEntry(config_key="retention.ms", config_value="1")
        changed = TopicAlteration(topic_name="a", added_config_entries=(entry,))
        assert await codes(cluster.active.alter_topics([changed])) == {"a": 0}
        [name] = cluster.memory.tree.get(ConfigChangeNotification.root).children
        data = cluster.memory.tree.get(f"{ConfigChangeNotification.root}/{name}").data
        assert form in data
        assert ConfigChangeNotification.decode(data).entity_path == "topics/a"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (2, 1), (1, 32_768), (-1, 1)])
async def test_registration_with_invalid_features_is_reported(
    low: int, high: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with cluster_of(1, 2) as cluster:
        features = {"group_coordinator": SupportedVersionRange(low, high)}
        registration = BrokerRegistration((RegisteredEndpoint("PLAINTEXT", "h", 1),), features=features)
        cluster.write(BrokerRegistration.path(9), registration.encode())
        await cluster.wait_idle()
        assert cluster.active.cluster is not None
        assert set(cluster.active.cluster.brokers) == {1, 2}
        [reported] = [record for record in caplog.records if getattr(record, "path", None) == "/brokers/ids/9"]
        assert f"found {low} and {high}" in reported.getMessage()


@pytest.mark.parametrize("added", [77, 3])
async def test_interrupted_deletion_goes_on_beside_a_reassignment_that_cannot_end(added: int) -> None:
    """The broker that is added never existed, or has failed before the controller was elected."""
    async with cluster_of(1, 2, 3, controllers=(1,)) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2), (2, 1))])
        await cluster.wait_idle()
        await cluster.kill(3)
        await cluster.kill(1)  # so there is no controller meanwhile
        path = TopicRegistration.path("a")
        registration = TopicRegistration.decode(cluster.memory.tree.get(path).data, path)
        moved = {**registration.partitions, 0: (1, 2, added)}
        cluster.write(path, replace(registration, partitions=moved, adding_replicas={0: (added,)}).encode())
        for partition in (0, 1):
            cluster.tool.delete(f"{path}/partitions/{partition}/state")
        cluster.write(DeletionMarker.path("a"), b"")
        await cluster.start(1)

        await eventually(lambda: not cluster.exists(path) and not cluster.exists(DeletionMarker.path("a")))


async def test_deletion_that_waits_for_a_reassignment_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with cluster_of(1, 2, 3) as cluster:
        await cluster.active.create_topics([creation("a", (1, 2))])
        moves = b'{"version":1,"partitions":[{"topic":"a","partition":0,"replicas":[1,77]}]}'
        cluster.write(ReassignPartitions.path(), moves)
        await cluster.wait_idle()
        assert await codes(cluster.active.delete_topics(["a"])) == {"a": 0}
        await cluster.wait_idle()
        assert cluster.exists(TopicRegistration.path("a"))
        assert [record.getMessage() for record in caplog.records].count(
            "deletion of topic a waits for the reassignment of partitions [0], which cannot end while brokers [77] are "
            "not alive: start them, or cancel it"
        ) == 1
