"""Nodes with unusual content in ZooKeeper: a deleted registration, a lowered controller epoch, and long texts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire.capture import Capture, replay
from kwire.client import Poller
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.create_topic import CreateTopicRequest
from kwire.messages.kip4.list_topics import ListTopicsRequest
from kwire_cluster.zookeeper import BrokerRegistration, ClusterId, ControllerEpoch, Delete
from kwire_cluster.zookeeper.controllers import ActiveController
from tests.client.polling import succeeded, until_all
from tests.cluster.node.nodes import knows_cluster, new_root, nodes, send, session
from tests.cluster.node.test_node import creation, has_leaders
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("deleted", ["registrations", "parent"])
async def test_deleted_registration_is_created_again(deleted: str, server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2) as both, session(root) as tool:
        before = [node.session.broker_epoch for node in both if node.session is not None]
        removed = [Delete(BrokerRegistration.path(node.settings.id)) for node in both]
        await tool.multi([*removed, Delete(BrokerRegistration.root)] if deleted == "parent" else removed)
        await eventually(
            lambda: all(
                node.session is not None and node.session.broker_epoch > epoch
                for node, epoch in zip(both, before, strict=True)
            )
        )
        for node in both:
            stat = await tool.exists(BrokerRegistration.path(node.settings.id))
            assert stat is not None
            assert node.session is not None
            assert stat.czxid == node.session.broker_epoch
        await eventually(lambda: all(knows_cluster(node, 2) for node in both))
        assert [result.error_code for result in (await send(both[0], creation("t", (1, 2)))).topics] == [0]
        await eventually(lambda: all(has_leaders(node, "t", 1) for node in both))


def have_later_epoch(nodes: Sequence[Node], epoch: int) -> bool:
    """Return whether all nodes follow a controller after the one of `epoch`."""
    return all(node.metadata.controller_epoch > epoch for node in nodes)


@pytest.mark.parametrize("stored", [b"0", b"-7", b"2147483647", None])
async def test_nodes_follow_the_controller_of_a_lowered_epoch(stored: bytes | None, server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2) as both, session(root) as tool:
        for _ in range(3):  # raise the epoch first
            epoch = both[0].metadata.controller_epoch
            await tool.delete(ActiveController.path())
            await eventually(partial(have_later_epoch, both, epoch))
        if stored is None:
            await tool.delete(ControllerEpoch.path())
        else:
            await tool.set(ControllerEpoch.path(), stored)
        await tool.delete(ActiveController.path())
        await eventually(lambda: all(node.metadata.controller_epoch == 1 for node in both))
        controller = next(node for node in both if node.settings.id == both[0].metadata.controller_id)
        assert [result.error_code for result in (await send(controller, creation("t", (1, 2)))).topics] == [0]
        await eventually(lambda: all(has_leaders(node, "t", 1) for node in both))


async def test_long_texts_do_not_prevent_a_response(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1) as [node], session(root) as tool:
        await tool.create(f"/brokers/topics/{'x' * 40_000}", b'{"version":1,"partitions":{"0":[1]}}')
        assert [result.error_code for result in (await send(node, creation("t", (1,)))).topics] == [0]
        listed = await send(node, ListTopicsRequest(), version=0)
        assert listed.topics_list is not None
        assert listed.topics_list.alive_topics == ("t",)
        brokers = ":".join(map(str, range(10_000, 15_000)))
        for request in (
            CreateTopicRequest(topic_name="u" * 32_767, partitions=1, replicas=1),
            CreateTopicRequest(topic_name="u", replica_assignment=f"{brokers}:10000"),
        ):
            response = await send(node, request, version=0)
            assert response.error_code == 21
            assert 0 < len(response.error_description) <= 2_000
        run = await send(node, AdminRequest(tool="x" * 32_767, arguments=()))
        assert run.error_code == 21
        assert 0 < len(run.error_description) <= 2_000


async def test_nodes_agree_on_the_id_of_their_cluster(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2) as both, session(root) as tool:
        stored = ClusterId.decode((await tool.get(ClusterId.path())).data)
        assert len(stored.id) == 22
        assert {node.status()["cluster_id"] for node in both} == {stored.id}
        bootstrap = f"{both[0].host}:{both[0].port}"
        with Capture(tmp_path) as capture:
            async with Poller(bootstrap, interval=0.05, capture=capture) as polling:
                await until_all(polling, {1, 2}, succeeded)
        assert {row.cluster_id for row in replay(tmp_path) if row.error is None} == {stored.id}
    async with nodes(root, 3) as [later]:
        assert later.status()["cluster_id"] == stored.id
