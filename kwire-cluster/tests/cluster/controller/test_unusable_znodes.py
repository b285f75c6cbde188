"""Tests of znodes that are missing or that the controller cannot read: the rest of the cluster continues."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kip4.alter_topic_v2 import TopicAlteration
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.controller.controller_election import TOP_LEVEL_PATHS
from kwire_cluster.zookeeper.admin_requests import IsrChangeNotification, PreferredReplicaElection, ReassignPartitions
from kwire_cluster.zookeeper.brokers import BrokerRegistration
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from kwire_cluster.zookeeper.controllers import ActiveController, ControllerEpoch
from kwire_cluster.zookeeper.topics import DeletionMarker, PartitionState, TopicRegistration
from tests.cluster.controller.clusters import Cluster, cluster_of, codes, creation, reassignment
from tests.cluster.memory_store import InjectedFault
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire_cluster.zookeeper.operations import Operation
    from tests.cluster.memory_store import MemoryStore

FOUND_BY = pytest.mark.parametrize("found_by", ["a watch", "a new controller"])


def delete_with_children(cluster: Cluster, path: str) -> None:
    """Delete a znode and everything below it, as `deleteall` of ZooKeeper's shell does."""
    below = [one for one in cluster.memory.tree.paths() if one == path or one.startswith(f"{path}/")]
    for one in reversed(below):
        cluster.tool.delete(one)


async def check_cluster_works(cluster: Cluster) -> None:
    """Create, alter, reassign, and delete a topic."""
    controller = await cluster.wait_idle()
    assert await codes(controller.create_topics([creation("new", (3, 2), retention_ms="1")])) == {"new": 0}
    alteration = TopicAlteration(
        topic_name="new", added_config_entries=(ConfigEntry(config_key="retention.ms", config_value="2"),)
    )
    assert await codes(controller.alter_topics([alteration])) == {"new": 0}
    assert await codes(controller.reassign_partitions([reassignment("new", p0=(2,))])) == {"new": 0}
    await eventually(lambda: dict(cluster.registration("new").partitions) == {0: (2,)})
    await cluster.wait_idle()
    assert await codes(controller.delete_topics(["new"])) == {"new": 0}
    await eventually(lambda: not cluster.exists(TopicRegistration.path("new")))
    await cluster.wait_idle()


@FOUND_BY
@pytest.mark.parametrize(
    "path",
    [*(path for path in TOP_LEVEL_PATHS if path not in {"/brokers/ids", "/brokers/topics"}), "/admin", "/config"],
)
async def test_deleted_parent_is_created_again(path: str, found_by: str) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("old", (3, 2))])
        await cluster.wait_idle()
        if found_by == "a new controller":
            await cluster.kill(cluster.active.broker_id)
            delete_with_children(cluster, path)
            await cluster.start(1)
        else:
            delete_with_children(cluster, path)
        await cluster.wait_idle()
        await eventually(lambda: cluster.exists(path))
        await check_cluster_works(cluster)
        assert (await cluster.active.describe_topic("old")).partitions[0].leader == 3


@FOUND_BY
async def test_deleted_parent_of_brokers_is_created_again_and_brokers_return(found_by: str) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("old", (3, 2))])
        await cluster.wait_idle()
        if found_by == "a new controller":
            await cluster.kill(cluster.active.broker_id)
        delete_with_children(cluster, "/brokers/ids")
        await eventually(lambda: cluster.exists("/brokers/ids"))
        for broker_id in cluster.brokers:
            await cluster.register(broker_id)
        await eventually(lambda: (state := cluster.state("old", 0)).leader in {2, 3} and set(state.isr) == {2, 3})
        await check_cluster_works(cluster)


FORBIDDEN = [
    TopicRegistration.path("odd"),
    PartitionState.path("odd", 0),
    EntityConfig.path("topics", "odd"),
    DeletionMarker.root,
    ConfigChangeNotification.root,
    f"{ConfigChangeNotification.root}/config_change_0000000000",
    IsrChangeNotification.root,
    f"{IsrChangeNotification.root}/isr_change_0000000000",
    PreferredReplicaElection.path(),
    ReassignPartitions.path(),
    "/brokers/ids/77",
    "/consumers",
]


@pytest.mark.parametrize("path", FORBIDDEN)
async def test_forbidden_znode_does_not_stop_a_new_controller(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("odd", (3, 2)), creation("old", (3, 2))])
        await cluster.wait_idle()
        if not cluster.exists(path):
            cluster.write(path, b"{}")
        cluster.memory.forbidden.add(path)
        await cluster.kill(cluster.active.broker_id)
        await cluster.wait_elected()
        controller = cluster.active
        assert (await controller.describe_topic("old")).partitions[0].leader == 3
        assert await codes(controller.create_topics([creation("new", (3, 2))])) == {"new": 0}
        if path != DeletionMarker.root:
            assert await codes(controller.delete_topics(["new"])) == {"new": 0}
            await eventually(lambda: not cluster.exists(TopicRegistration.path("new")))
        reported = [record for record in caplog.records if getattr(record, "path", None) == path]
        assert len(reported) == (0 if path == "/consumers" else 1)  # the controller does not read it


