"""The tool `help`."""

from __future__ import annotations

from kwire.operations.declaration import NODE, operation
from kwire.operations.tool_run import NodeRun


@operation(runs_on=NODE, examples=("",))
async def help_(run: NodeRun) -> None:
    """List the tools that this node runs."""
    for name, summary in run.services.tools.summaries().items():
        run.print(f"{name}\t{summary}")
