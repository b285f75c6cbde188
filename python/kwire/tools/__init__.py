"""Tools: named tasks of administration that run from a command, from Python, and on the nodes of a cluster.

A tool is one function in one file. kwire's own tools are the modules of `kwire.tools.own`; packages add tools through
the entry-point group `kwire.tools`. `kafka tools new NAME` writes a package with a tool and its test.

    from kwire.tools import Environment, find_tool, run_tool

    result = await run_tool(find_tool("dump-log-segments"), {"files": [Path("00000000000000000000.log")]})
    print(result.output)
"""

from __future__ import annotations

from kwire.parameters import Address, Argument, Danger, FileNames, InvalidArgument, Option
from kwire.tools.environment import Environment
from kwire.tools.registry import BrokenTool, find_tool, find_tools, tool_names
from kwire.tools.runner import ToolResult, run_tool, run_tool_words
from kwire.tools.tool import Need, Tool, ToolFailed, tool
from kwire.tools.tool_run import ToolRun

__all__ = [
    "Address",
    "Argument",
    "BrokenTool",
    "Danger",
    "Environment",
    "FileNames",
    "InvalidArgument",
    "Need",
    "Option",
    "Tool",
    "ToolFailed",
    "ToolResult",
    "ToolRun",
    "find_tool",
    "find_tools",
    "run_tool",
    "run_tool_words",
    "tool",
    "tool_names",
]
