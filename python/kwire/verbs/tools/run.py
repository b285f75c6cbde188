"""`kafka tools run`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from kwire.client.admin import AdminError
from kwire.verbs.rows import column
from kwire.verbs.verb import Argument, Danger, Failed, Failure, Option, Rows, Run, verb


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a tool has printed.

    Attributes:
        name: the name of the tool.
        broker: the node that was asked to run it; None for any.
        exit_status: 0 if the tool was successful; None in a dry run.
        output: what it has printed.
    """

    name: str
    broker: int | None
    exit_status: int | None
    output: str = field(metadata=column(unit="text"))


@verb(Danger.CHANGES, dialects=("kip4",), examples=("tools run status", "tools run status --broker 2"))
async def run(
    run: Run,
    tool: Annotated[str, Argument("The name of the tool.", "TOOL", "tools")],
    arguments: Annotated[list[str], Argument("Its arguments; those that start with - after --.", "ARGUMENT")],
    broker: Annotated[int | None, Option("The node that runs it [default: any].", "ID", "brokers")] = None,
) -> Rows[ToolRun]:
    """Run a tool on a node, once: it is not repeated if the response is lost."""
    if run.dry_run:
        return [ToolRun(tool, broker, None, "")]
    try:
        result = await run.admin.run_tool(tool, arguments, broker_id=broker)
    except AdminError as error:
        return [Failure(tool, error)]
    row = ToolRun(tool, broker, result.exit_status, result.output)
    if result.exit_status != 0:
        raise Failed([row], f"tool {tool} ended with exit status {result.exit_status}")
    return [row]
