"""Tools on the nodes of a cluster, where Admin requests run them with the same arguments and output as the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kwire.cluster.node.logs import logger
from kwire.cluster.node.tool_process import ToolOutcome
from kwire.cluster.node.tools import ALTER, DESCRIBE, ProcessPlan, Requirement
from kwire.parameters import Address, Danger, FileNames, InvalidArgument
from kwire.tools.command_line import HelpRequested, parse_words, usage
from kwire.tools.registry import find_tools
from kwire.tools.runner import USAGE
from kwire.tools.tool import Need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kwire.tools.tool import Tool

__all__ = ["ToolOnNode", "node_tools"]

MAX_ARGUMENTS = 500
"""Maximum number of arguments. argparse takes quadratic time: 0.06 s for 500 flags, but 25 s for 10,000."""
MAX_TIME_LIMIT = 1_000_000
"""Longest time limit in seconds, that is, 11 days."""

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

    def plan(self, arguments: Sequence[str]) -> ProcessPlan:
        """Return what a run needs. Invalid arguments only explain the usage."""
        tool = self._tool
        try:
            if len(arguments) > MAX_ARGUMENTS:
                raise InvalidArgument(f"at most {MAX_ARGUMENTS} arguments are allowed, found {len(arguments)}")
            values = parse_words(tool, arguments)
            time_limit = _time_limit(tool, values.get("time_limit"))
        except HelpRequested:
            return ProcessPlan((Requirement(DESCRIBE),), ToolOutcome(0, usage(tool).encode(), None))
        except InvalidArgument as error:
            return ProcessPlan((Requirement(DESCRIBE),), ToolOutcome(USAGE, b"", f"{self.name}: {error}"))
        leaves = any(isinstance(each, Path | FileNames | Address) for value in values.values() for each in _all(value))
        reads_zookeeper = Need.ZOOKEEPER in tool.needs and Need.BROKERS not in tool.needs
        needs_alter = tool.danger_of(values) > Danger.READS or leaves or reads_zookeeper
        return ProcessPlan((Requirement(ALTER if needs_alter else DESCRIBE),), time_limit=time_limit)


def _time_limit(tool: Tool, requested: float | None) -> float | None:
    """Return the seconds that a run may take; None for no limit.

    Raises:
        InvalidArgument: the requested limit is negative or not a number.
    """
    if requested is None:
        return tool.time_limit
    if not 0 <= requested <= MAX_TIME_LIMIT:
        raise InvalidArgument(f"--time-limit: expected 0 to {MAX_TIME_LIMIT}, found {requested}")
    return requested or None


def _all(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def node_tools() -> list[ToolOnNode]:
    """Return the tools of kwire and of installed packages. One that cannot be used is logged and skipped."""
    found = find_tools()
    for broken in found.broken:
        log.error("skipping a broken tool", tool=broken.name, package=broken.value, reason=broken.reason)
    return [ToolOnNode(tool) for tool in found.tools.values()]
