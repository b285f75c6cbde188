"""Tools for ZooKeeper and Kafka 0.8 to 0.10: what KAFKA-1694 asks for as a plug-in of `kafka`.

`tools/<tool>.py` has the tools, which print lines, and which nodes run too; packages add tools through the entry-point
group `kwire.tools`, and `kafka tools new NAME` writes such a package.

    from kwire_zookeeper_tools import find_tool, run_tool

    result = await run_tool(find_tool("dump-log-segments"), {"files": [Path("00000000000000000000.log")]})
    print(result.output)
"""

from __future__ import annotations

from kwire._util.late_names import late_names

__version__ = "0.1.0"

_MODULES = {
    "kwire_admin.operations.declaration": ("ANYWHERE", "CLIENT", "NODE", "Need", "ToolFailed", "operation"),
    "kwire_admin.operations.parameters": ("Address", "Argument", "FileNames", "InvalidArgument", "Option"),
    "kwire_admin.operations.registry": ("BrokenTool", "find_tool", "find_tools", "tool_names"),
    "kwire_zookeeper_tools.tool_run": ("Environment", "ToolRun"),
    "kwire_zookeeper_tools.tool_runner": ("ToolRunResult", "run_tool", "run_tool_words"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
