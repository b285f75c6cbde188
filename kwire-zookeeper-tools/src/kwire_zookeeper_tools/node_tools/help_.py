"""The tool `help`."""

from __future__ import annotations

from kwire_admin.operations.declaration import NODE, operation
from kwire_zookeeper_tools.tool_run import NodeRun


@operation(runs_on=NODE, examples=("",))
async def help_(run: NodeRun) -> None:
    """List the tools that this node runs."""
    for name, summary in run.services.tools.summaries().items():
        run.print(f"{name}\t{summary}")
