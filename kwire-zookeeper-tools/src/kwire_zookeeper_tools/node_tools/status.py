"""The tool `status`."""

from __future__ import annotations

from kwire_admin.operations.declaration import NODE, operation
from kwire_zookeeper_tools.tool_run import NodeRun


@operation(runs_on=NODE, examples=("",))
async def status(run: NodeRun) -> None:
    """Print the state of this node and of its metadata cache as JSON."""
    await run.print_json(run.services.status())
