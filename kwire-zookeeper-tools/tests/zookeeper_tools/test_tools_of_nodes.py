"""The tools of a node itself: output, exit status, and their independence of tools that run in processes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated

import pytest

from kwire._util.child_process import is_running
from kwire.messages.kip4.admin import AdminRequest
from kwire_admin.operations.declaration import NODE, Need, ToolFailed, operation
from kwire_admin.operations.parameters import Argument
from kwire_cluster.node.node import Node
from kwire_cluster.node.tools import MAX_PROCESSES
from kwire_zookeeper_tools.on_node import on_node
from kwire_zookeeper_tools.tool_run import NodeRun
from tests.cluster.node.handling import node_services
from tests.cluster.node.nodes import new_root, nodes, send, settings
from tests.eventually import eventually
from tests.zookeeper_tools.tools import scripted

if TYPE_CHECKING:
    from pathlib import Path

    from kwire.messages.kip4.admin import AdminResponse
    from kwire_cluster.zookeeper.embedded_server import EmbeddedZooKeeper


@operation(runs_on=NODE, needs={Need.ZOOKEEPER})
async def echo(run: NodeRun, words: Annotated[list[str], Argument("Words.", "WORD")]) -> None:
    """Print words."""
    run.print(" ".join(words))


@operation(runs_on=NODE)
async def failing(run: NodeRun) -> None:
    """Have a bug."""
    run.print("the first part is done")
    raise ZeroDivisionError("a secret word")


@operation(runs_on=NODE)
async def conflicting(run: NodeRun) -> None:
    """Fail with a status of its own."""
    del run
    raise ToolFailed("another writer was faster", 4)


@operation(runs_on=NODE, commands=(echo, failing))
async def group(run: NodeRun) -> None:
    """Have commands."""


async def test_output_and_exit_status_are_returned(server: EmbeddedZooKeeper) -> None:
    rows: list[tuple[str, tuple[str, ...], int, bytes]] = [
        ("echo", ("é", "b"), 0, "é b\n".encode()),
        ("failing", (), 1, b"the first part is done\nfailing: ZeroDivisionError: a secret word\n"),
        ("conflicting", (), 4, b"conflicting: another writer was faster\n"),
        ("conflicting", ("x",), 2, b"conflicting: got unexpected extra argument (x)\n"),
        ("group", ("echo", "--", "-c"), 0, b"-c\n"),
        ("group", (), 2, b"group: expected one of echo, failing\n"),
        ("group", ("eco",), 2, b"group: expected one of echo, failing, found 'eco'\n"),
    ]
    node = Node(settings(await new_root(server)), on_node(echo, failing, conflicting, group))
    await node.start()
    try:
        for tool, arguments, status, output in rows:
            response: AdminResponse = await send(node, AdminRequest(tool=tool, arguments=arguments))
            assert (tool, response.error_code, response.exit_status, response.output) == (tool, 0, status, output)
        usage = (await send(node, AdminRequest(tool="group", arguments=("--help",)))).output.decode()
        assert "echo WORD...: Print words." in usage
    finally:
        await node.stop(grace=0.5)


def test_tool_names_are_unique() -> None:
    with pytest.raises(ValueError, match="two tools have the name 'echo'"):
        node_services().tools.register(on_node(echo, echo)(node_services()))


async def test_waiting_tools_delay_neither_the_tools_of_the_node_nor_its_stop(
    server: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    node = Node(settings(await new_root(server)), on_node(scripted.waiting))
    await node.start()
    try:
        files = [tmp_path / str(number) for number in range(MAX_PROCESSES + 2)]
        waiting = [
            asyncio.create_task(send(node, AdminRequest(tool="waiting", arguments=("--started", str(file)))))
            for file in files
        ]
        await eventually(lambda: sum(file.exists() for file in files) == MAX_PROCESSES)
        for tool, arguments in (("status", ()), ("help", ()), ("config", ("describe",)), ("acls", ("list",))):
            response = await send(node, AdminRequest(tool=tool, arguments=arguments))
            assert (tool, response.error_code, response.exit_status) == (tool, 0, 0)
        changed = await send(node, AdminRequest(tool="config", arguments=("set", "num.partitions=3")))
        assert changed.exit_status == 0, changed.output
        unknown = await send(node, AdminRequest(tool="nosuch", arguments=()))
        assert unknown.error_code == 21
        assert str(unknown.error_description).startswith("unknown tool 'nosuch': the tools are acls, add-partitions, ")
        assert sum(file.exists() for file in files) == MAX_PROCESSES
        async with asyncio.timeout(60):  # the tools never end
            await node.stop(grace=0.2)
        for task in waiting:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await task
        ids = [int(file.read_text()) for file in files if file.exists()]
        await eventually(lambda: not any(map(is_running, ids)))
    finally:
        await node.stop(grace=0.2)


async def test_help_and_status(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 7) as [node]:
        listed = await send(node, AdminRequest(tool="help", arguments=()))
        assert "help\tList the tools that this node runs." in listed.output.decode().splitlines()
        status = json.loads((await send(node, AdminRequest(tool="status", arguments=()))).output)
        assert (status["id"], status["zookeeper"]) == (7, "connected")
        assert (await send(node, AdminRequest(tool="status", arguments=("x",)))).exit_status == 2
