"""Operations on a cluster: verbs such as `kafka topics create`, and tools, which nodes run too.

An operation is one typed function in one file. `verbs/<noun>/<verb>.py` has the verbs of the command, the shell, and
HTTP, which return rows. `tools/<tool>.py` has the tools, which print lines; packages add tools through the entry-point
group `kwire.tools`, and `kafka tools new NAME` writes such a package.

    from kwire_admin.operations import find_tool, run_tool

    result = await run_tool(find_tool("dump-log-segments"), {"files": [Path("00000000000000000000.log")]})
    print(result.output)
"""

from __future__ import annotations

from kwire._util.late_names import late_names

_MODULES = {
    "kwire_admin.operations.declaration": ("ANYWHERE", "CLIENT", "NODE", "Need", "Operation", "ToolFailed", "operation"),
    "kwire_admin.operations.parameters": ("Address", "Argument", "Danger", "FileNames", "InvalidArgument", "Option"),
    "kwire_admin.operations.registry": ("BrokenTool", "find_tool", "find_tools", "tool_names"),
}

__all__, __getattr__, __dir__ = late_names(__name__, _MODULES)
