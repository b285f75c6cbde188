"""Tools on the nodes of a cluster, where Admin requests run them with the same arguments and output as the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.node.tool_process import ToolOutcome
from kwire.cluster.node.tools import ALTER, DESCRIBE, Requirement
from kwire.parameters import Address, Danger, FileNames, InvalidArgument
from kwire.tools.command_line import HelpRequested, parse_words, usage
from kwire.tools.registry import find_tools
from kwire.tools.runner import USAGE
from kwire.tools.tool import Need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.tools.tool import Tool

__all__ = ["ToolOnNode", "node_tools"]

log = logger(__name__)


class ToolOnNode:
    """A tool that a node runs in a process of its own, as the user who asks for it.

    A run requires permission to alter the cluster if it changes something, or uses files, ZooKeeper, or an address,
    which the node can reach and the client possibly cannot. Otherwise, it requires permission to describe the cluster.
    Every request of the tool is authorized in addition.
    """

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.name = tool.name
        self.help = tool.summary
        self.reference = f"{tool.function.__module__}:{tool.function.__name__}"

    def requirements(self, arguments: Sequence[str]) -> tuple[Requirement, ...]:
        """Return what a run requires. Invalid arguments only explain the usage."""
        tool = self._tool
        try:
            values = parse_words(tool, arguments)
        except (HelpRequested, InvalidArgument):
            return (Requirement(DESCRIBE),)
        leaves = any(isinstance(each, Path | FileNames | Address) for value in values.values() for each in _all(value))
        reads_zookeeper = Need.ZOOKEEPER in tool.needs and Need.BROKERS not in tool.needs
        if tool.danger_of(values) > Danger.READS or leaves or reads_zookeeper:
            return (Requirement(ALTER),)
        return (Requirement(DESCRIBE),)

    def usage(self, arguments: Sequence[str]) -> ToolOutcome | None:
        """Return the outcome of invalid arguments, or of `--help`; None if the tool has to run."""
        try:
            parse_words(self._tool, arguments)
        except HelpRequested:
            return ToolOutcome(0, usage(self._tool).encode(), None)
        except InvalidArgument as error:
            return ToolOutcome(USAGE, b"", f"{self.name}: {error}")
        return None

    def time_limit(self, arguments: Sequence[str]) -> float | None:
        """Return the seconds that a run may take; None for no limit."""
        given: float | None = parse_words(self._tool, arguments).get("time_limit")
        return self._tool.time_limit if given is None else given or None


def _all(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def node_tools() -> list[ToolOnNode]:
    """Return the tools of kwire and of installed packages. One that cannot be used is logged and skipped."""
    found = find_tools()
    for broken in found.broken:
        log.error("skipping a broken tool", tool=broken.name, package=broken.value, reason=broken.reason)
    return [ToolOnNode(tool) for tool in found.tools.values()]
