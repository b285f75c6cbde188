"""The tools of the generic Admin message: what they print, how they end, and that none of them harms the node."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from kwire.cluster.node.node import Node
from kwire.cluster.node.tools import LARGEST_OUTPUT, Surroundings, ToolRegistry, ToolRunner, UsageError
from kwire.messages.kip4.admin import AdminRequest
from tests.cluster.node.nodes import ask, new_root, run, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kwire.cluster.zookeeper.embedded_server import EmbeddedZooKeeper
    from kwire.messages.kip4.admin import AdminResponse


class Scripted:
    """A tool that does as it is told."""

    help = "as it is told"

    def __init__(self, name: str, work: Callable[[Sequence[str], TextIO], Any]) -> None:
        self.name = name
        self._work = work

    def run(self, arguments: Sequence[str], surroundings: Surroundings, output: TextIO) -> int:
        del surroundings
        status: int = self._work(arguments, output)
        return status


def ran(work: Callable[[Sequence[str], TextIO], Any], *arguments: str) -> AdminResponse:
    registry = ToolRegistry((Scripted("it", work),))
    return asyncio.run(ToolRunner(registry, Surroundings(1, registry, dict)).run("it", arguments))


def test_what_it_prints_and_returns_comes_back() -> None:
    answer = ran(lambda arguments, output: output.write(" ".join(arguments)) - 2, "é", "b")
    assert (answer.error_code, answer.exit_status, answer.output) == (0, 1, "é b".encode())


def exits(status: Any) -> Callable[[Sequence[str], TextIO], Any]:
    def work(_: Sequence[str], __: TextIO) -> Any:
        raise SystemExit(status)

    return work


@pytest.mark.parametrize(("status", "told"), [(0, 0), (3, 3), (None, 0), ("a text", 1)])
def test_one_that_exits_ends_itself_only(status: Any, told: int) -> None:
    assert ran(exits(status)).exit_status == told


def test_a_fault_is_a_status_and_a_line() -> None:
    answer = ran(lambda _, __: 1 // 0)
    assert (answer.error_code, answer.exit_status) == (0, 1)
    assert answer.output == b"it: ZeroDivisionError: integer division or modulo by zero\n"


def test_wrong_arguments_are_status_2() -> None:
    def work(_: Sequence[str], __: TextIO) -> int:
        raise UsageError("it takes none")

    answer = ran(work, "x")
    assert (answer.exit_status, answer.output) == (2, b"it: it takes none\n")


def test_too_much_output_is_cut_and_says_so() -> None:
    answer = ran(lambda _, output: 0 * output.write("x" * (LARGEST_OUTPUT + 10)))
    assert len(answer.output) < LARGEST_OUTPUT + 100
    assert answer.output.endswith(b"larger than may be sent\n")


def test_two_tools_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="there is a tool 'help' already"):
        ToolRegistry((Scripted("help", lambda _, __: 0),))


def test_a_slow_tool_keeps_nobody_waiting_nor_the_node_from_stopping(server: EmbeddedZooKeeper) -> None:
    let_go = threading.Event()

    async def scene() -> None:
        slow = Scripted("slow", lambda _, __: int(let_go.wait(30)))
        node = Node(settings(await new_root(server)), (slow,))
        await node.start()
        waiting = [asyncio.create_task(ask(node, AdminRequest(tool="slow", arguments=()))) for _ in range(6)]
        await asyncio.sleep(0.1)
        listed = await ask(node, AdminRequest(tool="nosuch", arguments=()))
        assert listed.error_code == 21
        assert listed.error_description.endswith("there are: help, slow, status")
        begun = time.monotonic()
        await node.stop(grace=0.2)
        assert time.monotonic() - begun < 5
        for each in waiting:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await each

    try:
        run(scene())
    finally:
        let_go.set()


def test_help_and_status(server: EmbeddedZooKeeper) -> None:
    async def scene() -> None:
        node = Node(settings(await new_root(server), 7))
        await node.start()
        try:
            listed = await ask(node, AdminRequest(tool="help", arguments=()))
            assert listed.output.decode().splitlines()[0] == "help\tlist the tools that this node runs"
            status = json.loads((await ask(node, AdminRequest(tool="status", arguments=()))).output)
            assert (status["id"], status["zookeeper"]) == (7, "connected")
            assert (await ask(node, AdminRequest(tool="status", arguments=("x",)))).exit_status == 2
        finally:
            await node.stop()

    run(scene())
