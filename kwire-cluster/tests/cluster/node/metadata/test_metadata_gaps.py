"""Nodes notice lost and forged UpdateMetadata requests, and ask for everything."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kafka.update_metadata import UpdateMetadataTopicState
from kwire_cluster.controller.metadata_broadcast import GAP, UpdatePosition
from tests.cluster.node.nodes import knows_cluster, new_root, nodes, send
from tests.cluster.node.test_node import creation, ghost, has_leaders, update
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

pytestmark = pytest.mark.nightly


async def create(controller: Node, name: str) -> None:
    assert [one.error_code for one in (await send(controller, creation(name, (1, 2)))).topics] == [0]


async def test_lost_update_is_noticed_with_the_next_one(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as both:
        for node in both:
            await create(both[0], f"lost-{node.settings.id}")
            await eventually(partial(has_leaders, node, f"lost-{node.settings.id}", 1))
            node.metadata._remove_topic(f"lost-{node.settings.id}")
        await create(both[0], "next")
        for node in both:
            for name in ("lost-1", "lost-2", "next"):
                await eventually(partial(has_leaders, node, name, 1))


async def test_update_that_skips_another_one_is_rejected(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as (_, node):
        assert node.metadata.position is not None
        position = UpdatePosition(node.metadata.position + 1, node.metadata.position + 2, 1, 1)
        topic = UpdateMetadataTopicState(topic_name="ghost", partition_states=(ghost(),))
        skipping = replace(update(node, topic), unknown_tags=position.to_tags())
        assert (await send(node, skipping)).error_code == GAP
        assert "ghost" not in node.metadata.topics


@pytest.mark.parametrize("node_id", [1, 2])
async def test_forged_update_is_undone(node_id: int, server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as both:
        await create(both[0], "real")
        await eventually(lambda: all(has_leaders(node, "real", 1) for node in both))
        node = both[node_id - 1]
        topic = UpdateMetadataTopicState(topic_name="ghost", partition_states=(ghost(),))
        forged = replace(update(node, topic), live_brokers=(), type=2)
        assert (await send(node, forged)).error_code == 0
        assert set(node.metadata.topics) == {"ghost"}
        await eventually(lambda: set(node.metadata.topics) == {"real"} and knows_cluster(node, 2))
        assert node.metadata.partition_count == 1
