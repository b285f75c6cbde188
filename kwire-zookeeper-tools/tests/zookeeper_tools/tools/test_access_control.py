"""No tool on a node shows or changes a topic that its user is denied, or reveals whether such a topic exists."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from kwire.authorization.acl_entries import AclEntry
from kwire.messages.kip4.admin import AdminRequest, AdminResponse
from kwire.messages.kip4.create_topic_v2 import CreateTopicRequest_V2, TopicCreation
from kwire.messages.kip4.structures import ConfigEntry
from kwire_cluster.node.node import Node
from kwire_cluster.zookeeper import ConsumerOffset, make_path
from kwire_zookeeper_tools.on_node import on_node
from tests.cluster.node.access_control import ACL_AUTHORIZER, LOCAL, allow, make_acls, write_acls
from tests.cluster.node.handling import node_services
from tests.cluster.node.nodes import knows_cluster, new_root, send, session, settings
from tests.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

READER, OPERATOR = "127.0.0.2", "127.0.0.3"
"""The hosts of two users: one may describe and configure the cluster, the other one may also alter it."""
READS = ("Describe", "DescribeConfigs", "AlterConfigs")
EXISTING, MISSING = "veiled", "absent"
"""Two topics that both users are denied. They have names of equal length, so that equal outputs have equal columns."""

NAMED: dict[str, list[list[str]]] = {
    "add-partitions": [["--topic", "NAME", "--partition", "1"]],
    "config": [
        ["set", "--topic", "NAME", "retention.ms=5"],
        ["delete", "--topic", "NAME", "retention.ms"],
        ["diff", '{"topics": {"NAME": {"retention.ms": "5"}}}'],
        ["apply", '{"topics": {"NAME": {"retention.ms": "5"}}}'],
        ["apply", "--dry-run", '{"topics": {"NAME": {}, "public": {}}}'],
        ["apply", '{"brokers": {}, "topics": {"NAME": {}}}'],
    ],
    "configs": [
        ["--describe", "--entity-type", "topics", "--entity-name", "NAME"],
        ["--describe", "--entity-type", "topics", "--entity-name", "NAME", "--all"],
        ["--alter", "--entity-type", "topics", "--entity-name", "NAME", "--add-config", "retention.ms=5"],
    ],
    "create-topic": [["--topic", "NAME"]],
    "delete-topic": [["--topic", "NAME"]],
    "list-topic": [["--topic", "NAME"]],
    "topics": [
        ["--list", "--topic", "NAME"],
        ["--describe", "--topic", "NAME"],
        ["--create", "--topic", "NAME", "--partitions", "1", "--replication-factor", "1"],
        ["--alter", "--topic", "NAME", "--config", "retention.ms=5"],
        ["--delete", "--topic", "NAME"],
    ],
    "get-offset-shell": [["--topic", "NAME"]],
    "simple-consumer-shell": [["--topic", "NAME"]],
    "replay-log-producer": [["--inputtopic", "NAME", "--outputtopic", "public"]],
    "replica-verification-tool": [["--topic-white-list", "NAME"]],
    "reassign-partitions": [["--generate", "--topics-to-move-json-file", "FOLDER/NAME.json", "--broker-list", "1,2"]],
}
"""Runs that name a topic. Their outcomes must not depend on whether it exists."""
UNNAMED: dict[str, list[list[str]]] = {
    "config": [["export"], ["audit"], ["describe", "num.partitions"]],
    "configs": [["--describe", "--entity-type", "brokers", "--entity-name", "2", "--all"]],
    "consumer-groups": [["--list"]],
    "features": [["describe"]],
    "get-offset-shell": [[]],
    "help": [[]],
    "list-topic": [[], ["--under-replicated-partitions"]],
    "replica-verification-tool": [[]],
    "status": [[]],
    "topics": [["--list"], ["--describe"], ["--list", "--topic", "v.*d"], ["--describe", "--topics-with-overrides"]],
    "users": [["list"]],
}
"""Runs that list topics, or could."""
OUTSIDE: dict[str, list[list[str]]] = {
    "consumer-offset-checker": [["--group", "app"]],
    "dump-log-segments": [["--files", "FOLDER/00000000000000000000.log"]],
    "export-zk-offsets": [["--group", "app"]],
    "import-zk-offsets": [["--input-file", "FOLDER/offsets"]],
    "jmx-tool": [["--jmx-url", "http://127.0.0.1:1/", "--object-name", "veiled:*", "--one-time"]],
    "mirror-maker": [["--source", "127.0.0.1:1", "--target", "127.0.0.1:1", "--whitelist", "veiled"]],
    "state-change-log-merger": [["--logs", "FOLDER/state.log"], ["--logs-regex", "FOLDER/.*log"]],
    "topics": [["--list", "--zookeeper", "127.0.0.1:1"], ["--list", "--bootstrap-server", "127.0.0.1:1"]],
    "update-offsets-in-zk": [["latest", "FOLDER/properties", "veiled"]],
    "verify-consumer-rebalance": [["--group", "app"]],
}
"""Runs that leave the cluster: they use ZooKeeper, files, or addresses, for which ACLs of topics mean nothing."""
BY_CLUSTER = {
    "acls": "DescribeAcls lists the names of resources",
    "preferred-replica-leader-election": "ElectLeaders elects and lists all partitions",
    "shutdown-broker": "ControlledShutdown moves all leaders",
}
"""Tools that work on all topics, because the requests of Kafka that they stand for require the cluster only."""


class Guarded(NamedTuple):
    """A cluster that denies its users some topics."""

    controller: Node
    other: Node
    folder: Path


async def run(node: Node, host: str, tool: str, *arguments: str) -> AdminResponse:
    response: AdminResponse = await send(node, AdminRequest(tool=tool, arguments=arguments), from_host=host)
    return response


@asynccontextmanager
async def guarded(server: EmbeddedZooKeeper, folder: Path) -> AsyncIterator[Guarded]:
    """Start two nodes, and create the topics `public` and `veiled`."""
    (folder / "state.log").write_text("[2026-11-22 08:00:00,000] TRACE partition veiled-0\n")
    for name in (EXISTING, MISSING):
        (folder / f"{name}.json").write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    zookeeper = await new_root(server)
    await make_acls(zookeeper)
    denied = [AclEntry("User:ANONYMOUS", "Deny", "All", host) for host in (READER, OPERATOR)]
    rights = [
        allow(name, host=host)
        for host, names in ((READER, READS), (OPERATOR, (*READS, "Alter", "ClusterAction")))
        for name in names
    ]
    await write_acls(zookeeper, "Cluster", "kafka-cluster", LOCAL, *rights)
    await write_acls(zookeeper, "Topic", "*", LOCAL, *(allow("All", host=host) for host in (READER, OPERATOR)))
    for name in (EXISTING, MISSING):
        await write_acls(zookeeper, "Topic", name, *denied)
    async with session(zookeeper) as store:
        await make_path(store, ConsumerOffset.path("app", EXISTING, 0))
        await store.set(ConsumerOffset.path("app", EXISTING, 0), b"7")
    controller, other = (
        Node(settings(zookeeper, number, authorizer=ACL_AUTHORIZER, tools_folders=str(folder)), on_node())
        for number in (1, 2)
    )
    try:
        await controller.start()
        await eventually(lambda: knows_cluster(controller, 1))
        await other.start()
        await eventually(lambda: knows_cluster(controller, 2) and knows_cluster(other, 2))
        topics = tuple(
            TopicCreation(
                topic_name=name,
                partitions=1,
                replication_factor=1,
                replica_assignment=(),
                config_entries=(ConfigEntry(config_key="retention.ms", config_value="777777"),),
            )
            for name in ("public", EXISTING)
        )
        await send(controller, CreateTopicRequest_V2(topics=topics))
        await eventually(
            lambda: all({"public", EXISTING} <= set(node.metadata.configs) for node in (controller, other))
        )
        yield Guarded(controller, other, folder)
    finally:
        for node in (controller, other):
            await node.stop(grace=0.5)


def outcome(response: AdminResponse, topic: str) -> tuple[object, ...]:
    """Return what a client sees, without the name of a topic."""
    description = str(response.error_description).replace(topic, "NAME")
    return response.error_code, description, response.exit_status, response.output.decode().replace(topic, "NAME")


def test_every_tool_of_a_node_has_a_run() -> None:
    names = {tool.name for tool in on_node()(node_services())}
    assert NAMED.keys() | UNNAMED.keys() | OUTSIDE.keys() | BY_CLUSTER.keys() == names


async def test_tools_act_as_their_user(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    async with guarded(server, tmp_path) as cluster:

        async def check_named(host: str, tool: str, words: list[str]) -> None:
            seen = []
            for topic in (EXISTING, MISSING):
                arguments = [word.replace("NAME", topic).replace("FOLDER", str(cluster.folder)) for word in words]
                seen.append(outcome(await run(cluster.controller, host, tool, *arguments), topic))
            assert seen[0] == seen[1], (host, tool, words)
            assert "777777" not in str(seen), (host, tool, words)

        async def check_unnamed(node: Node, host: str, tool: str, words: list[str]) -> None:
            response = await run(node, host, tool, *words)
            assert EXISTING not in response.output.decode(), (host, tool, words)
            assert EXISTING not in str(response.error_description), (host, tool, words)

        checks = [
            check_named(host, tool, words)
            for host in (READER, OPERATOR)
            for tool, runs in NAMED.items()
            for words in runs
            if host == OPERATOR or tool in {"config", "configs", "create-topic", "delete-topic", "topics"}
        ]
        checks += [
            check_unnamed(node, host, tool, words)
            for host, node in ((READER, cluster.controller), (OPERATOR, cluster.other))
            for tool, runs in UNNAMED.items()
            for words in runs
        ]
        await asyncio.gather(*checks)
        for tool, runs in OUTSIDE.items():
            for words in runs:
                arguments = [word.replace("FOLDER", str(cluster.folder)) for word in words]
                response = await run(cluster.controller, READER, tool, *arguments)
                assert "veiled-0" not in response.output.decode()
                assert response.error_code == 31 or b"needs the permission Alter" in response.output, (tool, words)
        for tool in ("preferred-replica-leader-election", "shutdown-broker"):
            words = ["--broker", "2"] if tool == "shutdown-broker" else []
            assert (await run(cluster.controller, READER, tool, *words)).error_code == 31
        for node in (cluster.controller, cluster.other):
            assert {topic: len(cached.partitions) for topic, cached in node.metadata.topics.items()} == {
                "public": 1,
                EXISTING: 1,
            }
            assert [entry.config_value for entry in node.metadata.configs[EXISTING]] == ["777777"]


async def test_tools_do_what_their_user_may(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    """On the controller and on another node, which forwards requests to it."""
    async with guarded(server, tmp_path) as cluster:
        for node in (cluster.controller, cluster.other):
            listed = await run(node, READER, "topics", "--list")
            assert (listed.exit_status, listed.output) == (0, b"public\n")
            name = f"made-by-{node.settings.id}"
            created = await run(node, OPERATOR, "create-topic", "--topic", name)
            assert (created.exit_status, created.output.decode()) == (0, f'Created topic "{name}".\n')
            deleted = await run(node, OPERATOR, "delete-topic", "--topic", name)
            assert deleted.exit_status == 0, deleted.output
            settings_of_other = ("--describe", "--entity-type", "brokers", "--entity-name", "2", "--all")
            described = await run(node, READER, "configs", *settings_of_other)
            assert b"num.partitions=" in described.output
            merged = await run(node, OPERATOR, "state-change-log-merger", "--logs", f"{cluster.folder}/state.log")
            assert b"veiled-0" in merged.output
            exported = await run(node, OPERATOR, "export-zk-offsets", "--group", "app")
            assert exported.output == b"/consumers/app/offsets/veiled/0:7\n"
