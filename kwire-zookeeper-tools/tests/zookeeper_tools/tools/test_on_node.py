"""The same tools on a node: arguments, output, permissions, files, and time limits."""

from __future__ import annotations

import asyncio
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kwire.client import Connection, Endpoint
from kwire.messages.kip4.admin import AdminRequest
from kwire_admin.operations.registry import GROUP
from kwire_cluster.config.node_settings import ACL_AUTHORIZER
from kwire_cluster.node.node import Node
from kwire_cluster.node.tools import ALTER, DESCRIBE
from kwire_cluster.zookeeper import ConsumerOffset, make_path
from kwire_zookeeper_tools.on_node import on_node
from tests.cluster.node.access_control import allow, change_acls
from tests.cluster.node.handling import node_services
from tests.cluster.node.nodes import new_root, send, session, settings
from tests.cluster.node.secured import ALICE_PASSWORD, NODE_PASSWORD, PLAIN, node_settings, plain
from tests.eventually import eventually
from tests.zookeeper_tools.tools import scripted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.messages.kip4.admin import AdminResponse
    from kwire_cluster.node.tools import ToolPlan
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper

PATH = ConsumerOffset.path("app", "orders", 0)


async def run(node: Node, tool: str, *arguments: str) -> AdminResponse:
    response = await send(node, AdminRequest(tool=tool, arguments=arguments))
    assert response.error_code == 0, response.error_description
    result: AdminResponse = response
    return result


def plan(name: str, arguments: Sequence[str]) -> ToolPlan:
    """Return the plan of a run, on a node without a session."""
    [tool] = [tool for tool in on_node()(node_services()) if tool.name == name]
    return tool.plan(arguments)


async def test_node_starts_with_a_broken_tool_of_a_package(
    server: EmbeddedZooKeeper, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = EntryPoint("broken", "no.such.module:tool", GROUP)
    monkeypatch.setattr("kwire_admin.operations.registry.package_tools", lambda: [broken])
    node = Node(settings(await new_root(server)), on_node())
    await node.start()
    try:
        assert "broken" not in (await run(node, "help")).output.decode().split()
        assert (await run(node, "status")).exit_status == 0
    finally:
        await node.stop(grace=0.5)
    [line] = [line for line in capsys.readouterr().out.splitlines() if "skipping a broken tool" in line]
    assert "no.such.module:tool" in line
    assert "No module named 'no'" in line


async def test_node_runs_tools_on_its_own_cluster(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    hosts = await new_root(server)
    async with session(hosts) as store:
        await make_path(store, PATH)
        await store.set(PATH, b"42")
    (tmp_path / "inside").mkdir()
    node = Node(settings(hosts, tools_folders=f"{tmp_path}/inside"), on_node(scripted.blocked))
    await node.start()
    try:
        exported = await run(node, "export-zk-offsets", "--group", "app")
        assert (exported.exit_status, exported.output) == (0, f"{PATH}:42\n".encode())
        written = await run(node, "export-zk-offsets", "--output-file", f"{tmp_path}/inside/offsets")
        assert written.exit_status == 0
        assert (tmp_path / "inside" / "offsets").read_text() == f"{PATH}:42\n"
        outside = await run(node, "export-zk-offsets", "--output-file", f"{tmp_path}/offsets")
        assert outside.exit_status == 1
        assert b"is outside of the folders that tools may use here: " in outside.output
        assert not (tmp_path / "offsets").exists()

        listed = (await run(node, "help")).output.decode()
        assert "export-zk-offsets\tWrite the offsets of consumers" in listed
        assert b"--output-file FILE" in (await run(node, "export-zk-offsets", "--help")).output
        wrong = await run(node, "export-zk-offsets", "--nosuch")
        assert (wrong.exit_status, wrong.output) == (2, b"export-zk-offsets: no such option: --nosuch\n")

        blocked = await run(node, "blocked")
        assert blocked.exit_status == 3
        assert blocked.output.startswith(b"the first part is done\nblocked: it did not finish within 1 s")
    finally:
        await node.stop(grace=0.5)


@pytest.mark.parametrize(
    ("name", "arguments", "permission"),
    [
        ("get-offset-shell", ["--topic", "orders"], DESCRIBE),
        ("get-offset-shell", ["--bootstrap-server", "other:9092"], ALTER),
        ("get-offset-shell", ["--nosuch"], DESCRIBE),
        ("import-zk-offsets", ["--input-file", "x"], ALTER),
        ("dump-log-segments", ["--files", "x.log"], ALTER),
        ("dump-log-segments", ["--help"], DESCRIBE),
        ("state-change-log-merger", ["--logs", "x.log"], ALTER),
        ("state-change-log-merger", ["--logs-regex", "logs/.*"], ALTER),
        ("jmx-tool", ["--jmx-url", "http://localhost:8778"], ALTER),
        ("export-zk-offsets", [], ALTER),
        ("topics", ["--list"], DESCRIBE),
    ],
)
def test_permission_depends_on_what_a_run_does(name: str, arguments: list[str], permission: object) -> None:
    assert [requirement.permission for requirement in plan(name, arguments).requirements] == [permission]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--list"] * 1_001, "topics: at most 1,000 arguments are allowed, found 1,001"),
        (["--list", "--time-limit", "nan"], "topics: --time-limit: expected 0 to 1000000, found nan"),
        (["--list", "--time-limit", "-1"], "topics: --time-limit: expected 0 to 1000000, found -1.0"),
    ],
)
def test_arguments_that_could_hold_up_the_node_are_invalid(arguments: list[str], sentence: str) -> None:
    outcome = plan("topics", arguments).outcome
    assert outcome is not None
    assert (outcome.exit_status, outcome.error) == (2, sentence)


async def test_tool_is_canceled_when_its_client_leaves(server: EmbeddedZooKeeper, tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    node = Node(settings(await new_root(server)), on_node(scripted.waiting))
    await node.start()
    try:
        words = ("--started", str(started), "--ended", str(ended))
        asking = asyncio.create_task(send(node, AdminRequest(tool="waiting", arguments=words)))
        await eventually(started.exists)
        assert not ended.exists()
        asking.cancel()
        await eventually(ended.exists)
    finally:
        await node.stop(grace=0.5)


async def test_authorizer_decides_who_runs_what(server: EmbeddedZooKeeper) -> None:
    zookeeper = await new_root(server)
    properties = PLAIN | {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:node"}
    node = Node(node_settings(zookeeper, 1, properties), on_node())
    await node.start()
    try:
        await eventually(lambda: node.metadata.controller_id == 1)
        await change_acls(node, zookeeper, "Cluster", "kafka-cluster", allow("Describe", "User:alice"))
        create = ("--create", "--topic", "orders", "--partitions", "1", "--replication-factor", "1")
        for user, password, codes, printed in (
            ("alice", ALICE_PASSWORD, (0, 31), b""),
            ("node", NODE_PASSWORD, (0, 0), b'Created topic "orders".\n'),
        ):
            async with await Connection.open(Endpoint(node.host, node.port), config=plain(user, password)) as client:
                listed = await client.send(AdminRequest(tool="topics", arguments=("--list",)))
                created = await client.send(AdminRequest(tool="topics", arguments=create))
            assert (listed.error_code, created.error_code) == codes, (listed, created)
            assert listed.exit_status == 0, listed.output
            assert created.output == printed
    finally:
        await node.stop(grace=0.5)
