"""The global configuration manager on live nodes, through Admin requests. KAFKA-1694 is quoted."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from kwire.messages.kip4.admin import AdminRequest
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper import ConfigChangeNotification, EntityConfig
from tests.cluster.node.nodes import new_root, node_tools, nodes, send, session, settings
from tests.eventually import eventually

if TYPE_CHECKING:
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


async def run(node: Node, *arguments: str) -> tuple[int, str]:
    """Run the tool, and return its exit status and output."""
    response = await send(node, AdminRequest(tool="config", arguments=arguments))
    assert response.error_code == 0
    return response.exit_status, response.output.decode()


async def result(node: Node, *arguments: str) -> Any:
    status, output = await run(node, *arguments)
    assert status == 0, output
    return json.loads(output)


async def test_setting_is_changed_on_all_nodes_through_any_node(server: EmbeddedZooKeeper) -> None:
    """'a new Admin message [...] passing the command line utility calls to the tools and global configuration manager
    on the broker (any broker)', and 'you can set a default for EVERY broker for xyz configuration and not have to
    manage it accross brokers with properties file. Centralized configuration'
    """
    async with nodes(await new_root(server), 1, 2, 3) as started:
        changed = await result(started[1], "set", "num.partitions=7")
        assert changed == {
            "entity": "brokers/<default>",
            "version": 0,
            "changes": ["num.partitions"],
            "shadowed_by": [],
        }
        await eventually(lambda: all(node.settings.num_partitions == 7 for node in started))
        [described] = await result(started[2], "describe", "num.partitions")
        assert (described["value"], described["source"], described["default"]) == ("7", "default", "1")


async def test_setting_of_one_broker_is_stronger_and_can_be_deleted(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as [first, second]:
        await result(first, "set", "max.connections=100")
        await result(first, "set", "--broker", "2", "max.connections=50")
        await eventually(lambda: (first.settings.connections, second.settings.connections) == (100, 50))
        assert second._listener.connections.limits.connections == 50
        await result(second, "delete", "--broker", "2", "max.connections")
        await eventually(lambda: second.settings.connections == 100)


async def test_answer_says_where_a_file_is_stronger(server: EmbeddedZooKeeper) -> None:
    """'brokers (through server.properties) should be able to override'"""
    async with nodes(await new_root(server), 1, 2, num_partitions=3) as [first, _]:
        changed = await result(first, "set", "num.partitions=7")
        assert changed["shadowed_by"] == [
            {"node": node_id, "name": "num.partitions", "value": "3", "source": "file"} for node_id in (1, 2)
        ]
        assert first.settings.num_partitions == 3


async def test_changed_setting_is_used_without_a_restart(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as [controller, _]:
        await result(controller, "set", "admin.batch.strict=true")
        await eventually(lambda: controller.settings.strict_batches)
        same = TopicCreation(topic_name="t", partitions=1, replication_factor=1)
        response = await send(controller, CreateTopicRequest_V2(topics=(same, same)))
        assert [topic.error_code for topic in response.topics] == [1012]


async def test_entry_of_a_map(server: EmbeddedZooKeeper) -> None:
    """'set topic_security['pci','profile','dss'] = true'"""
    async with nodes(await new_root(server), 1) as [node]:
        await result(node, "set", "topic_security['pci','profile','dss'] = true")
        await eventually(lambda: node.config.map("topic_security") == {("pci", "profile", "dss"): "true"})
        [described] = await result(node, "describe", 'topic_security["pci","profile","dss"]')
        assert (described["value"], described["source"]) == ("true", "default")


async def test_node_that_starts_later_has_the_stored_settings(server: EmbeddedZooKeeper) -> None:
    """'the "default" should come from storage (for now zookeeper)'"""
    root = await new_root(server)
    async with nodes(root, 1) as [node]:
        await result(node, "set", "num.partitions=9")
        late = Node(settings(root, 2), node_tools())
        try:
            await late.start()
            assert late.settings.num_partitions == 9
        finally:
            await late.stop(grace=0.5)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("set", "num.partitions=many"), "num.partitions=many: expected an integer from 1 to 2147483647"),
        (("set", "num.partitons=1"), "unknown setting: did you mean num.partitions?"),
        (("set", "listeners=a:1"), "read-only: set it in server.properties of each node"),
        (("set", "num.partitions"), "is not a config: write KEY=VALUE"),
        (("set", "num.partitions=1", "num.partitions=2"), "config num.partitions is given twice"),
        (("set",), "expected at least one NAME=VALUE"),
        (("delete",), "expected at least one NAME"),
        (("diff",), "expected a document"),
        (("set", "--topic", "t", "retention.ms=never"), ""),
        (("apply", "not json"), "the document is not JSON"),
        (("apply", "[" * 30_000), "the document is not JSON"),
        (("apply", '{"topics":{"../x":{}}}'), "topics/../x: is not the name of a topic"),
        (("apply", '{"topics":{"":{}}}'), "is not the name of a topic"),
        (("apply", '{"topics":{"\\ud800":{}}}'), "lone surrogate"),
        (("apply", '{"brokers":{"99999999999":{}}}'), "expected the id of a broker or <default>"),
        (("audit", "--newest", "-5"), "expected an integer of 0 or more, found -5"),
        (("set", "--broker", "-1", "num.partitions=2"), "--broker: expected an integer of 0 to 2147483647, found -1"),
        (("apply", '{"clusters":{}}'), 'expected {"brokers": {...}, "topics": {...}}'),
        (("apply", '{"brokers":{"one":{}}}'), "expected the id of a broker or <default>"),
        (("apply", '{"topics":{"t":{"retention":"1"}}}'), "unknown setting of topic t"),
        (("apply", '{"brokers":{"1":{"max.connections":5}}}'), "expected an object of settings with texts as values"),
        ((), "expected one of describe, set, delete, export, diff, apply, audit"),
    ],
)
async def test_invalid_arguments_change_nothing(
    server: EmbeddedZooKeeper, arguments: tuple[str, ...], text: str
) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        status, output = await run(node, *arguments)
        assert status in {1, 2}
        assert text in output
        assert await result(node, "audit") == []


async def test_second_writer_gets_an_error(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as [first, second]:
        version = (await result(first, "set", "num.partitions=2"))["version"]
        await result(second, "set", "num.partitions=3")
        status, output = await run(first, "set", "--if-version", str(version), "num.partitions=4")
        assert status == 4
        assert (
            output
            == "config: brokers/<default>: version 1 is not 0: nothing was written, look at it and set it again\n"
        )


async def test_audit_says_who_changed_what(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1) as [node]:
        await result(node, "set", "num.partitions=2")
        await result(node, "delete", "num.partitions")
        first, second = await result(node, "audit")
        assert first["author"].startswith("tests 127.0.0.1")
        assert (first["node"], first["entity"]) == (1, "brokers/<default>")
        assert first["changes"] == {"num.partitions": {"old": None, "new": "2"}}
        assert second["changes"] == {"num.partitions": {"old": "2", "new": None}}


async def test_whole_configuration_is_exported_compared_and_applied(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 1, 2) as [first, second]:
        topic = TopicCreation(topic_name="orders", partitions=1, replication_factor=1)
        await send(first, CreateTopicRequest_V2(topics=(topic,)))
        await result(first, "set", "--topic", "orders", "retention.ms=1000")
        await result(first, "set", "num.partitions=2")
        await result(second, "set", "--broker", "2", "max.connections=50")
        exported = await result(second, "export")
        assert exported == {
            "brokers": {"2": {"max.connections": "50"}, "<default>": {"num.partitions": "2"}},
            "topics": {"orders": {"retention.ms": "1000"}},
        }
        assert await result(first, "diff", json.dumps(exported)) == []
        wanted = json.dumps(
            {"brokers": {"<default>": {"max.connections": "70"}}, "topics": {"orders": {"retention.ms": "2000"}}}
        )
        planned = [
            {
                "entity": "brokers/<default>",
                "changes": {
                    "max.connections": {"old": None, "new": "70"},
                    "num.partitions": {"old": "2", "new": None},
                },
            },
            {"entity": "topics/orders", "changes": {"retention.ms": {"old": "1000", "new": "2000"}}},
        ]
        assert await result(first, "apply", "--dry-run", wanted) == planned
        assert await result(first, "diff", wanted[:20], wanted[20:]) == planned
        assert await result(second, "export") == exported
        assert await result(first, "apply", wanted) == planned
        assert await result(second, "export") == {
            "brokers": {"2": {"max.connections": "50"}, "<default>": {"max.connections": "70"}},
            "topics": {"orders": {"retention.ms": "2000"}},
        }


async def test_broker_that_is_not_registered_is_named(server: EmbeddedZooKeeper) -> None:
    """An empty list says that the settings are effective."""
    async with nodes(await new_root(server), 1) as [node]:
        changed = await result(node, "set", "--broker", "77", "num.partitions=2")
        error = "broker 77 is not registered: it reads the settings when it starts"
        assert changed["shadowed_by"] == [{"node": 77, "error": error}]


async def test_malformed_settings_are_listed_and_replaced(server: EmbeddedZooKeeper) -> None:
    """One malformed znode made `export` and `apply` fail, and its own settings could be neither set nor deleted."""
    root = await new_root(server)
    async with nodes(root, 1) as [node], session(root) as other:
        topic = TopicCreation(topic_name="orders", partitions=1, replication_factor=1)
        await send(node, CreateTopicRequest_V2(topics=(topic,)))
        paths = {kind: EntityConfig.path(*kind) for kind in (("brokers", "<default>"), ("topics", "orders"))}

        async def damage() -> None:
            for path in paths.values():
                if await other.exists(path) is None:
                    await other.create(path)
                await other.set(path, b'{"version":1,"config":{"retention.ms":5}}')
            await other.create(
                ConfigChangeNotification.path(), ConfigChangeNotification("topics/orders").encode(), sequential=True
            )

        await damage()
        exported = await result(node, "export")
        assert (exported["brokers"], exported["topics"]) == ({}, {})
        assert {(kind, name) for kind, named in exported["errors"].items() for name in named} == paths.keys()
        assert await result(node, "diff", json.dumps(exported)) == [], "what cannot be read is not compared"
        await result(node, "delete", "num.partitions")
        assert "brokers" not in (await result(node, "export"))["errors"]
        await damage()
        await result(node, "set", "num.partitions=5")
        await eventually(lambda: node.settings.num_partitions == 5)
        await damage()
        wanted = {"brokers": {"<default>": {"num.partitions": "6"}}, "topics": {"orders": {"retention.ms": "7"}}}
        await result(node, "apply", json.dumps(wanted))
        assert await result(node, "export") == wanted


async def test_malformed_and_invalid_stored_settings_do_not_stop_a_node(server: EmbeddedZooKeeper) -> None:
    root = await new_root(server)
    async with session(root) as store:
        for path in ("/config", "/config/brokers"):
            await store.create(path)
        await store.create(EntityConfig.path("brokers", "<default>"), b'{"version":1,"config":{"num.partitions":5}}')
        stored = EntityConfig({"max.connections": "-1", "default.replication.factor": "2"})
        await store.create(EntityConfig.path("brokers", "1"), stored.encode())
    async with nodes(root, 1) as [node]:
        assert (node.settings.num_partitions, node.settings.connections) == (1, 2048)
        assert node.settings.default_replication_factor == 2


async def test_acknowledged_changes_of_many_writers_are_effective_everywhere(server: EmbeddedZooKeeper) -> None:
    """'using RQ/RP wire protocol [...] may expose concurrency on the admin requests'"""
    async with nodes(await new_root(server), 1, 2, 3) as started:
        names = ("num.partitions", "max.connections", "queued.max.requests", "admin.request.timeout.ms")
        changes = [(node, name, str(1000 + 10 * at)) for at, node in enumerate(started) for name in names]
        answers = await asyncio.gather(*(run(node, "set", f"{name}={text}") for node, name, text in changes))
        assert {status for status, _ in answers} <= {0, 2, 4}
        stored = (await result(started[0], "export"))["brokers"]["<default>"]
        assert stored.keys() == {"num.partitions", "max.connections", "admin.request.timeout.ms"}

        def is_effective() -> bool:
            return all(node.config.explain(name).text == text for node in started for name, text in stored.items())

        await eventually(is_effective)