async def test_forbidden_topic_returns_once_it_may_be_read() -> None:
    paths = {TopicRegistration.path("a"), PartitionState.path("b", 0), EntityConfig.path("topics", "c")}
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation(name, (3, 2), retention_ms="7") for name in "abc"])
        await cluster.wait_idle()
        await cluster.kill(cluster.active.broker_id)
        cluster.memory.forbidden |= paths
        controller = await cluster.wait_elected()
        assert (await controller.list_topics()).alive == ["a", "b", "c"]
        assert (await controller.describe_topic("b")).partitions[0].leader == -1
        change = (ConfigEntry(config_key="retention.ms", config_value="8"),)
        outcome = await codes(controller.alter_topics([TopicAlteration(topic_name="c", added_config_entries=change)]))
        assert outcome == {"c": 21}
        cluster.memory.forbidden -= paths
        await eventually(lambda: {known_leader(cluster, name) for name in "abc"} == {3})
        await eventually(lambda: known_config(cluster, "c") == {"retention.ms": "7"})
        await cluster.wait_idle()
        cluster.check_agreement()


def known_leader(cluster: Cluster, name: str) -> int | None:
    state = cluster.active.cluster
    topic = state.topics.get(name) if state is not None else None
    return None if topic is None else topic.partitions[0].leader


def known_config(cluster: Cluster, name: str) -> dict[str, str]:
    state = cluster.active.cluster
    topic = state.topics.get(name) if state is not None else None
    return {} if topic is None else dict(topic.config)


@pytest.mark.parametrize("data", [b"", b"x", b"1.5", b"0xff", b"9" * 20])
async def test_malformed_controller_epoch_is_replaced(data: bytes) -> None:
    """The epoch continues after the epoch that the last controller wrote into the states of partitions."""
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        cluster.write(ControllerEpoch.path(), b"41")
        cluster.tool.delete(ActiveController.path())
        await eventually(lambda: cluster.memory.tree.get(ControllerEpoch.path()).data == b"42")
        controller = await cluster.wait_idle()
        await controller.create_topics([creation("old", (3, 2))])
        cluster.write(ControllerEpoch.path(), data)
        cluster.tool.delete(ActiveController.path())
        await eventually(lambda: cluster.memory.tree.get(ControllerEpoch.path()).data == b"43")
        await check_cluster_works(cluster)


async def test_new_controller_survives_forbidden_list_of_brokers() -> None:
    async with cluster_of(1, 2, 3, 4, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("old", (3, 2))])
        await cluster.wait_idle()
        cluster.memory.forbidden.add(BrokerRegistration.root)
        await cluster.kill(cluster.active.broker_id)
        controller = await cluster.wait_elected()
        state = cluster.active.cluster
        assert state is not None
        assert set(state.brokers) == {2, 3}, "broker 4 has no replica, and is unknown to the new controller"
        assert (await controller.describe_topic("old")).partitions[0].leader == 3
        assert await codes(controller.create_topics([creation("new", (2, 3))])) == {"new": 0}
        await cluster.kill(3)
        await eventually(lambda: known_leader(cluster, "old") == 2)
        cluster.memory.forbidden.clear()
        await eventually(lambda: set((cluster.active.cluster or state).brokers) == {2, 4})
        await cluster.wait_idle()
        cluster.check_agreement()


@pytest.mark.parametrize("path", ["/brokers/topics", "/controller_epoch"])
async def test_without_essential_znodes_a_controller_waits_and_says_why(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """An empty cluster state instead would remove every topic from the metadata of every broker."""
    caplog.set_level(logging.ERROR)
    async with cluster_of(1, 2, 3, controllers=(1, 2)) as cluster:
        await cluster.active.create_topics([creation("old", (3, 2))])
        await cluster.wait_idle()
        cluster.memory.forbidden.add(path)
        await cluster.kill(cluster.active.broker_id)
        await eventually(lambda: any(f"{path}: not authorized" in record.message for record in caplog.records))
        assert "old" in cluster.brokers[3].metadata.topics
        cluster.memory.forbidden.clear()
        await cluster.wait_idle()
        await check_cluster_works(cluster)
    assert not [record for record in caplog.records if record.exc_info]


async def test_topic_that_cannot_be_written_does_not_keep_the_controller_busy() -> None:
    async with cluster_of(1, 2, 3, controllers=(1,)) as cluster:
        await cluster.active.create_topics([creation("odd", (3, 2)), creation("old", (3, 2))])
        await cluster.wait_idle()
        cluster.memory.forbidden.add(PartitionState.path("odd", 0))
        attempts = 0

        def count(store: MemoryStore, operations: Sequence[Operation]) -> InjectedFault:
            nonlocal attempts
            del store
            attempts += any(operation.path == PartitionState.path("odd", 0) for operation in operations)
            return InjectedFault.NONE

        cluster.memory.inject_fault = count
        await cluster.kill(3)
        for _ in range(100):  # each is one pass through the queue
            await cluster.active.describe_topic("old")
        assert cluster.state("old", 0).leader == 2
        assert 1 <= attempts <= 3
        cluster.memory.forbidden.clear()
        await eventually(lambda: cluster.state("odd", 0).leader == 2)
        await cluster.wait_idle()
        cluster.check_agreement()
