"""Tools on the nodes of a cluster, where Admin requests run them with the same arguments and output as the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.node.tools import ALTER, DESCRIBE, Requirement, ToolContext, UsageError
from kwire.parameters import Danger, InvalidArgument
from kwire.tools.command_line import HelpRequested, parse_words
from kwire.tools.environment import Environment
from kwire.tools.registry import find_tools
from kwire.tools.runner import run_tool_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from kwire.tools.tool import Tool

__all__ = ["ToolOnNode", "node_tools"]

ADDRESSES = ("zookeeper", "bootstrap_server", "command_config", "jmx_url")
"""Options that name something outside of the cluster of the node."""

log = logger(__name__)


class ToolOnNode:
    """A tool that a node runs.

    A run requires permission to alter the cluster if it changes something, or uses files or another cluster, which the
    node can reach and the client possibly cannot. Otherwise, it requires permission to describe the cluster.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._running = 0
        self._has_abandoned_run = False
        self.name = tool.name
        self.help = tool.summary

    def requirement(self, arguments: Sequence[str]) -> Requirement:
        """Return what a run requires. Invalid arguments only explain the usage."""
        tool = self._tool
        try:
            values = parse_words(tool, arguments)
        except (HelpRequested, InvalidArgument):
            return Requirement(DESCRIBE)
        uses_files = any(isinstance(each, Path) for value in values.values() for each in _several(value))
        elsewhere = any(values.get(name) is not None for name in ADDRESSES)
        if tool.danger_of(values) > Danger.READS or uses_files or elsewhere:
            return Requirement(ALTER)
        return Requirement(DESCRIBE)

    async def run_async(self, arguments: Sequence[str], context: ToolContext, output: TextIO) -> int:
        """Run the tool, and write its output and the reason of a failure.

        Raises:
            UsageError: a run is still going on after its time was over and cannot be ended.
        """
        if self._has_abandoned_run and self._running:
            raise UsageError("an earlier run did not finish in time and is still running: restart the node to end it")
        environment = Environment(context.open_admin, context.open_zookeeper, context.folders)
        self._running += 1
        result = await run_tool_words(self._tool, arguments, environment, on_end=self._ended)
        self._has_abandoned_run = result.still_running
        output.write(result.output)
        if result.error is not None:
            log.warning("tool failed", tool=self.name, reason=result.error)
            output.write(f"{result.error}\n")
        return result.exit_status

    def _ended(self) -> None:
        self._running -= 1


def _several(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def node_tools() -> list[ToolOnNode]:
    """Return the tools of kwire and of installed packages. One that cannot be used is logged and skipped."""
    found = find_tools()
    for broken in found.broken:
        log.error("skipping a broken tool", tool=broken.name, package=broken.value, reason=broken.reason)
    return [ToolOnNode(tool) for tool in found.tools.values()]
