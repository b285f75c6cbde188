"""The tools of the Admin request: output, exit status, and isolation from the node."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from kwire.cluster.node.node import Node
from kwire.cluster.node.tools import MAX_OUTPUT, MAX_RUNNING, ToolContext, ToolRegistry, ToolRunner, UsageError
from kwire.messages.kip4.admin import AdminRequest
from tests.cluster.node.nodes import new_root, nodes, send, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.messages.kip4.admin import AdminResponse


class Scripted:
    """A tool that calls a function."""

    help = "call a function"

    def __init__(self, name: str, work: Callable[[Sequence[str], TextIO], Any]) -> None:
        self.name = name
        self._work = work

    def run(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        del context
        status: int = self._work(arguments, output)
        return status


async def run_tool(work: Callable[[Sequence[str], TextIO], Any], *arguments: str) -> AdminResponse:
    registry = ToolRegistry((Scripted("it", work),))
    return await ToolRunner(ToolContext(1, registry, dict)).run("it", arguments)


async def test_output_and_exit_status_are_returned() -> None:
    response = await run_tool(lambda arguments, output: output.write(" ".join(arguments)) - 2, "é", "b")
    assert (response.error_code, response.exit_status, response.output) == (0, 1, "é b".encode())


def exit_with(status: Any) -> Callable[[Sequence[str], TextIO], Any]:
    def work(_: Sequence[str], __: TextIO) -> Any:
        raise SystemExit(status)

    return work


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (3, 3), (None, 0), ("a text", 1)])
async def test_tool_may_call_exit(status: Any, expected: int) -> None:
    assert (await run_tool(exit_with(status))).exit_status == expected


async def test_exception_becomes_exit_status_1_and_a_line() -> None:
    response = await run_tool(lambda _, __: 1 // 0)
    assert (response.error_code, response.exit_status) == (0, 1)
    assert response.output == b"it: ZeroDivisionError: integer division or modulo by zero\n"


async def test_usage_error_becomes_exit_status_2() -> None:
    def work(_: Sequence[str], __: TextIO) -> int:
        raise UsageError("expected no arguments")

    response = await run_tool(work, "x")
    assert (response.exit_status, response.output) == (2, b"it: expected no arguments\n")


async def test_large_output_is_truncated() -> None:
    response = await run_tool(lambda _, output: 0 * output.write("x" * (MAX_OUTPUT + 10)))
    assert len(response.output) < MAX_OUTPUT + 100
    assert response.output.endswith(b"truncated: the output exceeds the limit\n")


def test_tool_names_are_unique() -> None:
    with pytest.raises(ValueError, match="tool 'help' is already registered"):
        ToolRegistry((Scripted("help", lambda _, __: 0),))


async def test_slow_tools_block_neither_requests_nor_stop(server: EmbeddedZooKeeper) -> None:
    """KAFKA-1694: a tool runs 'instead of on the command line [...] on a broker thread'"""
    release = threading.Event()
    started = threading.Semaphore(0)

    def wait(_: Sequence[str], __: TextIO) -> int:
        started.release()
        return int(release.wait(600))

    node = Node(settings(await new_root(server)), (Scripted("slow", wait),))
    await node.start()
    try:
        waiting = [asyncio.create_task(send(node, AdminRequest(tool="slow", arguments=()))) for _ in range(6)]
        for _ in range(MAX_RUNNING):
            assert await asyncio.to_thread(started.acquire, timeout=60)
        unknown = await send(node, AdminRequest(tool="nosuch", arguments=()))
        assert unknown.error_code == 21
        assert (
            unknown.error_description == "unknown tool 'nosuch': the tools are acls, config, help, slow, status, users"
        )
        async with asyncio.timeout(60):  # the tools run for ten times as long
            await node.stop(grace=0.2)
        for each in waiting:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await each
    finally:
        release.set()


async def test_help_and_status(server: EmbeddedZooKeeper) -> None:
    async with nodes(await new_root(server), 7) as [node]:
        listed = await send(node, AdminRequest(tool="help", arguments=()))
        assert "help\tlist the tools that this node runs" in listed.output.decode().splitlines()
        status = json.loads((await send(node, AdminRequest(tool="status", arguments=()))).output)
        assert (status["id"], status["zookeeper"]) == (7, "connected")
        assert (await send(node, AdminRequest(tool="status", arguments=("x",)))).exit_status == 2
