"""No legal value of a setting that running nodes follow ends their administration."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from kwire.client.admin import AdminClient
from kwire.client.admin.config_values import ConfigChange, ConfigResource, ConfigResourceType
from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.cluster_metadata import ClusterMetadataRequest
from kwire.messages.kip4.topic_metadata_v1 import TopicMetadataRequest_V1
from kwire_cluster.config.live_config import MAP_SETTINGS
from kwire_cluster.config.node_settings import node_settings
from kwire_cluster.config.setting import SettingError
from tests.cluster.node.nodes import new_root, nodes, send
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.node.node import Node
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

pytestmark = pytest.mark.nightly

EVERY_BROKER = ConfigResource(ConfigResourceType.BROKER, "")
HIGHEST = 2**31 - 1

NUMBERS: dict[str, tuple[int, int]] = {
    "admin.cluster.max.partitions": (1, HIGHEST),
    "admin.request.max.items": (100, HIGHEST),
    "admin.request.max.partitions": (1, HIGHEST),
    "admin.request.timeout.ms": (1, HIGHEST),
    "config.change.retention.ms": (60_000, HIGHEST),
    "connection.failed.authentication.delay.ms": (0, 10_000),
    "connections.max.idle.ms": (10_000, HIGHEST),
    "connections.max.reauth.ms": (1_000, HIGHEST),
    "controller.retry.backoff.max.ms": (1, HIGHEST),
    "controller.retry.backoff.ms": (1, HIGHEST),
    "controller.send.timeout.ms": (1_000, HIGHEST),
    "controller.socket.timeout.ms": (1, HIGHEST),
    "default.replication.factor": (1, 32767),
    "inter.broker.request.max.bytes": (2**20, HIGHEST),
    "max.connections": (1, HIGHEST),
    "max.connections.per.ip": (1, HIGHEST),
    "max.in.flight.requests.per.connection": (1, 100_000),
    "num.partitions": (1, HIGHEST),
    "queued.max.request.bytes": (2**20, 2**63 - 1),
    "socket.request.max.bytes": (2**16, HIGHEST),
    "socket.slow.peer.timeout.ms": (10_000, HIGHEST),
}
"""The smallest and the largest value of each setting."""
BOOLEANS = (
    "admin.batch.strict",
    "auto.create.topics.enable",
    "controlled.shutdown.enable",
    "unclean.leader.election.enable",
)


def test_table_has_all_live_settings_with_their_bounds() -> None:
    declared = node_settings()
    live = {name for name, setting in declared.items() if setting.is_live}
    assert live == NUMBERS.keys() | set(BOOLEANS)
    for name, (lowest, highest) in NUMBERS.items():
        assert [declared[name].parse(str(value)) for value in (lowest, highest)] == [lowest, highest]
        for value in (lowest - 1, highest + 1):
            if (name, value) != ("connections.max.reauth.ms", 0):
                with pytest.raises(SettingError):
                    declared[name].parse(str(value))


async def change(running: list[Node], name: str, value: str | None) -> None:
    """Change a setting of every broker over new connections, and wait until it applies to all nodes."""
    bootstrap = ",".join(f"{node.host}:{node.port}" for node in running)
    async with await AdminClient.open(bootstrap, timeout=60) as admin:
        wanted = ConfigChange(delete=[name]) if value is None else ConfigChange(set={name: value})
        outcomes = await admin.alter_configs({EVERY_BROKER: wanted})
        assert set(outcomes.values()) == {None}, (name, value)
    layer = "code" if value is None else "default"
    await eventually(lambda: all(node.config.explain(name).layer == layer for node in running), f"{name}={value}")


async def test_every_legal_value_can_be_set_and_taken_back(server: EmbeddedZooKeeper) -> None:
    values = [(name, str(value)) for name, bounds in NUMBERS.items() for value in bounds]
    values += [(name, value) for name in BOOLEANS for value in ("true", "false")]
    values += [("connections.max.reauth.ms", "0"), *((f"{name}['a','b']", "true") for name in MAP_SETTINGS)]
    async with nodes(await new_root(server), 1, 2) as running:
        for name, value in values:
            await change(running, name, value)
            await change(running, name, None)


@pytest.mark.parametrize("name", ["max.connections", "max.connections.per.ip"])
async def test_limits_of_connections_leave_room_for_administration(name: str, server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node], AsyncExitStack() as stack:
        await change([node], name, "1")
        for _ in range(2):
            _, writer = await asyncio.open_connection(node.host, node.port)
            stack.callback(writer.close)
        await eventually(lambda: len(node._listener.connections) == 2)
        assert (await send(node, ClusterMetadataRequest())).error_code == 0
        assert (await send(node, AdminRequest(tool="help", arguments=()))).exit_status == 0
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await send(node, TopicMetadataRequest_V1(topic_names=()))
        await change([node], name, None)
        await send(node, TopicMetadataRequest_V1(topic_names=()))


async def test_room_for_administration_is_limited(server: EmbeddedZooKeeper) -> None:
    """One address cannot take the room of all others."""
    async with nodes(await new_root(server), 1, connections=1) as [node], AsyncExitStack() as stack:
        await eventually(lambda: not node._listener.connections)
        reserved = node._listener.connections.limits.reserved_per_address
        for _ in range(1 + reserved):
            _, writer = await asyncio.open_connection(node.host, node.port)
            stack.callback(writer.close)
        await eventually(lambda: len(node._listener.connections) == 1 + reserved)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
            await send(node, AdminRequest(tool="help", arguments=()))
        help_elsewhere = await send(node, AdminRequest(tool="help", arguments=()), from_host="127.0.0.2")
        assert help_elsewhere.exit_status == 0
