"""A tool in a process of its own cannot hold up the node: limits of time, memory, and output, and deaths."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kwire._util.child_process import is_running
from kwire_cluster.node import tool_process
from kwire_cluster.node.tool_process import MAX_OUTPUT, ToolOutcome, run_process
from tests.eventually import eventually
from tests.zookeeper_tools.tools import scripted

if TYPE_CHECKING:
    from pathlib import Path
    from socket import socket

    from kwire_admin.operations.declaration import Operation

FIRST_PART = b"the first part is done\n"


def refuse(host: str, port: int) -> socket:
    raise ConnectionRefusedError(f"{host}:{port} is not a broker of this cluster")


async def run(tool: Operation, *arguments: str, time_limit: float | None = 60) -> ToolOutcome:
    job: dict[str, Any] = {
        "tool": f"{tool.function.__module__}:{tool.function.__name__}",
        "arguments": arguments,
        "bootstrap": "127.0.0.1:1",
        "client_id": "tests",
        "zookeeper": None,
        "folders": [],
    }
    return await run_process(tool.name, job, refuse, time_limit)


async def test_every_end_has_a_status_and_a_sentence() -> None:
    rows = [
        (scripted.greeting, ("--name", "Ann"), ToolOutcome(0, b"hello Ann\n", None)),
        (scripted.raising, (), ToolOutcome(1, FIRST_PART, "raising: LookupError: no such thing")),
        (
            scripted.dying,
            ("--by", str(signal.SIGKILL.value)),
            ToolOutcome(1, FIRST_PART, "dying: its process ended unexpectedly (SIGKILL)"),
        ),
        (
            scripted.dying,
            ("--by", str(signal.SIGABRT.value)),
            ToolOutcome(1, FIRST_PART, "dying: its process ended unexpectedly (SIGABRT)"),
        ),
    ]
    if sys.platform == "linux":  # other systems do not limit the memory of a process
        rows.append((scripted.greedy, (), ToolOutcome(1, b"", "greedy: it needs too much memory")))
    outcomes = await asyncio.gather(*(run(tool, *arguments) for tool, arguments, _ in rows))
    assert outcomes == [expected for _, _, expected in rows]


async def test_loop_that_keeps_the_interpreter_is_killed_and_the_event_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One call of `re` with the expression of a client stopped a whole node, which ran tools in threads."""
    monkeypatch.setattr(tool_process, "GRACE_SECONDS", 0.1)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    counting = asyncio.create_task(count())
    outcome = await run(scripted.backtracking, time_limit=1.0)
    counting.cancel()
    assert outcome == ToolOutcome(3, FIRST_PART, "backtracking: it did not finish within 1 s and was ended")
    assert turns > 5  # of about 130


async def test_output_is_bounded_while_it_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_process, "MAX_OUTPUT", 1 << 20)
    outcome = await run(scripted.flooding, time_limit=None)
    assert (outcome.exit_status, outcome.error) == (1, "flooding: its output exceeds 1,048,576 bytes")
    assert len(outcome.output) == 1 << 20
    assert MAX_OUTPUT > 1 << 20


async def test_processes_that_a_tool_leaves_behind_end_with_it(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        outcome = await run(scripted.leaving, "--started", str(tmp_path / "id"), time_limit=None)
    assert outcome == ToolOutcome(0, b"done\n", None)
    left = int((tmp_path / "id").read_text())
    await eventually(lambda: not is_running(left))


async def test_canceled_tool_cleans_up_and_ends(tmp_path: Path) -> None:
    started, ended = tmp_path / "started", tmp_path / "ended"
    running = asyncio.create_task(run(scripted.waiting, "--started", str(started), "--ended", str(ended)))
    await eventually(lambda: started.exists() and started.read_text() != "")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended.exists()
    assert not is_running(int(started.read_text()))


async def test_process_that_cannot_be_started_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    outcome = await run(scripted.greeting)
    assert (outcome.exit_status, outcome.output) == (1, b"")
    assert str(outcome.error).startswith("greeting: its process cannot be started: [Errno 2]")


async def test_process_that_does_not_start_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_process, "START_SECONDS", 0.01)
    outcome = await run(scripted.greeting)
    assert outcome == ToolOutcome(3, b"", "greeting: it did not start within 0.01 s and was ended")
