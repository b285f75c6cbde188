"""`kafka tools list`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kwire_admin.operations.declaration import Need, Rows, operation
from kwire_admin.operations.parameters import NODE, Danger, Option, parse_node
from kwire_admin.operations.registry import find_tools
from kwire_admin.operations.run import Run


@dataclass(frozen=True, slots=True)
class ToolSummary:
    """A tool in a list.

    Attributes:
        name: the name of the tool.
        needs: resources that it uses: ZooKeeper, brokers, or files; None for a tool of a node.
        changes: true if it changes something; None for a tool of a node.
        help: description.
    """

    name: str
    needs: tuple[str, ...] | None
    changes: bool | None
    help: str


@operation(
    nothing="No tools.",
    lists="tools",
    connects=lambda arguments: arguments["broker"] is not None,
    examples=("tools list", "tools list --broker any"),
)
async def list_(
    run: Run,
    broker: Annotated[
        str | None,
        Option("List the tools of this node: an id, or `any` [default: installed locally].", "ID", syntax=NODE),
    ] = None,
) -> Rows[ToolSummary]:
    """List the tools that are installed locally, or the tools of a node."""
    if broker is not None:
        result = await run.admin.run_tool("help", broker_id=parse_node(broker))
        lines = (line.partition("\t") for line in result.output.split("\n") if line)
        return [ToolSummary(name, None, None, text) for name, _, text in lines]
    tools = find_tools()
    for broken in tools.broken:
        run.warn(str(broken))
    return [
        ToolSummary(
            tool.name,
            tuple(need.value for need in Need if need in tool.needs),
            tool.highest_danger > Danger.READS,
            tool.summary,
        )
        for tool in tools.tools.values()
    ]
