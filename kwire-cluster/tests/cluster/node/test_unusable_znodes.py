"""Nodes on znodes that another program deleted or protected: one such znode concerns only what it describes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from kwire.client.admin import AdminClient, ConfigChange, ConfigResource, ConfigResourceType
from kwire_cluster.node import znode_watcher
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper.configs import ConfigChangeNotification, EntityConfig
from tests.cluster.node.nodes import new_root, node_tools, nodes, send, settings
from tests.cluster.node.test_node import creation, has_config, has_leaders
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

OTHERS = [make_digest_acl("other", "secret", all=True)]


@contextmanager
def tool(hosts: str) -> Iterator[Any]:
    """Open a session of another program, which has the credentials of the protected znodes."""
    client = KazooClient(hosts, auth_data=[("digest", "other:secret")])
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


async def is_created(node: Node, name: str) -> bool:
    """Create a topic, wait until the node knows its leader, and return True."""
    response = await send(node, creation(name, (2, 1)), version=2)
    assert [result.error_code for result in response.topics] == [0]
    await eventually(lambda: has_leaders(node, name, 1))
    return True


@pytest.mark.parametrize("path", ["/config/changes", "/isr_change_notification", "/admin", "/config/topics", "/config"])
async def test_cluster_survives_the_deletion_of_a_parent(path: str, server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with nodes(root, 1, 2) as (first, second):
        with tool(root) as client:
            client.delete(path, recursive=True)
            await eventually(lambda: client.exists(path))
            await eventually(lambda: client.exists("/config/topics") and client.exists("/config/changes"))
            assert await is_created(first, "t")
            await first.stop()
            await eventually(lambda: second.session is not None and second.session.controller.cluster is not None)
            client.set("/config/topics/t", EntityConfig({"retention.ms": "5"}).encode())
            client.create(ConfigChangeNotification.path(), ConfigChangeNotification("topics/t").encode(), sequence=True)
            await eventually(lambda: has_config(second, "5"))


@pytest.mark.parametrize(
    "path",
    [
        "/brokers/topics/odd",
        "/brokers/topics/odd/partitions",
        "/brokers/topics/odd/partitions/0/state",
        "/config/topics/odd",
        "/config/topics",
        "/config/changes",
        "/isr_change_notification",
    ],
)
async def test_cluster_survives_a_protected_znode(
    path: str, server: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(znode_watcher, "RETRY_SECONDS", 0.1)
    root = await new_root(server)
    async with nodes(root, 1, 2) as (first, second):
        assert await is_created(first, "odd")
        assert await is_created(first, "t")
        with tool(root) as client:
            client.set_acls(path, OTHERS)
            await first.stop()
            await eventually(lambda: second.session is not None and second.session.controller.cluster is not None)
            third = Node(settings(root, 3), node_tools())
            await third.start()
            try:
                await eventually(lambda: has_leaders(third, "t", 1))
                if path != "/config/topics":
                    reply = await send(second, creation("new", (2, 3)), version=2)
                    assert [result.error_code for result in reply.topics] == [0]
                    await eventually(lambda: has_leaders(third, "new", 1))
                client.set_acls(path, OPEN_ACL_UNSAFE)
                await eventually(lambda: has_leaders(third, "odd", 1) and has_leaders(second, "odd", 1))
                client.set("/config/topics/t", EntityConfig({"retention.ms": "5"}).encode())
                client.create(
                    ConfigChangeNotification.path(), ConfigChangeNotification("topics/t").encode(), sequence=True
                )
                await eventually(lambda: has_config(second, "5") and has_config(third, "5"))
            finally:
                await third.stop(grace=0.5)


async def test_change_of_configs_that_another_program_has_written_says_why(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    changes = {ConfigResource(ConfigResourceType.TOPIC, "odd"): ConfigChange(set={"retention.ms": "5"})}
    async with nodes(root, 1, 2) as (first, _):
        assert await is_created(first, "odd")
        with tool(root) as client:
            client.set("/config/topics/odd", b"malformed")
        async with await AdminClient.open(f"127.0.0.1:{first.port}", timeout=20) as admin:
            [error] = (await admin.alter_configs(changes)).errors.values()
            assert "another program has just changed or protected the znodes of the topic: try again" in error.text
            (await admin.alter_configs(changes)).raise_first()  # the controller has read the topic again
