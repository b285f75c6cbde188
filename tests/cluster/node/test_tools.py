"""The tools of a node itself: output, exit status, and their independence of tools that run in processes."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from kwire.child_process import is_running
from kwire.cluster.node.node import Node
from kwire.cluster.node.tools import DESCRIBE, MAX_PROCESSES, Requirement, ToolContext, ToolRegistry, UsageError
from kwire.messages.kip4.admin import AdminRequest
from kwire.tools.on_node import ToolOnNode
from tests.cluster.node.nodes import new_root, nodes, send, settings
from tests.eventually import eventually
from tests.tools import scripted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.messages.kip4.admin import AdminResponse


class Scripted:
    """A tool of the node that calls a function."""

    help = "call a function"

    def __init__(self, name: str, work: Callable[[Sequence[str], TextIO], Any]) -> None:
        self.name = name
        self._work = work

    def requirements(self, arguments: Sequence[str]) -> Sequence[Requirement]:
        del arguments
        return (Requirement(DESCRIBE),)

    async def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        del context
        status: int = self._work(arguments, output)
        return status


def fail(*_: object) -> int:
    return 1 // 0


def misuse(*_: object) -> int:
    raise UsageError("expected no arguments")


async def test_output_and_exit_status_are_returned(server: EmbeddedZooKeeper) -> None:
    rows: list[tuple[Callable[[Sequence[str], TextIO], Any], tuple[int, bytes]]] = [
        (lambda arguments, output: output.write(" ".join(arguments)) - 2, (1, "é b".encode())),
        (fail, (1, b"failing: ZeroDivisionError: integer division or modulo by zero\n")),
        (misuse, (2, b"misused: expected no arguments\n")),
    ]
    names = ("echo", "failing", "misused")
    tools = [Scripted(name, work) for name, (work, _) in zip(names, rows, strict=True)]
    node = Node(settings(await new_root(server)), tools)
    await node.start()
    try:
        for name, (_, expected) in zip(names, rows, strict=True):
            response: AdminResponse = await send(node, AdminRequest(tool=name, arguments=("é", "b")))
            assert (response.error_code, (response.exit_status, response.output)) == (0, expected)
    finally:
        await node.stop(grace=0.5)


def test_tool_names_are_unique() -> None:
    with pytest.raises(ValueError, match="tool 'help' is already registered"):
        ToolRegistry((Scripted("help", fail),))


async def test_waiting_tools_delay_neither_the_tools_of_the_node_nor_its_stop(
    server: EmbeddedZooKeeper, tmp_path: Path
) -> None:
    waiting_tool = ToolOnNode(scripted.waiting)
    node = Node(settings(await new_root(server)), [waiting_tool])
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
        known = "acls, config, help, status, users, waiting"
        assert unknown.error_description == f"unknown tool 'nosuch': the tools are {known}"
        assert sum(file.exists() for file in files) == MAX_PROCESSES
        async with asyncio.timeout(60):  # the tools never end
            await node.stop(grace=0.2)
        for each in waiting:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await each
        ids = [int(file.read_text()) for file in files if file.exists()]
        await eventually(lambda: not any(map(is_running, ids)))
    finally:
        await node.stop(grace=0.2)


async def test_help_and_status(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 7) as [node]:
        listed = await send(node, AdminRequest(tool="help", arguments=()))
        assert "help\tlist the tools that this node runs" in listed.output.decode().splitlines()
        status = json.loads((await send(node, AdminRequest(tool="status", arguments=()))).output)
        assert (status["id"], status["zookeeper"]) == (7, "connected")
        assert (await send(node, AdminRequest(tool="status", arguments=("x",)))).exit_status == 2
