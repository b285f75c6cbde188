"""The listener for other nodes: clients that exhaust the listener for clients do not separate the nodes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata import TopicMetadataRequest
from kwire_cluster.zookeeper import BrokerRegistration
from tests.cluster.node.nodes import new_root, nodes, send, session
from tests.cluster.node.test_node import creation, has_leaders
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

ANY = ("127.0.0.1", 0)


async def test_nodes_reach_each_other_while_clients_occupy_all_connections(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2, broker_listen=ANY, connections=5, auto_create_topics=True) as (first, second):
        idle = [await asyncio.open_connection(second.host, second.port) for _ in range(5)]
        await eventually(lambda: len(second._listener.connections) == 5)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):  # only administration is accepted
            await send(second, TopicMetadataRequest(topic_names=()))
        assert [one.error_code for one in (await send(first, creation("t", (1, 2)))).topics] == [0]
        await eventually(lambda: has_leaders(second, "t", 1))
        for _, writer in idle:
            writer.close()


async def test_requests_to_the_controller_use_the_listener_for_nodes(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2, broker_listen=ANY, connections=5) as (first, second), session(root) as tool:
        data = (await tool.get(BrokerRegistration.path(1))).data
        client, broker = BrokerRegistration.decode(data).endpoints
        assert (client.listener, broker.listener) == ("PLAINTEXT", "BROKER")
        assert (client.port, broker.port) == (first.port, first._broker_listener.port)
        listed = await send(second, ClusterMetadataRequest())
        assert [broker.port for broker in listed.brokers] == [first.port, second.port], "clients get the other address"
        idle = [await asyncio.open_connection(first.host, first.port) for _ in range(5)]
        await send(second, TopicMetadataRequest(topic_names=("auto",)))
        await eventually(lambda: has_leaders(second, "auto", 1))
        for _, writer in idle:
            writer.close()
