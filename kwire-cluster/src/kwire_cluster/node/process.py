"""The process of one node: signals, the ready file, and the end of a parent process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from kwire._util.child_process import is_running
from kwire._util.ready_file import write_atomically
from kwire_cluster.node.node import Node

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from kwire_cluster.config.node_settings import NodeSettings
    from kwire_cluster.node.requests.request_context import NodeServices
    from kwire_cluster.node.tools import NodeTool

CHECK_SECONDS = 0.5


async def run_node(
    settings: NodeSettings,
    ready_file: Path | None,
    end_with: int | None,
    tools: Callable[[NodeServices], Iterable[NodeTool]],
) -> None:
    """Run a node until SIGTERM or SIGINT. A second signal exits immediately.

    Args:
        settings: the settings of the node.
        ready_file: the file for id, host, ports, and process id as JSON once the node has the full metadata.
        end_with: the id of a process; the node stops when it ends.
        tools: tools in addition to the tools of every node.

    Raises:
        OSError: an address is in use, or the ready file cannot be written.
        KwireError: the node cannot start, or has stopped by itself.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            sys.exit("exiting without a controlled shutdown")
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    watcher = loop.create_task(_stop_with(end_with, stop)) if end_with is not None else None
    try:
        node = Node(settings, tools)
        if not await _start(node, stop):
            return
        try:
            await _first(stop.wait(), node.wait_ended(), node.wait_ready())
            if ready_file is not None and node.is_ready and not stop.is_set():
                facts = {"id": settings.id, "host": node.host, "port": node.port, "pid": os.getpid()}
                write_atomically(ready_file, facts | {"metrics_port": node.metrics_port})
            await _first(stop.wait(), node.wait_ended())
        finally:
            await node.stop()
    finally:
        if watcher is not None:
            watcher.cancel()


async def _start(node: Node, stop: asyncio.Event) -> bool:
    """Start the node, and return whether it started; if `stop` is set first, it is stopped again."""
    starting = asyncio.ensure_future(node.start())
    try:
        await _first(asyncio.shield(starting), stop.wait())
        return starting.done()
    finally:
        starting.cancel()  # no effect if it is done
        with suppress(asyncio.CancelledError):
            await starting


async def _first(*waits: Awaitable[object]) -> None:
    """Wait for the first of these to end, raise its exception if it has one, and cancel the others."""
    tasks = list(map(asyncio.ensure_future, waits))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _stop_with(pid: int, stop: asyncio.Event) -> None:
    """Set `stop` when the process has ended."""
    while is_running(pid):
        await asyncio.sleep(CHECK_SECONDS)
    stop.set()
